use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// This many bytes may come out of any input.
const FREE: u64 = 4 << 30;
/// Beyond that, this many bytes for each packed byte. Repetitive logs reach 500; archives made to fill disks reach millions.
const RATIO: u64 = 1000;

/// Counts the bytes read from an input that a user named, and the bytes unpacked from it in all layers together.
#[derive(Debug, Clone, Default)]
pub struct Bound {
    read: Arc<AtomicU64>,
    size: Arc<AtomicU64>,
    unpacked: Arc<AtomicU64>,
    free: u64,
}

impl Bound {
    /// A bound for an input that was not read yet.
    pub fn new() -> Bound {
        Bound { free: FREE, size: Arc::new(u64::MAX.into()), ..Bound::default() }
    }

    /// The counter of bytes read from the input that the user named.
    pub fn read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read)
    }

    /// Limits the bytes read to `size`, because an archive with overlapping members is read more than once.
    pub(super) fn add_size(&self, depth: usize, size: Option<u64>) {
        if let Some(size) = size.filter(|_| depth == 0) {
            self.size.store(size, Relaxed);
        }
    }

    /// Counts the bytes read from `stream`.
    pub(in crate::source) fn count<R>(&self, stream: R) -> Counted<R> {
        Counted { stream, read: Arc::clone(&self.read) }
    }

    /// Ends `stream` with an error once too much was unpacked.
    pub(super) fn limit<R>(&self, stream: R) -> Limited<R> {
        Limited { stream, bound: self.clone() }
    }

    fn is_exceeded(&self, unpacked: u64) -> bool {
        let read = self.read.load(Relaxed).min(self.size.load(Relaxed));
        unpacked > read.saturating_mul(RATIO).saturating_add(self.free)
    }
}

/// See [`Bound::count`].
pub(in crate::source) struct Counted<R> {
    stream: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.read.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.stream.seek(to)
    }
}

/// See [`Bound::limit`].
pub(super) struct Limited<R> {
    stream: R,
    bound: Bound,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let unpacked = self.bound.unpacked.fetch_add(read as u64, Relaxed) + read as u64;
        if self.bound.is_exceeded(unpacked) {
            let problem = format!(
                "{} GiB came out of it, more than {RATIO} times what went in: it is made to fill disks, or unpack it yourself",
                unpacked >> 30
            );
            return Err(io::Error::other(problem));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_what_is_out_of_proportion() -> io::Result<()> {
        let bound = Bound { free: 1 << 20, ..Bound::new() };
        io::copy(&mut bound.count(&[0; 100][..]), &mut io::sink())?;
        let most = (1 << 20) + 100 * RATIO;
        assert_eq!(io::copy(&mut bound.limit(io::repeat(b'x').take(most)), &mut io::sink())?, most);
        let problem = bound.limit(io::repeat(b'x')).read(&mut [0; 10]).err();
        assert!(problem.is_some_and(|problem| problem.to_string().contains("more than 1000 times")));
        Ok(())
    }
}
