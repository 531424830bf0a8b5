//! The job's log with bounded size: its beginning and end are kept.
//!
//! The beginning goes into the log file itself. What follows goes alternately into two more files, so that the end is
//! always on disk; when the job has ended they are appended to the beginning, after a line with the number of bytes
//! left out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a bounded log.
pub(super) struct LogKeeper {
    path: PathBuf,
    beginning: File,
    /// How many more bytes the beginning may have.
    room: u64,
    /// The longest that each file of the end may get.
    longest: u64,
    tail: Tail,
    /// The first error; after it nothing is written.
    problem: Option<io::Error>,
}

/// The two files with the end of the log.
#[derive(Default)]
struct Tail {
    now: Option<Part>,
    before: Option<Part>,
    /// Bytes that were overwritten.
    left_out: u64,
    /// Which of the two file names is used next.
    next: usize,
}

struct Part {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogKeeper {
    /// Creates the file at `path`, with about `size` bytes at most.
    pub fn create(path: &Path, size: u64) -> io::Result<LogKeeper> {
        let beginning = File::create(path)?;
        let (path, room, longest) = (path.to_owned(), size / 4, (size / 8 * 3).max(1));
        Ok(LogKeeper { path, beginning, room, longest, tail: Tail::default(), problem: None })
    }

    /// Appends output of the job. An error costs the log but does not disturb the job.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.problem.is_none() {
            self.problem = self.write(bytes).err();
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (beginning, mut rest) = bytes.split_at(bytes.len().min(self.room as usize));
        self.beginning.write_all(beginning)?;
        self.room -= beginning.len() as u64;
        let longest = self.longest;
        while !rest.is_empty() {
            let part = match &mut self.tail.now {
                Some(part) if part.bytes < longest => part,
                _ => self.turn()?,
            };
            let room = (longest - part.bytes) as usize;
            let (fits, more) = rest.split_at(rest.len().min(room));
            part.file.write_all(fits)?;
            part.bytes += fits.len() as u64;
            rest = more;
        }
        Ok(())
    }

    /// Switches to the other file of the end.
    fn turn(&mut self) -> io::Result<&mut Part> {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".end{}", self.tail.next + 1));
        self.tail.next = 1 - self.tail.next;
        let path = PathBuf::from(path);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        self.tail.left_out += self.tail.before.take().map_or(0, |part| part.bytes);
        self.tail.before = self.tail.now.take();
        Ok(self.tail.now.insert(Part { path, file, bytes: 0 }))
    }

    /// Appends the end to the beginning; returns the first error. What is added later is dropped.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(problem) = self.problem.replace(io::Error::other("the log is finished")) {
            return Err(problem);
        }
        let Tail { now, before, left_out, .. } = std::mem::take(&mut self.tail);
        if left_out > 0 {
            writeln!(self.beginning, "\n[oomdoc: {left_out} bytes are left out here]")?;
        }
        for part in before.into_iter().chain(now) {
            let mut kept = File::open(&part.path)?;
            io::copy(&mut kept, &mut self.beginning)?;
            fs::remove_file(&part.path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(size: u64, pieces: impl IntoIterator<Item = Vec<u8>>) -> io::Result<Vec<u8>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("job.log");
        let mut keeper = LogKeeper::create(&path, size)?;
        pieces.into_iter().for_each(|piece| keeper.add(&piece));
        keeper.finish()?;
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        fs::read(path)
    }

    #[test]
    fn a_short_log_is_kept_to_the_byte() -> Result<(), Box<dyn std::error::Error>> {
        let pieces = [b"step 1\r\x00\xff".to_vec(), b"".to_vec(), b"\x1b[0m no end".to_vec()];
        assert_eq!(kept(1 << 20, pieces.clone())?, pieces.concat());
        // With a small size the same pieces reach the files of the end.
        assert_eq!(kept(24, pieces.clone())?, pieces.concat());
        Ok(())
    }

    #[test]
    fn of_a_long_log_beginning_and_end_are_kept() -> Result<(), Box<dyn std::error::Error>> {
        let line = |number: u32| format!("line {number:06}\n").into_bytes();
        let log = kept(8 << 10, (0..100_000).map(line))?;
        let text = String::from_utf8(log)?;
        assert!(text.len() < 9 << 10 && text.starts_with("line 000000\n") && text.ends_with("line 099999\n"));
        let left_out: u64 =
            text.split("[oomdoc: ").nth(1).and_then(|rest| rest.split(' ').next()).ok_or("no mark")?.parse()?;
        let mark = format!("\n[oomdoc: {left_out} bytes are left out here]\n");
        assert_eq!(left_out + text.len() as u64 - mark.len() as u64, 100_000 * 12);
        Ok(())
    }
}
