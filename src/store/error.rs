use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::disk_space;

/// Why the store cannot be used. [`StoreError::advice`] says what to do.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process has it open.
    #[error("the store {path} is in use by {holder}")]
    Busy {
        /// The store.
        path: PathBuf,
        /// The process, if it left its name.
        holder: String,
    },
    /// The folder contains something else.
    #[error("{path} is not empty and not a store of oomdoc's")]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// It was written by a newer oomdoc.
    #[error("the store {path} has format {found}; this oomdoc knows formats up to {known}")]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest known format.
        known: u32,
    },
    /// It is damaged.
    #[error("the store {path} is damaged: {what}")]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What is damaged.
        what: String,
    },
    /// It is older than what was read from it before.
    #[error("the store {path} went back in time: it is at change {found}, and change {seen} was acknowledged")]
    RolledBack {
        /// The store.
        path: PathBuf,
        /// Its last change.
        found: u64,
        /// The last change that the snapshot knows.
        seen: u64,
    },
    /// It cannot be written.
    #[error("{path} cannot be written: {error}")]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The disk is full.
    #[error("the disk of {path} is full")]
    DiskFull {
        /// The file or folder.
        path: PathBuf,
    },
    /// A value is too large.
    #[error("{key} has {bytes} bytes; a record may have {most}")]
    TooLarge {
        /// Its key.
        key: String,
        /// Its size in bytes.
        bytes: usize,
        /// The largest size in bytes.
        most: usize,
    },
    /// A commit failed earlier, so it is unknown whether later ones would be durable.
    #[error("the store {path} is closed to changes since one of them failed")]
    Failed {
        /// The store.
        path: PathBuf,
    },
    /// Any other error of reading or writing.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl StoreError {
    /// Classifies a system error by what the user can do about it.
    pub(crate) fn io(path: &Path, error: io::Error) -> StoreError {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path, error },
            _ if disk_space::is_exhausted(&error) => StoreError::DiskFull { path },
            _ => StoreError::Io { path, error },
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            StoreError::Busy { .. } => "wait until that process is done, or end it; analyses go on meanwhile",
            StoreError::Foreign { .. } => {
                "name another folder with --home or $OOMDOC_HOME; nothing in this one was touched"
            }
            StoreError::Newer { .. } => {
                "use the newer oomdoc, or another folder: --home; nothing in this one was touched"
            }
            StoreError::Damaged { .. } | StoreError::RolledBack { .. } => {
                "`oomdoc history salvage` keeps all that can be read; or put the folder back from a backup"
            }
            StoreError::ReadOnly { .. } => "give write access, or name another folder with --home or $OOMDOC_HOME",
            StoreError::DiskFull { .. } => "make room and try again; what was acknowledged before is safe",
            StoreError::TooLarge { .. } => "split it into several files",
            StoreError::Failed { .. } => "run the command again: the store is checked when it is opened",
            StoreError::Io { .. } => "check the folder, or name another one with --home or $OOMDOC_HOME",
        }
    }
}
