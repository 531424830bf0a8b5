use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use tantivy::directory::error::LockError;
use tantivy::indexer::IndexWriterOptions;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::{Index, IndexWriter, TantivyError, Term};

use super::document::document;
use super::error::IndexError;
use super::fields::{self, Fields};
use super::reader::{Reader, open};
use super::state::IndexState;
use super::{FOLDER, verified};
use crate::durable;
use crate::history::changes::{self, Touched};
use crate::history::outcome::{OutcomesByIncident, outcomes, told};
use crate::history::{INCIDENTS, OutcomeSummary, Record};
use crate::store::{DiskStore, Store, quietly};

/// Memory budget of a writer that adds a few incidents, and of each thread of a writer that adds all.
pub(super) const FEW: usize = 20 << 20;
const ALL: usize = 96 << 20;
/// With more segments than this, searches get slow.
pub(super) const SEGMENTS: usize = 20;
/// How long to wait for the lock: the lock of a killed writer may linger.
const PATIENCE: Duration = Duration::from_secs(3);
/// Records that are sent to a thread at a time.
const AT_ONCE: usize = 256;

/// Called with the number of incidents done and the number of all.
pub type Progress<'p> = &'p (dyn Fn(u64, u64) + Sync);

/// Brings the index in `store`'s home up to date; makes it anew if that is impossible.
pub(in crate::history) fn follow(store: &DiskStore) -> Result<(), IndexError> {
    match quietly(|| catch_up(store)) {
        Some(Ok(())) => {
            // Remove what a killed process left of an unfinished index; if that fails, the next call tries again.
            forsaken(store.home()).iter().for_each(|folder| drop(remove(folder)));
            return Ok(());
        }
        // The store itself fails: making the index anew would fail, too.
        Some(Err(error @ (IndexError::Store(_) | IndexError::Record(_)))) => return Err(error),
        Some(Err(_)) | None => {}
    }
    make_anew(store)
}

/// Makes the index in `store`'s home anew, whether or not there is one.
pub(super) fn make_anew(store: &DiskStore) -> Result<(), IndexError> {
    let made = Building::begin(store, &|_, _| {}, &mut |_| {}).and_then(|index| index.put_in_place(store));
    if made.is_err() && DiskStore::is_full(store.home()) {
        // An index that is behind is never read, and its space is needed for the store, which cannot be derived from
        // anything else.
        let [old, new] = forsaken(store.home());
        [old, new, store.home().join(FOLDER)].iter().for_each(|folder| drop(remove(folder)));
    }
    made
}

fn catch_up(store: &DiskStore) -> Result<(), IndexError> {
    let folder = store.home().join(FOLDER);
    let (reader, state) = Reader::open_any(&folder, false)?;
    let Some(missing) = Missing::of(store, &state)? else { return Ok(()) };
    drop(reader);
    let (index, fields) = open(&folder)?;
    let writer = writer(&index, 1, 4, FEW)?;
    if index.searchable_segment_ids()?.len() <= SEGMENTS {
        writer.set_merge_policy(Box::new(NoMergePolicy));
    }
    missing.write(store, &writer, &fields)?;
    finish(&index, &folder, writer, &missing.state)
}

/// What an index does not know yet.
pub(super) struct Missing {
    /// The incidents that were added or removed, or that an outcome was reported for.
    pub touched: BTreeSet<String>,
    /// The state of the index once it knows them.
    pub state: IndexState,
}

impl Missing {
    /// What an index in `state` does not know of `store`; an error if the index must be made anew.
    pub fn of(store: &DiskStore, state: &IndexState) -> Result<Option<Missing>, IndexError> {
        let id = DiskStore::id(store.home()).unwrap_or_default();
        if state.store != id || state.change > store.change() {
            return Err(IndexError::Foreign);
        }
        let incidents = store.count(INCIDENTS.trim_end_matches('/'))?;
        let touched = match changes::after(store, state.change)? {
            Touched::None if incidents == state.incidents => return Ok(None),
            Touched::Some(ids) if (ids.len() as u64) <= incidents / 2 + 100 => ids,
            _ => return Err(IndexError::Behind { follows: state.change, last: store.change() }),
        };
        Ok(Some(Missing { touched, state: IndexState::new(id, store.change(), incidents) }))
    }

    /// Hands it to `writer`, which must commit it; returns the outcomes of the touched incidents.
    pub fn write(
        &self,
        store: &DiskStore,
        writer: &IndexWriter,
        fields: &Fields,
    ) -> Result<OutcomesByIncident, IndexError> {
        let mut told = OutcomesByIncident::new();
        for id in &self.touched {
            writer.delete_term(Term::from_field_text(fields.id, id));
            let tried = outcomes(store, Some(id))?;
            if let Some(bytes) = store.get(&format!("{INCIDENTS}{id}"))? {
                add(writer, fields, &bytes, |_| OutcomeSummary::of(&tried))?;
            }
            told.insert(id.clone(), tried);
        }
        Ok(told)
    }
}

/// Reads every file of the index in `store`'s home and checks that all are as they were written and that all incidents
/// are in the index.
pub fn verify_index(store: &DiskStore) -> Result<(), IndexError> {
    let read = || -> Result<(), IndexError> {
        let (_, state) = Reader::open_any(&store.home().join(FOLDER), true)?;
        let last = changes::last(store)?;
        match DiskStore::id(store.home()) == Some(state.store) && state.change <= store.change() {
            true if state.change >= last && state.incidents == store.count(INCIDENTS.trim_end_matches('/'))? => Ok(()),
            true => Err(IndexError::Behind { follows: state.change, last }),
            false => Err(IndexError::Foreign),
        }
    };
    quietly(read).unwrap_or_else(|| Err(IndexError::Damaged("nothing makes sense of it".to_owned())))
}

