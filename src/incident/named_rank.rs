//! Ranks taken from the names of logs: `rank_17.log`, `rank-17/stderr.log`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::log_path::rank_of_path;
use crate::model::Event;

/// The ranks in the paths of logs, left out if lines of the log name another rank.
#[derive(Default)]
pub(super) struct NamedRanks {
    of_log: HashMap<Arc<str>, u32>,
}

impl NamedRanks {
    /// Those of the logs that contain `events`.
    pub fn of<'e>(events: impl Iterator<Item = &'e Event>) -> NamedRanks {
        let (mut of_log, mut seen, mut shared) = (HashMap::new(), HashSet::new(), HashSet::new());
        for event in events {
            let path = &event.at.location.path;
            if seen.insert(Arc::clone(path))
                && let Some(rank) = rank_of_path(path)
            {
                of_log.insert(Arc::clone(path), rank);
            }
            if event.origin.rank.is_some_and(|rank| of_log.get(path).is_some_and(|own| *own != rank)) {
                shared.insert(Arc::clone(path));
            }
        }
        of_log.retain(|path, _| !shared.contains(path));
        NamedRanks { of_log }
    }

    /// The rank that the path of the event's log names.
    pub fn of_event(&self, event: &Event) -> Option<u32> {
        self.of_log.get(&event.at.location.path).copied()
    }
}
