//! The flight recorder: runs a command and records what no log contains.
//!
//! In: a command, or the id of a running process. Out: its log, bounded, and a record: the memory of its processes, its
//! cgroups, the machine and the GPUs over time, the kernel's counters of kills, and how processes ended. Nothing is
//! concluded here: the record is text, which the parser reads like any log. What cannot be read is written as
//! unavailable, never as zero.

mod amount;
mod cgroup;
mod child;
mod gpu;
mod kill;
mod log_keeper;
mod machine;
mod names;
mod pace;
mod processes;
mod ring;
mod sample;
mod session;
mod signals;
mod streams;
mod terminal;

pub use child::StartError;
pub use names::Names;
pub use session::{Peak, Plan, RecordingEnd, Subject, end_rest, record};
