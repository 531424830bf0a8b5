//! The log of which incidents each change touched: the index needs it to follow the store, and exports to continue. Its
//! entries lie in the store itself, written in the same batch as the change.

use std::collections::BTreeSet;

use super::{HistoryError, INCIDENTS, OUTCOMES};
use crate::store::{Change, Store};

const LOG: &str = "log/";
/// The last change whose log entries were removed.
const TRIMMED: &str = "log/trimmed";
/// The number of changes whose entries are always kept; there may be twice as many.
const KEPT: u64 = 16 << 10;
/// Sorts after every entry of its change.
const BEHIND: &str = "/~";
/// How many changes are searched at first for the last one that touched the history; each further try looks at this
/// many times more.
const NEAR: u64 = 64;
/// The most bytes of one entry; a change may have several.
const ENTRY: usize = 32 << 10;

/// What happened after a given change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Touched {
    /// Nothing that concerns the history.
    None,
    /// These incidents were added or removed, or an outcome of theirs was reported.
    Some(BTreeSet<String>),
    /// The log no longer reaches that far back.
    Unknown,
}

/// Commits `changes` with log entries that name the incidents they touch.
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
    store.scan_after(LOG, Some(&behind(number)), &mut |key, entry| {
        if of_key(key).is_some() {
            ids.extend(String::from_utf8_lossy(entry).split('\n').map(str::to_owned));
        }
    })?;
    Ok(if ids.is_empty() { Touched::None } else { Touched::Some(ids) })
}

/// The last change that touched the history, 0 before the first.
pub(super) fn last(store: &dyn Store) -> Result<u64, HistoryError> {
    let mut near = NEAR;
    loop {
        let (from, mut last) = (store.change().saturating_sub(near), 0);
        store.scan_after(LOG, Some(&behind(from)), &mut |key, _| last = last.max(of_key(key).unwrap_or(0)))?;
        if last > 0 || from == 0 {
            return Ok(last.max(trimmed(store)?));
        }
        near = near.saturating_mul(NEAR);
    }
}

/// Removes the oldest entries if the log is long. To be called when the index knows them all.
pub(super) fn trim(store: &mut dyn Store) -> Result<(), HistoryError> {
    let first = store.change().saturating_sub(KEPT);
    if first.saturating_sub(trimmed(store)?) >= KEPT {
        let (mut changes, last) = removals(store, first)?;
        if last > 0 {
            changes.push(Change::put(TRIMMED, last.to_string()));
            store.commit(&changes)?;
        }
    }
    Ok(())
}

/// Removes all entries, for a store whose log may have gaps: exports can then not continue from an earlier mark.
pub fn forget_changes(store: &mut dyn Store) -> Result<(), HistoryError> {
    let (mut changes, _) = removals(store, store.change())?;
    changes.push(Change::put(TRIMMED, store.change().to_string()));
    store.commit(&changes)?;
    Ok(())
}

/// The changes that remove all log entries up to `number`, and the last change that has one; 0 if there are none.
fn removals(store: &dyn Store, number: u64) -> Result<(Vec<Change>, u64), HistoryError> {
    let (mut changes, mut last) = (Vec::new(), 0);
    store.scan(LOG, &mut |key, _| {
        if let Some(of) = of_key(key).filter(|of| *of <= number) {
            last = last.max(of);
            changes.push(Change::remove(key));
        }
    })?;
    Ok((changes, last))
}

/// Whether `key` belongs to the log, which has no meaning in another store.
pub(super) fn is_log(key: &str) -> bool {
    key.starts_with(LOG)
}

fn trimmed(store: &dyn Store) -> Result<u64, HistoryError> {
    let number = store.get(TRIMMED)?.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok());
    Ok(number.unwrap_or(0))
}

/// The key after which the entries of changes later than `number` begin.
fn behind(number: u64) -> String {
    format!("{LOG}{number:020}{BEHIND}")
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
        trim(&mut store)?;
        assert_eq!(after(&store, 0)?, ids(&["a", "b"]), "it is short");
        for number in 0..2 * KEPT {
            commit(&mut store, vec![Change::put(format!("incidents/{number}"), vec![1; 9])])?;
        }
        // Changes of rules do not touch the history, and there may be many of them.
        for _ in 0..2 * NEAR {
            store.commit(&[Change::put("rules/user/r", "1")])?;
        }
        let before = last(&store)?;
        assert_eq!(before, store.change() - 2 * NEAR);
        trim(&mut store)?;
        assert_eq!((after(&store, 3)?, after(&store, before)?), (Touched::Unknown, Touched::None));
        let kept = store.change() - KEPT;
        assert!(matches!(after(&store, kept)?, Touched::Some(ids) if ids.len() as u64 > KEPT - 3 * NEAR));
        assert_eq!(last(&store)?, before);
        let many = (0..20_000).map(|number| Change::put(format!("incidents/{number:08}"), "1")).collect();
        commit(&mut store, many)?;
        assert!(matches!(after(&store, before)?, Touched::Some(ids) if ids.len() == 20_000));
        forget_changes(&mut store)?;
        assert_eq!((after(&store, before)?, last(&store)?), (Touched::Unknown, store.change() - 1));
        Ok(())
    }
}
