use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::word::Word;
use super::{Basis, Citation, Consumer, Figure, Kind, LineNumber, OtherFailureName, Phase, Stamps, Timestamp, Victim};

/// One thing that one message of a log states, read by the grammar of whoever printed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What it states.
    pub what: What,
    /// Whose words they are: `torch`, `kernel`, `ray` …
    #[serde(with = "super::word")]
    pub producer: Word,
    /// On what it rests.
    pub basis: Basis,
    /// The line that states it.
    pub at: Citation,
    /// Further lines of the same message that carry its weight.
    pub evidence: Vec<Citation>,
    /// The numbers in it.
    pub figures: Vec<Figure>,
    /// Other things in it that rules may ask for.
    pub facts: Vec<Fact>,
    /// Which process wrote it.
    pub origin: Origin,
    /// When, by the clock of whoever wrote it.
    pub time: Option<Timestamp>,
    /// How many more times the same was said (Ray's `[repeated 6x across cluster]`, or folded here).
    pub repeated: u64,
    /// Whom it was said of besides, where alike events were folded into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Other>,
    /// What was going on when it was written.
    pub setting: Setting,
}

/// Another process of which the same was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// Which.
    pub process: Victim,
    /// In which line of the same input.
    pub line: LineNumber,
    /// When.
    pub time: Option<Timestamp>,
}

impl Other {
    /// Of all events of one input together no more are kept.
    pub const MOST: usize = 1 << 14;
}

impl Event {
    /// Who ended by what it states, as far as it says; nobody where it states no end.
    pub fn processes(&self) -> Vec<Victim> {
        let origin = self.origin.process();
        match &self.what {
            // The reporter of a death is not the dead; only the machine is the same.
            What::Death(death) => vec![death.victim.clone().on(&origin.host)],
            What::Shortage(shortage) if !shortage.victims.is_empty() => {
                shortage.victims.iter().map(|victim| victim.clone().on(&origin.host)).collect()
            }
            // Who reports a kill from outside is not the killed.
            What::Shortage(shortage) if shortage.kind.is_kill() => {
                vec![Victim { host: origin.host, ..Victim::default() }]
            }
            What::Shortage(_) | What::Failure(_) | What::Traceback(_) | What::Finished => vec![origin],
            What::Memory { .. } | What::Notice => Vec::new(),
        }
    }
}

/// What a message states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Memory ran out, by the word of the allocator, kernel or monitor that refused or killed.
    Shortage(Shortage),
    /// A process ended. Why is not said, or only guessed.
    Death(Death),
    /// Something failed that is not memory.
    Failure(Failure),
    /// A Python traceback ended.
    Traceback(Traceback),
    /// Memory figures at a moment; they make the timeline.
    Memory {
        /// Of which allocator or process.
        series: Arc<str>,
    },
    /// A process ended as it should.
    Finished,
    /// Something worth knowing of the job, said in passing: limits, sizes, settings.
    Notice,
}

/// Memory ran out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shortage {
    /// Whose memory.
    pub kind: Kind,
    /// How it ended.
    pub severity: Severity,
    /// Who was killed or refused, as far as this message says.
    pub victims: Vec<Victim>,
    /// Who held the memory, largest first.
    pub consumers: Vec<Consumer>,
}

/// How a shortage of memory ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The request was refused or the process killed.
    Fatal,
    /// Whoever prints it also says that it goes on without what it could not do.
    Swallowed,
    /// Whoever prints it also says that it tries again.
    Retried,
    /// It was close; nothing failed yet.
    Pressure,
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Death {
    /// How.
    pub exit: Exit,
    /// Which process.
    pub victim: Victim,
    /// Whether whoever reports it calls it the first.
    pub first: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By this signal.
    Signal(i32),
    /// With this status.
    Code(i32),
    /// It was gone: a connection closed, a pid vanished.
    Vanished,
    /// Its launcher stopped it because another one had died.
    Stopped,
}

impl Exit {
    /// SIGKILL.
    pub const KILL: Exit = Exit::Signal(9);
    /// SIGBUS.
    pub const BUS: Exit = Exit::Signal(7);

