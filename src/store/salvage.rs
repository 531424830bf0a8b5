//! Salvage of a damaged store: all entries of the journal that are whole, and records that only sled still has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::compact::NEW;
use super::disk::{FOLDER, PATIENCE};
use super::engine::{self, Engine};
use super::error::StoreError;
use super::format;
use super::journal::{FILE, NewJournal, Readable};
use super::owner::Owner;
use super::{Snapshot, record};
use crate::durable;

/// The result of a salvage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// Records that were saved.
    pub records: u64,
    /// Those of them that only sled had.
    pub restored: u64,
    /// Unreadable gaps in the journal.
    pub gaps: u64,
    /// Where the damaged file is now.
    pub damaged: PathBuf,
}

/// Rebuilds the store in `home` from what can be read of it. The damaged file is kept beside it.
pub fn salvage(home: &Path) -> Result<Salvaged, StoreError> {
    let path = home.join(FOLDER);
    let io = |error| StoreError::io(&path, error);
    let (journal, new) = (path.join(FILE), path.join(NEW));
    match format::read(&path) {
        // These are no damage.
        Err(error @ (StoreError::Newer { .. } | StoreError::Io { .. } | StoreError::ReadOnly { .. })) => {
            return Err(error);
        }
        Err(error @ StoreError::Foreign { .. }) if !journal.exists() => return Err(error),
        _ => {}
    }
    let _owner = Owner::of(&path, PATIENCE)?;
    let readable = Readable::read(&journal).map_err(io)?;
    let engine = Engine::open(&path).ok();
    let told = engine.as_ref().map_or(0, |(_, change)| *change);
    let seen = Snapshot::last_change(home);
    // Higher than any number that was seen before.
    let change = readable.change.max(told).max(seen) + 1;
    let written = write(&new, change, &readable, engine.as_ref().map(|(engine, _)| engine), told >= readable.change);
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    let (records, restored) = written.map_err(io)?;
    drop(engine);
    let what = if journal.exists() { FILE } else { engine::FOLDER };
    let damaged = path.join(format!("{what}.damaged-{change}"));
    match what {
        // A hard link where the system supports it.
        FILE => fs::hard_link(&journal, &damaged).or_else(|_| fs::copy(&journal, &damaged).map(drop)).map_err(io)?,
        _ => fs::rename(path.join(what), &damaged).map_err(io)?,
    }
    durable::rename(&new, &journal).map_err(io)?;
    engine::discard(&path);
    format::mark_ready(&path)?;
    Ok(Salvaged { records, restored, gaps: readable.gaps, damaged })
}

/// Writes a journal at `new` from all that can be read, as the change `change`; returns the number of records, and of
/// those that the journal did not have. sled's values are used if sled is as new as the journal, and for keys that the
/// journal lacks.
fn write(
    new: &Path,
    change: u64,
    readable: &Readable,
    engine: Option<&Engine>,
    is_new: bool,
) -> io::Result<(u64, u64)> {
    let mut journal = NewJournal::begin(new, change)?;
    let (mut of_engine, mut restored) = (BTreeSet::new(), 0);
    // After the first record that sled cannot read, only the journal is used.
    for (key, sealed) in engine.into_iter().flat_map(|engine| engine.records("")).map_while(Result::ok) {
        let is_known = readable.places.contains_key(&key);
        if (is_new || !is_known) && record::open(&key, &sealed).is_ok() {
            journal.put(&key, &sealed)?;
            restored += u64::from(!is_known);
            of_engine.insert(key);
        }
    }
    for (key, place) in readable.places.iter().filter(|(key, _)| !of_engine.contains(*key)) {
        if let Some(place) = place {
            let sealed = readable.fetch(*place)?;
            if record::open(key, &sealed).is_ok() {
                journal.put(key, &sealed)?;
            }
        }
    }
    Ok((journal.finish()?, restored))
}
