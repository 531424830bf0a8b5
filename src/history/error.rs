use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{IndexError, Mark, QueryError};
use crate::store::StoreError;

/// Why an operation on the history failed. [`HistoryError::advice`] says what to do.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record is not JSON of the expected shape.
    #[error("a record cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// An incident is larger than a record may be.
    #[error("the incident {id} has {bytes} bytes, whatever is left out")]
    TooLarge {
        /// The incident.
        id: String,
        /// Its size.
        bytes: usize,
    },
    /// An incident already has the maximum number of notes.
    #[error("the incident {id} has {} notes already", super::Annotations::MOST_NOTES)]
    TooManyNotes {
        /// The incident.
        id: String,
    },
    /// There is no incident with this id.
    #[error("no incident `{id}`")]
    NotFound {
        /// The requested id.
        id: String,
    },
    /// Several incidents' ids begin with `id`.
    #[error("`{id}` may be {}", .known.join(", "))]
    Ambiguous {
        /// The requested id.
        id: String,
        /// The ids.
        known: Vec<String>,
    },
    /// The query makes no sense.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The incident has no patch of this number.
    #[error("the incident {id} has no patch {number}; it has {known}")]
    NoSuchPatch {
        /// The incident.
        id: String,
        /// The requested number.
        number: usize,
        /// How many patches it has.
        known: usize,
    },
    /// No page of this list ends with this cursor.
    #[error("`{cursor}` is no place in this list")]
    Cursor {
        /// The given cursor.
        cursor: String,
    },
    /// A file is not a backup, or an incomplete one.
    #[error("{path} is no whole backup: {problem}")]
    Backup {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The folder to restore into already has a history.
    #[error("there is a history in {home} already")]
    NotEmpty {
        /// The folder.
        home: PathBuf,
    },
    /// The index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The log of changes does not reach back to the end of the previous export.
    #[error("what changed after {since} is not known: it is too long ago, or of another history")]
    Forgotten {
        /// Where that export ended.
        since: Mark,
    },
    /// The text is not a mark that an export ends with.
    #[error("`{words}` is not where an export ended, such as 4711-8c1f22ab90de1234 or, for everything, 0")]
    Mark {
        /// The given text.
        words: String,
    },
    /// Search engines do not allow this name of an index.
    #[error("an index cannot be called `{name}`: only small letters, digits, `-`, `_` and `.`, no sign first")]
    IndexName {
        /// The given name.
        name: String,
    },
    /// A line of an import is wrong.
    #[error("line {line} cannot be imported: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

impl HistoryError {
    pub(crate) fn file(path: &std::path::Path, error: io::Error) -> HistoryError {
        match StoreError::io(path, error) {
            StoreError::Io { path, error } => HistoryError::File { path, error },
            error => HistoryError::Store(error),
        }
    }

    /// What the user can do about it.
    pub fn advice(&self) -> String {
        match self {
            HistoryError::Store(error) => error.advice().to_owned(),
            HistoryError::Json(_) => "use the oomdoc that wrote it, or a newer one".to_owned(),
            HistoryError::File { .. } => "check the folder, or name another one with --home or $OOMDOC_HOME".to_owned(),
            HistoryError::TooLarge { .. } => "analyse fewer files at once".to_owned(),
            HistoryError::TooManyNotes { .. } => "write down the address where more is said, with --link".to_owned(),
            HistoryError::NotFound { .. } => "`oomdoc history list` lists them".to_owned(),
            HistoryError::Ambiguous { .. } => "write more of the id".to_owned(),
            HistoryError::Query(error) => error.advice(),
            HistoryError::NoSuchPatch { id, .. } => {
                format!("`oomdoc history show {id}` numbers them; name any other change with --knob")
            }
            HistoryError::Backup { .. } => "take another copy of it, or an older one; nothing was restored".to_owned(),
            HistoryError::NotEmpty { .. } => {
                "restore into another folder with --home, or move this one away".to_owned()
            }
            HistoryError::Cursor { .. } => "begin with the first page".to_owned(),
            HistoryError::Index(_) => "make room or give write access; searches read the store meanwhile".to_owned(),
            HistoryError::Forgotten { .. } => {
                "export all of it, without --since, into a new index or file: what was removed meanwhile is not known"
                    .to_owned()
            }
            HistoryError::Mark { .. } => "give what the last export said to go on with".to_owned(),
            HistoryError::IndexName { .. } => "choose another name".to_owned(),
            HistoryError::Line { .. } => {
                "nothing of that line was imported; fix it and import again: what is already here is not duplicated"
                    .to_owned()
            }
        }
    }
}
