//! The store on disk: sled 0.34.7, and what it needs around it to keep its word.
//!
//! sled's `flush` ends in `sync_file_range`, which does not make a grown file durable, so each commit calls fsync on its
//! file besides. It takes a half-written `snap.*.generating` for a snapshot, so those go before it opens. It panics on some
//! damaged files, so it is asked inside `catch_unwind`. It accepts a truncated file silently, so records are counted and
//! changes numbered.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::StoreError;
use super::format::{self, State};
use super::owner::Owner;
use super::quiet::quietly;
use super::{Change, Snapshot, Store, compact, durable, record, room, space};

/// Where the store is in the home folder.
pub(super) const FOLDER: &str = "store";
/// sled's own folder in it.
pub(super) const ENGINE: &str = "sled";
/// How long to wait for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
const CACHE: u64 = 64 << 20;
/// The number of the last change.
const CHANGE: &str = "meta/change";
/// The number of records of a space stands below this.
const COUNT: &str = "meta/count/";

/// The store in a home folder, open for as long as this lives.
pub struct DiskStore {
    home: PathBuf,
    path: PathBuf,
    tree: sled::Db,
    /// sled's file, to make its growth durable.
    file: File,
    change: u64,
    failed: bool,
    owner: Owner,
}

impl DiskStore {
    /// Opens the store in `home`, or makes one.
    pub fn open(home: &Path) -> Result<DiskStore, StoreError> {
        DiskStore::open_within(home, PATIENCE)
    }

    /// Like [`DiskStore::open`], waiting for `patience` where another process has it open.
    pub fn open_within(home: &Path, patience: Duration) -> Result<DiskStore, StoreError> {
        let path = home.join(FOLDER);
        durable::make_folder(&path).map_err(|error| StoreError::io(&path, error))?;
        format::read(&path)?;
        let owner = Owner::of(&path, patience)?;
        DiskStore::open_owned(home, owner, patience)
    }

    /// Like [`DiskStore::open`], for who owns it already.
    pub(super) fn open_owned(home: &Path, owner: Owner, patience: Duration) -> Result<DiskStore, StoreError> {
        let path = home.join(FOLDER);
        // Whoever had it may have just made it.
        let state = format::read(&path)?;
        // sled would not say what is wrong.
        room::is_there(&path, room::LEAST)?;
        compact::settle(&path)?;
        let engine = path.join(ENGINE);
        if state == State::New {
            format::mark(&path, State::New)?;
            // What an interrupted making left was never acknowledged, and sled may not open it.
            remove(&engine)?;
        }
        remove_half_written_snapshots(&engine)?;
        let tree = open_engine(&path, &engine, patience)?;
        let data = engine.join("db");
        let io = |error| StoreError::io(&data, error);
        let file = OpenOptions::new().read(true).write(true).open(&data).map_err(io)?;
        if state == State::New {
            // An engine without a record would look like one that lost all of them.
            guarded(&path, || {
                tree.insert(CHANGE, record::seal(CHANGE, &0_u64.to_le_bytes())).and_then(|_| tree.flush())
            })?
            .map_err(|error| engine_error(&path, error))?;
            make_durable(home, &path, &engine, &file).map_err(|error| StoreError::io(&path, error))?;
            format::mark(&path, State::Ready)?;
        } else if !tree.was_recovered() {
            let what = "its marker says that there are records, and there are none".to_owned();
            return Err(StoreError::Damaged { path, what });
        } else {
            // Before anything is written that an older oomdoc does not understand.
            format::upgrade(&path)?;
        }
        let mut store = DiskStore { home: home.to_owned(), path, tree, file, change: 0, failed: false, owner };
        store.change = store.number(CHANGE)?;
        match Snapshot::read(home) {
            Ok(snapshot) if snapshot.change > store.change => {
                Err(StoreError::RolledBack { path: store.path, found: store.change, seen: snapshot.change })
            }
            // A snapshot that does not fit is written anew at the next commit.
            _ => Ok(store),
        }
    }

