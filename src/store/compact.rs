//! Giving space back: the journal keeps what was removed, so that the records are copied into one of their own, which then takes
//! the place of the old one.

use std::fs;
use std::path::Path;

use super::disk::{self, DiskStore, places};
use super::error::StoreError;
use super::journal::{FILE, Making, Places};
use super::{Store, disk_space, engine};
use crate::durable;

/// Where a journal that is made anew grows.
pub(super) const NEW: &str = "journal.new";
/// Smaller ones have nothing to give back.
const SMALL: u64 = 2 << 20;
/// Compaction pays where the journal has so many times what is in it.
const TIMES: u64 = 2;

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes on the disk before.
    pub before: u64,
    /// Bytes on the disk after.
    pub after: u64,
    /// How many records were copied.
    pub records: u64,
}

impl DiskStore {
    /// Whether it takes so much more space than it needs that [`DiskStore::compact`] pays.
    pub fn is_bloated(&self) -> bool {
        let size = self.journal().size();
        size > SMALL && size > TIMES * self.live()
    }

    /// Copies all records into a new journal and puts it in the place of the old one, which is then as small as it can be.
    /// Whenever it is interrupted, the store is either the old or the new one; damage is an error, and is not copied.
    pub fn compact(&mut self) -> Result<Compacted, StoreError> {
        let folder = self.path().to_owned();
        let io = |error| StoreError::io(&folder, error);
        let before = size(&folder);
        let (old, new) = (places(&folder)?, folder.join(NEW));
        // What is written around the records is less than they are.
        disk_space::is_there(&folder, 2 * old.live)?;
        let copied = self.copy(&old, &new).and_then(|records| {
            // From the disk, not from what is remembered of it.
            match Places::read(&new).map_err(io)? {
                Ok(copy) if copy.count("") == records && copy.live == old.live => Ok(copy),
                _ => Err(StoreError::Damaged { path: new.clone(), what: "a copy differs".to_owned() }),
            }
        });
        let placed = copied.and_then(|copy| durable::rename(&new, &folder.join(FILE)).map(|()| copy).map_err(io));
        if placed.is_err() {
            // What is left of it goes at the next opening, if not now.
            let _ = fs::remove_file(&new);
        }
        let copy = placed?;
        let records = copy.count("");
        self.renew(copy)?;
        Ok(Compacted { before, after: size(&folder), records })
    }

    /// Copies all records into a journal at `new`, each of which must be as it was written.
    fn copy(&self, old: &Places, new: &Path) -> Result<u64, StoreError> {
        let io = |error| StoreError::io(new, error);
        let mut journal = Making::begin(new, self.change()).map_err(io)?;
        old.scan("", None, &mut |key, sealed| {
            let sealed = sealed.map_err(io)?;
            disk::check(self.path(), key, &sealed)?;
            journal.put(key, &sealed).map_err(io)
        })?;
        journal.finish().map_err(io)
    }
}

/// Bytes of the journal and of sled.
fn size(folder: &Path) -> u64 {
    fs::metadata(folder.join(FILE)).map_or(0, |data| data.len()) + engine::size(&folder.join(engine::FOLDER))
}
