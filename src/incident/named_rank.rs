//! The rank that a log is called after: `rank_17.log`, `rank-17/stderr.log`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::log_path::rank_of_path;
use crate::model::Event;

/// The ranks after which logs are called whose lines name no other one.
#[derive(Default)]
pub(super) struct NamedRanks {
    of_log: HashMap<Arc<str>, u32>,
}

impl NamedRanks {
    /// Of the logs in which `events` stand.
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

    /// The rank that wrote `event`, as its log is called.
    pub fn of_event(&self, event: &Event) -> Option<u32> {
        self.of_log.get(&event.at.location.path).copied()
    }
}
