use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use super::access::TokenError;
use crate::history::HistoryError;
use crate::redact::RedactError;

/// Why the server does not serve. [`ServerError::advice`] says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The history cannot be opened.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The rules of redaction cannot be compiled.
    #[error(transparent)]
    Redact(#[from] RedactError),
    /// Tokens cannot be read or written.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The system refused threads, signals or files.
    #[error("the server cannot run: {0}")]
    System(#[from] io::Error),
}

impl ServerError {
    /// What to do about it.
    pub fn advice(&self) -> String {
        match self {
            ServerError::Listen { .. } => "name another address with --listen, or end who has it".to_owned(),
            ServerError::History(error) => error.advice(),
            ServerError::Redact(_) => "`oomdoc rules check` says which rule of redaction is wrong".to_owned(),
            ServerError::Token(error) => error.advice().to_owned(),
            ServerError::System(_) => "look at the limits of the service: open files, threads, memory".to_owned(),
        }
    }
}
