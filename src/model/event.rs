use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::word::Word;
use super::{Basis, Citation, Consumer, Figure, Kind, LineNumber, OtherFailureName, Phase, Stamps, Timestamp, Victim};

/// One statement of one message in a log, read by the grammar of the program that printed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What the message states.
    pub what: What,
    /// The program whose message it is: `torch`, `kernel`, `ray` …
    #[serde(with = "super::word")]
    pub producer: Word,
    /// How the message was recognised.
    pub basis: Basis,
    /// The line that states it.
    pub at: Citation,
    /// The message's words in one piece, if a narrow terminal or page broke them over several lines. No citation: no line states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbroken: Option<Arc<str>>,
    /// Further lines of the same message that are worth quoting.
    pub evidence: Vec<Citation>,
    /// The numbers in the message.
    pub figures: Vec<Figure>,
    /// Other values in the message that rules may ask for.
    pub facts: Vec<Fact>,
    /// The process that wrote the message.
    pub origin: Origin,
    /// When it was written, by the clock of the writer.
    pub time: Option<Timestamp>,
    /// How many more times the same was printed (Ray's `[repeated 6x across cluster]`, or equal events that were merged into this one).
    pub repeated: u64,
    /// The other processes of which the same was said, if equal events were merged into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Mention>,
    /// What the input had shown up to this line.
    #[serde(rename = "setting")]
    pub context: LineContext,
}

impl Event {
    /// What the message says: its line, or its words in one piece if they were broken.
    pub fn message(&self) -> Arc<str> {
        self.unbroken.clone().unwrap_or_else(|| self.at.text.as_str().into())
    }
}

/// A process that an event is about, and the line that says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mention {
    /// The process.
    pub process: Victim,
    /// The line of the same input that says so.
    pub line: LineNumber,
    /// When that line was written.
    pub time: Option<Timestamp>,
}

impl Mention {
    /// At most this many are kept for all events of one input together.
    pub const MOST: usize = 1 << 14;
}

impl Event {
    /// The number that it states as the fact `key`.
    pub fn number(&self, key: &str) -> Option<u32> {
        self.facts.iter().find(|fact| fact.key == key).and_then(|fact| match fact.value {
            FactValue::Number(value) if value >= 0.0 => Some(value as u32),
            _ => None,
        })
    }

    /// The words that it states as the fact `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.key == key).and_then(|fact| match &fact.value {
            FactValue::Text(words) => Some(&**words),
            FactValue::Number(_) => None,
        })
    }

    /// The processes that ended by this event, as far as it names them; empty if it does not state an end.
    pub fn processes(&self) -> Vec<Victim> {
        let origin = self.origin.process();
        match &self.what {
            // The process that reports a death is not the one that died; only the host is the same.
            What::Death(death) => vec![death.victim.clone().on(&origin.host)],
            What::Shortage(shortage) if !shortage.victims.is_empty() => {
                shortage.victims.iter().map(|victim| victim.clone().on(&origin.host)).collect()
            }
            // The process that reports a kill is not the one that was killed.
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
    /// Memory ran out, according to the allocator, kernel or monitor that refused it or killed a process.
    Shortage(Shortage),
    /// A process ended; the reason is not stated, or only guessed.
    Death(Death),
    /// Something other than memory failed.
    Failure(Failure),
    /// A stack was printed; the event stands at its end.
    Traceback(Traceback),
    /// Memory figures at one moment; the timeline consists of these.
    Memory {
        /// The allocator or process that they belong to.
        series: Arc<str>,
    },
    /// A process ended normally.
    Finished,
    /// Something about the job that is worth keeping: limits, sizes, settings.
    Notice,
}

/// Memory ran out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shortage {
    /// Which memory ran out.
    pub kind: Kind,
    /// How the shortage ended.
    pub severity: Severity,
    /// The processes that were killed or refused memory, as far as this message says.
    pub victims: Vec<Victim>,
    /// The processes that held the memory, largest first.
    pub consumers: Vec<Consumer>,
}

/// How a shortage of memory ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The request was refused or the process killed.
    Fatal,
    /// The message also says that the program continues without what it could not do.
    Swallowed,
    /// The message also says that the program tries again.
    Retried,
    /// Memory was nearly used up; nothing failed yet.
    Pressure,
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Death {
    /// How it ended.
    pub exit: Exit,
    /// The process.
    pub victim: Victim,
    /// Whether the message calls it the first process that failed.
    pub first: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It was ended by the signal of this number.
    Signal(i32),
    /// It exited with this status.
    Code(i32),
    /// It disappeared: a connection closed, a pid was gone.
    Vanished,
    /// Its launcher stopped it because another process had died.
    Stopped,
}

impl Exit {
    /// SIGKILL, the signal that ends a process at once.
    pub const KILL: Exit = Exit::Signal(9);
    /// SIGBUS, which also ends a process when shared memory is full.
    pub const BUS: Exit = Exit::Signal(7);

    /// Reads an exit status as launchers print it: negative numbers and 128 + n are signals; DeepSpeed's launcher exits with 256 − n.
    pub fn from_status(status: i32) -> Exit {
        match status {
            -64..0 => Exit::Signal(-status),
            129..=192 => Exit::Signal(status - 128),
            247 => Exit::KILL,
            _ => Exit::Code(status),
        }
    }
}