    /// Reads an exit status as launchers print it: negative numbers and 128 + n are signals, DeepSpeed's launcher
    /// exits with 256 − n.
    pub fn from_status(status: i32) -> Exit {
        match status {
            -64..0 => Exit::Signal(-status),
            129..=192 => Exit::Signal(status - 128),
            247 => Exit::KILL,
            _ => Exit::Code(status),
        }
    }
}

/// A failure that is not memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which.
    pub name: OtherFailureName,
    /// Whether it tends to follow the death of another process: a timeout, a lost peer.
    pub follows: bool,
}

/// A stack as it was printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traceback {
    /// Outermost call first.
    pub frames: Vec<Frame>,
    /// The exception at its end.
    pub exception: Option<Citation>,
    /// Whether it is another program's than Python's: symbols without source lines, printed behind the message.
    pub is_native: bool,
}

/// One call on a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Source file as printed, or [`Frame::REMOTE`].
    pub file: String,
    /// Function or remote method.
    pub function: String,
    /// The source line, where it was printed.
    pub code: String,
    /// Where it stands.
    pub at: Citation,
}

impl Frame {
    /// What stands for the file of a remote call.
    pub const REMOTE: &str = "ray";
}

/// Which process wrote a line, as far as the line's prefixes say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Node name or address.
    pub host: Option<Arc<str>>,
    /// Global rank.
    pub rank: Option<u32>,
    /// Rank within the node.
    pub local_rank: Option<u32>,
    /// Process id.
    pub pid: Option<u32>,
    /// Actor class, engine process, daemon.
    pub role: Option<Arc<str>>,
}

impl Origin {
    /// Whether the line said nothing of who wrote it.
    pub fn is_anonymous(&self) -> bool {
        *self == Origin::default()
    }

    /// It as the process that an event is about.
    pub fn process(&self) -> Victim {
        Victim { host: self.host.clone(), rank: self.rank, device: None, pid: self.pid, role: self.role.clone() }
    }
}

/// What was going on when a line was written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The last sign of a phase from the same origin.
    pub own: Option<PhaseMark>,
    /// The last sign of a phase from anybody in the same input.
    pub any: Option<PhaseMark>,
    /// The last memory figures that were printed, one of each name.
    pub memory: Arc<[Figure]>,
    /// How many signs of progress the input had shown.
    pub progress: u64,
    /// How many of these were steps of training: lines that state a step's loss.
    pub steps: u64,
    /// The phases that the input had shown signs of.
    pub seen: BTreeSet<Phase>,
    /// The source file that the line's logger names, without its folders: `core.py`.
    pub place: Option<Arc<str>>,
    /// The lines before it, where it is a failure.
    pub recent: Arc<[Citation]>,
    /// The last times that the input had named by then.
    pub stamps: Stamps,
}

/// A sign of a phase: a line, a progress bar, a remote method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseMark {
    /// The phase it stands for.
    pub phase: Phase,
    /// What it says in a few words.
    pub site: Arc<str>,
    /// Whether it says that the phase is over.
    pub ended: bool,
    /// How surely it names the phase, 0–1.
    pub confidence: f64,
    /// The line.
    pub at: Citation,
}

/// A named thing that a message says beside its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Its name, as rules ask for it: `kernel.constraint`.
    #[serde(with = "super::word")]
    pub key: Word,
    /// Its value.
    pub value: FactValue,
    /// Where it stands.
    pub at: Citation,
}

/// The fact of which device a job says it computes on.
pub const DEVICE_IN_USE: &str = "device.in_use";

/// The fact of which process speaks: a runtime prints its own number in passing.
pub const PROCESS_IN_USE: &str = "process.in_use";

/// The fact of which rank speaks, said in passing.
pub const RANK_IN_USE: &str = "rank.in_use";

/// The fact that the kernel killed nobody for want of memory, whoever was killed.
pub const NO_OOM_KILL: &str = "recorder.no_oom_kill";

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactValue {
    /// Words.
    Text(String),
    /// A number.
    Number(f64),
}
