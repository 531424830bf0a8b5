use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::StoreError;
use super::object::Object;

/// Reads an object part by part; while one is searched, the next one comes. Memory is two parts, however large it is.
pub struct Reader {
    object: Arc<Object>,
    at: u64,
    /// Which part `bytes` are.
    number: u64,
    bytes: Vec<u8>,
    ahead: Option<Ahead>,
}

/// A part that is on its way.
struct Ahead {
    number: u64,
    bytes: JoinHandle<Result<Vec<u8>, StoreError>>,
}

impl Reader {
    /// Begins with `first`, the first part.
    pub fn new(object: Arc<Object>, first: Vec<u8>) -> Reader {
        Reader { object, at: 0, number: 0, bytes: first, ahead: None }
    }

    /// Makes `number` the part at hand.
    fn turn_to(&mut self, number: u64) -> Result<(), StoreError> {
        if number == self.number && !self.bytes.is_empty() {
            return Ok(());
        }
        // What is on its way elsewhere comes for nothing.
        let ahead = self.ahead.take().filter(|ahead| ahead.number == number);
        self.bytes = Vec::new();
        self.bytes = match ahead {
            Some(ahead) => ahead.bytes.join().unwrap_or(Err(StoreError::Broken))?,
            None => self.object.part(&range(&self.object, number))?,
        };
        self.number = number;
        Ok(())
    }

    /// Asks for the part behind the one at hand.
    fn look_ahead(&mut self) {
        let number = self.number + 1;
        if self.ahead.is_some() || number * self.object.patience.window >= self.object.size {
            return;
        }
        let object = Arc::clone(&self.object);
        let bytes = thread::spawn(move || object.part(&range(&object, number)));
        self.ahead = Some(Ahead { number, bytes });
    }
}

/// The bytes of part `number`.
fn range(object: &Object, number: u64) -> Range<u64> {
    let window = object.patience.window;
    number * window..object.size.min((number + 1) * window)
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.object.size || buffer.is_empty() {
            return Ok(0);
        }
        let window = self.object.patience.window;
        self.turn_to(self.at / window)?;
        self.look_ahead();
        let Some(rest) = usize::try_from(self.at % window).ok().and_then(|from| self.bytes.get(from..)) else {
            return Err(StoreError::Broken.into());
        };
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.object.size.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
