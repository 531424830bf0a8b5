//! Two caches: of what was found in a segment, valid as long as the segment is unchanged, and of answers, valid until
//! anything changes.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::history::index::{SegmentCache, SegmentKey};

/// A cached value of any type.
type CachedValue = Arc<dyn Any + Send + Sync>;

/// The cache of segments holds about this many bytes at most.
const MOST_BYTES: usize = 48 << 20;
/// The cache of answers holds this many at most until something changes, and none to questions longer than
/// `LONGEST_QUESTION`.
const MOST_ANSWERS: usize = 512;
const LONGEST_QUESTION: usize = 2048;

/// The cache of what was found in segments; the least recently used entries are dropped first.
#[derive(Default)]
pub(super) struct SegmentAnswers {
    found: RwLock<HashMap<SegmentKey, HashMap<String, InSegment>>>,
    clock: AtomicU64,
    bytes: AtomicU64,
}

struct InSegment {
    found: CachedValue,
    bytes: usize,
    asked: AtomicU64,
}

impl SegmentAnswers {
    /// Drops the entries of all other segments.
    pub fn keep_only(&self, segments: &[SegmentKey]) {
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        found.retain(|segment, _| segments.contains(segment));
        self.count(&found);
    }

    fn count(&self, found: &HashMap<SegmentKey, HashMap<String, InSegment>>) {
        let bytes: usize = found.values().flat_map(HashMap::values).map(|one| one.bytes).sum();
        self.bytes.store(bytes as u64, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}

impl SegmentCache for SegmentAnswers {
    fn known(&self, segment: SegmentKey, question: &str) -> Option<CachedValue> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let one = found.get(&segment)?.get(question)?;
        one.asked.store(self.now(), Ordering::Relaxed);
        Some(one.found.clone())
    }

    fn keep(&self, segment: SegmentKey, question: &str, found: CachedValue, bytes: usize) {
        let bytes = bytes + question.len() + size_of::<InSegment>();
        let one = InSegment { found, bytes, asked: AtomicU64::new(self.now()) };
        let mut all = self.found.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(segment).or_default().insert(question.to_owned(), one);
        if self.bytes.fetch_add(bytes as u64, Ordering::Relaxed) as usize + bytes > MOST_BYTES {
            // Drop half of the entries at once, so that this happens seldom.
            let asked = |one: &InSegment| one.asked.load(Ordering::Relaxed);
            let mut times: Vec<u64> = all.values().flat_map(HashMap::values).map(asked).collect();
            let middle = times.len() / 2;
            let (_, middle, _) = times.select_nth_unstable(middle);
            let middle = *middle;
            all.values_mut().for_each(|found| found.retain(|_, one| asked(one) >= middle));
            self.count(&all);
        }
    }
}

/// The cache of answers, valid for one generation.
#[derive(Default)]
pub(super) struct Answers {
    now: Mutex<Generation>,
}

#[derive(Default)]
struct Generation {
    number: u64,
    answers: HashMap<String, Slot>,
}

/// The thread that finds it empty computes the answer, while others with the same question wait on the lock.
type Slot = Arc<Mutex<Option<CachedValue>>>;

impl Answers {
    /// The cached answer to `question` in generation `number`; computed with `find` if there is none.
    pub fn ask<T: Send + Sync + 'static, E>(
        &self,
        number: u64,
        question: String,
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let Some(slot) = self.slot(number, question) else { return find().map(Arc::new) };
        let mut slot = lock(&slot);
        if let Some(Ok(known)) = slot.clone().map(Arc::downcast::<T>) {
            return Ok(known);
        }
        let found = Arc::new(find()?);
        *slot = Some(found.clone());
        Ok(found)
    }

    /// `None` if a newer generation has begun, or if the cache is full.
    fn slot(&self, number: u64, question: String) -> Option<Slot> {
        if question.len() > LONGEST_QUESTION {
            return None;
        }
        let mut now = lock(&self.now);
        if number > now.number {
            *now = Generation { number, answers: HashMap::new() };
        }
        if number < now.number || now.answers.len() >= MOST_ANSWERS && !now.answers.contains_key(&question) {
            return None;
        }
        Some(now.answers.entry(question).or_default().clone())
    }
}

/// A poisoned lock is safe to use: no thread leaves a value half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
