//! A history in one file: all records of its store, and a checksum at the end, without which it is none.
//!
//! In goes one state of the store with what waits in the spool, while its owner goes on writing; out comes a store that was never
//! there before. What follows from the records (the index, the snapshot, the log of changes) is made anew.
//!
//! The file is a line, `oomdoc backup 1`, and one zstd frame: for each record the lengths of key and value (4 bytes each,
//! little-endian), the key, the value; then 0xffffffff, the number of records (8 bytes) and the SHA-256 of all before it.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use zstd::stream::{read, write};

use super::{HistoryError, changes, is_waiting, look, publish};
use crate::durable;
use crate::store::{Change, DiskStore, Store, StoreError};

const MAGIC: &[u8] = b"oomdoc backup 1\n";
/// Stands where the length of a key does, behind the last record.
const END: u32 = u32::MAX;
/// No key and no value is longer; whoever says so is damaged.
const LONGEST: u32 = 1 << 20;
/// How hard zstd tries: more than this takes longer than the disk.
const LEVEL: i32 = 3;
/// Records, and bytes, that are restored with one commit.
const RECORDS: usize = 1024;
const BYTES: usize = 8 << 20;
/// Where a store is restored before it takes its place in the home folder.
const NEW: &str = "restore.new";
/// What takes its place, in this order: a store needs nothing else, and nothing else makes sense without one.
const PARTS: [&str; 3] = ["store", "index", "snapshot"];

/// What is in a backup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// Records: incidents, groups, outcomes, rules and what a server keeps.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Writes the store in `home` to the file `path`, which takes the place of one that is there. Works beside the store's owner.
pub fn backup(home: &Path, path: &Path) -> Result<BackedUp, HistoryError> {
    let view = look(home)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let io = |error| HistoryError::file(path, error);
    let written = create(&part).map_err(io).and_then(|file| {
        let mut out = BufWriter::new(file);
        let records = write_all(&view, &mut out).map_err(|error| match error {
            Failure::Io(error) => io(error),
            Failure::Store(error) => error.into(),
        })?;
        let file = out.into_inner().map_err(|error| io(error.into_error()))?;
        file.sync_all().map_err(io)?;
        Ok(BackedUp { records, bytes: file.metadata().map_err(io)?.len() })
    });
    let placed = written.and_then(|done| durable::rename(&part, path).map(|()| done).map_err(io));
    if placed.is_err() {
        // It is of no use to anybody.
        let _ = fs::remove_file(&part);
    }
    placed
}

/// Nobody else may read it: a store holds tokens, too, if only what they are compared with.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create(true).truncate(true).open(path)
}

enum Failure {
    Io(io::Error),
    Store(StoreError),
}

fn write_all(store: &dyn Store, out: &mut dyn Write) -> Result<u64, Failure> {
    out.write_all(MAGIC).map_err(Failure::Io)?;
    let mut out = write::Encoder::new(out, LEVEL).map_err(Failure::Io)?;
    out.include_checksum(true).map_err(Failure::Io)?;
    let (mut digest, mut records, mut written) = (Sha256::new(), 0_u64, Ok(()));
    let mut put = |bytes: &[u8]| {
        digest.update(bytes);
        out.write_all(bytes)
    };
    store
        .scan("", &mut |key, value| {
            if written.is_ok() && !changes::is_log(key) {
                let lengths = [(key.len() as u32).to_le_bytes(), (value.len() as u32).to_le_bytes()].concat();
                written = [&lengths, key.as_bytes(), value].into_iter().try_for_each(&mut put);
                records += 1;
            }
        })
        .map_err(Failure::Store)?;
    written.map_err(Failure::Io)?;
    put(&END.to_le_bytes()).and_then(|()| put(&records.to_le_bytes())).map_err(Failure::Io)?;
    let finish = || -> io::Result<()> {
        out.write_all(&digest.finalize())?;
        out.finish()?.flush()
    };
    finish().map_err(Failure::Io)?;
    Ok(records)
}

/// Reads all of the backup `path`: what is in it, if it is as it was written.
pub fn verify_backup(path: &Path) -> Result<BackedUp, HistoryError> {
    read_all(path, &mut |_, _| Ok(()))
}

