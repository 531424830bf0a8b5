use serde::{Deserialize, Serialize};

use super::{Citation, Kind, OtherFailureName, Victim};

/// How a job came down: the call that failed, and how its processes ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Collapse {
    /// The stack of whoever failed first, outermost call first, libraries folded; empty where none was printed.
    pub stack: Vec<Call>,
    /// How each process ended, first things first, those that ended alike together.
    pub sequence: Vec<End>,
}

/// One call of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Call {
    /// Source file as printed, or the actor class of a remote call.
    pub file: String,
    /// Line of that file, where it was printed.
    pub file_line: Option<u64>,
    /// Function or remote method.
    pub function: String,
    /// The source line; empty where it was not printed.
    pub code: String,
    /// Whether the file is of no known library: the user's own.
    pub is_own: bool,
    /// Calls left out before this one.
    pub folded_before: usize,
    /// Where the log shows it.
    pub source: Citation,
}

/// How some processes ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct End {
    /// How.
    #[serde(flatten)]
    pub ending: Ending,
    /// Which processes; of very many the first.
    pub processes: Vec<Victim>,
    /// How many in all.
    pub count: usize,
    /// When the first of them did, as the log says.
    pub time: Option<String>,
    /// Seconds after the first end of the job, where one clock tells.
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
    /// It was refused memory, or killed for want of it.
    OutOfMemory {
        /// What ran out.
        kind: Kind,
    },
    /// By a signal, which says nothing of why.
    Signal {
        /// Its number.
        signal: i32,
    },
    /// Something else failed in it.
    Failed {
        /// What.
        failure: OtherFailureName,
    },
    /// Its launcher stopped it because another one had died.
    Stopped,
    /// With a status, which says nothing of why.
    Exited {
        /// It.
        status: i32,
    },
    /// It was gone.
    Vanished,
}

impl End {
    /// More processes than these are counted.
    pub const MOST_PROCESSES: usize = 64;
}
