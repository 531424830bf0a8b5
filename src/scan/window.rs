use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

use super::Anchors;
use crate::model::LineNumber;

/// How much is read around an anchor. Every bound is in bytes of the input, so it holds for lines of any length.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The beginning of the input: versions, configuration, the first phases.
    pub head: usize,
    /// Before an anchor: tracebacks of interleaved ranks, phase marks. At least `piece` and `tail`.
    pub back: usize,
    /// After an anchor: kernel reports, tables, the other ranks' messages.
    pub forward: usize,
    /// The end of the input: exit codes, the last sign of life.
    pub tail: usize,
    /// Between incidents, a sample of this size at each multiple of `stride`: memory over time.
    pub sample: usize,
    /// See `sample`.
    pub stride: u64,
    /// A line longer than this is read in pieces of this size.
    pub piece: usize,
}

impl Extent {
    /// The extent that `analyze` uses.
    pub const DEFAULT: Extent = Extent {
        head: 256 << 10,
        back: 1 << 20,
        forward: 128 << 10,
        tail: 256 << 10,
        sample: 8 << 10,
        stride: 16 << 20,
        piece: 64 << 10,
    };
}

/// The buffer may grow to this multiple of what must be kept.
const FULL: usize = 4;
/// Most lines that are handed over at once.
const MOST_AT_ONCE: usize = 4096;

/// A physical line, or a piece of a very long one.
#[derive(Debug, Clone, Copy)]
pub struct RawLine<'a> {
    /// Its bytes, without the line feed.
    pub bytes: &'a [u8],
    /// Its number.
    pub number: LineNumber,
    /// The offset in the physical line at which `bytes` begins.
    pub column: u64,
    /// Whether no line feed follows: the line goes on, or the input was cut off there.
    pub is_open: bool,
}

/// Receives the lines worth reading.
pub trait LineSink {
    /// The next line, in order.
    fn line(&mut self, line: RawLine<'_>);
    /// The next lines, in order.
    fn lines(&mut self, lines: &[RawLine<'_>]) {
        lines.iter().for_each(|line| self.line(*line));
    }
    /// Lines were skipped: the next line does not follow the last one.
    fn gap(&mut self);
}

/// The size of an input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes read.
    pub bytes: u64,
    /// Physical lines, a last one without line feed included.
    pub lines: u64,
}

/// Walks over one input and hands the lines worth reading to a [`LineSink`].
///
/// It keeps the last `back` bytes in a buffer. An anchor at some line makes it hand over everything from `back` bytes
/// before that line, if that has not been handed over yet, to `forward` bytes after it. All positions are offsets from
/// the beginning of the input.
pub struct Scanner<'a> {
    anchors: &'a Anchors,
    extent: Extent,
    /// Bytes from `base` on.
    buffer: Vec<u8>,
    base: u64,
    /// The first byte that was neither handed over nor skipped; a piece begins there.
    next: u64,
    /// The physical line that contains `next`, and where that line begins.
    number: LineNumber,
    line_start: u64,
    /// Pieces that begin before this are handed over.
    until: u64,
    /// The end of the bytes already searched for anchors.
    scanned: u64,
    /// Anchors found since lines were last handed over.
    found: Vec<u64>,
    next_sample: u64,
    passed_over: bool,
    threads: usize,
}

impl<'a> Scanner<'a> {
    /// A scanner at the beginning of an input.
    pub fn new(anchors: &'a Anchors, extent: Extent) -> Scanner<'a> {
        let until = extent.head as u64;
        Scanner {
            anchors,
            extent,
            buffer: Vec::new(),
            base: 0,
            next: 0,
            number: LineNumber::FIRST,
            line_start: 0,
            until,
            scanned: 0,
            found: Vec::new(),
            next_sample: extent.stride,
            passed_over: false,
            threads: 1,
        }
    }

    /// Searches each block on `threads` threads.
    pub fn on_threads(self, threads: usize) -> Scanner<'a> {
        Scanner { threads, ..self }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, block: &[u8], sink: &mut impl LineSink) {
        self.buffer.extend_from_slice(block);
        self.find();
        self.advance(sink);
    }

