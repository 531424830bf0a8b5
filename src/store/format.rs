//! The marker file, which says what a folder is and in which format. It is needed because each version of sled opens
//! the folder of another as an empty one, without an error.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::journal;
use crate::durable;
use crate::hexadecimal::hexadecimal;

/// The format that is written, and the newest that can be read. Format 1 had no compressed records, format 2 no
/// journal.
const FORMAT: u32 = 3;
pub(super) const MARKER: &str = "FORMAT";
const MAGIC: &str = "oomdoc store";
const ENGINE: &str = "sled 0.34.7";
const NEW: &str = "new";
const READY: &str = "ready";

/// The state of a folder according to its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is empty, or the creation of a store was begun.
    New,
    /// It contains a store of an earlier format, which was sled alone.
    Old,
    /// It contains a store.
    Ready,
}

/// The state of `folder`, or why it is not a store.
pub(super) fn read(folder: &Path) -> Result<State, StoreError> {
    let marker = folder.join(MARKER);
    match fs::read(&marker) {
        Ok(bytes) => parse(folder, &String::from_utf8_lossy(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match is_empty(folder) {
            Ok(true) => Ok(State::New),
            // Another process may have created the store between the two looks; the marker is always written first.
            Ok(false) => match fs::read(&marker) {
                Ok(bytes) => parse(folder, &String::from_utf8_lossy(&bytes)),
                Err(_) if folder.join(journal::FILE).exists() => {
                    Err(StoreError::Damaged { path: folder.to_owned(), what: format!("{MARKER} is gone") })
                }
                Err(_) => Err(StoreError::Foreign { path: folder.to_owned() }),
            },
            Err(error) => Err(StoreError::io(folder, error)),
        },
        Err(error) => Err(StoreError::io(&marker, error)),
    }
}

fn parse(folder: &Path, text: &str) -> Result<State, StoreError> {
    let path = folder.to_owned();
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return Err(StoreError::Foreign { path });
    }
    let mut value = |key: &str| lines.next().and_then(|line| line.strip_prefix(key)).map(str::trim);
    let number = match value("format ").and_then(|number| number.parse::<u32>().ok()) {
        Some(found) if found > FORMAT => return Err(StoreError::Newer { path, found, known: FORMAT }),
        Some(number) => number,
        None => return Err(StoreError::Damaged { path, what: format!("{MARKER} names no format") }),
    };
    match (value("engine "), value("state ")) {
        (Some(ENGINE), Some(NEW)) => Ok(State::New),
        (Some(ENGINE), Some(READY)) if number < FORMAT => Ok(State::Old),
        (Some(ENGINE), Some(READY)) => Ok(State::Ready),
        (engine, _) => {
            let what = format!("{MARKER} names the engine {:?}, not `{ENGINE}`", engine.unwrap_or_default());
            Err(StoreError::Damaged { path, what })
        }
    }
}

/// The id of the store in `folder`.
pub(super) fn id_of(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(MARKER)).ok()?;
    text.lines().find_map(|line| line.strip_prefix("id ")).map(|id| id.trim().to_owned())
}

/// Marks `folder` as a store in creation, before any other file is created: an interrupted creation can thus be told
/// from a store that lost its contents.
pub(super) fn mark_new(folder: &Path) -> Result<(), StoreError> {
    mark(folder, NEW)
}

/// Marks `folder` as a store of this format.
pub(super) fn mark_ready(folder: &Path) -> Result<(), StoreError> {
    mark(folder, READY)
}

/// Writes the marker; an existing id is kept.
fn mark(folder: &Path, state: &str) -> Result<(), StoreError> {
    let id = id_of(folder).unwrap_or_else(id);
    let text = format!("{MAGIC}\nformat {FORMAT}\nengine {ENGINE}\nstate {state}\nid {id}\n");
    let marker = folder.join(MARKER);
    durable::replace(&marker, text.as_bytes()).map_err(|error| StoreError::io(&marker, error))
}

/// Whether `folder` contains anything that is a store or should be one.
pub(super) fn is_anything(folder: &Path) -> bool {
    match is_empty(folder) {
        Ok(is_empty) => !is_empty || folder.join(MARKER).exists(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// A new id; it must be unique but not secret.
fn id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let digest =
        Sha256::new().chain_update(now.to_le_bytes()).chain_update(std::process::id().to_le_bytes()).finalize();
    hexadecimal(&digest[..8])
}

/// Whether `folder` is empty apart from a lock and a marker.
fn is_empty(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name != super::owner::FILE && !name.starts_with(MARKER) {
            return Ok(false);
        }
    }
    Ok(true)
}