/// A new index of a store's home, made beside the existing one.
pub(in crate::history) struct Building {
    index: Index,
    writer: IndexWriter,
    folder: PathBuf,
    old: PathBuf,
    incidents: u64,
}

impl Building {
    /// Reads all incidents of `store`; each record is also passed to `look`.
    pub fn begin(store: &DiskStore, progress: Progress, look: &mut dyn FnMut(&[u8])) -> Result<Building, IndexError> {
        let [old, folder] = forsaken(store.home());
        for leftover in [&old, &folder] {
            remove(leftover)?;
        }
        fs::create_dir(&folder)?;
        let (schema, fields) = fields::schema();
        let index = Index::create_in_dir(&folder, schema)?;
        fields::register(&index);
        let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
        let incidents = store.count(INCIDENTS.trim_end_matches('/'))?;
        // For few incidents one thread is enough, and cheaper to start.
        let (threads, memory) = if incidents > 10_000 { (threads, ALL) } else { (1, FEW) };
        let writer = writer(&index, threads, 4, memory)?;
        fill(store, &writer, &fields, threads, &|done| progress(done, incidents), look)?;
        Ok(Building { index, writer, folder, old, incidents })
    }

    /// Replaces the old index. `store` must still have the incidents that were read.
    pub fn put_in_place(self, store: &DiskStore) -> Result<(), IndexError> {
        let Building { index, writer, folder, old, incidents } = self;
        let home = store.home();
        let id = DiskStore::id(home).unwrap_or_default();
        finish(&index, &folder, writer, &IndexState::new(id, store.change(), incidents))?;
        drop(index);
        let place = home.join(FOLDER);
        if place.exists() {
            fs::rename(&place, &old)?;
        }
        fs::rename(&folder, &place)?;
        durable::sync_folder(home)?;
        remove(&old)
    }
}

/// Adds every incident: one thread reads the store, the others build the documents.
fn fill(
    store: &DiskStore,
    writer: &IndexWriter,
    fields: &Fields,
    threads: usize,
    progress: &(dyn Fn(u64) + Sync),
    look: &mut dyn FnMut(&[u8]),
) -> Result<(), IndexError> {
    let told = told(store)?;
    let done = AtomicU64::new(0);
    let (send, receive) = sync_channel::<Vec<Vec<u8>>>(2 * threads);
    let receive = Mutex::new(receive);
    let next = |from: &Mutex<Receiver<Vec<Vec<u8>>>>| from.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
    let take = || -> Result<(), IndexError> {
        let mut taken = Ok(());
        // Go on receiving after a failure: otherwise the thread that reads the store would block on a full channel.
        while let Some(batch) = next(&receive) {
            let mut each = batch.iter();
            while let (Ok(()), Some(bytes)) = (&taken, each.next()) {
                taken = add(writer, fields, bytes, |id| told.get(id).cloned());
            }
            progress(done.fetch_add(batch.len() as u64, Ordering::Relaxed) + batch.len() as u64);
        }
        taken
    };
    thread::scope(|scope| {
        let takers: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        let mut batch = Vec::with_capacity(AT_ONCE);
        let read = store.scan(INCIDENTS, &mut |_, value| {
            look(value);
            batch.push(value.to_owned());
            if batch.len() == AT_ONCE {
                // Sending cannot fail: `receive` outlives the threads.
                let _ = send.send(std::mem::replace(&mut batch, Vec::with_capacity(AT_ONCE)));
            }
        });
        let _ = send.send(batch);
        drop(send);
        for taker in takers {
            taker.join().map_err(|_| IndexError::Damaged("a thread failed".to_owned()))??;
        }
        Ok(read?)
    })
}

fn add(
    writer: &IndexWriter,
    fields: &Fields,
    bytes: &[u8],
    told: impl Fn(&str) -> Option<OutcomeSummary>,
) -> Result<(), IndexError> {
    let record = Record::read(bytes).map_err(|error| IndexError::Record(error.to_string()))?;
    let told = told(&record.incident.id);
    writer.add_document(document(fields, &record, told.as_ref())?)?;
    Ok(())
}

/// Opens a writer and deletes the files that a killed writer left, which would otherwise block later commits for ever.
pub(super) fn writer(index: &Index, threads: usize, merging: usize, memory: usize) -> Result<IndexWriter, IndexError> {
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .num_merge_threads(merging)
        .memory_budget_per_thread(memory)
        .build();
    let begun = Instant::now();
    loop {
        match index.writer_with_options(options.clone()) {
            Ok(writer) => {
                writer.garbage_collect_files().wait()?;
                return Ok(writer);
            }
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) if begun.elapsed() < PATIENCE => {
                sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn finish(index: &Index, folder: &Path, mut writer: IndexWriter, state: &IndexState) -> Result<(), IndexError> {
    commit(&mut writer, state)?;
    // Ending before the merges are done would leave more and more segments.
    writer.wait_merging_threads()?;
    verified::note(&index.load_metas()?, folder);
    Ok(())
}

/// Commits what `writer` was given, with `state` as payload.
pub(super) fn commit(writer: &mut IndexWriter, state: &IndexState) -> Result<(), IndexError> {
    let mut commit = writer.prepare_commit()?;
    commit.set_payload(&state.payload()?);
    commit.commit()?;
    Ok(())
}

/// The folders of an index that is being replaced, and of one that is being made.
fn forsaken(home: &Path) -> [PathBuf; 2] {
    ["index.old", "index.new"].map(|name| home.join(name))
}

fn remove(folder: &Path) -> Result<(), IndexError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
