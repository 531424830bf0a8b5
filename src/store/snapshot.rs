//! The snapshot: the one file for everybody who only reads, replaced at each commit.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::error::StoreError;
use super::{Store, own_rules};
use crate::durable;
use crate::hexadecimal::hexadecimal;
use crate::knowledge::RuleFile;
use crate::model::Experience;

const FILE: &str = "snapshot";
const MAGIC: &str = "oomdoc snapshot";
/// Fields may be added within a version; readers ignore unknown ones.
const VERSION: u32 = 1;

/// What an analysis needs from the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the change after which it was written.
    pub change: u64,
    /// The number of the last change to the history.
    #[serde(default)]
    pub history: u64,
    /// The user's rules.
    #[serde(default)]
    pub rules: Vec<RuleFile>,
    /// Earlier incidents and what was tried against them.
    #[serde(default)]
    pub experience: Experience,
}

/// Why a snapshot cannot be used. Nothing is lost by that: the store has everything.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// It cannot be read.
    #[error("{path} cannot be read: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// It was written by a newer oomdoc.
    #[error("{path} has format {found}; this oomdoc knows formats up to {VERSION}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// It is damaged.
    #[error("{path} is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl SnapshotError {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            SnapshotError::Unreadable { .. } => "give read access, or name another folder with --home or $OOMDOC_HOME",
            SnapshotError::Newer { .. } => "use the newer oomdoc, or another folder: --home",
            SnapshotError::Damaged { .. } => {
                "`oomdoc history reindex` writes it anew; your rules and incidents are in the store"
            }
        }
    }
}

impl Snapshot {
    /// Reads the snapshot in `home`; an empty one if nothing was ever stored.
    pub fn read(home: &Path) -> Result<Snapshot, SnapshotError> {
        let path = home.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Snapshot::default()),
            Err(error) => return Err(SnapshotError::Unreadable { path, error }),
        };
        parse(&bytes).map_err(|found| match found {
            Some(found) => SnapshotError::Newer { path, found },
            None => SnapshotError::Damaged { path },
        })
    }

    /// The number of the last change that the snapshot in `home` knows; 0 if it cannot be read.
    pub fn last_change(home: &Path) -> u64 {
        // A damaged snapshot is replaced at the next change.
        Snapshot::read(home).map_or(0, |snapshot| snapshot.change)
    }

    /// The numbers of the last change in `home` and of the last one to its history, from the first bytes of the
    /// snapshot: the rest may be large. `None` if they cannot be read.
    pub fn head(home: &Path) -> Option<(u64, u64)> {
        const HEAD: u64 = 512;
        let mut head = Vec::new();
        match fs::File::open(home.join(FILE)) {
            Ok(file) => file.take(HEAD).read_to_end(&mut head).ok()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some((0, 0)),
            Err(_) => return None,
        };
        let head = String::from_utf8_lossy(&head);
        let (_, content) = head.split_once('\n')?;
        let of = |field: &str| -> Option<u64> {
            let (_, rest) = content.split_once(&format!("\"{field}\":"))?;
            rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
        };
        // Earlier versions wrote no number of the history, and had no index.
        of("change").map(|change| (change, of("history").unwrap_or(0)))
    }

    /// A snapshot with the rules in `store`; the history adds its part.
    pub fn of(store: &dyn Store) -> Result<Snapshot, StoreError> {
        Ok(Snapshot { change: store.change(), rules: own_rules(store)?, ..Snapshot::default() })
    }

    /// Replaces the snapshot in `home`.
    pub fn write(&self, home: &Path) -> Result<(), StoreError> {
        let path = home.join(FILE);
        let content = serde_json::to_vec(self).map_err(|error| StoreError::io(&path, error.into()))?;
        let mut bytes = format!("{MAGIC} {VERSION} {}\n", digest(&content)).into_bytes();
        bytes.extend(content);
        durable::replace(&path, &bytes).map_err(|error| StoreError::io(&path, error))
    }
}

/// The error is the version if it is too new, otherwise `None`.
fn parse(bytes: &[u8]) -> Result<Snapshot, Option<u32>> {
    let end = memchr::memchr(b'\n', bytes).ok_or(None)?;
    let (head, content) = (std::str::from_utf8(&bytes[..end]).map_err(|_| None)?, &bytes[end + 1..]);
    let (version, checksum) = head.strip_prefix(MAGIC).and_then(|rest| rest.trim().split_once(' ')).ok_or(None)?;
    match version.parse::<u32>() {
        Ok(found) if found > VERSION => Err(Some(found)),
        Ok(_) if checksum == digest(content) => serde_json::from_slice(content).map_err(|_| None),
        _ => Err(None),
    }
}

fn digest(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn snapshot() -> Snapshot {
        let file = RuleFile { path: "causes/a.toml".to_owned(), content: "id = \"甲\"\n".to_owned() };
        Snapshot { change: 7, rules: vec![file], ..Snapshot::default() }
    }

    #[test]
    fn what_was_written_is_read() -> Outcome {
        let home = tempfile::tempdir()?;
        assert_eq!(Snapshot::read(home.path())?, Snapshot::default());
        snapshot().write(home.path())?;
        assert_eq!(Snapshot::read(home.path())?, snapshot());
        assert_eq!(fs::read_dir(home.path())?.count(), 1, "no temporary file stays");
        Ok(())
    }

    #[test]
    fn damage_and_newer_formats_are_told_apart() -> Outcome {
        let home = tempfile::tempdir()?;
        snapshot().write(home.path())?;
        let path = home.path().join(FILE);
        let whole = fs::read(&path)?;
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut])?;
            assert!(matches!(Snapshot::read(home.path()), Err(SnapshotError::Damaged { .. })), "cut at {cut}");
        }
        let newer = String::from_utf8(whole)?.replacen("snapshot 1", "snapshot 9", 1);
        fs::write(&path, newer)?;
        assert!(matches!(Snapshot::read(home.path()), Err(SnapshotError::Newer { found: 9, .. })));
        Ok(())
    }

    #[test]
    fn fields_of_later_versions_are_left_out() {
        let content = br#"{"change":3,"weather":{"a":1}}"#;
        let bytes = [format!("{MAGIC} 1 {}\n", digest(content)).as_bytes(), content].concat();
        assert_eq!(parse(&bytes), Ok(Snapshot { change: 3, ..Snapshot::default() }));
    }
}
