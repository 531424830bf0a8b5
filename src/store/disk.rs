//! The store on disk: a journal with all acknowledged changes, and sled, which finds records without reading the whole
//! journal.
//!
//! A change is acknowledged when it is in the journal. Then sled is updated, and the journal notes whether sled has the
//! change as well: sled is trusted on opening only if that note is the last entry, and is rebuilt otherwise. A failure
//! of sled, even by a full disk, only costs time: records are then found through the journal.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::engine::{self, Engine, Lost};
use super::error::StoreError;
use super::format::{self, State};
use super::journal::{self, DoneNote, Journal, Places, Sealed};
use super::owner::Owner;
use super::{Change, Snapshot, Store, compact, disk_space, record, upgrade};
use crate::durable;

/// The store's folder in the home folder.
pub(super) const FOLDER: &str = "store";
/// How long to wait for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// sled is rebuilt only if this many bytes, plus this many times the size of the records, are free.
const ROOM: u64 = 8 << 20;
const TIMES: u64 = 3;

/// The store in a home folder, open and locked until dropped.
pub struct DiskStore {
    home: PathBuf,
    path: PathBuf,
    journal: Journal,
    found: RefCell<Lookup>,
    change: u64,
    /// The size of all records in bytes.
    live: u64,
    _owner: Owner,
}

/// How records are found.
enum Lookup {
    Engine(Engine),
    Journal(Places),
    /// Not at all: the journal cannot be read.
    Nowhere,
}

impl DiskStore {
    /// Opens the store in `home`, creating it if need be.
    pub fn open(home: &Path) -> Result<DiskStore, StoreError> {
        DiskStore::open_within(home, PATIENCE)
    }

    /// Like [`DiskStore::open`], but waits up to `patience` for another process that has it open.
    pub fn open_within(home: &Path, patience: Duration) -> Result<DiskStore, StoreError> {
        let path = home.join(FOLDER);
        durable::make_folder(&path).map_err(|error| StoreError::io(&path, error))?;
        format::read(&path)?;
        let owner = Owner::of(&path, patience)?;
        let io = |error| StoreError::io(&path, error);
        // Another process may have created it meanwhile.
        match format::read(&path)? {
            State::New => {
                format::mark_new(&path)?;
                // An interrupted creation has acknowledged nothing.
                engine::discard(&path);
                Journal::create(&path).map_err(io)?;
                durable::sync_folder(home).map_err(io)?;
                let parent = home.parent().filter(|parent| !parent.as_os_str().is_empty());
                parent.map_or(Ok(()), durable::sync_folder).map_err(io)?;
                format::mark_ready(&path)?;
            }
            State::Old => upgrade::upgrade(&path)?,
            State::Ready => {}
        }
        // Temporary files of processes that were killed.
        [home, &path].into_iter().for_each(durable::sweep);
        let _ = std::fs::remove_file(path.join(compact::NEW));
        DiskStore::open_owned(home, owner)
    }

    /// Opens an existing store for its owner.
    fn open_owned(home: &Path, owner: Owner) -> Result<DiskStore, StoreError> {
        let path = home.join(FOLDER);
        let io = |error| StoreError::io(&path.join(journal::FILE), error);
        let (engine, told) = Engine::open(&path).map_or((None, 0), |(engine, change)| (Some(engine), change));
        let seen = Snapshot::last_change(home).max(told);
        match (journal::end(&path).map_err(journal_error(&path))?, engine) {
            (Some((done, end)), Some(engine)) if done.is_in_engine && told == done.change && seen == told => {
                let journal = Journal::open(&path, end).map_err(io)?;
                let (found, DoneNote { change, live, .. }) = (RefCell::new(Lookup::Engine(engine)), done);
                return Ok(DiskStore { home: home.to_owned(), path, journal, found, change, live, _owner: owner });
            }
            _ => {}
        }
        let places = places(&path)?;
        if seen > places.change {
            // sled may have what the journal has lost.
            return Err(StoreError::RolledBack { path, found: places.change, seen });
        }
        let journal = Journal::open(&path, places.end).map_err(io)?;
        // A process that was killed may have written the end without making it durable, and others may have read it.
        journal.sync().map_err(io)?;
        let (change, live) = (places.change, places.live);
        let found = RefCell::new(Lookup::Journal(places));
        let mut store = DiskStore { home: home.to_owned(), path, journal, found, change, live, _owner: owner };
        store.make_engine();
        Ok(store)
    }

    /// Rebuilds sled if there is enough room.
    pub(super) fn make_engine(&mut self) {
        let found = self.found.get_mut();
        let Lookup::Journal(places) = &*found else { return };
        engine::discard(&self.path);
        if disk_space::check_free(&self.path, ROOM + TIMES * self.live).is_err() {
            return;
        }
        let made = Engine::make(&self.path, self.change, &mut |put| {
            places.scan("", None, &mut |key, sealed| put(key, sealed.map_err(|_| Lost)?))
        });
        match made {
            Ok(engine) => *found = Lookup::Engine(engine),
            Err(Lost) => engine::discard(&self.path),
        }
        self.note();
    }

