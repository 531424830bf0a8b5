use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::compact::NEW;
use super::engine::{self, Engine, Lost};
use super::error::StoreError;
use super::format;
use super::journal::{self, DoneNote, Journal, NewJournal};
use super::{record, space};
use crate::durable;

/// Gives a store of an earlier format, which was sled alone, its journal.
pub(super) fn upgrade(path: &Path) -> Result<(), StoreError> {
    let io = |error| StoreError::io(path, error);
    let damaged = |what: String| StoreError::Damaged { path: path.to_owned(), what };
    let lost = |Lost| damaged("sled cannot make sense of it".to_owned());
    // A compaction of that format was interrupted between its two steps.
    let (engine, old) = (path.join(engine::FOLDER), path.join("sled.old"));
    if old.exists() && !engine.exists() {
        fs::rename(&old, &engine).map_err(io)?;
    }
    let (engine, change) = Engine::open(path).map_err(lost)?;
    let new = path.join(NEW);
    let mut journal = NewJournal::begin(&new, change).map_err(io)?;
    let (mut live, mut counts) = (0, BTreeMap::<String, u64>::new());
    for found in engine.records("") {
        let (key, sealed) = found.map_err(lost)?;
        record::open(&key, &sealed).map_err(damaged)?;
        journal.put(&key, &sealed).map_err(io)?;
        live += (key.len() + sealed.len()) as u64;
        *counts.entry(space(&key).to_owned()).or_default() += 1;
    }
    for (space, count) in counts {
        if engine.count(&space).map_err(lost)? != count {
            return Err(damaged(format!("{count} records are left of {space}")));
        }
    }
    journal.finish().map_err(io)?;
    drop(engine);
    let place = path.join(journal::FILE);
    durable::rename(&new, &place).map_err(io)?;
    let end = fs::metadata(&place).map_err(io)?.len();
    Journal::open(path, end)
        .and_then(|mut journal| journal.done(DoneNote { change, is_in_engine: true, live }))
        .map_err(io)?;
    // From here on older versions of oomdoc refuse the store.
    format::mark_ready(path)
}
