//! The one thread that owns the store.
//!
//! In: incidents and closures over the store, from any thread. Out: their results. Incidents that wait at the same time
//! are written with one commit, so that they share the cost of making it durable. Once a second the keeper takes over
//! what other processes left in the spool and brings the index up to date: an acknowledged incident is found by its id
//! at once and by searches a moment later.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc as sync_mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::history::{self, HistoryError, Live, Record};
use crate::store::{DiskStore, quietly};

/// How long to wait for another process that has the store open.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the snapshot for analyses in other processes is written, which takes reading all groups.
const SETTLE: Duration = Duration::from_secs(60);
/// Incidents per commit, at most.
const AT_ONCE: usize = 64;
/// At most this many requests wait; beyond it clients are told to come again.
const WAITING: usize = 1024;

/// Why the keeper did not do what was asked.
#[derive(Debug, Clone, Error)]
pub enum KeeperError {
    /// Too many requests wait already.
    #[error("the server is busy")]
    Busy,
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopped,
    /// The work panicked, which is a bug in oomdoc.
    #[error("the store failed unexpectedly")]
    Failed,
    /// The history failed.
    #[error(transparent)]
    History(Arc<HistoryError>),
}

impl From<HistoryError> for KeeperError {
    fn from(error: HistoryError) -> KeeperError {
        KeeperError::History(Arc::new(error))
    }
}

impl KeeperError {
    /// The error for callers that know the history but no server.
    pub(super) fn into_history(self) -> HistoryError {
        let other = |error: &dyn std::fmt::Display| HistoryError::File {
            path: "store".into(),
            error: std::io::Error::other(error.to_string()),
        };
        match self {
            KeeperError::History(error) => Arc::try_unwrap(error).unwrap_or_else(|error| other(&error)),
            error => other(&error),
        }
    }
}

type Work = Box<dyn FnOnce(&mut DiskStore) + Send>;

enum Request {
    Add(Box<Record>, oneshot::Sender<Result<(), KeeperError>>),
    Do(Work),
    Tick,
    Stop,
}

/// A handle to the keeper's thread.
pub struct Keeper {
    send: mpsc::Sender<Request>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    /// Opens the store in `home`, takes over its spool, and keeps the index open.
    pub fn start(home: &Path) -> Result<(Keeper, Arc<Live>), HistoryError> {
        let (send, receive) = mpsc::channel(WAITING);
        let (opened, is_open) = sync_mpsc::channel();
        let home = home.to_owned();
        let thread = std::thread::Builder::new().name("keeper".to_owned()).spawn(move || {
            let store = history::drain(&home, PATIENCE).and_then(|store| {
                let live = Arc::new(Live::open(&store)?);
                Ok((store, live))
            });
            match store {
                Ok((store, live)) => {
                    // `start` waits for this.
                    let _ = opened.send(Ok(Arc::clone(&live)));
                    keep(store, &live, receive);
                }
                Err(error) => drop(opened.send(Err(error))),
            }
        });
        let thread = thread.map_err(|error| HistoryError::File { path: "thread".into(), error })?;
        let live = is_open.recv().unwrap_or_else(|_| Err(KeeperError::Failed.into_history()))?;
        Ok((Keeper { send, thread: Mutex::new(Some(thread)) }, live))
    }

    /// Adds `record`; once this returns, it survives a power cut.
    pub async fn add(&self, record: Record) -> Result<(), KeeperError> {
        let (reply, answer) = oneshot::channel();
        self.hand_over(Request::Add(Box::new(record), reply))?;
        answer.await.unwrap_or(Err(KeeperError::Stopped))
    }

