//! The queue of work, kept in the store. Every function makes at most one commit, so after a crash the work goes on
//! from a consistent state.
//!
//! Prefixes of keys: `queue/` has work to do, `replies/` what was found for it, `dead/` work that was given up,
//! `answered/` the ids of finished work, `delivered/` the numbers of received events, `threads/` the last job of each
//! name and branch.

use serde::{Deserialize, Serialize};

use super::error::QueueError;
use super::work::{Moment, StepState, Task, Work};
use crate::store::{Change, Store};

const QUEUE: &str = "queue/";
const REPLIES: &str = "replies/";
const DEAD: &str = "dead/";
const ANSWERED: &str = "answered/";
const DELIVERED: &str = "delivered/";
const THREADS: &str = "threads/";

/// Work that failed this many times is given up.
pub const MOST_ATTEMPTS: u32 = 16;
/// At most this much work may wait.
const MOST_WAITING: usize = 20_000;
const FIRST_WAIT: Moment = 15_000;
const LONGEST_WAIT: Moment = 3_600_000;
/// A server's wish for a wait is honoured up to this long.
const LONGEST_WISH: Moment = 6 * 3_600_000;
const DAY: Moment = 86_400_000;
/// Older events are ignored.
pub const OLDEST_EVENT: Moment = 30 * DAY;
/// How long finished work and deliveries are remembered: longer than an event may be old, so that no event is handled
/// twice.
const KEPT: Moment = 45 * DAY;
/// How long dead letters and threads are remembered.
const KEPT_LONG: Moment = 90 * DAY;

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It led to this many new pieces of work.
    New(usize),
    /// It was delivered before.
    Known,
}

/// The last job of a name on a branch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Thread {
    job: u64,
    has_failed: bool,
    time: Moment,
}

/// An entry that expires.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Kept {
    time: Moment,
}

/// Work from an event. A job that succeeded is work only if its predecessor failed.
#[derive(Debug, Clone)]
pub struct NewWork {
    /// The work.
    pub work: Work,
    /// Whether the job failed.
    pub has_failed: bool,
}

/// Stores the new work that came with the event `delivery`.
pub fn enqueue(store: &mut dyn Store, delivery: &str, news: Vec<NewWork>, now: Moment) -> Result<Enqueued, QueueError> {
    let delivery = format!("{DELIVERED}{delivery}");
    if store.get(&delivery)?.is_some() {
        return Ok(Enqueued::Known);
    }
    let mut changes = vec![put(delivery, &Kept { time: now })?];
    let mut new = 0;
    for NewWork { work, has_failed } in news {
        let id = work.id();
        if is_known(store, &id)? || changes.iter().any(|change| change.key == format!("{QUEUE}{id}")) {
            continue;
        }
        if let Task::Job(job) = &work.task {
            let key = format!("{THREADS}{}", work.thread());
            let last: Option<Thread> = get(store, &key)?;
            let is_latest = last.is_none_or(|last| last.job < job.number);
            if is_latest {
                changes.push(put(key, &Thread { job: job.number, has_failed, time: now })?);
            }
            let mends = is_latest && last.is_some_and(|last| last.has_failed);
            if !has_failed && !mends {
                continue;
            }
        }
        changes.push(put(format!("{QUEUE}{id}"), &work)?);
        new += 1;
    }
    if new > 0 && count(store)? >= MOST_WAITING {
        return Err(QueueError::Full);
    }
    store.commit(&changes)?;
    Ok(Enqueued::New(new))
}