    /// Notes in the journal whether sled is complete; without the note the next opening reads the whole journal.
    fn note(&mut self) {
        let is_in_engine = matches!(self.found.get_mut(), Lookup::Engine(_));
        let _ = self.journal.done(DoneNote { change: self.change, is_in_engine, live: self.live });
    }

    /// The store's id; `None` if there is none in `home`.
    pub fn id(home: &Path) -> Option<String> {
        format::id_of(&home.join(FOLDER))
    }

    /// The number of records in a space.
    pub fn count(&self, space: &str) -> Result<u64, StoreError> {
        self.ask(|engine| engine.count(space), |places| Ok(places.count(&format!("{space}/"))))
    }

    /// The number of the last change in `home`; `None` if it cannot be read or somebody is writing.
    pub fn last_change(home: &Path) -> Option<u64> {
        let path = home.join(FOLDER);
        if !Owner::is_nobody(&path) {
            return None;
        }
        match journal::end(&path).ok()? {
            Some((done, _)) => Some(done.change),
            None => Some(places(&path).ok()?.change),
        }
    }

    /// Whether `home` has a store, or something that should be one.
    pub fn is_in(home: &Path) -> bool {
        format::is_anything(&home.join(FOLDER))
    }

    /// Whether a process has the store in `home` open.
    pub fn is_in_use(home: &Path) -> bool {
        DiskStore::is_in(home) && !Owner::is_nobody(&home.join(FOLDER))
    }

    /// Whether `home` has hardly any room left.
    pub fn is_full(home: &Path) -> bool {
        disk_space::check_free(home, disk_space::LEAST).is_err()
    }

    /// The home folder of the store.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Verifies every record in the journal and in sled; returns their number, or the first damage. If only sled is
    /// damaged, it is rebuilt.
    pub fn verify(&mut self) -> Result<u64, StoreError> {
        let places = places(&self.path)?;
        let mut records = 0;
        places.scan("", None, &mut |key, sealed| {
            records += 1;
            opened(&self.path, key, sealed).map(drop)
        })?;
        let is_same = match self.found.get_mut() {
            Lookup::Engine(engine) => is_same(engine, &places) == Ok(true),
            _ => true,
        };
        if !is_same {
            *self.found.get_mut() = Lookup::Journal(places);
            self.make_engine();
        }
        Ok(records)
    }

    /// The store's folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// Switches to a journal that replaced the old one and was read as `places`, and rebuilds sled.
    pub(super) fn renew(&mut self, places: Places) -> Result<(), StoreError> {
        *self.found.get_mut() = Lookup::Nowhere;
        self.journal = Journal::open(&self.path, places.end).map_err(|error| StoreError::io(&self.path, error))?;
        self.live = places.live;
        *self.found.get_mut() = Lookup::Journal(places);
        self.make_engine();
        Ok(())
    }

    /// Answers by sled, or by the journal if sled fails.
    fn ask<T>(
        &self,
        of_engine: impl FnOnce(&Engine) -> Result<T, Lost>,
        of_journal: impl FnOnce(&Places) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Lookup::Engine(engine) = &*self.found.borrow()
            && let Ok(answer) = of_engine(engine)
        {
            return Ok(answer);
        }
        self.lose_engine()?;
        match &*self.found.borrow() {
            Lookup::Journal(places) => of_journal(places),
            _ => Err(StoreError::Failed { path: self.path.clone() }),
        }
    }

    /// Gives sled up, removing its files, and reads the journal instead.
    fn lose_engine(&self) -> Result<(), StoreError> {
        // A callback of a scan may be asking for other records.
        let failed = |_| StoreError::Failed { path: self.path.clone() };
        let mut found = self.found.try_borrow_mut().map_err(failed)?;
        if let Lookup::Engine(_) = &*found {
            if let Lookup::Engine(engine) = std::mem::replace(&mut *found, Lookup::Nowhere) {
                engine.abandon();
            }
            *found = Lookup::Journal(places(&self.path)?);
            engine::discard(&self.path);
        }
        Ok(())
    }
}

/// Whether `engine` and `places` have exactly the same records.
fn is_same(engine: &Engine, places: &Places) -> Result<bool, Lost> {
    let mut records = engine.records("");
    let mut is_same = true;
    places.scan("", None, &mut |key, sealed| {
        let sealed = sealed.map_err(|_| Lost)?;
        is_same = is_same && records.next().transpose()?.is_some_and(|(other, found)| other == key && found == sealed);
        Ok(())
    })?;
    Ok(is_same && records.next().transpose()?.is_none())
}

/// Reads the journal in the store's folder `path`.
pub(super) fn places(path: &Path) -> Result<Places, StoreError> {
    let read = Places::read(&path.join(journal::FILE)).map_err(journal_error(path))?;
    read.map_err(|what| StoreError::Damaged { path: path.to_owned(), what })
}

