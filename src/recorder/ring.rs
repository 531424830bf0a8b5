//! The file of a record: a head, a ring of recent samples, and a ring of older ones.
//!
//! Each line is a slot of fixed size, so that killing the recorder leaves whole lines; a line is in the file as soon as
//! the single call that writes it returns. Before a sample is overwritten in the first ring, one sample a minute is
//! copied into the second. So the file has the last minutes completely and hours in outline, and its size is bounded.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use jiff::Timestamp;

use crate::source::record::{self, SLOT};

/// One sample per this many seconds is copied into the history.
const HISTORY_SECONDS: i64 = 60;
/// The fewest lines of a ring: with less it could not hold a sample of a large job.
const FEWEST: u64 = 256;

/// The file of a record, open for writing.
pub(super) struct Ring {
    file: File,
    host: String,
    /// The number of the next line.
    next: u64,
    recent: Region,
    history: Region,
    /// The samples in the ring of recent ones, oldest first.
    samples: VecDeque<Kept>,
    /// When the last sample in the history was taken, in seconds since 1970.
    moved: Option<i64>,
}

/// A ring of lines in the file.
struct Region {
    first: u64,
    lines: u64,
    next: u64,
}

/// A sample in the ring of recent ones.
struct Kept {
    /// The number of its lines.
    lines: u64,
    seconds: i64,
    /// Whether it reports a kill or an end.
    is_telling: bool,
}

impl Ring {
    /// Creates the file at `path` with at most `size` bytes, beginning with `head`.
    pub fn create(path: &Path, size: u64, host: &str, now: Timestamp, head: &[String]) -> io::Result<Ring> {
        let file = OpenOptions::new().write(true).read(true).create(true).truncate(true).open(path)?;
        let time = stamp(now);
        let all = (size / SLOT as u64).max(2 * FEWEST);
        let heading = 1 + head.len() as u64;
        let recent = Region { first: heading, lines: all / 2, next: 0 };
        let history = Region { first: heading + recent.lines, lines: all / 2, next: 0 };
        let first = format!(
            "{}{host}, from {time}: lines of {SLOT} bytes in a ring of {} behind {heading}, then older ones in a ring of {}; their numbers \
             tell their order",
            record::MARK,
            recent.lines,
            history.lines
        );
        let head = head.iter().zip(1..).map(|(words, number)| record::slot(&time, number, host, words));
        let text: String = std::iter::once(record::padded(&first)).chain(head).collect();
        file.write_all_at(text.as_bytes(), 0)?;
        let (host, samples) = (host.to_owned(), VecDeque::new());
        Ok(Ring { file, host, next: heading, recent, history, samples, moved: None })
    }

    /// Writes the lines of a sample. Samples that are `is_telling` are always copied into the history.
    pub fn write(&mut self, now: Timestamp, lines: &[String], is_telling: bool) -> io::Result<()> {
        let lines = &lines[..lines.len().min(self.recent.lines as usize)];
        self.make_room(lines.len() as u64)?;
        let (time, first) = (stamp(now), self.next);
        let slots: String =
            lines.iter().zip(first..).map(|(words, number)| record::slot(&time, number, &self.host, words)).collect();
        self.next += lines.len() as u64;
        self.recent.write(&self.file, slots.as_bytes())?;
        self.samples.push_back(Kept { lines: lines.len() as u64, seconds: now.as_second(), is_telling });
        Ok(())
    }

    /// Drops the oldest samples until `wanted` lines are free, copying some into the history.
    fn make_room(&mut self, wanted: u64) -> io::Result<()> {
        let mut used: u64 = self.samples.iter().map(|sample| sample.lines).sum();
        while used + wanted > self.recent.lines
            && let Some(oldest) = self.samples.pop_front()
        {
            let is_due = self.moved.is_none_or(|moved| oldest.seconds - moved >= HISTORY_SECONDS);
            if is_due || oldest.is_telling {
                let slots = self.recent.read(&self.file, used, oldest.lines)?;
                self.history.write(&self.file, &slots)?;
            }
            if is_due {
                self.moved = Some(oldest.seconds);
            }
            used -= oldest.lines;
        }
        Ok(())
    }
}

impl Region {
    /// Writes whole slots after the last ones.
    fn write(&mut self, file: &File, slots: &[u8]) -> io::Result<()> {
        let lines = (slots.len() / SLOT) as u64;
        let until_end = (self.lines - self.next).min(lines);
        let (now, then) = slots.split_at(until_end as usize * SLOT);
        file.write_all_at(now, self.offset(self.next))?;
        if !then.is_empty() {
            file.write_all_at(then, self.offset(0))?;
        }
        self.next = (self.next + lines) % self.lines;
        Ok(())
    }

    /// Reads `lines` slots, the first of which was written `back` slots ago.
    fn read(&self, file: &File, back: u64, lines: u64) -> io::Result<Vec<u8>> {
        let mut slots = vec![0; lines as usize * SLOT];
        let first = (self.next + self.lines - back) % self.lines;
        for (slot, place) in slots.chunks_mut(SLOT).zip(first..) {
            file.read_exact_at(slot, self.offset(place % self.lines))?;
        }
        Ok(slots)
    }

    fn offset(&self, place: u64) -> u64 {
        (self.first + place) * SLOT as u64
    }
}

/// The time format of a record.
fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> io::Result<Vec<String>> {
        let bytes = std::fs::read(path)?;
        Ok(record::in_order(&bytes).iter().map(|(_, line)| String::from_utf8_lossy(line).into_owned()).collect())
    }

    #[test]
    fn the_last_lines_stay_whole_and_older_ones_in_outline() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("job.record");
        let start = Timestamp::from_second(1_795_168_800)?;
        let mut ring = Ring::create(&path, 0, "node7", start, &["command: sleep".to_owned()])?;
        for second in 0..2000 {
            let now = Timestamp::from_second(start.as_second() + second)?;
            let words = [format!("sample {second} a"), format!("sample {second} b"), format!("sample {second} c")];
            ring.write(now, &words, second == 7)?;
        }
        let text = lines(&path)?;
        assert!(std::fs::metadata(&path)?.len() <= (2 + 2 * FEWEST) * SLOT as u64);
        assert!(text[0].starts_with(record::MARK) && text[1].ends_with("command: sleep"));
        let seconds: Vec<u64> =
            text.iter().filter_map(|line| line.split("sample ").nth(1)?.split(' ').next()?.parse().ok()).collect();
        assert!(seconds.is_sorted(), "{seconds:?}");
        // The last 85 samples with three lines each.
        assert_eq!(&seconds[seconds.len() - 255..], (1915..2000).flat_map(|s| [s; 3]).collect::<Vec<u64>>());
        assert!(seconds.contains(&7), "what tells of a kill stays");
        // One line of the sample before them is left.
        let older: Vec<u64> = seconds.iter().copied().filter(|second| *second < 1914 && *second != 7).collect();
        assert!(older.windows(2).all(|pair| pair[0] == pair[1] || pair[1] - pair[0] == 60), "{older:?}");
        assert!(older.len() > 60);
        Ok(())
    }
}