/// Whether the work `id` waits, was finished or was given up.
fn is_known(store: &dyn Store, id: &str) -> Result<bool, QueueError> {
    for space in [QUEUE, ANSWERED, DEAD] {
        if store.get(&format!("{space}{id}"))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn count(store: &dyn Store) -> Result<usize, QueueError> {
    let mut count = 0;
    store.scan(QUEUE, &mut |_, _| count += 1)?;
    Ok(count)
}

/// What a worker is to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// This work.
    Work(Box<Work>),
    /// Nothing before this moment.
    Wait(Moment),
    /// Nothing: the queue is empty.
    Nothing,
}

/// The oldest due work that is not in progress according to `is_taken`. Of one thread only the oldest counts.
pub fn next(store: &dyn Store, now: Moment, is_taken: impl Fn(&str) -> bool) -> Result<Next, QueueError> {
    let mut waiting: Vec<Work> = read_all(store, QUEUE)?;
    waiting.sort_by_key(|work| (work.enqueued, number(work)));
    let mut threads = std::collections::HashSet::new();
    let mut soonest = None;
    for work in waiting {
        if !threads.insert(work.thread()) || is_taken(&work.id()) {
            continue;
        }
        if work.due <= now {
            return Ok(Next::Work(Box::new(work)));
        }
        soonest = Some(soonest.map_or(work.due, |soonest: Moment| soonest.min(work.due)));
    }
    Ok(soonest.map_or(Next::Nothing, Next::Wait))
}

fn number(work: &Work) -> u64 {
    match &work.task {
        Task::Job(job) => job.number,
        Task::Comment(comment) => comment.number,
    }
}

/// Stores the state of `work`, a new reply if there is one, and the changes `beside`.
pub fn progress(
    store: &mut dyn Store,
    work: &Work,
    reply: Option<&impl Serialize>,
    mut beside: Vec<Change>,
) -> Result<(), QueueError> {
    let id = work.id();
    beside.push(put(format!("{QUEUE}{id}"), work)?);
    if let Some(reply) = reply {
        beside.push(put(format!("{REPLIES}{id}"), reply)?);
    }
    store.commit(&beside)?;
    Ok(())
}

/// The stored reply for the work `id`.
pub fn reply<R: for<'d> Deserialize<'d>>(store: &dyn Store, id: &str) -> Result<Option<R>, QueueError> {
    get(store, &format!("{REPLIES}{id}"))
}

/// Records that `work` is finished.
pub fn finish(store: &mut dyn Store, work: &Work, now: Moment) -> Result<(), QueueError> {
    let id = work.id();
    store.commit(&[
        Change::remove(format!("{QUEUE}{id}")),
        Change::remove(format!("{REPLIES}{id}")),
        put(format!("{ANSWERED}{id}"), &Kept { time: now })?,
    ])?;
    Ok(())
}

/// Records a temporary failure of `work`: it is due again after a backoff and not before the server's `wish`; after
/// [`MOST_ATTEMPTS`] it is given up.
pub fn put_off(
    store: &mut dyn Store,
    mut work: Work,
    error: &str,
    wish: Option<Moment>,
    now: Moment,
    beside: Vec<Change>,
) -> Result<(), QueueError> {
    work.attempts += 1;
    work.error = Some(error.to_owned());
    if work.attempts >= MOST_ATTEMPTS {
        return bury(store, work, beside);
    }
    let wish = wish.unwrap_or(0).min(LONGEST_WISH);
    work.due = now + backoff(&work.id(), work.attempts).max(wish);
    progress(store, &work, None::<&()>, beside)
}

/// Gives `work` up: it becomes a dead letter.
pub fn bury(store: &mut dyn Store, work: Work, mut beside: Vec<Change>) -> Result<(), QueueError> {
    let id = work.id();
    beside.push(Change::remove(format!("{QUEUE}{id}")));
    beside.push(put(format!("{DEAD}{id}"), &work)?);
    store.commit(&beside)?;
    Ok(())
}

/// How long to wait after `attempts` failures: doubling up to an hour, plus up to a quarter that depends on the id, so
/// that not all work is due at once.
pub fn backoff(id: &str, attempts: u32) -> Moment {
    let wait = FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(LONGEST_WAIT);
    let spread = id.bytes().fold(u64::from(attempts), |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    wait + wait * Moment::from((spread % 256) as u8) / 1024
}

/// All dead letters, the oldest first.
pub fn dead(store: &dyn Store) -> Result<Vec<Work>, QueueError> {
    let mut dead: Vec<Work> = read_all(store, DEAD)?;
    dead.sort_by_key(|work| work.enqueued);
    Ok(dead)
}

/// All waiting work, the oldest first.
pub fn waiting(store: &dyn Store) -> Result<Vec<Work>, QueueError> {
    let mut waiting: Vec<Work> = read_all(store, QUEUE)?;
    waiting.sort_by_key(|work| work.enqueued);
    Ok(waiting)
}

/// Makes the dead letter `id` wait again, keeping the steps that are done; false if there is none.
pub fn retry(store: &mut dyn Store, id: &str, now: Moment) -> Result<bool, QueueError> {
    let key = format!("{DEAD}{id}");
    let Some(mut work) = get::<Work>(store, &key)? else { return Ok(false) };
    work.attempts = 0;
    work.due = now;
    work.steps.retain(|_, state| !matches!(state, StepState::Refused(_)));
    progress(store, &work, None::<&()>, vec![Change::remove(key)])?;
    Ok(true)
}

/// Whether a later job of the same name has ended on the same branch, so that this one is no news any more.
pub fn is_overtaken(store: &dyn Store, work: &Work) -> Result<bool, QueueError> {
    let Task::Job(job) = &work.task else { return Ok(false) };
    let last: Option<Thread> = get(store, &format!("{THREADS}{}", work.thread()))?;
    Ok(last.is_some_and(|last| last.job > job.number))
}

/// Removes expired entries.
pub fn trim(store: &mut dyn Store, now: Moment) -> Result<(), QueueError> {
    let mut gone = Vec::new();
    for (space, kept) in [(ANSWERED, KEPT), (DELIVERED, KEPT), (THREADS, KEPT_LONG)] {
        store.scan(space, &mut |key, value| {
            if serde_json::from_slice::<Kept>(value).is_ok_and(|seen| seen.time < now - kept) {
                gone.push(Change::remove(key));
            }
        })?;
    }
    for work in dead(store)?.into_iter().filter(|work| work.enqueued < now - KEPT_LONG) {
        let id = work.id();
        gone.extend([Change::remove(format!("{DEAD}{id}")), Change::remove(format!("{REPLIES}{id}"))]);
    }
    if !gone.is_empty() {
        store.commit(&gone)?;
    }
    Ok(())
}

/// The change that stores `value` at `key`.
pub(super) fn put(key: impl Into<String>, value: &impl Serialize) -> Result<Change, QueueError> {
    Ok(Change::put(key, serde_json::to_vec(value)?))
}

/// The value at `key`.
pub(super) fn get<T: for<'d> Deserialize<'d>>(store: &dyn Store, key: &str) -> Result<Option<T>, QueueError> {
    Ok(store.get(key)?.map(|bytes| serde_json::from_slice(&bytes)).transpose()?)
}

fn read_all<T: for<'d> Deserialize<'d>>(store: &dyn Store, space: &str) -> Result<Vec<T>, QueueError> {
    let mut all = Vec::new();
    store.scan(space, &mut |_, value| all.push(serde_json::from_slice(value)))?;
    Ok(all.into_iter().collect::<Result<Vec<T>, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::super::work::{ForgeName, JobTask, Project};
    use super::*;
    use crate::store::MemoryStore;

    fn work(number: u64, branch: &str, now: Moment) -> Work {
        let project =
            Project { forge: ForgeName::GitHub, name: "me/it".to_owned(), title: String::new(), installation: None };
        let (name, branch) = ("train".to_owned(), branch.to_owned());
        Work::new(project, Task::Job(JobTask { number, name, workflow: None, branch, requests: Vec::new() }), now)
    }

    fn news(number: u64, branch: &str, has_failed: bool) -> Vec<NewWork> {
        vec![NewWork { work: work(number, branch, 0), has_failed }]
    }

    fn number_of(next: Next) -> Option<u64> {
        match next {
            Next::Work(work) => Some(number(&work)),
            _ => None,
        }
    }

    #[test]
    fn of_one_job_s_attempts_the_oldest_goes_first_and_holds_up_no_other_job() -> Result<(), QueueError> {
        let mut store = MemoryStore::default();
        for (number, branch) in [(2, "a"), (1, "a"), (3, "b")] {
            enqueue(&mut store, &number.to_string(), news(number, branch, true), 0)?;
        }
        assert_eq!(number_of(next(&store, 0, |_| false)?), Some(1));
        put_off(&mut store, work(1, "a", 0), "down", None, 0, Vec::new())?;
        assert_eq!(number_of(next(&store, 0, |_| false)?), Some(3));
        let third = work(3, "b", 0).id();
        assert!(matches!(next(&store, 0, |id| id == third)?, Next::Wait(moment) if moment >= FIRST_WAIT));
        assert!(is_overtaken(&store, &work(1, "a", 0))? && !is_overtaken(&store, &work(2, "a", 0))?);
        Ok(())
    }

    #[test]
    fn what_passed_is_work_only_where_it_failed_before() -> Result<(), QueueError> {
        let mut store = MemoryStore::default();
        let mut hear =
            |number: u64, has_failed| enqueue(&mut store, &number.to_string(), news(number, "a", has_failed), 0);
        assert_eq!((hear(1, false)?, hear(1, false)?), (Enqueued::New(0), Enqueued::Known));
        assert_eq!((hear(3, true)?, hear(2, false)?), (Enqueued::New(1), Enqueued::New(0)));
        assert_eq!((hear(4, false)?, hear(5, false)?), (Enqueued::New(1), Enqueued::New(0)));
        Ok(())
    }

    #[test]
    fn waits_grow_to_a_bound_and_differ() {
        let waits: Vec<Moment> = (1..MOST_ATTEMPTS).map(|attempts| backoff("a", attempts)).collect();
        assert!(waits[0] >= FIRST_WAIT && waits[0] <= FIRST_WAIT * 5 / 4, "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= LONGEST_WAIT * 5 / 4), "{waits:?}");
        assert!(waits.iter().sum::<Moment>() > 6 * LONGEST_WAIT, "{waits:?}");
        assert_ne!(backoff("a", 3), backoff("b", 3));
        assert_eq!(backoff("a", 3), backoff("a", 3));
        assert!(backoff("a", u32::MAX) <= LONGEST_WAIT * 5 / 4);
    }

    #[test]
    fn what_is_old_is_forgotten_and_what_waits_is_not() -> Result<(), QueueError> {
        let mut store = MemoryStore::default();
        enqueue(&mut store, "d", news(1, "a", true), 0)?;
        enqueue(&mut store, "e", news(2, "b", true), 0)?;
        enqueue(&mut store, "f", news(3, "c", true), 0)?;
        finish(&mut store, &work(1, "a", 0), 0)?;
        bury(&mut store, work(2, "b", 0), Vec::new())?;
        trim(&mut store, KEPT)?;
        let count = |store: &MemoryStore| {
            let mut keys = 0;
            store.scan("", &mut |_, _| keys += 1).map(|()| keys)
        };
        // Left: the finished work, three deliveries, three threads, one dead letter and one waiting.
        assert_eq!(count(&store)?, 9);
        trim(&mut store, KEPT + 1)?;
        assert_eq!(count(&store)?, 5);
        trim(&mut store, KEPT_LONG + 1)?;
        assert_eq!((count(&store)?, waiting(&store)?.len()), (1, 1));
        Ok(())
    }
}