/// Makes the history in `home` of the backup `path`. All of it is checked before anything is written, and whoever looks at `home`
/// meanwhile finds nothing there or everything.
pub fn restore(path: &Path, home: &Path) -> Result<BackedUp, HistoryError> {
    if DiskStore::is_in(home) || is_waiting(home) {
        return Err(HistoryError::NotEmpty { home: home.to_owned() });
    }
    let found = verify_backup(path)?;
    let new = home.join(NEW);
    let io = |error| HistoryError::file(home, error);
    durable::make_folder(home).map_err(io)?;
    clear(&new).map_err(io)?;
    let mut store = DiskStore::open(&new)?;
    let (mut waiting, mut bytes) = (Vec::new(), 0);
    read_all(path, &mut |key, value| {
        bytes += value.len();
        waiting.push(Change::put(key, value));
        if waiting.len() >= RECORDS || bytes >= BYTES {
            bytes = 0;
            store.commit(&std::mem::take(&mut waiting))?;
        }
        Ok(())
    })?;
    if !waiting.is_empty() {
        store.commit(&waiting)?;
    }
    // Without an index, searches read the store and say so.
    publish(&mut store)?;
    drop(store);
    for part in PARTS.map(|part| (new.join(part), home.join(part))) {
        match fs::rename(&part.0, &part.1) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    durable::sync_folder(home).map_err(io)?;
    clear(&new).map_err(io)?;
    Ok(found)
}

fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Hands out every record of the backup `path`; an error where it is not whole, however far it was read.
fn read_all(
    path: &Path,
    each: &mut dyn FnMut(String, Vec<u8>) -> Result<(), HistoryError>,
) -> Result<BackedUp, HistoryError> {
    let io = |error| HistoryError::file(path, error);
    let damaged = |problem: &str| HistoryError::Backup { path: PathBuf::from(path), problem: problem.to_owned() };
    // What zstd cannot unpack, or what ends early, was not written so.
    let unread = |error: io::Error| damaged(&error.to_string());
    let mut file = BufReader::new(File::open(path).map_err(io)?);
    let bytes = file.get_ref().metadata().map_err(io)?.len();
    let mut magic = vec![0; MAGIC.len()];
    if file.read_exact(&mut magic).is_err() || magic != MAGIC {
        let is_newer = magic.starts_with(b"oomdoc backup ");
        return Err(damaged(if is_newer { "another version of oomdoc wrote it" } else { "it does not begin as one" }));
    }
    let mut content =
        Content { of: read::Decoder::with_buffer(file).map_err(unread)?.single_frame(), digest: Sha256::new() };
    let mut records = 0_u64;
    loop {
        let length = content.number().map_err(unread)?;
        if length == END {
            break;
        }
        let value = content.number().map_err(unread)?;
        if length > LONGEST || value > LONGEST {
            return Err(damaged("a record is longer than any"));
        }
        let key = String::from_utf8(content.take(length as usize).map_err(unread)?);
        let key = key.map_err(|_| damaged("a key makes no sense"))?;
        each(key, content.take(value as usize).map_err(unread)?)?;
        records += 1;
    }
    let count = content.take(8).map_err(unread)?;
    let Content { mut of, digest } = content;
    let mut sum = [0; 32];
    of.read_exact(&mut sum).map_err(unread)?;
    let is_whole = count == records.to_le_bytes() && sum[..] == digest.finalize()[..];
    // The frame's own checksum is read at its end, and nothing stands behind it.
    let is_end = of.read(&mut [0]).map_err(unread)? == 0 && of.finish().read(&mut [0]).map_err(io)? == 0;
    match is_whole && is_end {
        true => Ok(BackedUp { records, bytes }),
        false => Err(damaged("its checksum does not fit")),
    }
}

/// What is read, with a digest of it.
struct Content<R> {
    of: R,
    digest: Sha256,
}

impl<R: Read> Content<R> {
    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.of.read_exact(&mut bytes)?;
        self.digest.update(&bytes);
        Ok(bytes)
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.of.read_exact(&mut bytes)?;
        self.digest.update(bytes);
        Ok(u32::from_le_bytes(bytes))
    }
}
