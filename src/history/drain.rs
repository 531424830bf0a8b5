use std::path::Path;
use std::time::Duration;

use super::{HistoryError, Record, add, experience, spool};
use crate::store::{DiskStore, Snapshot};

/// Records to a commit: few enough that a power cut repeats little, enough that a commit costs each next to nothing.
const AT_ONCE: usize = 64;

/// Opens the store in `home`, waiting for `patience` where another process has it, and moves there what waits in the
/// spool. A file goes only after the store has acknowledged its record.
pub fn drain(home: &Path, patience: Duration) -> Result<DiskStore, HistoryError> {
    let mut store = DiskStore::open_within(home, patience)?;
    let mut drained = false;
    loop {
        let files = spool::waiting(home)?;
        let files = &files[..files.len().min(AT_ONCE)];
        if files.is_empty() {
            break;
        }
        let mut records: Vec<Record> = Vec::new();
        for file in files {
            records.extend(spool::take(file)?);
        }
        add(&mut store, &records)?;
        for file in files {
            spool::remove(file)?;
        }
        drained = true;
    }
    if drained {
        snapshot(&store)?;
    }
    Ok(store)
}

/// Writes what analyses are told of the store.
pub fn snapshot(store: &DiskStore) -> Result<(), HistoryError> {
    let experience = experience(store)?;
    Ok(Snapshot { experience, ..Snapshot::of(store)? }.write(store.home())?)
}
