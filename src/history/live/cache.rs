//! What was found is found once: in a segment as long as that is what it is, and as an answer until something changes.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::history::index::{Found, SegmentKey};

/// What is kept, of whatever type.
type Kept = Arc<dyn Any + Send + Sync>;

/// About as many bytes are kept of what was found in segments.
const MOST_BYTES: usize = 48 << 20;
/// As many answers are kept until something changes, and none to longer questions.
const MOST_ANSWERS: usize = 512;
const LONGEST_QUESTION: usize = 2048;

/// What was found in segments; what was not asked for longest goes first.
#[derive(Default)]
pub(super) struct Segments {
    found: RwLock<HashMap<SegmentKey, HashMap<String, InSegment>>>,
    clock: AtomicU64,
    bytes: AtomicU64,
}

struct InSegment {
    found: Kept,
    bytes: usize,
    asked: AtomicU64,
}

impl Segments {
    /// Forgets segments that are no more.
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

impl Found for Segments {
    fn known(&self, segment: SegmentKey, question: &str) -> Option<Kept> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let one = found.get(&segment)?.get(question)?;
        one.asked.store(self.now(), Ordering::Relaxed);
        Some(one.found.clone())
    }

    fn keep(&self, segment: SegmentKey, question: &str, found: Kept, bytes: usize) {
        let bytes = bytes + question.len() + size_of::<InSegment>();
        let one = InSegment { found, bytes, asked: AtomicU64::new(self.now()) };
        let mut all = self.found.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(segment).or_default().insert(question.to_owned(), one);
        if self.bytes.fetch_add(bytes as u64, Ordering::Relaxed) as usize + bytes > MOST_BYTES {
            // Half of it at once, so that this is seldom done.
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

/// Answers, until the next generation.
#[derive(Default)]
pub(super) struct Answers {
    now: Mutex<Generation>,
}

#[derive(Default)]
struct Generation {
    number: u64,
    answers: HashMap<String, Slot>,
}

/// Who finds it empty looks for the answer while others who ask the same wait.
type Slot = Arc<Mutex<Option<Kept>>>;

impl Answers {
    /// The answer to `question` in the generation `number`, which `find` finds where nobody did.
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

    /// None for one who is late, and where there are too many.
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

/// Nobody leaves anything half done there.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
