use thiserror::Error;

use super::secret::SecretError;
use crate::history::HistoryError;
use crate::store::StoreError;
use crate::triage::HttpError;

/// Why the queue could not be read or written.
#[derive(Debug, Error)]
pub enum QueueError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What stands there is none of ours.
    #[error("a piece of work cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Too much waits.
    #[error("too much work waits already")]
    Full,
    /// It does not go now.
    #[error("{0}")]
    Unavailable(String),
    /// Whoever has the store is gone.
    #[error("the store is closed")]
    Closed,
}

/// Why an event was not taken.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Nobody listens to that forge.
    #[error("no webhook of {0} is set up here")]
    NotSetUp(&'static str),
    /// It is not from whom it says.
    #[error("the signature or token is not right")]
    NotAllowed,
    /// It is no event.
    #[error("this is no event: {0}")]
    Malformed(String),
    /// It is too long.
    #[error("the event is too long")]
    TooLong,
    /// It lacks what such an event has.
    #[error("the event lacks `{0}`")]
    Lacks(&'static str),
    /// It could not be kept; the forge may send it again.
    #[error("the event could not be kept: {0}")]
    NotKept(#[from] QueueError),
    /// A secret of the webhook cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl Refusal {
    /// The status of HTTP that says so.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::NotSetUp(_) => 404,
            Refusal::NotAllowed => 401,
            Refusal::Malformed(_) => 400,
            Refusal::TooLong => 413,
            Refusal::Lacks(_) => 422,
            Refusal::NotKept(_) | Refusal::Secret(_) => 503,
        }
    }
}

/// Why a step could not be made.
#[derive(Debug, Error)]
pub enum Trouble {
    /// It may go another time.
    #[error("{words}")]
    Passing {
        /// What went wrong.
        words: String,
        /// How many milliseconds the server asked to wait.
        wish: Option<i64>,
    },
    /// It will not go at any time.
    #[error("{0}")]
    Lasting(String),
    /// The store: nothing goes on without it.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl Trouble {
    /// Something that may pass.
    pub fn passing(words: impl Into<String>) -> Trouble {
        Trouble::Passing { words: words.into(), wish: None }
    }
}

impl From<HttpError> for Trouble {
    fn from(error: HttpError) -> Trouble {
        let words = error.to_string();
        match error {
            // A token that ran out can be replaced.
            HttpError::NotAllowed(401) => Trouble::passing(words),
            HttpError::NotAllowed(_) | HttpError::Refused(_) => Trouble::Lasting(words),
            HttpError::Busy { after, .. } => {
                Trouble::Passing { words, wish: Some(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)) }
            }
            HttpError::Unavailable(_) | HttpError::Certificates { .. } | HttpError::Proxy(_) | HttpError::Answer(_) => {
                Trouble::passing(words)
            }
        }
    }
}

impl From<SecretError> for Trouble {
    fn from(error: SecretError) -> Trouble {
        Trouble::passing(error.to_string())
    }
}

impl From<HistoryError> for Trouble {
    fn from(error: HistoryError) -> Trouble {
        match error {
            HistoryError::Store(error) => Trouble::Queue(error.into()),
            // A store that is busy, or a disk, may be better later.
            HistoryError::File { .. } => Trouble::passing(error.to_string()),
            error => Trouble::Lasting(error.to_string()),
        }
    }
}