    /// Tells this store from others; `None` where `home` has none.
    pub fn id(home: &Path) -> Option<String> {
        format::id_of(&home.join(FOLDER))
    }

    /// How many records a space has.
    pub fn count(&self, space: &str) -> Result<u64, StoreError> {
        self.number(&format!("{COUNT}{space}"))
    }

    /// Whether there is one in `home`.
    pub fn is_in(home: &Path) -> bool {
        home.join(FOLDER).join(format::MARKER).exists()
    }

    /// The folder of which this is the store.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Closes it, but keeps others out.
    pub(super) fn close(self) -> Owner {
        self.owner
    }

    pub(super) fn engine(&self) -> PathBuf {
        self.path.join(ENGINE)
    }

    pub(super) fn tree(&self) -> &sled::Db {
        &self.tree
    }

    /// Reads every record and counts them: the number of records, or the first thing that does not fit.
    pub fn verify(&self) -> Result<u64, StoreError> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        self.visit("", &mut |key, _| *counts.entry(space(key).to_owned()).or_default() += 1)?;
        counts.remove(space(COUNT));
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        let mut unreadable = None;
        self.visit(COUNT, &mut |key, value| match value.try_into().map(u64::from_le_bytes) {
            Ok(count) => drop(expected.insert(key.trim_start_matches(COUNT).to_owned(), count)),
            Err(_) => unreadable = Some(key.to_owned()),
        })?;
        expected.retain(|_, count| *count > 0);
        match unreadable {
            Some(key) => Err(self.damaged(format!("record {key} is no number"))),
            None if counts != expected => {
                Err(self.damaged(format!("there are {counts:?} records, and {expected:?} were written")))
            }
            None => Ok(counts.values().sum()),
        }
    }

    pub(super) fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what }
    }

    fn visit(&self, prefix: &str, each: &mut dyn FnMut(&str, &[u8])) -> Result<(), StoreError> {
        let mut records = self.tree.scan_prefix(prefix);
        while let Some(found) = guarded(&self.path, || records.next())? {
            let (key, sealed) = found.map_err(|error| engine_error(&self.path, error))?;
            let key = std::str::from_utf8(&key).map_err(|_| self.damaged(format!("a record is called {key:?}")))?;
            each(key, &record::open(key, &sealed).map_err(|what| self.damaged(what))?);
        }
        Ok(())
    }

    /// A number that is stored under `key`, 0 where there is none.
    fn number(&self, key: &str) -> Result<u64, StoreError> {
        match self.get(key)?.map(<[u8; 8]>::try_from) {
            None => Ok(0),
            Some(Ok(bytes)) => Ok(u64::from_le_bytes(bytes)),
            Some(Err(_)) => Err(self.damaged(format!("record {key} is no number"))),
        }
    }

    /// What a commit writes: the changes, the counts of their spaces, the number of the change.
    fn batch(&self, changes: &[Change]) -> Result<sled::Batch, StoreError> {
        // Of several changes to a record the last one counts.
        let last: BTreeMap<&str, Option<&[u8]>> =
            changes.iter().map(|change| (change.key.as_str(), change.value.as_deref())).collect();
        let mut batch = sled::Batch::default();
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for (key, value) in last {
            let is_there = self.get(key)?.is_some();
            match value {
                Some(value) if value.len() > record::MOST => {
                    return Err(StoreError::TooLarge { key: key.to_owned(), bytes: value.len(), most: record::MOST });
                }
                Some(value) => batch.insert(key, record::seal(key, value)),
                None => batch.remove(key),
            }
            *counts.entry(space(key)).or_default() += i64::from(value.is_some()) - i64::from(is_there);
        }
        for (space, more) in counts {
            let key = format!("{COUNT}{space}");
            let count = self.number(&key)?.saturating_add_signed(more);
            batch.insert(key.as_str(), record::seal(&key, &count.to_le_bytes()));
        }
        batch.insert(CHANGE, record::seal(CHANGE, &(self.change + 1).to_le_bytes()));
        Ok(batch)
    }
}

