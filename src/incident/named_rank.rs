//! The rank that a log is called after: `rank_17.log`, `rank-17/stderr.log`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::Event;

/// A rank has no more digits.
const LONGEST: usize = 6;

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
                && let Some(rank) = rank_in(path)
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

/// The rank in the name of a file, or of the folder that it stands in.
fn rank_in(path: &str) -> Option<u32> {
    path.rsplit(['/', '!', ':']).take(2).find_map(|name| {
        let name = name.to_ascii_lowercase();
        let (before, after) = name.split_once("rank")?;
        let is_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
        let is_local = before.trim_end_matches(['_', '-', '.']).ends_with("local");
        let after = after.strip_prefix(['_', '-', '=', '.']).unwrap_or(after);
        let digits = after.find(|c: char| !c.is_ascii_digit()).map_or(after, |end| &after[..end]);
        let is_rank = is_word && !is_local && (1..=LONGEST).contains(&digits.len());
        if is_rank { digits.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_called_after_its_rank() {
        assert_eq!(rank_in("logs/rank_00017.log"), Some(17));
        assert_eq!(rank_in("gpu-3:/scratch/rank-17/stderr.log"), Some(17));
        assert_eq!(rank_in("global_rank=4.out"), Some(4));
        for other in [
            "train.log",
            "local_rank_3.log",
            "ranking_3.log",
            "frank2.log",
            "rank_3/a/b/train.log",
            "rank.log",
            "rank_20261120101500.log",
        ] {
            assert_eq!(rank_in(other), None, "{other}");
        }
    }
}
