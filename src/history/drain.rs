use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::index::{IndexError, follow};
use super::outcome::resolve_all;
use super::{HistoryError, Live, add, changes, experience, spool};
use crate::store::{DiskStore, Snapshot, Store, View};

/// Records per commit: few enough that a power cut repeats little, enough to make the cost of the commit negligible.
const AT_ONCE: usize = 64;

/// Opens the store in `home`, waiting up to `patience` if another process has it open, and moves into it what waits in
/// the spool.
pub fn drain(home: &Path, patience: Duration) -> Result<DiskStore, HistoryError> {
    let mut store = DiskStore::open_within(home, patience)?;
    take_spool(&mut store, &mut |store| publish(store).map(drop))?;
    Ok(store)
}

/// Moves what waits in the spool of the store's home into `store`. A file is removed only after the store has
/// acknowledged its record and `publish` has made sure that searches find it there.
pub fn take_spool(
    store: &mut DiskStore,
    publish: &mut dyn FnMut(&mut DiskStore) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let home = store.home().to_owned();
    spool::sweep(&home);
    let mut drained: BTreeSet<PathBuf> = BTreeSet::new();
    loop {
        let files = spool::waiting(&home)?.into_iter().filter(|file| !drained.contains(file));
        let files: Vec<PathBuf> = files.take(AT_ONCE).collect();
        if files.is_empty() {
            break;
        }
        let mut waiting = Vec::new();
        for file in &files {
            waiting.extend(spool::take(file)?);
        }
        let (records, outcomes) = spool::apart(waiting.into_iter());
        add(store, &records)?;
        resolve_all(store, &outcomes)?;
        drained.extend(files);
    }
    if !drained.is_empty() {
        // If the index cannot follow, the snapshot says so, and searches read the store.
        publish(store)?;
        drained.iter().try_for_each(|file| spool::remove(file))?;
    }
    Ok(())
}

/// A read-only view of the store in `home` with what waits in its spool. It works beside a writer and without write
/// permission; it fails if the store is damaged.
pub fn look(home: &Path) -> Result<View, HistoryError> {
    // Read the spool before the store: a record that is drained in between is then known to at least one of them.
    let (records, outcomes) = spool::look(home)?;
    let mut view = View::of(home)?;
    add(&mut view, &records)?;
    resolve_all(&mut view, &outcomes)?;
    Ok(view)
}

/// Makes what is new in the store known to other processes: to searches through the index, to analyses through the
/// snapshot. If the index cannot follow, the result says why.
pub fn publish(store: &mut DiskStore) -> Result<Option<IndexError>, HistoryError> {
    // The index first: the snapshot says how far an index must follow.
    let followed = follow(store);
    if followed.is_ok() {
        changes::trim(store)?;
    }
    snapshot(store)?;
    Ok(followed.err())
}

/// Does the work of [`publish`] for an owner that follows the store with `live` all the time. Call it seldom, since it
/// reads all groups and outcomes. Until then analyses do not see what is new; other processes' searches do as soon as
/// `live` has followed.
pub fn settle(store: &mut DiskStore, live: &Live) -> Result<(), HistoryError> {
    live.follow(store)?;
    if Snapshot::head(store.home()).is_some_and(|(change, _)| change == store.change()) {
        return Ok(());
    }
    changes::trim(store)?;
    snapshot(store)
}

/// Writes the snapshot that analyses read.
pub fn snapshot(store: &DiskStore) -> Result<(), HistoryError> {
    let (experience, history) = (experience(store)?, changes::last(store)?);
    Ok(Snapshot { experience, history, ..Snapshot::of(store)? }.write(store.home())?)
}
