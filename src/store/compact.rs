//! Giving space back: sled keeps what was removed for ever, so that the records are copied into a folder of their own, which
//! then takes the place of the old one.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::disk::{DiskStore, ENGINE, FOLDER, PATIENCE, engine_error, guarded, open_engine};
use super::error::StoreError;
use super::{durable, record, room};

/// Where the copy grows, and where the old records wait until it is in place.
const NEW: &str = "sled.new";
const OLD: &str = "sled.old";
/// Smaller stores have nothing to give back: sled's file grows by pieces.
const SMALL: u64 = 16 << 20;
/// Compaction pays where the file has so many times what is in it.
const TIMES: u64 = 3;
/// Records that are written at once.
const AT_ONCE: usize = 1000;

/// Takes a key and what lies under it.
type Each<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>;

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

/// What a copy must have in common with its original.
#[derive(Debug, PartialEq, Eq)]
struct Sum {
    records: u64,
    bytes: u64,
    digest: [u8; 32],
}

impl DiskStore {
    /// Whether it takes so much more space than it needs that [`DiskStore::compact`] pays. Reads all of it where it is large.
    pub fn is_bloated(&self) -> Result<bool, StoreError> {
        let size = size(&self.engine());
        Ok(size > SMALL && size > TIMES * self.sum()?.bytes)
    }

    /// Copies all records into a new file and puts it in the place of the old one, which is then as small as it can be.
    /// Whenever it is interrupted, the store is either the old or the new one.
    pub fn compact(self) -> Result<(DiskStore, Compacted), StoreError> {
        let home = self.home().to_owned();
        let folder = home.join(FOLDER);
        let (engine, new, old) = (self.engine(), folder.join(NEW), folder.join(OLD));
        let io = |error| StoreError::io(&folder, error);
        let before = size(&engine);
        let sum = self.sum()?;
        // What sled adds to the records is less than they are.
        room::is_there(&folder, 2 * sum.bytes)?;
        remove(&new)?;
        let copied = self.copy(&new).and_then(|found| match found == sum {
            true => Ok(()),
            false => Err(self.damaged(format!("{} records were copied, and {} are there", found.records, sum.records))),
        });
        if let Err(error) = copied {
            // What is left of it goes at the next opening, if not now.
            let _ = fs::remove_dir_all(&new);
            return Err(error);
        }
        let owner = self.close();
        fs::rename(&engine, &old).and_then(|()| fs::rename(&new, &engine)).map_err(io)?;
        durable::sync_folder(&folder).map_err(io)?;
        remove(&old)?;
        let store = DiskStore::open_owned(&home, owner, PATIENCE)?;
        let after = size(&engine);
        Ok((store, Compacted { before, after, records: sum.records }))
    }

    /// Copies all records into `folder`, durably, and reads them there.
    fn copy(&self, folder: &Path) -> Result<Sum, StoreError> {
        let copy = open_engine(folder, folder, PATIENCE)?;
        let write = |batch: sled::Batch| {
            guarded(folder, || copy.apply_batch(batch))?.map_err(|error| engine_error(folder, error))
        };
        let (mut batch, mut waiting) = (sled::Batch::default(), 0);
        self.sealed(&mut |key, sealed| {
            batch.insert(key, sealed);
            waiting += 1;
            if waiting == AT_ONCE {
                waiting = 0;
                write(std::mem::take(&mut batch))?;
            }
            Ok(())
        })?;
        write(batch)?;
        guarded(folder, || copy.flush())?.map_err(|error| engine_error(folder, error))?;
        for name in ["db", "conf"] {
            let path = folder.join(name);
            let file = OpenOptions::new().read(true).write(true).open(&path);
            file.and_then(|file| file.sync_all()).map_err(|error| StoreError::io(&path, error))?;
        }
        durable::sync_folder(folder).map_err(|error| StoreError::io(folder, error))?;
        drop(copy);
        // From the disk, not from what is remembered of it.
        let copy = open_engine(folder, folder, PATIENCE)?;
        sum(folder, &copy)
    }

    fn sum(&self) -> Result<Sum, StoreError> {
        sum(&self.engine(), self.tree())
    }

    /// Hands every record to `each`, as it lies on the disk.
    fn sealed(&self, each: Each<'_>) -> Result<(), StoreError> {
        walk(&self.engine(), self.tree(), each)
    }
}

/// Puts back what an interrupted compaction left in the store's `folder`.
pub(super) fn settle(folder: &Path) -> Result<(), StoreError> {
    let (engine, old) = (folder.join(ENGINE), folder.join(OLD));
    if old.exists() && !engine.exists() {
        fs::rename(&old, &engine).map_err(|error| StoreError::io(&old, error))?;
        durable::sync_folder(folder).map_err(|error| StoreError::io(folder, error))?;
    }
    remove(&old)?;
    remove(&folder.join(NEW))
}

fn sum(path: &Path, tree: &sled::Db) -> Result<Sum, StoreError> {
    let (mut records, mut bytes, mut digest) = (0, 0, Sha256::new());
    walk(path, tree, &mut |key, sealed| {
        let name = String::from_utf8_lossy(key);
        record::open(&name, sealed).map_err(|what| StoreError::Damaged { path: path.to_owned(), what })?;
        records += 1;
        bytes += (key.len() + sealed.len()) as u64;
        for part in [key, sealed] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Ok(())
    })?;
    Ok(Sum { records, bytes, digest: digest.finalize().into() })
}

fn walk(path: &Path, tree: &sled::Db, each: Each<'_>) -> Result<(), StoreError> {
    let mut records = tree.iter();
    while let Some(found) = guarded(path, || records.next())? {
        let (key, sealed) = found.map_err(|error| engine_error(path, error))?;
        each(&key, &sealed)?;
    }
    Ok(())
}

/// Bytes of the files in `folder`.
fn size(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(|data| data.is_file()).map(|data| data.len()).sum()
}

fn remove(folder: &PathBuf) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io(folder, error)),
        _ => Ok(()),
    }
}
