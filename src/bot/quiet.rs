//! A channel is told about the same trouble only once in a while; further occurrences are counted and reported with the
//! next message.

use serde::{Deserialize, Serialize};

use super::error::QueueError;
use super::queue::{get, put};
use super::work::{Moment, digest};
use crate::store::{Change, Store};

const QUIET: &str = "quiet/";

/// What a channel was told about a trouble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    /// When.
    time: Moment,
    /// The id of the work that told it.
    by: String,
    /// How many occurrences came since.
    more: u32,
    /// How many occurrences had been suppressed before that message.
    before: u32,
}

/// Whether to tell a channel, with the change to commit together with that decision.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Tell it, and that this many were suppressed since the last message.
    Tell(u32, Change),
    /// Only count it.
    Count(Change),
}

/// Whether the work `by` may tell `channel` about the trouble `group`.
pub fn decide(
    store: &dyn Store,
    channel: &str,
    group: &str,
    by: &str,
    quiet: Moment,
    now: Moment,
) -> Result<Decision, QueueError> {
    let key = format!("{QUIET}{}", digest(&[channel, group]));
    Ok(match get::<Told>(store, &key)? {
        // The same work tries again because its message could not be sent.
        Some(told) if told.by == by => Decision::Tell(told.before, put(key, &told)?),
        Some(told) if now < told.time + quiet => {
            Decision::Count(put(key, &Told { more: told.more.saturating_add(1), ..told })?)
        }
        known => {
            let before = known.map_or(0, |told| told.more);
            Decision::Tell(before, put(key, &Told { time: now, by: by.to_owned(), more: 0, before })?)
        }
    })
}

/// Removes entries from before the moment `before`, which have no effect any more.
pub fn trim(store: &mut dyn Store, before: Moment) -> Result<(), QueueError> {
    let mut gone = Vec::new();
    store.scan(QUIET, &mut |key, value| {
        if serde_json::from_slice::<Told>(value).is_ok_and(|told| told.time < before) {
            gone.push(Change::remove(key));
        }
    })?;
    if !gone.is_empty() {
        store.commit(&gone)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn a_trouble_is_told_once_and_then_counted() -> Result<(), QueueError> {
        let mut store = MemoryStore::default();
        let mut ask = |by: &str, channel: &str, now| {
            let (told, change) = match decide(&store, channel, "g", by, 100, now)? {
                Decision::Tell(before, change) => (Some(before), change),
                Decision::Count(change) => (None, change),
            };
            store.commit(&[change])?;
            Ok::<_, QueueError>(told)
        };
        assert_eq!(ask("a", "ops", 0)?, Some(0));
        assert_eq!(ask("a", "ops", 1)?, Some(0), "it could not be sent");
        assert_eq!((ask("b", "ops", 5)?, ask("c", "ops", 99)?, ask("b", "mail", 5)?), (None, None, Some(0)));
        assert_eq!((ask("d", "ops", 101)?, ask("e", "ops", 102)?), (Some(2), None));
        assert_eq!(ask("f", "ops", 300)?, Some(1));
        Ok(())
    }
}