    /// Runs `work` on the keeper's thread.
    pub async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut DiskStore) -> T + Send + 'static,
    ) -> Result<T, KeeperError> {
        self.begin(work)?.await.unwrap_or(Err(KeeperError::Stopped))
    }

    /// [`Keeper::ask`] for threads where blocking is allowed.
    pub fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut DiskStore) -> T + Send + 'static,
    ) -> Result<T, KeeperError> {
        self.begin(work)?.blocking_recv().unwrap_or(Err(KeeperError::Stopped))
    }

    fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut DiskStore) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, KeeperError>>, KeeperError> {
        let (reply, answer) = oneshot::channel();
        let work = move |store: &mut DiskStore| {
            // A caller that stopped waiting still wanted the work done.
            let _ = reply.send(quietly(|| work(store)).ok_or(KeeperError::Failed));
        };
        self.hand_over(Request::Do(Box::new(work)))?;
        Ok(answer)
    }

    fn hand_over(&self, request: Request) -> Result<(), KeeperError> {
        self.send.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => KeeperError::Busy,
            mpsc::error::TrySendError::Closed(_) => KeeperError::Stopped,
        })
    }

    /// Asks for the index to be brought up to date. If the queue is full, a tick is dropped: a later one does the same.
    pub fn tick(&self) {
        let _ = self.send.try_send(Request::Tick);
    }

    /// Stops the thread after it has done all work that waits.
    pub fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = self.send.blocking_send(Request::Stop);
            let _ = thread.join();
        }
    }
}

fn keep(mut store: DiskStore, live: &Live, mut receive: mpsc::Receiver<Request>) {
    let mut settled = Instant::now();
    let mut next = None;
    while let Some(request) = next.take().or_else(|| receive.blocking_recv()) {
        match request {
            Request::Add(record, reply) => next = add(&mut store, (record, reply), &mut receive),
            Request::Do(work) => work(&mut store),
            Request::Tick => {
                follow(&mut store, live);
                if settled.elapsed() > SETTLE {
                    settle(&mut store, live);
                    settled = Instant::now();
                }
            }
            Request::Stop => break,
        }
    }
    receive.close();
    follow(&mut store, live);
    settle(&mut store, live);
}

/// Writes `first` and the incidents queued behind it in one commit; returns the first request that is something else.
fn add(
    store: &mut DiskStore,
    first: (Box<Record>, oneshot::Sender<Result<(), KeeperError>>),
    receive: &mut mpsc::Receiver<Request>,
) -> Option<Request> {
    let (mut records, mut replies) = (vec![*first.0], vec![first.1]);
    let mut other = None;
    while records.len() < AT_ONCE {
        match receive.try_recv() {
            Ok(Request::Add(record, reply)) => {
                records.push(*record);
                replies.push(reply);
            }
            Ok(Request::Tick) => {}
            Ok(request) => {
                other = Some(request);
                break;
            }
            Err(_) => break,
        }
    }
    let mut added = |records: &[Record]| {
        let added = quietly(|| history::add(store, records).map(drop).map_err(KeeperError::from));
        added.unwrap_or(Err(KeeperError::Failed))
    };
    let all = added(&records);
    for (record, reply) in records.iter().zip(replies) {
        // If the commit of all failed, each is tried alone: one bad record costs no other.
        let answer = if all.is_ok() { Ok(()) } else { added(std::slice::from_ref(record)) };
        // A client that stopped waiting sends the record again, and it is recognized then.
        let _ = reply.send(answer);
    }
    other
}

/// Takes over the spool and makes new incidents visible to searches.
fn follow(store: &mut DiskStore, live: &Live) {
    let mut followed = |store: &mut DiskStore| live.follow(store).map(drop).map_err(HistoryError::from);
    match quietly(|| history::take_spool(store, &mut followed)) {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::warn!(%error, "what waits in the spool is not taken over"),
        None => tracing::error!("the spool failed unexpectedly"),
    }
    match quietly(|| live.follow(store)) {
        Some(Ok(_)) => {}
        Some(Err(error)) => tracing::warn!(%error, "the index is out of date"),
        None => tracing::error!("the index failed unexpectedly"),
    }
}

fn settle(store: &mut DiskStore, live: &Live) {
    match quietly(|| history::settle(store, live)) {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::warn!(%error, "analyses are not told what is new"),
        None => tracing::error!("the snapshot failed unexpectedly"),
    }
}
