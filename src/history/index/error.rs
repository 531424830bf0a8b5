use std::io;

use tantivy::TantivyError;
use tantivy::directory::error::OpenDirectoryError;
use thiserror::Error;

use crate::history::HistoryError;
use crate::store::StoreError;

/// Why the index cannot be read or could not follow the store. No data is lost: everything is in the store.
#[derive(Debug, Error)]
pub enum IndexError {
    /// There is no index.
    #[error("there is no index")]
    Missing,
    /// It lacks the last changes.
    #[error("the index follows the history to change {follows} of {last}")]
    Behind {
        /// The last change that it knows.
        follows: u64,
        /// The last change of the store.
        last: u64,
    },
    /// It was made from another store, or from a later state of this one.
    #[error("the index was made of another history")]
    Foreign,
    /// Another version of oomdoc made it.
    #[error("the index has another format")]
    Format,
    /// Its content is not as it was written.
    #[error("the index is damaged: {0}")]
    Damaged(String),
    /// The search engine failed.
    #[error("the index cannot be used: {0}")]
    Engine(#[from] TantivyError),
    /// A file of the index cannot be read or written.
    #[error("the index cannot be used: {0}")]
    Io(#[from] io::Error),
    /// The store that it follows failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record cannot be indexed.
    #[error("{0}")]
    Record(String),
}

impl From<HistoryError> for IndexError {
    fn from(error: HistoryError) -> IndexError {
        match error {
            HistoryError::Store(error) => IndexError::Store(error),
            HistoryError::Index(error) => error,
            error => IndexError::Record(error.to_string()),
        }
    }
}

impl From<OpenDirectoryError> for IndexError {
    fn from(error: OpenDirectoryError) -> IndexError {
        IndexError::Engine(error.into())
    }
}

impl From<serde_json::Error> for IndexError {
    fn from(error: serde_json::Error) -> IndexError {
        IndexError::Damaged(error.to_string())
    }
}
