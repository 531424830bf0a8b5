//! The flight recorder: runs a command and records what no log holds.
//!
//! In goes a command, or the process id of one that runs; out come its log, bounded, and a record: memory of its processes, of its
//! cgroups, of the machine and of GPUs over time, the kernel's counters of kills, and how processes ended. Nothing here concludes what
//! happened: the record is text that the parser reads like any log. What cannot be read is said to be unavailable, never taken as zero.

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
pub use session::{Ended, Peak, Plan, Subject, end_rest, record};
