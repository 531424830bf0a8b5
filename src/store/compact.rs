//! Compaction: the journal also keeps removed records, so all live ones are copied into a new journal that replaces the
//! old.

use std::fs;
use std::path::Path;

use super::disk::{self, DiskStore, places};
use super::error::StoreError;
use super::journal::{FILE, NewJournal, Places};
use super::{Store, disk_space, engine};
use crate::durable;

/// The name of a new journal until it replaces the old one.
pub(super) const NEW: &str = "journal.new";
/// A journal of at most this many bytes is not worth compacting.
const SMALL: u64 = 2 << 20;
/// Compaction is worthwhile if the journal is this many times the size of its records.
const TIMES: u64 = 2;

/// The result of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes on disk before.
    pub before: u64,
    /// Bytes on disk after.
    pub after: u64,
    /// How many records were copied.
    pub records: u64,
}

impl DiskStore {
    /// Whether [`DiskStore::compact`] would save considerable space.
    pub fn is_bloated(&self) -> bool {
        let size = self.journal().size();
        size > SMALL && size > TIMES * self.live()
    }

    /// Copies all records into a new journal and replaces the old one with it. If this is interrupted at any time, the
    /// store is either the old or the new one. Damage is an error and is not copied.
    pub fn compact(&mut self) -> Result<Compacted, StoreError> {
        let folder = self.path().to_owned();
        let io = |error| StoreError::io(&folder, error);
        let before = size(&folder);
        let (old, new) = (places(&folder)?, folder.join(NEW));
        // A journal's overhead is less than its records.
        disk_space::check_free(&folder, 2 * old.live)?;
        let copied = self.copy(&old, &new).and_then(|records| {
            // Read back from the disk, not from memory.
            match Places::read(&new).map_err(io)? {
                Ok(copy) if copy.count("") == records && copy.live == old.live => Ok(copy),
                _ => Err(StoreError::Damaged { path: new.clone(), what: "a copy differs".to_owned() }),
            }
        });
        let placed = copied.and_then(|copy| durable::rename(&new, &folder.join(FILE)).map(|()| copy).map_err(io));
        if placed.is_err() {
            // A leftover file is removed when the store is opened next.
            let _ = fs::remove_file(&new);
        }
        let copy = placed?;
        let records = copy.count("");
        self.renew(copy)?;
        Ok(Compacted { before, after: size(&folder), records })
    }

    /// Copies all records into a journal at `new`, verifying each.
    fn copy(&self, old: &Places, new: &Path) -> Result<u64, StoreError> {
        let io = |error| StoreError::io(new, error);
        let mut journal = NewJournal::begin(new, self.change()).map_err(io)?;
        old.scan("", None, &mut |key, sealed| {
            let sealed = sealed.map_err(io)?;
            disk::check(self.path(), key, &sealed)?;
            journal.put(key, &sealed).map_err(io)
        })?;
        journal.finish().map_err(io)
    }
}

/// The bytes of the journal and of sled.
fn size(folder: &Path) -> u64 {
    fs::metadata(folder.join(FILE)).map_or(0, |data| data.len()) + engine::size(&folder.join(engine::FOLDER))
}
