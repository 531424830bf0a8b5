//! sled 0.34.7: finds records without reading the journal, from which it can be rebuilt at any time.
//!
//! sled's writing thread may fail without waking those who wait for it, even on drop, and sled panics on some damaged
//! files. So it runs on a thread of its own, which is waited for only for a limited time; any failure there is
//! [`Lost`], and the caller reads the journal instead. sled's `flush` ends in `sync_file_range`, which does not make a
//! grown file durable, so fsync is called as well. sled takes a half-written `snap.*.generating` for a snapshot, so
//! those are removed before it opens.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::ops::Bound::{Excluded, Unbounded};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::{disk_space, record, space};
use crate::durable;

/// The folder of sled in the store's folder.
pub(super) const FOLDER: &str = "sled";
/// How long an answer may take, in addition to the time for its bytes.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often to check whether sled has failed meanwhile, and how long to wait after that.
const LOOK: Duration = Duration::from_millis(50);
const MERCY: Duration = Duration::from_millis(300);
/// The slowest disk to expect, in bytes per second.
const SLOW: u64 = 8 << 20;
/// How long the lock of a killed process may linger.
const LINGERING: Duration = Duration::from_secs(2);
const CACHE: u64 = 64 << 20;
const THREAD: &str = "sled";
/// The prefix of keys that are not records.
const META: &str = "meta/";
/// The key of the last change's number.
const CHANGE: &str = "meta/change";
/// The prefix of keys with the number of records in a space.
const COUNT: &str = "meta/count/";
/// How many records, and about how many bytes, are passed to the thread at once.
const RECORDS: usize = 512;
const BYTES: usize = 2 << 20;

/// sled failed, or did not answer in time. It must not be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

/// A key and its value; `None` removes it.
pub(super) type Record = (String, Option<Vec<u8>>);

type Job = Box<dyn FnOnce(&Sled) + Send>;
type HasFailed = Box<dyn Fn() -> bool + Send>;

/// sled, open until dropped.
pub(super) struct Engine {
    folder: PathBuf,
    /// `None` once it is closing.
    jobs: Option<Sender<Job>>,
    closed: Receiver<()>,
    /// Whether one of sled's threads has failed.
    has_failed: HasFailed,
    is_lost: bool,
}

/// What the thread works with.
struct Sled {
    db: sled::Db,
    /// sled's file, for fsync.
    file: File,
}

impl Engine {
    /// Opens sled in the store's folder `store`; returns it and the number of its last change.
    pub fn open(store: &Path) -> Result<(Engine, u64), Lost> {
        let folder = store.join(FOLDER);
        if !folder.join("db").exists() {
            return Err(Lost);
        }
        let engine = Engine::start(folder)?;
        let change = engine.ask(0, |sled| sled.number(CHANGE))?;
        Ok((engine, change))
    }

