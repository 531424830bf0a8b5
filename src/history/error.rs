use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{IndexError, Mark, QueryError};
use crate::store::StoreError;

/// Why the history did not do what it was asked for. [`HistoryError::advice`] says what to do.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record is no JSON of the expected shape.
    #[error("a record cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// A file.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
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
    /// An incident has as many notes as it may have.
    #[error("the incident {id} has {} notes already", super::Annotations::MOST_NOTES)]
    TooManyNotes {
        /// The incident.
        id: String,
    },
    /// No incident has this id.
    #[error("no incident `{id}`")]
    NotFound {
        /// What was asked for.
        id: String,
    },
    /// Several incidents begin with it.
    #[error("`{id}` may be {}", .known.join(", "))]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The query makes no sense.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// What worked is none of the incident's patches.
    #[error("the incident {id} has no patch {number}; it has {known}")]
    NoSuchPatch {
        /// The incident.
        id: String,
        /// What was asked for.
        number: usize,
        /// How many there are.
        known: usize,
    },
    /// A cursor that no page of this list ends with.
    #[error("`{cursor}` is no place in this list")]
    Cursor {
        /// What was asked for.
        cursor: String,
    },
    /// A file is no backup, or not all of one.
    #[error("{path} is no whole backup: {problem}")]
    Backup {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Something is there where a backup should be restored.
    #[error("there is a history in {home} already")]
    NotEmpty {
        /// The folder.
        home: PathBuf,
    },
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Nobody knows what changed after an export.
    #[error("what changed after {since} is not known: it is too long ago, or of another history")]
    Forgotten {
        /// Where it ended.
        since: Mark,
    },
    /// Words that no export ended with.
    #[error("`{words}` is not where an export ended, such as 4711-8c1f22ab90de1234 or, for everything, 0")]
    Mark {
        /// What was given.
        words: String,
    },
    /// An index of a search engine cannot be called so.
    #[error("an index cannot be called `{name}`: only small letters, digits, `-`, `_` and `.`, no sign first")]
    IndexName {
        /// What was given.
        name: String,
    },
    /// A line of an import.
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

    /// What to do about it.
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