/// A failure of something other than memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What failed.
    pub name: OtherFailureName,
    /// Whether such a failure usually follows the death of another process: a timeout, a lost peer.
    pub follows: bool,
}

/// A stack as it was printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traceback {
    /// The calls, outermost first.
    pub frames: Vec<Frame>,
    /// The exception at its end.
    pub exception: Option<Citation>,
    /// Whether it is a stack of native code: symbols without source lines, printed after the message.
    pub is_native: bool,
}

/// One call on a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Source file as printed, or [`Frame::REMOTE`].
    pub file: String,
    /// Function or remote method.
    pub function: String,
    /// The source line, if it was printed.
    pub code: String,
    /// Where the log shows it.
    pub at: Citation,
}

impl Frame {
    /// Written as the file of a remote call.
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
    /// Actor class, engine process or daemon.
    pub role: Option<Arc<str>>,
}

impl Origin {
    /// Whether the line says nothing about its writer.
    pub fn is_anonymous(&self) -> bool {
        *self == Origin::default()
    }

    /// Whether both may have the same writer: nothing that both name differs, and they name the same ids or have one name in common.
    pub fn may_be(&self, other: &Origin) -> bool {
        fn compare<T: PartialEq>(own: Option<&T>, other: Option<&T>) -> Option<bool> {
            Some(own? == other?)
        }
        let ids = [compare(self.pid.as_ref(), other.pid.as_ref()), compare(self.rank.as_ref(), other.rank.as_ref())];
        let named = [ids[0], ids[1], compare(self.role.as_ref(), other.role.as_ref())];
        (self.pid, self.rank) == (other.pid, other.rank) || !named.contains(&Some(false)) && named.contains(&Some(true))
    }

    /// The same process, as events name it.
    pub fn process(&self) -> Victim {
        Victim { host: self.host.clone(), rank: self.rank, device: None, pid: self.pid, role: self.role.clone() }
    }
}

/// What the input had shown up to a line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LineContext {
    /// The last sign of a phase from the same origin.
    pub own: Option<PhaseMark>,
    /// The last sign of a phase from any origin in the same input.
    pub any: Option<PhaseMark>,
    /// The last memory figures that were printed, one of each name.
    pub memory: Arc<[Figure]>,
    /// Number of signs of progress so far.
    pub progress: u64,
    /// How far the last progress bar was: done, and in all.
    #[serde(default)]
    pub bar: Option<(u64, u64)>,
    /// How many of those were training steps: lines that print a step's loss.
    pub steps: u64,
    /// Whether the last bar stands at its beginning, and nothing shows that a step was done.
    #[serde(default)]
    pub is_first_step: bool,
    /// The phases of which there were signs.
    pub seen: BTreeSet<Phase>,
    /// The source file that the line's logger names, without its folders: `core.py`.
    pub place: Option<Arc<str>>,
    /// The lines before this one, if it is a failure.
    pub recent: Arc<[Citation]>,
    /// The last times that the input had named.
    pub stamps: Stamps,
}

/// A sign of a phase: a line, a progress bar, a remote method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseMark {
    /// The phase that it shows.
    pub phase: Phase,
    /// What the program was doing, in a few words.
    pub site: Arc<str>,
    /// Whether it says that the phase is over.
    pub ended: bool,
    /// Whether it heads the stack of what failed in this phase.
    #[serde(default)]
    pub encloses: bool,
    /// How reliably it shows the phase, 0–1.
    pub confidence: f64,
    /// The line.
    pub at: Citation,
}

impl PhaseMark {
    /// Whether this mark stands against a sign of `phase` that is no surer than `confidence`: who has answered a request has its weights
    /// loaded, whatever else a line's words may mean.
    pub fn stands_against(&self, phase: Phase, confidence: f64) -> bool {
        const UNSURE: f64 = 0.5;
        const ANSWERED: f64 = 0.9;
        let has_answered = self.phase == Phase::Inference && !self.ended && self.confidence >= ANSWERED;
        has_answered && phase.comes_before_steps() && confidence <= UNSURE
    }
}

/// A named value that a message states, other than a figure.
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

/// Name of the fact that says which device a job computes on.
pub const DEVICE_IN_USE: &str = "device.in_use";
/// The fact that holds the command of a process that nvidia-smi shows on a device.
pub const SMI_COMMAND: &str = "smi.command";
/// The fact that holds its process id.
pub const SMI_PID: &str = "smi.pid";
/// The fact that holds the number of the device.
pub const SMI_DEVICE: &str = "smi.device";
/// The fact that holds the memory that it takes there.
pub const SMI_HELD: &str = "smi.held";

/// Name of the fact that says which of a pod's containers a message is about.
pub const CONTAINER_NAME: &str = "container.name";

/// Name of the fact that says which of Docker Compose's containers a message is about.
pub const SERVICE_NAME: &str = "container.service";

/// Name of the fact that holds the process id which a runtime printed of itself.
pub const PROCESS_IN_USE: &str = "process.in_use";

/// Name of the fact that holds the rank which a process printed of itself.
pub const RANK_IN_USE: &str = "rank.in_use";

/// Name of the fact that the kernel killed no process because of memory, even if a process was killed.
pub const NO_OOM_KILL: &str = "recorder.no_oom_kill";

/// Name of the fact with which words an error points to another one.
pub const FAILURE_ELSEWHERE: &str = "failure.elsewhere";

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactValue {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
}
