//! Where bytes come from.
//!
//! In go the paths a user names: files, folders (read recursively), `-` for standard input. Out come [`Input`]s: a
//! stream of bytes each, with the role that their first bytes show. Nothing is assumed of a file's name or its
//! encoding, and nothing here reads a whole file.

mod keep;
mod role;
mod walk;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

use thiserror::Error;

use crate::model::Role;
pub use keep::Keep;
pub use walk::walk;

/// An input that could not be read. The others are read all the same.
#[derive(Debug, Error)]
pub enum SourceError {
    /// There is nothing at this path, or it is not ours to read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// As the user named it.
        path: String,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// A folder without a regular file in it.
    #[error("{path} is a folder without a file in it")]
    EmptyFolder {
        /// As the user named it.
        path: String,
    },
}

impl SourceError {
    /// The input it is about.
    pub fn path(&self) -> &str {
        match self {
            SourceError::Unreadable { path, .. } | SourceError::EmptyFolder { path } => path,
        }
    }
}

/// A stream of bytes and what its beginning shows.
pub struct Input {
    /// As the user named it; `-` is standard input.
    pub path: Arc<str>,
    /// What it is.
    pub role: Role,
    /// What is odd about it.
    pub warning: Option<String>,
    /// Its size, where that is known beforehand.
    pub size: Option<u64>,
    bytes: Box<dyn Read + Send>,
}

/// As many bytes as decide what an input is.
const HEAD: u64 = 64 << 10;

impl Input {
    /// Opens the file at `path`, or standard input for `-`.
    pub fn open(path: &str) -> Result<Input, SourceError> {
        let unreadable = |error| SourceError::Unreadable { path: path.to_owned(), error };
        if path == "-" {
            return Input::new(path, io::stdin()).map_err(unreadable);
        }
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        Ok(Input { size, ..Input::new(path, file).map_err(unreadable)? })
    }

    /// Any stream of bytes, under a name of the caller's.
    pub fn new(path: &str, mut bytes: impl Read + Send + 'static) -> io::Result<Input> {
        let mut head = Vec::new();
        (&mut bytes).take(HEAD).read_to_end(&mut head)?;
        let (role, warning) = role::of(&head);
        Ok(Input { path: path.into(), role, warning, size: None, bytes: Box::new(Cursor::new(head).chain(bytes)) })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}