    /// Takes the next bytes out of `block` and returns whether they contain an anchor. Call [`Scanner::advance`] next.
    pub fn search(&mut self, block: &mut Vec<u8>) -> bool {
        match self.buffer.is_empty() {
            // The first block is taken without copying.
            true => std::mem::swap(&mut self.buffer, block),
            false => self.buffer.append(block),
        }
        self.find();
        !self.found.is_empty()
    }

    /// Reads at most `block` bytes; 0 is the end.
    pub fn read_from(&mut self, input: &mut impl Read, block: usize, sink: &mut impl LineSink) -> io::Result<usize> {
        let filled = self.buffer.len();
        self.buffer.resize(filled + block, 0);
        let read = loop {
            match input.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
        let read = read?;
        self.find();
        self.advance(sink);
        Ok(read)
    }

    /// Hands over the end of the input.
    pub fn finish(mut self, sink: &mut impl LineSink) -> Totals {
        let end = self.end();
        self.look_from(end.saturating_sub(self.extent.tail as u64), end, sink);
        self.hand_over(true, sink);
        let unended = u64::from(self.line_start < end);
        Totals { bytes: end, lines: self.number.0 - 1 + unended }
    }

    fn end(&self) -> u64 {
        self.base + self.buffer.len() as u64
    }

    fn at(&self, position: u64) -> usize {
        (position - self.base) as usize
    }

    fn find(&mut self) {
        let overlap = self.anchors.longest().saturating_sub(1) as u64;
        let from = self.scanned.saturating_sub(overlap).max(self.base);
        // A short anchor in the overlap was found before, and its line may be dropped by now.
        let known = self.scanned.saturating_sub(from) as usize;
        let found = self.anchors.find_new(&self.buffer[self.at(from)..], known, self.threads);
        self.found.extend(found.into_iter().map(|hit| from + hit as u64));
        self.scanned = self.end();
    }

    /// Hands over the lines that are known to be worth reading.
    pub fn advance(&mut self, sink: &mut impl LineSink) {
        for hit in std::mem::take(&mut self.found) {
            let piece = self.piece_of(hit);
            self.look_from(piece.saturating_sub(self.extent.back as u64), piece + self.extent.forward as u64, sink);
        }
        self.hand_over(false, sink);
        self.forget(sink);
    }

    /// Where the piece that contains `hit` begins. Without a line feed in the buffer it is all one line.
    fn piece_of(&self, hit: u64) -> u64 {
        let line =
            memrchr(b'\n', &self.buffer[..self.at(hit)]).map_or(self.line_start, |feed| self.base + feed as u64 + 1);
        hit - (hit - line) % self.extent.piece as u64
    }

    /// From now on hands over every piece that begins within `from..until`.
    fn look_from(&mut self, from: u64, until: u64, sink: &mut impl LineSink) {
        self.give_up_before(from, sink);
        self.until = self.until.max(until);
    }

    /// Skips bytes before `position`, except those to be handed over and the samples among them. It is only called for positions before
    /// which no later anchor can reach, so that the result does not depend on where blocks end.
    fn give_up_before(&mut self, position: u64, sink: &mut impl LineSink) {
        loop {
            let stop = self.next_sample.min(position);
            if self.until < stop {
                self.hand_over(false, sink);
                self.pass_over(stop);
            }
            if stop == position {
                return;
            }
            self.until = self.until.max(stop + self.extent.sample as u64);
            self.next_sample += self.extent.stride;
        }
    }

    /// Skips bytes: moves `next` to the first piece that begins at or after `position`.
    fn pass_over(&mut self, position: u64) {
        let position = position.min(self.end());
        if self.next >= position {
            return;
        }
        let skipped = &self.buffer[self.at(self.next)..self.at(position)];
        self.number.0 += memchr_iter(b'\n', skipped).count() as u64;
        if let Some(feed) = memrchr(b'\n', skipped) {
            self.line_start = self.next + feed as u64 + 1;
        }
        self.next = position;
        self.passed_over = true;
        let piece = self.extent.piece as u64;
        let into_piece = (position - self.line_start) % piece;
        if into_piece == 0 {
            return;
        }
        let rest = &self.buffer[self.at(position)..];
        match memchr(b'\n', &rest[..rest.len().min((piece - into_piece) as usize)]) {
            Some(feed) => {
                self.next = position + feed as u64 + 1;
                self.line_start = self.next;
                self.number.0 += 1;
            }
            None => self.next = (position + piece - into_piece).min(self.end()),
        }
    }

    fn hand_over(&mut self, to_the_end: bool, sink: &mut impl LineSink) {
        let mut waiting = Vec::new();
        while self.next < self.until && self.next < self.end() {
            let rest = &self.buffer[self.at(self.next)..];
            let whole = &rest[..rest.len().min(self.extent.piece)];
            let (bytes, feed) = match memchr(b'\n', whole) {
                Some(feed) => (&whole[..feed], 1),
                None if whole.len() == self.extent.piece || to_the_end => (whole, 0),
                None => break,
            };
            if std::mem::take(&mut self.passed_over) {
                sink.gap();
            }
            if waiting.len() == MOST_AT_ONCE {
                sink.lines(&waiting);
                waiting.clear();
            }
            let column = self.next - self.line_start;
            // An empty piece after a full one is only the line feed.
            if !(bytes.is_empty() && column > 0) {
                waiting.push(RawLine { bytes, number: self.number, column, is_open: feed == 0 });
            }
            self.next += (bytes.len() + feed) as u64;
            if feed == 1 {
                self.number.0 += 1;
                self.line_start = self.next;
            }
        }
        sink.lines(&waiting);
    }

    /// Drops bytes that no later anchor can reach. It waits until they are several times the bytes kept, because those are moved each time.
    fn forget(&mut self, sink: &mut impl LineSink) {
        let keep = self.extent.back + self.extent.piece + self.anchors.longest();
        if self.buffer.len() < FULL * keep {
            return;
        }
        let drop_to = self.end() - keep as u64;
        self.give_up_before(drop_to, sink);
        self.hand_over(false, sink);
        let dropped = self.at(self.next.min(drop_to));
        self.buffer.drain(..dropped);
        self.base += dropped as u64;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: Extent = Extent { head: 40, back: 60, forward: 50, tail: 30, sample: 20, stride: 400, piece: 32 };

    #[derive(Default)]
    struct Seen(Vec<(u64, u64, Vec<u8>)>);

    impl LineSink for Seen {
        fn line(&mut self, line: RawLine<'_>) {
            self.0.push((line.number.0, line.column, line.bytes.to_vec()));
        }
        fn gap(&mut self) {
            self.0.push((0, 0, Vec::new()));
        }
    }

    fn scan(input: &[u8], block: usize) -> Result<(Seen, Totals), Box<dyn std::error::Error>> {
        let anchors = Anchors::new(["out of memory", "Killed process"])?;
        let mut scanner = Scanner::new(&anchors, SMALL);
        let (mut seen, mut rest) = (Seen::default(), input);
        while scanner.read_from(&mut rest, block, &mut seen)? > 0 {}
        let totals = scanner.finish(&mut seen);
        Ok((seen, totals))
    }

    proptest! {
        #[test]
        fn cutting_into_blocks_changes_nothing(
            lines in prop::collection::vec(prop_oneof![
                8 => "[ab]{0,70}",
                1 => Just("x out of memory y".to_owned()),
                1 => Just("Killed process".to_owned()),
            ], 0..60),
            block in 1usize..300,
            ended in any::<bool>(),
        ) {
            let mut input = lines.join("\n").into_bytes();
            if ended { input.push(b'\n'); }
            let whole = scan(&input, 1 << 20).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let cut = scan(&input, block).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&whole.0.0, &cut.0.0);
            prop_assert_eq!(whole.1, cut.1);
            // Every anchor is handed over, with its true line number.
            for (index, line) in lines.iter().enumerate() {
                if line.contains("out of memory") {
                    let found = cut.0.0.iter().any(|(number, _, text)| *number == index as u64 + 1 && text == line.as_bytes());
                    prop_assert!(found, "line {} is missing", index + 1);
                }
            }
        }
    }

    #[test]
    fn a_short_anchor_is_found_once_beside_a_long_one() -> Result<(), Box<dyn std::error::Error>> {
        let anchors = Anchors::new(["(shm)", "failed with OOM on device"])?;
        for block in 1..24 {
            let mut scanner = Scanner::new(&anchors, SMALL);
            let (mut seen, mut rest) = (Seen::default(), &b"x (shm)\nnext\nlast\n"[..]);
            while scanner.read_from(&mut rest, block, &mut seen)? > 0 {}
            assert_eq!(scanner.finish(&mut seen).lines, 3, "{block}");
            assert_eq!(seen.0.len(), 3, "{block}");
        }
        Ok(())
    }

    #[test]
    fn a_line_without_end_is_read_in_pieces() -> Result<(), Box<dyn std::error::Error>> {
        let mut input = vec![b'a'; 4000];
        input[2500..2513].copy_from_slice(b"out of memory");
        let (seen, totals) = scan(&input, 64)?;
        assert_eq!(totals, Totals { bytes: 4000, lines: 1 });
        assert!(seen.0.iter().all(|(number, _, text)| *number <= 1 && text.len() <= SMALL.piece));
        let text: Vec<u8> = seen.0.iter().flat_map(|(_, _, text)| text.clone()).collect();
        assert!(String::from_utf8(text)?.contains("out of memory"));
        Ok(())
    }

    #[test]
    fn counts_lines_as_an_editor_does() -> Result<(), Box<dyn std::error::Error>> {
        assert_eq!(scan(b"", 8)?.1, Totals { bytes: 0, lines: 0 });
        assert_eq!(scan(b"a", 8)?.1.lines, 1);
        assert_eq!(scan(b"a\n", 8)?.1.lines, 1);
        assert_eq!(scan(b"a\n\nb", 8)?.1.lines, 3);
        Ok(())
    }

    #[test]
    fn keeps_as_much_of_any_input() -> Result<(), Box<dyn std::error::Error>> {
        const BLOCK: usize = 1 << 16;
        let anchors = Anchors::new(["out of memory", "Killed process"])?;
        let endless = vec![b'x'; BLOCK];
        let lines = b"step 1 loss 0.5\n".repeat(BLOCK / 16);
        let failing = b"rank 1 out of memory\n".repeat(BLOCK / 21);
        for block in [&endless, &lines, &failing] {
            let kept = |blocks: usize| {
                let (mut scanner, mut most) = (Scanner::new(&anchors, Extent::DEFAULT), 0);
                for _ in 0..blocks {
                    scanner.push(block, &mut Nothing);
                    most = most.max(scanner.buffer.capacity());
                }
                most
            };
            let (short, long) = (kept(100), kept(1000));
            assert_eq!(short, long, "{:?}", String::from_utf8_lossy(&block[..20]));
            assert!(long <= 2 * FULL * (Extent::DEFAULT.back + BLOCK), "{long}");
        }
        Ok(())
    }

    struct Nothing;

    impl LineSink for Nothing {
        fn line(&mut self, _: RawLine<'_>) {}
        fn gap(&mut self) {}
    }
}
