//! The history for a long-running owner of the store: an index that stays open and answers many threads at once.
//!
//! In goes the store, about once a second, from the one thread that owns it ([`Live::follow`]); out come answers from
//! the last state that was followed, to any thread. Each state has a number, its generation, and answers are cached
//! within it. A query never waits for the store, for a commit or for a merge.

mod cache;
mod groups;
mod search;
mod trends;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use cache::{Answers, SegmentAnswers};
pub use groups::{GroupFilter, GroupOrder, GroupPage, GroupState, GroupSummary};
pub use search::{Facet, FacetValue, FoundPage};
pub use trends::{Series, Trend, TrendBy};

use super::alike::{Likeness, ranked};
use super::fixes::{Fix, FixFilter, fixes_of};
use super::index::{Column, Follower, IndexError, Reader};
use super::outcome::{OutcomesByIncident, outcomes_by_incident};
use super::{Document, HistoryError, Query, Record, Stats};
use crate::store::DiskStore;

/// After failing to make the index anew, the next attempt waits for this many times as long as the failed one took, and
/// at least for `LEAST_REST`.
const REST: u32 = 4;
const LEAST_REST: Duration = Duration::from_secs(5);
/// The least time between two thorough checks of an index that gave a suspicious answer: a check takes seconds.
const SOUND: Duration = Duration::from_secs(600);

/// An index that stays open, with a cache of the answers it gave since the last change.
pub struct Live {
    following: Mutex<Following>,
    current: RwLock<CurrentIndex>,
    /// The outcomes of every incident that has any.
    told: RwLock<OutcomesByIncident>,
    segments: SegmentAnswers,
    answers: Answers,
    /// A query failed in a way that suggests a damaged index.
    is_suspect: AtomicBool,
}

/// Keeps the index up to date; without a follower if that failed.
struct Following {
    follower: Option<Follower>,
    /// The earliest time of the next attempt.
    again: Option<Instant>,
    /// When the index was last checked thoroughly.
    read: Option<Instant>,
}

/// The state that queries read.
#[derive(Clone)]
struct CurrentIndex {
    reader: Arc<Reader>,
    generation: u64,
}

impl Live {
    /// Opens the index in `store`'s home and brings it up to date; makes it anew if that is impossible.
    pub fn open(store: &DiskStore) -> Result<Live, IndexError> {
        let told = outcomes_by_incident(store)?;
        let follower = Follower::open(store)?;
        let reader = follower.reader()?;
        Ok(Live {
            following: Mutex::new(Following { follower: Some(follower), again: None, read: None }),
            current: RwLock::new(CurrentIndex { reader, generation: 1 }),
            told: RwLock::new(told),
            segments: SegmentAnswers::default(),
            answers: Answers::default(),
            is_suspect: AtomicBool::new(false),
        })
    }

    /// Brings it up to date with `store`; whether there was anything new. A damaged index is made anew, which takes
    /// minutes for a million incidents. After an error queries go on reading the last state, and for a while nothing is
    /// tried.
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
        // A follower that fails is dropped here, since it must not be used again.
        let follower = following.follower.take().filter(|_| is_sound);
        let followed = follower.map(|mut follower| {
            let told = catch(|| follower.follow(store))?;
            Ok((follower, told))
        });
        let (follower, told, is_anew) = match followed {
            Some(Ok((follower, told))) => (follower, told, false),
            // The store itself fails: making the index anew would fail, too.
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
            *self.told.write().unwrap_or_else(PoisonError::into_inner) = outcomes_by_incident(store)?;
        }
        let is_new = told.is_some() || is_anew;
        if let Some(told) = told {
            self.update_outcomes(told);
        }
        self.segments.keep_only(&reader.segments());
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        // A merge changes the segments but not the content, so that the generation stays.
        *current = CurrentIndex { reader, generation: current.generation + u64::from(is_new) };
        Ok(is_new)
    }

    fn update_outcomes(&self, told: OutcomesByIncident) {
        let mut known = self.told.write().unwrap_or_else(PoisonError::into_inner);
        for (incident, outcomes) in told {
            match outcomes.is_empty() {
                true => drop(known.remove(&incident)),
                false => drop(known.insert(incident, outcomes)),
            }
        }
    }

    /// The number of the state that queries read; it increases with every change.
    pub fn generation(&self) -> u64 {
        self.current().generation
    }

    fn current(&self) -> CurrentIndex {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts the incidents that match `query`.
    pub fn stats(&self, query: &Query) -> Result<Arc<Stats>, HistoryError> {
        let current = self.current();
        self.ask(&current, format!("stats {query:?}"), || {
            let columns = [Column::Host, Column::Model, Column::Cluster, Column::Job];
            let mut counts = super::index::Counts::default();
            for page in current.reader.pages(query, &columns, &self.segments)? {
                counts += &page.counts;
            }
            Ok(Stats::of(counts))
        })
    }

    /// The up to `most` incidents most similar to `record`, without itself; newest first among equals.
    pub fn similar(&self, record: &Record, most: usize) -> Result<Arc<Vec<Likeness>>, HistoryError> {
        let current = self.current();
        let traits = Document::new(record, None).traits();
        self.ask(&current, format!("similar {most} {} {traits:?}", record.incident.id), || {
            let others = current.reader.alike(&traits, &record.incident.id, most)?;
            Ok(ranked(record, others, most))
        })
    }

    /// The changes that were tried, with how they fared; most often successful first.
    pub fn fixes(&self, filter: &FixFilter) -> Vec<Fix> {
        let told = self.told.read().unwrap_or_else(PoisonError::into_inner);
        fixes_of(told.values().flatten(), filter)
    }

    /// The cached answer to `question`, or the result of `find`.
    fn ask<T: Send + Sync + 'static>(
        &self,
        current: &CurrentIndex,
        question: String,
        find: impl FnOnce() -> Result<T, IndexError>,
    ) -> Result<Arc<T>, HistoryError> {
        let answer = self.answers.ask(current.generation, question, || catch(find));
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

/// Names with their counts, most frequent first.
fn by_count(counts: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}
