//! Incidents and outcomes on their way into the store: one complete, durable file each, so that a writer need not wait
//! for the store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{HistoryError, Outcome, Record};
use crate::durable;

const FOLDER: &str = "spool";
const WAITING: &str = "json";
/// The extension of files that could not be read; they stay for a person to look at.
const UNREADABLE: &str = "unreadable";

/// An entry of the spool.
#[derive(Debug)]
pub enum Waiting {
    /// An incident.
    Incident(Box<Record>),
    /// The outcome of a change.
    Outcome(Box<Outcome>),
}

impl Waiting {
    fn read(bytes: &[u8]) -> Result<Waiting, serde_json::Error> {
        let outcome = |error| {
            serde_json::from_slice(bytes)
                .map(|SpooledOutcome { outcome }| Waiting::Outcome(Box::new(outcome)))
                .map_err(|_| error)
        };
        Record::read(bytes).map(|record| Waiting::Incident(Box::new(record))).or_else(outcome)
    }
}

/// The form in which an outcome is written.
#[derive(Debug, Serialize, Deserialize)]
struct SpooledOutcome<O> {
    outcome: O,
}

/// Writes `record` into the spool of `home`; from then on it survives a power cut.
pub fn put(home: &Path, record: &Record) -> Result<PathBuf, HistoryError> {
    leave(home, &record.bytes()?)
}

/// Writes `outcome` into the spool of `home`.
pub fn put_outcome(home: &Path, outcome: &Outcome) -> Result<PathBuf, HistoryError> {
    leave(home, &serde_json::to_vec(&SpooledOutcome { outcome })?)
}

fn leave(home: &Path, bytes: &[u8]) -> Result<PathBuf, HistoryError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = home.join(FOLDER);
    durable::make_folder(&folder).map_err(|error| HistoryError::file(&folder, error))?;
    let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    // The names sort by time; the process id and its counter distinguish entries of the same clock tick.
    let path = folder.join(format!("{nanoseconds:020}-{process}-{next}.{WAITING}"));
    durable::replace(&path, bytes).map_err(|error| HistoryError::file(&path, error))?;
    Ok(path)
}

/// Whether anything waits in the spool of `home`.
pub fn is_waiting(home: &Path) -> bool {
    waiting(home).is_ok_and(|files| !files.is_empty())
}

/// The files in the spool of `home`, oldest first.
pub(super) fn waiting(home: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let folder = home.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(HistoryError::file(&folder, error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| HistoryError::file(&folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == WAITING) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Passes the entries in the spool of `home` to `take_over`, oldest first, removes those it accepts (`true`) and
/// returns their number. Entries that it refuses for good (`false`) are set aside for a person to look at. At an error
/// it stops: the entry and those after it stay.
pub fn hand_over<E: From<HistoryError>>(
    home: &Path,
    mut take_over: impl FnMut(Waiting) -> Result<bool, E>,
) -> Result<usize, E> {
    let mut taken = 0;
    for path in waiting(home)? {
        if let Some(waiting) = take(&path)? {
            match take_over(waiting)? {
                true => {
                    remove(&path)?;
                    taken += 1;
                }
                false => set_aside(&path)?,
            }
        }
    }
    Ok(taken)
}

/// Reads a file of the spool; an unreadable one is set aside.
pub(super) fn take(path: &Path) -> Result<Option<Waiting>, HistoryError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(HistoryError::file(path, error)),
    };
    match Waiting::read(&bytes) {
        Ok(waiting) => Ok(Some(waiting)),
        Err(_) => set_aside(path).map(|()| None),
    }
}

fn set_aside(path: &Path) -> Result<(), HistoryError> {
    let aside = path.with_extension(UNREADABLE);
    fs::rename(path, &aside).map_err(|error| HistoryError::file(&aside, error))
}

/// Reads the spool of `home` and leaves it as it is; unreadable files are skipped.
pub(super) fn look(home: &Path) -> Result<(Vec<Record>, Vec<Outcome>), HistoryError> {
    let read = |path: &PathBuf| Waiting::read(&fs::read(path).ok()?).ok();
    Ok(apart(waiting(home)?.iter().filter_map(read)))
}

/// Separates incidents and outcomes.
pub(super) fn apart(all: impl Iterator<Item = Waiting>) -> (Vec<Record>, Vec<Outcome>) {
    let (mut records, mut outcomes) = (Vec::new(), Vec::new());
    for waiting in all {
        match waiting {
            Waiting::Incident(record) => records.push(*record),
            Waiting::Outcome(outcome) => outcomes.push(*outcome),
        }
    }
    (records, outcomes)
}

/// Removes from the spool of `home` the partial files of killed processes.
pub(super) fn sweep(home: &Path) {
    durable::sweep(&home.join(FOLDER));
}

/// Removes an entry that the store has acknowledged.
pub(super) fn remove(path: &Path) -> Result<(), HistoryError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HistoryError::file(path, error)),
        _ => Ok(()),
    }
}
