//! The same trouble is told once in a channel for some time; what comes more is counted, and told with the next message.

use serde::{Deserialize, Serialize};

use super::error::QueueError;
use super::queue::{get, put};
use super::work::{Moment, digest};
use crate::store::{Change, Store};

const QUIET: &str = "quiet/";

/// What a channel was told of a trouble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    /// When.
    time: Moment,
    /// With which piece of work.
    by: String,
    /// What came since.
    more: u32,
    /// What had come before that message.
    before: u32,
}

/// Whether to tell, and what has to be kept with that.
#[derive(Debug, PartialEq, Eq)]
pub enum Telling {
    /// Tell, and that so many came since the last time.
    Tell(u32, Change),
    /// It was told; count it.
    Count(Change),
}

/// Whether `channel` is told of the trouble `group` by the piece of work `by`.
pub fn telling(
    store: &dyn Store,
    channel: &str,
    group: &str,
    by: &str,
    quiet: Moment,
    now: Moment,
) -> Result<Telling, QueueError> {
    let key = format!("{QUIET}{}", digest(&[channel, group]));
    Ok(match get::<Told>(store, &key)? {
        // What could not be sent is told when it is tried again.
        Some(told) if told.by == by => Telling::Tell(told.before, put(key, &told)?),
        Some(told) if now < told.time + quiet => {
            Telling::Count(put(key, &Told { more: told.more.saturating_add(1), ..told })?)
        }
        known => {
            let before = known.map_or(0, |told| told.more);
            Telling::Tell(before, put(key, &Told { time: now, by: by.to_owned(), more: 0, before })?)
        }
    })
}

/// Forgets what was told so long ago that it is told again anyway.
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
            let (told, change) = match telling(&store, channel, "g", by, 100, now)? {
                Telling::Tell(before, change) => (Some(before), change),
                Telling::Count(change) => (None, change),
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
