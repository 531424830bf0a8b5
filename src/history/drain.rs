use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::index::{IndexError, follow};
use super::outcome::resolve_all;
use super::{HistoryError, Live, add, changes, experience, spool};
use crate::store::{DiskStore, Snapshot, Store, View};

/// Records to a commit: few enough that a power cut repeats little, enough that a commit costs each next to nothing.
const AT_ONCE: usize = 64;

/// Opens the store in `home`, waiting for `patience` where another process has it, and moves there what waits in the
/// spool.
pub fn drain(home: &Path, patience: Duration) -> Result<DiskStore, HistoryError> {
    let mut store = DiskStore::open_within(home, patience)?;
    take_spool(&mut store, &mut |store| publish(store).map(drop))?;
    Ok(store)
}

/// Moves into `store` what waits in the spool of its home. A file goes only after the store has acknowledged its record and searches find
/// it elsewhere, for which `publish` sees.
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
        // Where the index does not follow, the snapshot says so, and searches read the store.
        publish(store)?;
        drained.iter().try_for_each(|file| spool::remove(file))?;
    }
    Ok(())
}

/// The store in `home` with what waits in its spool, for those who only look: it can be had beside a writer and without leave to
/// write. Why not, where it is damaged.
pub fn look(home: &Path) -> Result<View, HistoryError> {
    // Before the store: what is drained meanwhile is known to one of them.
    let (records, outcomes) = spool::look(home)?;
    let mut view = View::of(home)?;
    add(&mut view, &records)?;
    resolve_all(&mut view, &outcomes)?;
    Ok(view)
}

/// Tells everybody else what is new in the store: searches by the index, analyses by the snapshot. Why the index does not
/// follow, where it does not.
pub fn publish(store: &mut DiskStore) -> Result<Option<IndexError>, HistoryError> {
    // First: the snapshot says how far an index must follow.
    let followed = follow(store);
    if followed.is_ok() {
        changes::trim(store)?;
    }
    snapshot(store)?;
    Ok(followed.err())
}

/// What [`publish`] does, for an owner who follows the store with `live` all the time: to be called seldom, since it reads all groups and
/// outcomes. Analyses learn of what came since then; searches of others than the owner's see it as soon as `live` does.
pub fn settle(store: &mut DiskStore, live: &Live) -> Result<(), HistoryError> {
    live.follow(store)?;
    if Snapshot::head(store.home()).is_some_and(|(change, _)| change == store.change()) {
        return Ok(());
    }
    changes::trim(store)?;
    snapshot(store)
}

/// Writes what analyses are told of the store.
pub fn snapshot(store: &DiskStore) -> Result<(), HistoryError> {
    let (experience, history) = (experience(store)?, changes::last(store)?);
    Ok(Snapshot { experience, history, ..Snapshot::of(store)? }.write(store.home())?)
}
