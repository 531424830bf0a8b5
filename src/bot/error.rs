use thiserror::Error;

use super::secret::SecretError;
use crate::history::HistoryError;
use crate::store::StoreError;
use crate::triage::HttpError;

/// Why the queue could not be read or written.
#[derive(Debug, Error)]
pub enum QueueError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A value in the store cannot be parsed.
    #[error("a piece of work cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Too much work waits.
    #[error("too much work waits already")]
    Full,
    /// The store cannot be used at the moment.
    #[error("{0}")]
    Unavailable(String),
    /// The owner of the store has stopped.
    #[error("the store is closed")]
    Closed,
}

/// Why an event was refused.
#[derive(Debug, Error)]
pub enum Refusal {
    /// No webhook of that forge is configured.
    #[error("no webhook of {0} is set up here")]
    NotSetUp(&'static str),
    /// The signature or token is wrong.
    #[error("the signature or token is not right")]
    NotAllowed,
    /// The body is not a valid event.
    #[error("this is no event: {0}")]
    Malformed(String),
    /// The body is too long.
    #[error("the event is too long")]
    TooLong,
    /// The event lacks this field.
    #[error("the event lacks `{0}`")]
    Lacks(&'static str),
    /// The work could not be stored; the forge may send the event again.
    #[error("the event could not be kept: {0}")]
    NotKept(#[from] QueueError),
    /// A secret of the webhook cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// Why a step failed.
#[derive(Debug, Error)]
pub enum StepError {
    /// Temporarily: the step is tried again later.
    #[error("{words}")]
    Temporary {
        /// What went wrong.
        words: String,
        /// How many milliseconds the server asked to wait.
        wish: Option<i64>,
    },
    /// For good: trying again would not help.
    #[error("{0}")]
    Permanent(String),
    /// The store failed: the attempt cannot go on.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl StepError {
    /// A temporary failure, without a wish for a wait.
    pub fn temporary(words: impl Into<String>) -> StepError {
        StepError::Temporary { words: words.into(), wish: None }
    }
}

impl From<HttpError> for StepError {
    fn from(error: HttpError) -> StepError {
        let words = error.to_string();
        match error {
            // An expired token can be replaced.
            HttpError::NotAllowed(401) => StepError::temporary(words),
            HttpError::NotAllowed(_) | HttpError::Refused(_) => StepError::Permanent(words),
            HttpError::Busy { after, .. } => {
                StepError::Temporary { words, wish: Some(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)) }
            }
            HttpError::Unavailable(_) | HttpError::Certificates { .. } | HttpError::Proxy(_) | HttpError::Answer(_) => {
                StepError::temporary(words)
            }
        }
    }
}

impl From<SecretError> for StepError {
    fn from(error: SecretError) -> StepError {
        StepError::temporary(error.to_string())
    }
}

impl From<HistoryError> for StepError {
    fn from(error: HistoryError) -> StepError {
        match error {
            HistoryError::Store(error) => StepError::Queue(error.into()),
            // A busy store or a full disk may recover.
            HistoryError::File { .. } => StepError::temporary(error.to_string()),
            error => StepError::Permanent(error.to_string()),
        }
    }
}
