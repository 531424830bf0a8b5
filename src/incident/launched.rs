//! Ranks that a launcher starts beneath a scheduler's task.

use crate::model::{Event, Victim, What};

/// The producer of a scheduler that numbers its tasks.
const SCHEDULER: &str = "slurm";
/// The producers of launchers that start the ranks of a node.
const LAUNCHERS: [&str; 3] = ["elastic", "deepspeed_launcher", "accelerate"];

/// Forgets the tasks' numbers if a task is a launcher: then they are not ranks.
pub(super) fn forget_tasks(events: &mut [Event]) {
    if !events.iter().any(|event| LAUNCHERS.contains(&event.producer)) {
        return;
    }
    let forget = |victim: &mut Victim| victim.rank = None;
    for event in events.iter_mut().filter(|event| event.producer == SCHEDULER) {
        match &mut event.what {
            What::Shortage(shortage) => shortage.victims.iter_mut().for_each(forget),
            What::Death(death) => forget(&mut death.victim),
            _ => {}
        }
    }
}
