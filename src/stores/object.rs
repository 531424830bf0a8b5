use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::StoreError;
use super::backend::{Answer, Backend, Version};

/// How often a part that does not come whole is asked for again.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Requests until the next byte comes, at least one.
    pub attempts: u32,
    /// After the first failure; doubled each time.
    pub first_wait: Duration,
    /// Bytes of a part.
    pub window: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { attempts: 6, first_wait: Duration::from_millis(200), window: 8 << 20 }
    }
}

/// One object, of which every byte read is of the same version.
pub struct Object {
    backend: Arc<dyn Backend>,
    key: String,
    version: Version,
    /// Bytes of it.
    pub size: u64,
    pub patience: Patience,
}

/// An object whose first part was read.
pub enum Opened {
    /// It can be read part by part.
    InParts(Object, Vec<u8>),
    /// Its server knows no parts: its bytes as they come, and its size where that is said.
    AsAWhole(Box<dyn Read + Send>, Option<u64>),
}

impl Object {
    /// Asks for its beginning, which says what and how large it is: one request, that every store and signature allows.
    pub fn open(backend: Arc<dyn Backend>, key: &str, patience: Patience) -> Result<Opened, StoreError> {
        let ask = || backend.get(key, 0..patience.window, None);
        let answer = match patiently(patience, ask) {
            // There is no first byte.
            Err(StoreError::Behind) => return Ok(Opened::AsAWhole(Box::new(io::empty()), Some(0))),
            answer => answer?,
        };
        let Answer { version, is_part, body } = answer;
        let Some(size) = version.size.filter(|_| is_part) else {
            return Ok(Opened::AsAWhole(Box::new(Unresumed(body)), version.size));
        };
        let object = Object { backend, key: key.to_owned(), version, size, patience };
        let first = 0..size.min(patience.window);
        let mut bytes = Vec::with_capacity(length(&first));
        let _ = append(body, &first, &mut bytes);
        object.complete(&first, &mut bytes)?;
        Ok(Opened::InParts(object, bytes))
    }

    /// The bytes `range`.
    pub fn part(&self, range: &Range<u64>) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::with_capacity(length(range));
        self.complete(range, &mut bytes)?;
        Ok(bytes)
    }

    /// Adds to `bytes`, the beginning of `range`, the rest of it, after each break from there on.
    fn complete(&self, range: &Range<u64>, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        while bytes.len() < length(range) {
            // Attempts are of one byte: with it they count anew.
            patiently(self.patience, || {
                let before = bytes.len();
                match self.go_on(range, bytes) {
                    Err(error) if error.is_passing() && bytes.len() > before => {
                        thread::sleep(self.patience.first_wait);
                        Ok(())
                    }
                    outcome => outcome,
                }
            })?;
        }
        Ok(())
    }

    /// Adds to `bytes` what one request brings of the rest of `range`.
    fn go_on(&self, range: &Range<u64>, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let rest = range.start + bytes.len() as u64..range.end;
        let Answer { version, is_part, body } = self.backend.get(&self.key, rest, Some(&self.version))?;
        // A server may know nothing of tags in requests.
        if !version.is(&self.version) || !is_part {
            return Err(StoreError::Changed);
        }
        append(body, range, bytes)
    }
}

/// Adds bytes of `body` until `bytes` are as many as `range`.
fn append(body: impl Read, range: &Range<u64>, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
    let missing = length(range).saturating_sub(bytes.len());
    body.take(missing as u64).read_to_end(bytes).map_err(of_body)?;
    if bytes.len() < length(range) { Err(StoreError::Broken) } else { Ok(()) }
}

fn of_body(error: io::Error) -> StoreError {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<StoreError>()).cloned();
    own.unwrap_or_else(|| StoreError::of_transport(error.into()))
}

fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end - range.start).unwrap_or(usize::MAX)
}

/// Asks until there is an answer, or one that will not change.
pub fn patiently<T>(patience: Patience, mut ask: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut wait = patience.first_wait;
    for _ in 1..patience.attempts {
        match ask() {
            Err(error) if error.is_passing() => thread::sleep(wait),
            answer => return answer,
        }
        wait *= 2;
    }
    ask()
}

/// A body that says what broke it.
struct Unresumed<R>(R);

impl<R: Read> Read for Unresumed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match of_body(error) {
            StoreError::Broken => StoreError::BrokenForGood.into(),
            error => error.into(),
        })
    }
}
