//! The journal: all acknowledged changes in order.
//!
//! In: whole changes. Out: the places of all records. A change is acknowledged once its entries and commit are durable
//! here; everything else (sled, the snapshot, the index) can be rebuilt from this file. A failed append is cut off
//! again, so that a full or failing disk leaves the journal as it was. Unreadable bytes at the end were never
//! acknowledged; anywhere else they are damage, which is always reported.

mod entry;
mod places;
mod walk;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub(super) use entry::DoneNote;
use entry::{DONE, Decoded, Entry, decode, encode};
pub(super) use places::{Places, Readable};

use crate::durable;

/// The journal's name in the store's folder.
pub(super) const FILE: &str = "journal";
/// How many bytes are written at once to a new journal.
const AT_ONCE: usize = 1 << 20;

/// A key and its sealed value; `None` removes it.
pub(super) type Sealed<'s> = (&'s str, Option<&'s [u8]>);

/// The journal, open for writing by the store's owner.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// The offset of the next entry.
    end: u64,
    /// The length that is durable.
    durable: u64,
    /// Whether a failed append could not be cut off again.
    is_stuck: bool,
}

impl Journal {
    /// Creates a journal without changes in `folder`.
    pub fn create(folder: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        encode(&mut bytes, 0, Entry::Begin);
        durable::replace(&folder.join(FILE), &bytes)
    }

    /// Opens the journal in `folder` to append at `end`; what follows was never acknowledged and is cut off.
    pub fn open(folder: &Path, end: u64) -> io::Result<Journal> {
        let path = folder.join(FILE);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        if file.metadata()?.len() != end {
            file.set_len(end)?;
        }
        Ok(Journal { path, file, end, durable: end, is_stuck: false })
    }

    /// Makes the file durable: a writer that was killed may not have done so.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        self.end
    }

    /// Whether changes may be appended.
    pub fn is_open(&self) -> bool {
        !self.is_stuck
    }

    /// Appends a change durably, or leaves the journal as it was. Returns the offsets of the values, in the order of
    /// `records`.
    pub fn append(&mut self, change: u64, records: &[Sealed<'_>]) -> io::Result<Vec<u64>> {
        let mut bytes = Vec::new();
        let places: Vec<u64> =
            records.iter().map(|(key, value)| self.end + put(&mut bytes, change, key, *value)).collect();
        encode(&mut bytes, change, Entry::Commit(records.len() as u32));
        self.write(&bytes)?;
        if let Err(error) = self.file.sync_data() {
            // After a failed fsync the system may have dropped the data, so it must not be built upon.
            self.cut(self.durable);
            return Err(error);
        }
        self.durable = self.end;
        Ok(places)
    }

    /// Notes that the last change is durable. Without the note the next opening reads the whole journal.
    pub fn done(&mut self, done: DoneNote) -> io::Result<()> {
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

/// The note at the end of the journal in `folder`, and its length; `None` if the last writer left none.
pub(super) fn end(folder: &Path) -> io::Result<Option<(DoneNote, u64)>> {
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

/// A new journal at `path` that gets all records in one change; it is durable once finished.
pub(super) struct NewJournal {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
    change: u64,
    entries: u32,
}

impl NewJournal {
    pub fn begin(path: &Path, change: u64) -> io::Result<NewJournal> {
        let mut bytes = Vec::new();
        encode(&mut bytes, change.saturating_sub(1), Entry::Begin);
        Ok(NewJournal { path: path.to_owned(), file: File::create(path)?, bytes, change, entries: 0 })
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

    /// Returns the number of records.
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
