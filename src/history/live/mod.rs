//! The history as a long-running owner of the store answers for it: an index that is held open and asked by many at once.
//!
//! In goes the store, about once a second, by the one thread that owns it ([`Live::follow`]); out come answers of the last state
//! that was followed, to any thread. Each state has a number, its generation; what was found in one is found once. Nobody who
//! asks waits for the store, for a commit or for a merge.

mod cache;
mod groups;
mod search;
mod trends;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use cache::{Answers, Segments};
pub use groups::{GroupFilter, GroupOrder, GroupPage, GroupState, GroupSummary};
pub use search::{Facet, FacetValue, Found};
pub use trends::{Series, Trend, TrendBy};

use super::alike::{Likeness, ranked};
use super::fixes::{Fix, FixFilter, fixes_of};
use super::index::{Column, Follower, IndexError, Reader, Told};
use super::outcome::outcomes;
use super::{Document, HistoryError, Query, Record, Stats};
use crate::store::DiskStore;

/// An index that could not be made anew is not tried again for so many times as long as that took, and at least for so long.
const REST: u32 = 4;
const LEAST_REST: Duration = Duration::from_secs(5);
/// An index that made no sense to somebody is read through no more often than that: it takes seconds.
const SOUND: Duration = Duration::from_secs(600);

/// An index that is held open, with the answers that it gave since something last changed.
pub struct Live {
    following: Mutex<Following>,
    now: RwLock<Now>,
    /// What was told of incidents, of those of which anything was.
    told: RwLock<Told>,
    segments: Segments,
    answers: Answers,
    /// Something made no sense when it was asked.
    is_suspect: AtomicBool,
}

/// Who brings the index to where the store is; nobody where that failed.
struct Following {
    follower: Option<Follower>,
    /// Not before.
    again: Option<Instant>,
    /// When all of it was read last.
    read: Option<Instant>,
}

/// What is asked.
#[derive(Clone)]
struct Now {
    reader: Arc<Reader>,
    generation: u64,
}

impl Live {
    /// Opens the index of `store`'s home and brings it to where the store is; makes it anew where that cannot be done.
    pub fn open(store: &DiskStore) -> Result<Live, IndexError> {
        let mut told = Told::new();
        for outcome in outcomes(store, None)? {
            told.entry(outcome.incident.clone()).or_default().push(outcome);
        }
        let follower = Follower::open(store)?;
        let reader = follower.reader()?;
        Ok(Live {
            following: Mutex::new(Following { follower: Some(follower), again: None, read: None }),
            now: RwLock::new(Now { reader, generation: 1 }),
            told: RwLock::new(told),
            segments: Segments::default(),
            answers: Answers::default(),
            is_suspect: AtomicBool::new(false),
        })
    }

    /// Brings it to where `store` is; whether there was anything new. Where it is damaged it is made anew, which takes minutes for
    /// a million incidents; after an error the last state goes on to be asked, and for a while nothing is tried.
    pub fn follow(&self, store: &DiskStore) -> Result<bool, IndexError> {
        let mut following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        if following.again.is_some_and(|again| Instant::now() < again) {
            return Ok(false);
        }
        let is_doubted = self.is_suspect.swap(false, Ordering::Relaxed);
        let is_sound = if is_doubted && following.read.is_none_or(|read| read.elapsed() > SOUND) {
            following.read = Some(Instant::now());
            super::verify_index(store).is_ok()
        } else {
            true
        };
        // Whoever fails is not asked again.
        let follower = following.follower.take().filter(|_| is_sound);
        let followed = follower.map(|mut follower| {
            let told = catch(|| follower.follow(store))?;
            Ok((follower, told))
        });
        let (follower, told, is_anew) = match followed {
            Some(Ok((follower, told))) => (follower, told, false),
            // That would not work any better.
            Some(Err(error @ (IndexError::Store(_) | IndexError::Record(_)))) => return Err(error),
            Some(Err(_)) | None => {
                let begun = Instant::now();
                match catch(|| if is_sound { Follower::open(store) } else { Follower::anew(store) }) {
                    Ok(follower) => (follower, None, true),
                    Err(error) => {
                        following.again = Some(Instant::now() + LEAST_REST.max(begun.elapsed() * REST));
                        return Err(error);
                    }
                }
            }
        };
        let reader = follower.reader();
        following.follower = Some(follower);
        following.again = None;
        let reader = reader.inspect_err(|_| self.is_suspect.store(true, Ordering::Relaxed))?;
        if is_anew {
            let mut all = Told::new();
            for outcome in outcomes(store, None)? {
                all.entry(outcome.incident.clone()).or_default().push(outcome);
            }
            *self.told.write().unwrap_or_else(PoisonError::into_inner) = all;
        }
        let is_new = told.is_some() || is_anew;
        if let Some(told) = told {
            self.hear(told);
        }
        self.segments.keep_only(&reader.segments());
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        // Merged segments hold the same.
        *now = Now { reader, generation: now.generation + u64::from(is_new) };
        Ok(is_new)
    }

    fn hear(&self, told: Told) {
        let mut known = self.told.write().unwrap_or_else(PoisonError::into_inner);
        for (incident, outcomes) in told {
            match outcomes.is_empty() {
                true => drop(known.remove(&incident)),
                false => drop(known.insert(incident, outcomes)),
            }
        }
    }

    /// The number of the state that is asked now: it grows with everything new.
    pub fn generation(&self) -> u64 {
        self.now().generation
    }

    fn now(&self) -> Now {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts the incidents that `query` asks for.
    pub fn stats(&self, query: &Query) -> Result<Arc<Stats>, HistoryError> {
        let now = self.now();
        self.ask(&now, format!("stats {query:?}"), || {
            let columns = [Column::Host, Column::Model, Column::Cluster, Column::Job];
            let mut counts = super::index::Counts::default();
            for page in now.reader.pages(query, &columns, &self.segments)? {
                counts += &page.counts;
            }
            Ok(Stats::of(counts))
        })
    }

    /// The incidents most like `record`, at most `most`, without itself; of equals the newest first.
    pub fn similar(&self, record: &Record, most: usize) -> Result<Arc<Vec<Likeness>>, HistoryError> {
        let now = self.now();
        let traits = Document::new(record, None).traits();
        self.ask(&now, format!("similar {most} {} {traits:?}", record.incident.id), || {
            let others = now.reader.alike(&traits, &record.incident.id, most)?;
            Ok(ranked(record, others, most))
        })
    }

    /// What was tried against what, and how that went; what worked most often first.
    pub fn fixes(&self, filter: &FixFilter) -> Vec<Fix> {
        let told = self.told.read().unwrap_or_else(PoisonError::into_inner);
        fixes_of(told.values().flatten(), filter)
    }

    /// The answer to `question`, which `find` finds.
    fn ask<T: Send + Sync + 'static>(
        &self,
        now: &Now,
        question: String,
        find: impl FnOnce() -> Result<T, IndexError>,
    ) -> Result<Arc<T>, HistoryError> {
        let answer = self.answers.ask(now.generation, question, || catch(find));
        answer.map_err(|error| {
            if matches!(error, IndexError::Damaged(_) | IndexError::Engine(_) | IndexError::Io(_)) {
                self.is_suspect.store(true, Ordering::Relaxed);
            }
            error.into()
        })
    }
}

/// The search engine panics on some damaged files.
fn catch<T>(ask: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    let damaged = |_| Err(IndexError::Damaged("nothing makes sense of it".to_owned()));
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(damaged)
}

/// Names with their counts, the most frequent first.
fn by_count(counts: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}
