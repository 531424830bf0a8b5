//! Where incidents wait that are not in the store yet: a file each, whole and durable. Whoever wrote one is done.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use super::{HistoryError, Record};
use crate::durable;

const FOLDER: &str = "spool";
const WAITING: &str = "json";
/// What nobody could read stays, for a person to look at.
const UNREADABLE: &str = "unreadable";

/// Leaves `record` in the spool of `home`: it survives a power cut from here on.
pub fn put(home: &Path, record: &Record) -> Result<PathBuf, HistoryError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = home.join(FOLDER);
    durable::make_folder(&folder).map_err(|error| HistoryError::file(&folder, error))?;
    let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    // In the order of time; the process' own number tells apart what came in one tick.
    let path = folder.join(format!("{nanoseconds:020}-{process}-{next}.{WAITING}"));
    durable::replace(&path, &record.bytes()?).map_err(|error| HistoryError::file(&path, error))?;
    Ok(path)
}

/// Whether anything waits in `home`.
pub fn is_waiting(home: &Path) -> bool {
    waiting(home).is_ok_and(|files| !files.is_empty())
}

/// What waits in `home`, oldest first.
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

/// A record of the spool; one that makes no sense is set aside.
pub(super) fn take(path: &Path) -> Result<Option<Record>, HistoryError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(HistoryError::file(path, error)),
    };
    match Record::read(&bytes) {
        Ok(record) => Ok(Some(record)),
        Err(_) => {
            let aside = path.with_extension(UNREADABLE);
            fs::rename(path, &aside).map_err(|error| HistoryError::file(&aside, error))?;
            Ok(None)
        }
    }
}

/// The records that wait in `home`, left where they are; what makes no sense is left out.
pub(super) fn look(home: &Path) -> Result<Vec<Record>, HistoryError> {
    let read = |path: &PathBuf| Record::read(&fs::read(path).ok()?).ok();
    Ok(waiting(home)?.iter().filter_map(read).collect())
}

/// Removes from the spool of `home` what those left half-written who were killed.
pub(super) fn sweep(home: &Path) {
    durable::sweep(&home.join(FOLDER));
}

/// Removes what the store has acknowledged.
pub(super) fn remove(path: &Path) -> Result<(), HistoryError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HistoryError::file(path, error)),
        _ => Ok(()),
    }
}