    /// Builds sled anew from the records that `fill` puts, as of the change `change`.
    pub fn make(store: &Path, change: u64, fill: &mut dyn FnMut(Put<'_>) -> Result<(), Lost>) -> Result<Engine, Lost> {
        discard(store);
        let folder = store.join(FOLDER);
        if folder.exists() {
            return Err(Lost);
        }
        let engine = Engine::start(folder)?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        fill(&mut |key, sealed| {
            bytes += sealed.len();
            records.push((key.to_owned(), Some(sealed)));
            if records.len() < RECORDS && bytes < BYTES {
                return Ok(());
            }
            bytes = 0;
            engine.apply(0, std::mem::take(&mut records)).map(drop)
        })?;
        engine.apply(change, records)?;
        let places = [store.to_owned(), engine.folder.clone()];
        engine.ask(0, move |sled| {
            sled.file.sync_all()?;
            OpenOptions::new().read(true).write(true).open(places[1].join("conf"))?.sync_all()?;
            Ok(places.iter().rev().try_for_each(|folder| durable::sync_folder(folder))?)
        })?;
        Ok(engine)
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Lost> {
        let key = key.to_owned();
        self.ask(0, move |sled| Ok(sled.db.get(key)?.map(|sealed| sealed.to_vec())))
    }

    /// All records whose keys begin with `prefix`, in order. The iterator ends after an error.
    pub fn records(&self, prefix: &str) -> impl Iterator<Item = Result<(String, Vec<u8>), Lost>> {
        self.records_after(prefix, None)
    }

    /// All records whose keys begin with `prefix` and come after `after`.
    pub fn records_after(
        &self,
        prefix: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = Result<(String, Vec<u8>), Lost>> {
        let (mut page, mut last) = (Vec::new().into_iter(), after.filter(|after| *after >= prefix).map(str::to_owned));
        let mut engine = Some(self);
        std::iter::from_fn(move || {
            if page.len() == 0 {
                match engine?.page(prefix, last.as_deref()) {
                    Ok(next) => {
                        last = Some(next.last()?.0.clone());
                        page = next.into_iter();
                    }
                    Err(lost) => {
                        engine = None;
                        return Some(Err(lost));
                    }
                }
            }
            page.next().map(Ok)
        })
    }

    /// A page of records whose keys begin with `prefix` and come after `after`, in order; empty at the end.
    fn page(&self, prefix: &str, after: Option<&str>) -> Result<Vec<(String, Vec<u8>)>, Lost> {
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        self.ask(BYTES as u64, move |sled| {
            let (mut page, mut bytes) = (Vec::new(), 0);
            let records = match &after {
                Some(after) => sled.db.range::<&[u8], _>((Excluded(after.as_bytes()), Unbounded)),
                None => sled.db.range(prefix.as_bytes()..),
            };
            for found in records {
                let (key, sealed) = found?;
                if !key.starts_with(prefix.as_bytes()) || page.len() == RECORDS || bytes > BYTES {
                    break;
                }
                if !key.starts_with(META.as_bytes()) {
                    bytes += sealed.len();
                    page.push((String::from_utf8(key.to_vec()).map_err(odd)?, sealed.to_vec()));
                }
            }
            Ok(page)
        })
    }

    /// The number of records that the space `of` should have.
    pub fn count(&self, of: &str) -> Result<u64, Lost> {
        let key = format!("{COUNT}{of}");
        self.ask(0, move |sled| sled.number(&key))
    }

    /// Whether the space `of` has as many records as it should.
    pub fn is_whole(&self, of: &str) -> Result<bool, Lost> {
        let of = of.to_owned();
        self.ask(size(&self.folder), move |sled| {
            let mut found = 0;
            for record in sled.db.scan_prefix(format!("{of}/")) {
                record?;
                found += 1;
            }
            Ok(sled.number(&format!("{COUNT}{of}"))? == found)
        })
    }

    /// Applies the change `change` durably; returns by how many bytes the records grew.
    pub fn apply(&self, change: u64, records: Vec<Record>) -> Result<i64, Lost> {
        let bytes: usize = records.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Vec::len)).sum();
        if disk_space::check_free(&self.folder, disk_space::LEAST + 2 * bytes as u64).is_err() {
            return Err(Lost);
        }
        self.ask(bytes as u64, move |sled| sled.apply(change, &records))
    }

    /// Runs `job` on the thread, and waits for its answer as long as `bytes` bytes may take.
    fn ask<T: Send + 'static>(
        &self,
        bytes: u64,
        job: impl FnOnce(&Sled) -> sled::Result<T> + Send + 'static,
    ) -> Result<T, Lost> {
        let (send, answer) = sync_channel(1);
        let answered = move |sled: &Sled| drop(send.send(caught(|| job(sled))));
        self.jobs.as_ref().ok_or(Lost)?.send(Box::new(answered)).map_err(|_| Lost)?;
        match self.wait(&answer, patience(bytes)) {
            Some(Some(Ok(answer))) => Ok(answer),
            _ => Err(Lost),
        }
    }

    /// Waits for an answer within `patience`, which is shortened if one of sled's threads fails: the answer might never
    /// come.
    fn wait<T>(&self, answer: &Receiver<T>, patience: Duration) -> Option<T> {
        let mut end = Instant::now() + patience;
        let mut has_failed = false;
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                Err(_) => return None,
            }
            if !has_failed && (self.has_failed)() {
                has_failed = true;
                end = end.min(Instant::now() + MERCY);
            }
        }
    }

    fn start(folder: PathBuf) -> Result<Engine, Lost> {
        be_quiet();
        let (jobs, asked) = channel::<Job>();
        let (opened, is_open) = sync_channel(1);
        let (closing, closed) = sync_channel(1);
        let place = folder.clone();
        let started =
            thread::Builder::new().name(THREAD.to_owned()).spawn(move || serve(&place, &opened, &asked, &closing));
        started.map_err(|_| Lost)?;
        match is_open.recv_timeout(patience(size(&folder) / 8)) {
            Ok(Some(has_failed)) => Ok(Engine { folder, jobs: Some(jobs), closed, has_failed, is_lost: false }),
            _ => Err(Lost),
        }
    }

    /// Drops it without waiting for its thread.
    pub fn abandon(mut self) {
        self.is_lost = true;
    }
}