impl Store for DiskStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = guarded(&self.path, || self.tree.get(key))?.map_err(|error| engine_error(&self.path, error))?;
        let opened = found.map(|sealed| record::open(key, &sealed).map(std::borrow::Cow::into_owned)).transpose();
        opened.map_err(|what| self.damaged(what))
    }

    fn scan(&self, prefix: &str, each: &mut dyn FnMut(&str, &[u8])) -> Result<(), StoreError> {
        let mut found = 0;
        self.visit(prefix, &mut |key, value| {
            found += 1;
            each(key, value);
        })?;
        // A whole space is known to have so many records.
        match prefix.strip_suffix('/').filter(|space| !space.contains('/')) {
            Some(space) if self.number(&format!("{COUNT}{space}"))? != found => {
                Err(self.damaged(format!("{found} records are left of {space}")))
            }
            _ => Ok(()),
        }
    }

    fn commit(&mut self, changes: &[Change]) -> Result<u64, StoreError> {
        if self.failed {
            return Err(StoreError::Failed { path: self.path.clone() });
        }
        let batch = self.batch(changes)?;
        let written = guarded(&self.path, || {
            self.tree.apply_batch(batch)?;
            self.tree.flush()?;
            self.file.sync_data().map_err(sled::Error::from)
        });
        match written {
            Ok(Ok(())) => {
                self.change += 1;
                Ok(self.change)
            }
            Ok(Err(error)) => {
                self.failed = true;
                Err(engine_error(&self.path, error))
            }
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        }
    }

    fn change(&self) -> u64 {
        self.change
    }
}

fn remove(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io(folder, error)),
        _ => Ok(()),
    }
}

/// They are what a cut-off snapshot leaves; sled would read them as whole ones.
fn remove_half_written_snapshots(engine: &Path) -> Result<(), StoreError> {
    let Ok(entries) = fs::read_dir(engine) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path()).map_err(|error| StoreError::io(&entry.path(), error))?;
        }
    }
    Ok(())
}

/// sled's own lock may linger for a moment after a process was killed.
pub(super) fn open_engine(path: &Path, engine: &Path, patience: Duration) -> Result<sled::Db, StoreError> {
    let begun = Instant::now();
    loop {
        let config =
            sled::Config::new().path(engine).cache_capacity(CACHE).flush_every_ms(Some(500)).mode(sled::Mode::LowSpace);
        match guarded(path, || config.open())? {
            Ok(tree) => return Ok(tree),
            Err(error) if !is_locked(&error) => return Err(engine_error(path, error)),
            Err(_) if begun.elapsed() < patience => sleep(Duration::from_millis(50)),
            Err(_) => {
                let holder = "another process".to_owned();
                return Err(StoreError::Busy { path: path.to_owned(), holder });
            }
        }
    }
}

fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().contains("could not acquire lock"))
}

/// What was created is there after a power cut only when its folders are written out, too.
fn make_durable(home: &Path, path: &Path, engine: &Path, file: &File) -> std::io::Result<()> {
    file.sync_all()?;
    OpenOptions::new().read(true).write(true).open(engine.join("conf"))?.sync_all()?;
    for folder in [engine, path, home] {
        durable::sync_folder(folder)?;
    }
    home.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), durable::sync_folder)
}

/// sled panics on some damaged files; that is an answer, too.
pub(super) fn guarded<T>(path: &Path, ask: impl FnOnce() -> T) -> Result<T, StoreError> {
    let nonsense = || StoreError::Damaged { path: path.to_owned(), what: "sled cannot make sense of it".to_owned() };
    quietly(ask).ok_or_else(nonsense)
}

pub(super) fn engine_error(path: &Path, error: sled::Error) -> StoreError {
    match error {
        sled::Error::Io(error) => StoreError::io(path, error),
        error => StoreError::Damaged { path: path.to_owned(), what: error.to_string() },
    }
}
