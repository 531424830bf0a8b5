//! A history in one file: all records of its store, with a checksum at the end that proves the file complete.
//!
//! In goes one consistent view of the store and of what waits in the spool, while the store's owner goes on writing;
//! out comes, on restoring, a new store. Everything that is derived from the records (the index, the snapshot, the log
//! of changes) is made anew.
//!
//! The file is a line, `oomdoc backup 1`, followed by one zstd frame: for each record the lengths of key and value (4
//! bytes each, little-endian), the key and the value; then 0xffffffff, the number of records (8 bytes) and the SHA-256
//! of all before it.

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
/// Marks the end of the records; it stands where the next key's length would.
const END: u32 = u32::MAX;
/// No key and no value is longer: a greater length means that the file is damaged.
const LONGEST: u32 = 1 << 20;
/// The zstd level: at a higher one compressing takes longer than the disk.
const LEVEL: i32 = 3;
/// The most records, and the most bytes, that are restored in one commit.
const RECORDS: usize = 1024;
const BYTES: usize = 8 << 20;
/// The folder a store is restored into before it is moved into the home folder.
const NEW: &str = "restore.new";
/// What is moved, in this order: the store first, since it needs nothing else and nothing else makes sense without it.
const PARTS: [&str; 3] = ["store", "index", "snapshot"];

/// What a backup contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// Number of records: incidents, groups, outcomes, rules and what a server keeps.
    pub records: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// Writes the store in `home` to the file `path`, replacing an existing one. It may run while another process owns the
/// store.
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
        // A partial file is of no use.
        let _ = fs::remove_file(&part);
    }
    placed
}

/// Only the owner may read it: a store holds tokens, even if only their hashes.
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

/// Reads all of the backup `path` and says what it contains; fails if it is not as it was written.
pub fn verify_backup(path: &Path) -> Result<BackedUp, HistoryError> {
    read_all(path, &mut |_, _| Ok(()))
}

/// Restores the backup `path` into `home`. The whole file is checked before anything is written, and a process that
/// looks at `home` meanwhile finds either nothing or everything.
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
    // The index is left out: until it is made, searches read the store and say so.
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

/// Calls `each` for every record of the backup `path`. It fails if the file is not complete, even if every record could
/// be read.
fn read_all(
    path: &Path,
    each: &mut dyn FnMut(String, Vec<u8>) -> Result<(), HistoryError>,
) -> Result<BackedUp, HistoryError> {
    let io = |error| HistoryError::file(path, error);
    let damaged = |problem: &str| HistoryError::Backup { path: PathBuf::from(path), problem: problem.to_owned() };
    // A frame that zstd cannot unpack, or that ends early, is a damaged backup.
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
    // Reading past the last byte makes zstd check the frame's own checksum; nothing may follow the frame.
    let is_end = of.read(&mut [0]).map_err(unread)? == 0 && of.finish().read(&mut [0]).map_err(io)? == 0;
    match is_whole && is_end {
        true => Ok(BackedUp { records, bytes }),
        false => Err(damaged("its checksum does not fit")),
    }
}

/// A reader that computes the digest of what it has read.
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
