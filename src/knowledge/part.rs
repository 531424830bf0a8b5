use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::KnowledgeError;

/// A part of [`Knowledge`](super::Knowledge) that is read when it is first used.
///
/// If it cannot be read, it is empty; [`Knowledge::complete`](super::Knowledge::complete) returns the error.
#[derive(Debug)]
pub struct Part<T> {
    read: OnceLock<T>,
    load: fn() -> Result<T, KnowledgeError>,
    /// Held while one thread reads it, so that others wait and nothing is read twice.
    reading: Mutex<()>,
}

impl<T> Part<T> {
    /// A part that `load` reads on first use.
    pub(super) fn later(load: fn() -> Result<T, KnowledgeError>) -> Part<T> {
        Part { read: OnceLock::new(), load, reading: Mutex::default() }
    }

    /// Reads it now, unless it was read already.
    pub(super) fn read(&self) -> Result<&T, KnowledgeError> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let _one = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        match self.read.get() {
            Some(read) => Ok(read),
            None => {
                let read = (self.load)()?;
                Ok(self.read.get_or_init(|| read))
            }
        }
    }
}

impl<T: Default> From<T> for Part<T> {
    fn from(read: T) -> Part<T> {
        Part { read: OnceLock::from(read), load: || Ok(T::default()), reading: Mutex::default() }
    }
}

impl<T: Default> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.read().unwrap_or_else(|_| self.read.get_or_init(T::default))
    }
}

impl<'p, T> IntoIterator for &'p Part<Vec<T>> {
    type Item = &'p T;
    type IntoIter = std::slice::Iter<'p, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