/// The value of `key` from `sealed`, which was read from the journal in the store's folder `path`.
pub(super) fn opened(path: &Path, key: &str, sealed: std::io::Result<Vec<u8>>) -> Result<Vec<u8>, StoreError> {
    let sealed = sealed.map_err(|error| StoreError::io(&path.join(journal::FILE), error))?;
    check(path, key, &sealed).map(Cow::into_owned)
}

/// The value of `key` in `sealed`, if it is undamaged.
pub(super) fn check<'s>(path: &Path, key: &str, sealed: &'s [u8]) -> Result<Cow<'s, [u8]>, StoreError> {
    record::open(key, sealed).map_err(|what| StoreError::Damaged { path: path.to_owned(), what })
}

/// The error for a journal in `path` that cannot be read.
fn journal_error(path: &Path) -> impl Fn(std::io::Error) -> StoreError {
    move |error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let what = "its marker says that there are records, and there is no journal".to_owned();
            StoreError::Damaged { path: path.to_owned(), what }
        }
        _ => StoreError::io(&path.join(journal::FILE), error),
    }
}

impl Store for DiskStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let of_engine = |engine: &Engine| {
            let opened = |sealed: Vec<u8>| record::open(key, &sealed).map(Cow::into_owned).map_err(|_| Lost);
            engine.get(key)?.map(opened).transpose()
        };
        self.ask(of_engine, |places| places.get(key).map(|sealed| opened(&self.path, key, sealed)).transpose())
    }

    fn scan_after(
        &self,
        prefix: &str,
        after: Option<&str>,
        each: &mut dyn FnMut(&str, &[u8]),
    ) -> Result<(), StoreError> {
        let mut last = after.map(str::to_owned);
        let whole = prefix.strip_suffix('/').filter(|space| after.is_none() && !space.contains('/'));
        let mut of_engine = |engine: &Engine| {
            // The number of records in a whole space is known and can be checked.
            if whole.is_some_and(|space| engine.is_whole(space) != Ok(true)) {
                return Err(Lost);
            }
            for found in engine.records_after(prefix, after) {
                let (key, sealed) = found?;
                each(&key, &record::open(&key, &sealed).map_err(|_| Lost)?);
                last = Some(key);
            }
            Ok(())
        };
        if let Lookup::Engine(engine) = &*self.found.borrow()
            && of_engine(engine) == Ok(())
        {
            return Ok(());
        }
        self.ask(
            |_| Err(Lost),
            |places| {
                places.scan(prefix, last.as_deref(), &mut |key, sealed| {
                    each(key, &opened(&self.path, key, sealed)?);
                    Ok(())
                })
            },
        )
    }

    fn commit(&mut self, changes: &[Change]) -> Result<u64, StoreError> {
        if !self.journal.is_open() {
            return Err(StoreError::Failed { path: self.path.clone() });
        }
        let sealed = seal(changes)?;
        let records: Vec<Sealed<'_>> = sealed.iter().map(|(key, value)| (*key, value.as_deref())).collect();
        let number = self.change + 1;
        let appended = match self.journal.append(number, &records) {
            // sled can be rebuilt, so give up its space for the new records.
            Err(error) if disk_space::is_exhausted(&error) && matches!(self.found.get_mut(), Lookup::Engine(_)) => {
                self.lose_engine()?;
                self.note();
                self.journal.append(number, &records)
            }
            appended => appended,
        };
        let values = appended.map_err(|error| StoreError::io(self.journal.path(), error))?;
        // From here on the change is acknowledged, whatever happens to sled.
        self.change = number;
        let told = match self.found.get_mut() {
            Lookup::Engine(engine) => {
                let records = sealed.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
                engine.apply(number, records).map(|more| self.live = self.live.saturating_add_signed(more))
            }
            Lookup::Journal(places) => {
                let records = records.iter().zip(values).map(|((key, value), at)| (*key, at, value.map(<[u8]>::len)));
                places.apply(records);
                self.live = places.live;
                Ok(())
            }
            Lookup::Nowhere => Ok(()),
        };
        if told == Err(Lost)
            && self.lose_engine().is_ok()
            && let Lookup::Journal(places) = self.found.get_mut()
        {
            self.live = places.live;
        }
        self.note();
        Ok(number)
    }

    fn change(&self) -> u64 {
        self.change
    }
}

/// The records to write for `changes`; the last change of a record counts.
fn seal(changes: &[Change]) -> Result<BTreeMap<&str, Option<Vec<u8>>>, StoreError> {
    let mut sealed = BTreeMap::new();
    for Change { key, value } in changes {
        let too_large = |bytes, most| StoreError::TooLarge { key: key.clone(), bytes, most };
        if key.len() > record::LONGEST_KEY {
            return Err(too_large(key.len(), record::LONGEST_KEY));
        }
        if let Some(bytes) = value.as_ref().map(Vec::len).filter(|bytes| *bytes > record::MOST) {
            return Err(too_large(bytes, record::MOST));
        }
        sealed.insert(key.as_str(), value.as_ref().map(|value| record::seal(key, value)));
    }
    Ok(sealed)
}