/// A function that takes a key and its value.
pub(super) type Put<'p> = &'p mut dyn FnMut(&str, Vec<u8>) -> Result<(), Lost>;

impl Drop for Engine {
    fn drop(&mut self) {
        self.jobs = None;
        if !self.is_lost {
            // What it may still write is not needed.
            self.wait(&self.closed, PATIENCE);
        }
    }
}

/// Removes sled's folder from the store's folder `store`, with leftovers of earlier compactions. A failure is noticed
/// when it is rebuilt.
pub(super) fn discard(store: &Path) {
    for name in [FOLDER, "sled.new", "sled.old"] {
        let _ = fs::remove_dir_all(store.join(name));
    }
}

/// The size of all files in `folder`.
pub(super) fn size(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(|data| data.is_file()).map(|data| data.len()).sum()
}

fn patience(bytes: u64) -> Duration {
    PATIENCE + Duration::from_millis(bytes.saturating_mul(1000) / SLOW)
}

/// The main function of the thread.
fn serve(folder: &Path, opened: &SyncSender<Option<HasFailed>>, asked: &Receiver<Job>, closing: &SyncSender<()>) {
    if let Some(Ok(sled)) = caught(|| Sled::open(folder)) {
        // sled records a failure in its context before it goes on.
        let config = (*sled.db.context).clone();
        if opened.send(Some(Box::new(move || config.global_error().is_err()))).is_ok() {
            asked.iter().for_each(|job| job(&sled));
        }
        caught(|| drop(sled));
    } else {
        let _ = opened.send(None);
    }
    let _ = closing.send(());
}

fn caught<T>(ask: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(ask)).ok()
}

/// Suppresses the panic messages of sled's thread.
fn be_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(THREAD) {
                hook(panic);
            }
        }));
    });
}

fn odd(error: impl std::error::Error + Send + Sync + 'static) -> sled::Error {
    sled::Error::Io(std::io::Error::other(error))
}

impl Sled {
    fn open(folder: &Path) -> sled::Result<Sled> {
        remove_half_written_snapshots(folder)?;
        let begun = Instant::now();
        let db = loop {
            // Disables background flushes: only explicit ones write.
            let config =
                sled::Config::new().path(folder).cache_capacity(CACHE).flush_every_ms(None).mode(sled::Mode::LowSpace);
            match config.open() {
                Err(error) if is_locked(&error) && begun.elapsed() < LINGERING => sleep(Duration::from_millis(50)),
                opened => break opened?,
            }
        };
        let file = OpenOptions::new().read(true).write(true).open(folder.join("db"))?;
        Ok(Sled { db, file })
    }

    fn number(&self, key: &str) -> sled::Result<u64> {
        let Some(sealed) = self.db.get(key)? else { return Ok(0) };
        let number = record::open(key, &sealed).ok().and_then(|bytes| <[u8; 8]>::try_from(&*bytes).ok());
        number.map(u64::from_le_bytes).ok_or_else(|| odd(std::fmt::Error))
    }

    fn apply(&self, change: u64, records: &[Record]) -> sled::Result<i64> {
        let mut batch = sled::Batch::default();
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        let mut more = 0;
        for (key, value) in records {
            let known = self.db.get(key)?.map(|known| known.len());
            let size = |length: usize| (key.len() + length) as i64;
            match value {
                Some(sealed) => batch.insert(key.as_str(), sealed.as_slice()),
                None => batch.remove(key.as_str()),
            }
            *counts.entry(space(key)).or_default() += i64::from(value.is_some()) - i64::from(known.is_some());
            more += value.as_ref().map_or(0, |sealed| size(sealed.len())) - known.map_or(0, size);
        }
        let mut number = |key: &str, number: u64| batch.insert(key, record::seal(key, &number.to_le_bytes()));
        for (space, more) in counts {
            let key = format!("{COUNT}{space}");
            number(&key, self.number(&key)?.saturating_add_signed(more));
        }
        number(CHANGE, change);
        self.db.apply_batch(batch)?;
        self.db.flush()?;
        self.file.sync_data()?;
        Ok(more)
    }
}

fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().contains("could not acquire lock"))
}

/// These are left by an interrupted snapshot, and sled would read them as complete ones.
fn remove_half_written_snapshots(engine: &Path) -> std::io::Result<()> {
    let Ok(entries) = fs::read_dir(engine) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
