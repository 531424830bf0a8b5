//! sled 0.34.7: where records are found without reading the journal, from which it can be made anew at any time.
//!
//! sled's writing thread may fail without waking those who wait for it, dropping it included, and it panics on some damaged
//! files. So it lives on a thread of its own, which is asked and waited for only so long: whatever goes wrong there is
//! [`Lost`], and whoever asked reads the journal. Its `flush` ends in `sync_file_range`, which does not make a grown file
//! durable, so fsync is called besides; it takes a half-written `snap.*.generating` for a snapshot, so those go before it opens.

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

/// Its folder in the store's.
pub(super) const FOLDER: &str = "sled";
/// How long an answer may take, beside the time for its bytes.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often sled is asked whether it has failed meanwhile, and what is left of the patience then.
const LOOK: Duration = Duration::from_millis(50);
const MERCY: Duration = Duration::from_millis(300);
/// A slow disk takes so many bytes in a second.
const SLOW: u64 = 8 << 20;
/// The lock of a process that was killed may linger for so long.
const LINGERING: Duration = Duration::from_secs(2);
const CACHE: u64 = 64 << 20;
const THREAD: &str = "sled";
/// What is sled's own and no record.
const META: &str = "meta/";
/// The number of the last change.
const CHANGE: &str = "meta/change";
/// The number of records of a space stands below this.
const COUNT: &str = "meta/count/";
/// Records, and about as many bytes, that are handed over at once.
const RECORDS: usize = 512;
const BYTES: usize = 2 << 20;

/// sled did not do what it was asked for, or not in time. It is not to be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

/// A key, and what lies under it; `None` where it is removed.
pub(super) type Record = (String, Option<Vec<u8>>);

type Job = Box<dyn FnOnce(&Sled) + Send>;
type HasFailed = Box<dyn Fn() -> bool + Send>;

/// sled, open for as long as this lives.
pub(super) struct Engine {
    folder: PathBuf,
    /// Gone when it is closed.
    jobs: Option<Sender<Job>>,
    closed: Receiver<()>,
    /// Whether something went wrong in one of sled's threads.
    has_failed: HasFailed,
    is_lost: bool,
}

/// What the engine's thread has.
struct Sled {
    db: sled::Db,
    /// sled's file, to make its growth durable.
    file: File,
}

impl Engine {
    /// Opens what is in the store's folder `store`; the number of its last change.
    pub fn open(store: &Path) -> Result<(Engine, u64), Lost> {
        let folder = store.join(FOLDER);
        if !folder.join("db").exists() {
            return Err(Lost);
        }
        let engine = Engine::start(folder)?;
        let change = engine.ask(0, |sled| sled.number(CHANGE))?;
        Ok((engine, change))
    }

    /// Makes it anew of `records`, which are those after the change `change`.
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

    /// What lies under `key`.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Lost> {
        let key = key.to_owned();
        self.ask(0, move |sled| Ok(sled.db.get(key)?.map(|sealed| sealed.to_vec())))
    }

    /// All records whose keys begin with `prefix`, in the order of their keys. Nothing comes behind an error.
    pub fn records(&self, prefix: &str) -> impl Iterator<Item = Result<(String, Vec<u8>), Lost>> {
        self.records_after(prefix, None)
    }

    /// Those of them that stand behind `after`.
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

    /// Some records whose keys begin with `prefix` and stand behind `after`, in the order of their keys; none behind the last.
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

    /// How many records the space `of` should have.
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

    /// Writes the change `change`, durably; how many bytes more there are then.
    pub fn apply(&self, change: u64, records: Vec<Record>) -> Result<i64, Lost> {
        let bytes: usize = records.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Vec::len)).sum();
        if disk_space::is_there(&self.folder, disk_space::LEAST + 2 * bytes as u64).is_err() {
            return Err(Lost);
        }
        self.ask(bytes as u64, move |sled| sled.apply(change, &records))
    }

    /// Asks its thread, and waits for the time that so many bytes may take.
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

    /// What comes within `patience`, of which little is left where one of sled's threads has failed: whoever waits for it there
    /// may wait for ever.
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

    /// Leaves it to itself: nobody waits for it any more.
    pub fn abandon(mut self) {
        self.is_lost = true;
    }
}

/// Takes a key and what lies under it.
pub(super) type Put<'p> = &'p mut dyn FnMut(&str, Vec<u8>) -> Result<(), Lost>;

impl Drop for Engine {
    fn drop(&mut self) {
        self.jobs = None;
        if !self.is_lost {
            // What it still writes is nothing new.
            self.wait(&self.closed, PATIENCE);
        }
    }
}

/// Removes it from the store's folder `store`, with all that earlier compactions left. What cannot be removed is seen by whoever
/// makes it anew.
pub(super) fn discard(store: &Path) {
    for name in [FOLDER, "sled.new", "sled.old"] {
        let _ = fs::remove_dir_all(store.join(name));
    }
}

/// Bytes of the files in `folder`.
pub(super) fn size(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(|data| data.is_file()).map(|data| data.len()).sum()
}

fn patience(bytes: u64) -> Duration {
    PATIENCE + Duration::from_millis(bytes.saturating_mul(1000) / SLOW)
}

/// The life of the engine's thread.
fn serve(folder: &Path, opened: &SyncSender<Option<HasFailed>>, asked: &Receiver<Job>, closing: &SyncSender<()>) {
    if let Some(Ok(sled)) = caught(|| Sled::open(folder)) {
        // sled notes it there before it goes on.
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

/// What a panic of sled's would print helps nobody.
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
            // Nothing is written but what is asked for.
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

/// They are what a cut-off snapshot leaves; sled would read them as whole ones.
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
