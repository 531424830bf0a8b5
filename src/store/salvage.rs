//! What can be read of a damaged store: of the journal all entries that are whole, whatever stands between them, and of sled what
//! the journal lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::compact::NEW;
use super::disk::{FOLDER, PATIENCE};
use super::engine::{self, Engine};
use super::error::StoreError;
use super::format;
use super::journal::{FILE, Making, Readable};
use super::owner::Owner;
use super::{Snapshot, record};
use crate::durable;

/// What a salvage found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// Records that are kept.
    pub records: u64,
    /// Those of them that only sled still had.
    pub restored: u64,
    /// Places in the journal that make no sense.
    pub gaps: u64,
    /// Where what is damaged lies now.
    pub damaged: PathBuf,
}

/// Makes the store in `home` anew of what can be read of it. The damaged one stays beside it.
pub fn salvage(home: &Path) -> Result<Salvaged, StoreError> {
    let path = home.join(FOLDER);
    let io = |error| StoreError::io(&path, error);
    let (journal, new) = (path.join(FILE), path.join(NEW));
    match format::read(&path) {
        // That is no damage.
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
    // More than anybody has seen.
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
        // A link where the system has them.
        FILE => fs::hard_link(&journal, &damaged).or_else(|_| fs::copy(&journal, &damaged).map(drop)).map_err(io)?,
        _ => fs::rename(path.join(what), &damaged).map_err(io)?,
    }
    durable::rename(&new, &journal).map_err(io)?;
    engine::discard(&path);
    format::mark_ready(&path)?;
    Ok(Salvaged { records, restored, gaps: readable.gaps, damaged })
}

/// Writes a journal at `new` of all that can be read, as the change `change`; how many records that are, and how many of them the
/// journal knew nothing of. What sled has counts where it is as new as the journal, and where the journal has nothing.
fn write(
    new: &Path,
    change: u64,
    readable: &Readable,
    engine: Option<&Engine>,
    is_new: bool,
) -> io::Result<(u64, u64)> {
    let mut journal = Making::begin(new, change)?;
    let (mut of_engine, mut restored) = (BTreeSet::new(), 0);
    // Behind what sled cannot read, the journal goes on alone.
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
