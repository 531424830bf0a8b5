use std::io::{self, Read};

/// A stream whose first bytes are kept as they are read.
pub struct Keep<R> {
    stream: R,
    kept: Vec<u8>,
    most: usize,
}

impl<R: Read> Keep<R> {
    /// Keeps the first `most` bytes of `stream`.
    pub fn first(most: usize, stream: R) -> Keep<R> {
        Keep { stream, kept: Vec::new(), most }
    }

    /// The first bytes, as far as they were read.
    pub fn into_kept(self) -> Vec<u8> {
        self.kept
    }
}

impl<R: Read> Read for Keep<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let room = self.most - self.kept.len();
        self.kept.extend_from_slice(&buffer[..read.min(room)]);
        Ok(read)
    }
}
