//! Which incidents a change touched: what the index needs to follow the store. It lies in the store, in the same batch.

use std::collections::BTreeSet;

use super::{HistoryError, INCIDENTS, OUTCOMES};
use crate::store::{Change, Store};

const LOG: &str = "log/";
/// The last change of which the log knows nothing any more.
const TRIMMED: &str = "log/trimmed";
/// More entries are not kept once the index knows them.
const KEPT: usize = 64;
/// Bytes of an entry; a change may have several.
const ENTRY: usize = 32 << 10;

/// What happened after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Touched {
    /// Nothing that concerns the history.
    None,
    /// These incidents came, went, or had something told of them.
    Some(BTreeSet<String>),
    /// Nobody knows any more.
    Unknown,
}

/// Makes `changes` and notes whom they touch.
pub(super) fn commit(store: &mut dyn Store, mut changes: Vec<Change>) -> Result<u64, HistoryError> {
    let touched: BTreeSet<&str> = changes.iter().filter_map(|change| incident(&change.key)).collect();
    let mut entries: Vec<String> = Vec::new();
    for id in touched {
        match entries.last_mut().filter(|entry| entry.len() + id.len() < ENTRY) {
            Some(entry) => {
                entry.push('\n');
                entry.push_str(id);
            }
            None => entries.push(id.to_owned()),
        }
    }
    let number = store.change() + 1;
    let key = |part: usize| format!("{LOG}{number:020}/{part:06}");
    changes.extend(entries.into_iter().enumerate().map(|(part, entry)| Change::put(key(part), entry)));
    Ok(store.commit(&changes)?)
}

/// What happened after the change `number`.
pub(super) fn after(store: &dyn Store, number: u64) -> Result<Touched, HistoryError> {
    if trimmed(store)? > number {
        return Ok(Touched::Unknown);
    }
    let mut ids = BTreeSet::new();
    store.scan(LOG, &mut |key, entry| {
        if of_key(key).is_some_and(|of| of > number) {
            ids.extend(String::from_utf8_lossy(entry).split('\n').map(str::to_owned));
        }
    })?;
    Ok(if ids.is_empty() { Touched::None } else { Touched::Some(ids) })
}

/// The last change that touched the history, 0 before the first.
pub(super) fn last(store: &dyn Store) -> Result<u64, HistoryError> {
    let mut last = trimmed(store)?;
    store.scan(LOG, &mut |key, _| last = last.max(of_key(key).unwrap_or(0)))?;
    Ok(last)
}

/// Forgets the log where it is long. To be called when the index knows all of it.
pub(super) fn trim(store: &mut dyn Store) -> Result<(), HistoryError> {
    let mut changes = Vec::new();
    store.scan(LOG, &mut |key, _| changes.push(Change::remove(key)))?;
    if changes.len() > KEPT {
        changes.push(Change::put(TRIMMED, last(store)?.to_string()));
        store.commit(&changes)?;
    }
    Ok(())
}

/// Whether `key` is of the log, which says nothing to another store.
pub(super) fn is_log(key: &str) -> bool {
    key.starts_with(LOG)
}

fn trimmed(store: &dyn Store) -> Result<u64, HistoryError> {
    let number = store.get(TRIMMED)?.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok());
    Ok(number.unwrap_or(0))
}

fn of_key(key: &str) -> Option<u64> {
    key.strip_prefix(LOG)?.split('/').next()?.parse().ok()
}

fn incident(key: &str) -> Option<&str> {
    let of_outcome = || key.strip_prefix(OUTCOMES)?.rsplit_once('/').map(|(id, _)| id);
    key.strip_prefix(INCIDENTS).or_else(of_outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn the_log_says_what_happened_and_when_it_no_longer_knows() -> Result<(), HistoryError> {
        let mut store = MemoryStore::default();
        let ids = |ids: &[&str]| Touched::Some(ids.iter().map(|id| (*id).to_owned()).collect());
        commit(&mut store, vec![Change::put("incidents/a", "1"), Change::put("groups/x", "1")])?;
        commit(&mut store, vec![Change::put("rules/user/r", "1")])?;
        commit(&mut store, vec![Change::put("outcomes/b/12", "1"), Change::remove("incidents/a")])?;
        assert_eq!(after(&store, 0)?, ids(&["a", "b"]));
        assert_eq!((after(&store, 1)?, after(&store, 3)?, last(&store)?), (ids(&["a", "b"]), Touched::None, 3));
        for number in 0..KEPT {
            commit(&mut store, vec![Change::put(format!("incidents/{number}"), vec![1; 9])])?;
        }
        let before = last(&store)?;
        trim(&mut store)?;
        assert_eq!((after(&store, 3)?, after(&store, before)?), (Touched::Unknown, Touched::None));
        assert_eq!(last(&store)?, before);
        let many = (0..20_000).map(|number| Change::put(format!("incidents/{number:08}"), "1")).collect();
        commit(&mut store, many)?;
        assert!(matches!(after(&store, before)?, Touched::Some(ids) if ids.len() == 20_000));
        Ok(())
    }
}
