use serde::{Deserialize, Serialize};

use super::{Citation, Kind, OtherFailureName, Victim};

/// How a job failed: the call that failed, and how its processes ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Collapse {
    /// The stack of the process that failed first, outermost call first, with the calls of libraries left out; empty if none was printed.
    pub stack: Vec<Call>,
    /// How the processes ended, in order of time; processes that ended alike are one entry.
    pub sequence: Vec<End>,
}

/// One call of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Call {
    /// Source file as printed, or the actor class of a remote call.
    pub file: String,
    /// Line of that file, if it was printed.
    pub file_line: Option<u64>,
    /// Function or remote method.
    pub function: String,
    /// The source line; empty if it was not printed.
    pub code: String,
    /// Whether the file belongs to the user, that is, to no known library.
    pub is_own: bool,
    /// Number of calls left out before this one.
    pub folded_before: usize,
    /// Where the log shows it.
    pub source: Citation,
}

/// How one or several processes ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct End {
    /// In which way they ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// The processes; if there are very many, only the first ones.
    pub processes: Vec<Victim>,
    /// The number of all these processes.
    pub count: usize,
    /// When the first of them ended, as the log writes it.
    pub time: Option<String>,
    /// Seconds since the first end in the job, if both were written by comparable clocks.
    pub seconds_after: Option<f64>,
    /// The line that says so of the first of them.
    pub source: Citation,
}

/// In which way a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// It was refused memory, or killed because memory was short.
    OutOfMemory {
        /// What ran out.
        kind: Kind,
    },
    /// A signal ended it; the reason is not known.
    Signal {
        /// Number of the signal.
        signal: i32,
    },
    /// It failed of something other than memory.
    Failed {
        /// What failed.
        failure: OtherFailureName,
    },
    /// Its launcher stopped it because another process had died.
    Stopped,
    /// It exited with a status; the reason is not known.
    Exited {
        /// The status.
        status: i32,
    },
    /// It disappeared: a connection closed, a pid was gone.
    Vanished,
}

impl End {
    /// At most this many processes are listed; the others are only counted.
    pub const MOST_PROCESSES: usize = 64;
}
