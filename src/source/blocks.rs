use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How many blocks may be read ahead of the consumer.
const AHEAD: usize = 2;

/// Reads `stream` in blocks of `size` bytes and gives each to `take`, until that returns `false` or reading fails. `take` may keep the
/// block.
///
/// If there is more than one block, a second thread reads ahead, so that reading and unpacking run while the search is busy. Buffers are
/// reused, so at most `AHEAD + 2` blocks are in memory.
pub fn read_blocks(
    stream: &mut (impl Read + Send),
    size: usize,
    mut take: impl FnMut(&mut Vec<u8>) -> bool,
) -> io::Result<()> {
    let size = size.max(1);
    // Most inputs are smaller than a block.
    let mut first = Vec::new();
    let outcome = stream.take(size as u64).read_to_end(&mut first).map(|_| ());
    let is_last = first.len() < size;
    if !(first.is_empty() || take(&mut first)) || is_last {
        return outcome;
    }
    let (blocks, incoming) = sync_channel(AHEAD);
    let (returned, buffers) = sync_channel(AHEAD + 2);
    thread::scope(|scope| {
        scope.spawn(move || read_ahead(stream, size, first, &blocks, &buffers));
        for (mut block, outcome) in incoming {
            if !take(&mut block) || outcome.is_err() {
                return outcome;
            }
            // After the last block the reader no longer takes buffers back.
            let _ = returned.try_send(block);
        }
        Ok(())
    })
}

type Block = (Vec<u8>, io::Result<()>);

fn read_ahead(
    stream: &mut impl Read,
    size: usize,
    first: Vec<u8>,
    blocks: &SyncSender<Block>,
    buffers: &Receiver<Vec<u8>>,
) {
    let mut spare = Some(first);
    loop {
        let mut block = spare.take().or_else(|| buffers.try_recv().ok()).unwrap_or_default();
        let outcome = fill(stream, size, &mut block);
        let is_last = outcome.is_err() || block.len() < size;
        // A closed channel means that the consumer wants no more.
        if blocks.send((block, outcome)).is_err() || is_last {
            return;
        }
    }
}

/// Replaces the content of `block` by the next `size` bytes; fewer only at the end or before an error.
fn fill(stream: &mut impl Read, size: usize, block: &mut Vec<u8>) -> io::Result<()> {
    block.resize(size, 0);
    let mut filled = 0;
    let outcome = loop {
        match stream.read(&mut block[filled..]) {
            Ok(0) => break Ok(()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    block.truncate(filled);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails after `good` bytes.
    struct Failing {
        good: usize,
    }

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.good == 0 {
                return Err(io::Error::other("torn"));
            }
            let read = buffer.len().min(self.good).min(7);
            buffer[..read].fill(b'x');
            self.good -= read;
            Ok(read)
        }
    }

    #[test]
    fn gives_every_byte_in_order_and_in_bounded_blocks() -> io::Result<()> {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        for size in [1, 7, 1000, 9_999, 10_000, 10_001] {
            let (mut seen, mut largest) = (Vec::new(), 0);
            read_blocks(&mut &bytes[..], size, |block| {
                seen.extend_from_slice(block);
                largest = largest.max(block.len());
                true
            })?;
            assert_eq!((seen == bytes, largest.min(size)), (true, largest), "{size}");
        }
        Ok(())
    }

    #[test]
    fn gives_what_came_before_an_error_and_stops_when_asked() {
        for good in [0, 5, 64, 1000] {
            let mut seen = 0;
            let outcome = read_blocks(&mut Failing { good }, 64, |block| {
                seen += block.len();
                true
            });
            assert_eq!((seen, outcome.is_err()), (good, true));
        }
        let mut blocks = 0;
        let outcome = read_blocks(&mut io::repeat(b'x'), 64, |_| {
            blocks += 1;
            blocks < 3
        });
        assert_eq!((blocks, outcome.is_ok()), (3, true));
    }
}
