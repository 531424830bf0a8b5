//! The journal: what was acknowledged, in the order in which it was.
//!
//! In go whole changes, out come the places of all records. A change is acknowledged once its entries and its commit are
//! durable here; everything else (sled, the snapshot, the index) follows from this file and may be thrown away. What does not
//! fit is cut off again, so that a full or failing disk leaves the journal as it was. Bytes that make no sense at the end were
//! never acknowledged; anywhere else they are damage, which is never passed over in silence.

mod entry;
mod places;
mod walk;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub(super) use entry::Done;
use entry::{DONE, Decoded, Entry, decode, encode};
pub(super) use places::{Places, Readable};

use crate::durable;

/// Its name in the store's folder.
pub(super) const FILE: &str = "journal";
/// Bytes that are written at once where a journal is made anew.
const AT_ONCE: usize = 1 << 20;

/// A record as it lies on the disk, or `None` where it is removed.
pub(super) type Sealed<'s> = (&'s str, Option<&'s [u8]>);

/// The journal, to be written by whoever owns the store.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the next entry goes.
    end: u64,
    /// How much of it is durable.
    durable: u64,
    /// What was written could not be cut off again.
    is_stuck: bool,
}

impl Journal {
    /// Makes a journal without a change in `folder`.
    pub fn create(folder: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        encode(&mut bytes, 0, Entry::Begin);
        durable::replace(&folder.join(FILE), &bytes)
    }

    /// Opens the one in `folder` to go on at `end`; what stands behind that was never acknowledged and goes.
    pub fn open(folder: &Path, end: u64) -> io::Result<Journal> {
        let path = folder.join(FILE);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        if file.metadata()?.len() != end {
            file.set_len(end)?;
        }
        Ok(Journal { path, file, end, durable: end, is_stuck: false })
    }

    /// Makes durable what whoever was killed may only have written.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of it.
    pub fn size(&self) -> u64 {
        self.end
    }

    /// Whether changes may be appended.
    pub fn is_open(&self) -> bool {
        !self.is_stuck
    }

    /// Appends a change, durably, or leaves everything as it was. Where the values begin, in the order of `records`.
    pub fn append(&mut self, change: u64, records: &[Sealed<'_>]) -> io::Result<Vec<u64>> {
        let mut bytes = Vec::new();
        let places: Vec<u64> =
            records.iter().map(|(key, value)| self.end + put(&mut bytes, change, key, *value)).collect();
        encode(&mut bytes, change, Entry::Commit(records.len() as u32));
        self.write(&bytes)?;
        if let Err(error) = self.file.sync_data() {
            // What the system forgot of it must not be built upon.
            self.cut(self.durable);
            return Err(error);
        }
        self.durable = self.end;
        Ok(places)
    }

    /// Notes that the last change is durable. Without that, whoever opens the journal next reads all of it.
    pub fn done(&mut self, done: Done) -> io::Result<()> {
        let mut bytes = Vec::new();
        encode(&mut bytes, done.change, Entry::Done(done));
        self.write(&bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.seek(SeekFrom::Start(self.end)).and_then(|_| self.file.write_all(bytes)) {
            self.cut(self.end);
            return Err(error);
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn cut(&mut self, end: u64) {
        self.end = end;
        self.is_stuck = self.file.set_len(end).is_err();
    }
}

/// How the journal in `folder` ends, where that can be told without reading it: its last writer came to an end.
pub(super) fn end(folder: &Path) -> io::Result<Option<(Done, u64)>> {
    let mut file = File::open(folder.join(FILE))?;
    let length = file.metadata()?.len();
    let Some(at) = length.checked_sub(DONE as u64) else { return Ok(None) };
    let mut bytes = [0; DONE];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(match decode(&bytes) {
        Decoded::Entry { entry: Entry::Done(done), .. } => Some((done, length)),
        _ => None,
    })
}

/// A journal that is made of records at the path `path`, all as one change; it is durable when it is finished.
pub(super) struct Making {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
    change: u64,
    entries: u32,
}

impl Making {
    pub fn begin(path: &Path, change: u64) -> io::Result<Making> {
        let mut bytes = Vec::new();
        encode(&mut bytes, change.saturating_sub(1), Entry::Begin);
        Ok(Making { path: path.to_owned(), file: File::create(path)?, bytes, change, entries: 0 })
    }

    pub fn put(&mut self, key: &str, sealed: &[u8]) -> io::Result<()> {
        put(&mut self.bytes, self.change, key, Some(sealed));
        self.entries += 1;
        if self.bytes.len() > AT_ONCE {
            self.file.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// How many records there are.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.change > 0 {
            encode(&mut self.bytes, self.change, Entry::Commit(self.entries));
        }
        self.file.write_all(&self.bytes)?;
        self.file.sync_all()?;
        self.path.parent().map_or(Ok(()), durable::sync_folder)?;
        Ok(u64::from(self.entries))
    }
}

fn put(bytes: &mut Vec<u8>, change: u64, key: &str, value: Option<&[u8]>) -> u64 {
    let entry = value.map_or(Entry::Remove(key), |sealed| Entry::Put(key, sealed));
    encode(bytes, change, entry) as u64
}

#[cfg(test)]
mod tests;
