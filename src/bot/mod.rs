//! The bot: it learns of failed jobs from webhooks and explains the failures where people look.
//!
//! In: events of GitHub and GitLab, which are verified and stored as work before they are acknowledged. Out: a comment
//! on each request of a job, a check on its commit, messages to chats, and replies to commands in comments. Nothing is
//! diagnosed here, and nothing unmasked is posted. After a crash the work goes on from its state in the store.

mod answer;
mod attempt;
mod command;
mod config;
mod conversation;
mod error;
mod event;
mod github;
mod gitlab;
mod host;
mod messages;
mod queue;
mod quiet;
mod reply;
mod secret;
mod services;
mod signature;
mod texts;
mod work;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use ureq::http::HeaderMap;

pub use config::BotConfig;
pub use error::{QueueError, Refusal};
pub use services::{Services, StoreAction};
pub use work::{ForgeName, Moment, Work};

use attempt::Attempt;
use queue::{Enqueued, Next};
use secret::{Secret, SecretError, SecretSource};
use services::ask;

/// The longest event in bytes; GitHub sends none that is longer.
pub const LONGEST_EVENT: usize = 25 << 20;
/// The longest sleep of a worker: the clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How often old entries are removed, in milliseconds.
const TRIM: Moment = 6 * 3_600_000;
/// How long to remember what a channel or conversation was told, in milliseconds.
const TOLD: Moment = 90 * 86_400_000;

/// What an event led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// It was a ping.
    Pong,
    /// It led to this many pieces of work; none if it is irrelevant.
    Taken(usize),
    /// It was delivered before.
    Known,
}

/// Receives events and does the work that they cause.
pub struct Bot {
    config: BotConfig,
    services: Arc<dyn Services>,
    logins: github::Logins,
    /// The ids of work in progress.
    taken: Mutex<HashSet<String>>,
    /// Set and signalled when there is new work.
    bell: (Mutex<bool>, Condvar),
    trimmed: Mutex<Moment>,
}

impl Bot {
    /// A bot that does as `config` says.
    pub fn new(config: BotConfig, services: Arc<dyn Services>) -> Bot {
        let bell = (Mutex::new(false), Condvar::new());
        Bot {
            config,
            services,
            logins: github::Logins::default(),
            taken: Mutex::default(),
            bell,
            trimmed: Mutex::new(0),
        }
    }

    /// Takes an event of `forge`. Once this returns, its work is durable and will be done by a worker.
    pub fn receive(&self, forge: ForgeName, headers: &HeaderMap, body: &[u8]) -> Result<Receipt, Refusal> {
        if body.len() > LONGEST_EVENT {
            return Err(Refusal::TooLong);
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        self.check(forge, &header, body)?;
        let event: Value = serde_json::from_slice(body).map_err(|error| Refusal::Malformed(error.to_string()))?;
        let (name, now) = (self.config.name.as_str(), self.services.now());
        let news = match forge {
            ForgeName::GitHub => {
                let kind = header("x-github-event").ok_or(Refusal::Lacks("X-GitHub-Event"))?;
                if kind == "ping" {
                    return Ok(Receipt::Pong);
                }
                github::read(kind, &event, name, now)?
            }
            ForgeName::GitLab => gitlab::read(&event, name, now)?,
        };
        if news.is_empty() {
            return Ok(Receipt::Taken(0));
        }
        // The delivery's number. GitLab's X-Gitlab-Event-UUID will not do: events that the bot's own comments cause
        // share it. Without a number the body itself identifies the event.
        let number = match forge {
            ForgeName::GitHub => header("x-github-delivery"),
            ForgeName::GitLab => header("idempotency-key"),
        };
        let number = number.map_or_else(|| String::from_utf8_lossy(body), Into::into);
        let delivery = work::digest(&[forge.as_str(), &number]);
        let enqueued = ask(&*self.services, move |store| queue::enqueue(store, &delivery, news, now))?;
        Ok(match enqueued {
            Enqueued::Known => Receipt::Known,
            Enqueued::New(new) => {
                self.ring();
                Receipt::Taken(new)
            }
        })
    }

    /// Verifies the event's signature or token.
    fn check<'h>(
        &self,
        forge: ForgeName,
        header: &impl Fn(&str) -> Option<&'h str>,
        body: &[u8],
    ) -> Result<(), Refusal> {
        let not_set_up = || Refusal::NotSetUp(forge.as_str());
        let is_right = match forge {
            ForgeName::GitHub => {
                let secrets = read_some(&self.config.github.as_ref().ok_or_else(not_set_up)?.secrets)?;
                header("x-hub-signature-256").is_some_and(|said| signature::is_signed(&secrets, said, body))
            }
            ForgeName::GitLab => {
                let secrets = read_some(&self.config.gitlab.as_ref().ok_or_else(not_set_up)?.secrets)?;
                header("x-gitlab-token").is_some_and(|said| signature::is_known(&secrets, said))
            }
        };
        if is_right { Ok(()) } else { Err(Refusal::NotAllowed) }
    }

    /// Does work until `stop` is set. Several threads may call this at once.
    pub fn work(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let sleep = match self.work_once() {
                Ok(Done::Something) => continue,
                Ok(Done::Wait(moment)) => {
                    let wait = u64::try_from(moment - self.services.now()).unwrap_or(0);
                    Duration::from_millis(wait.max(1)).min(LONGEST_SLEEP)
                }
                Ok(Done::Nothing) => LONGEST_SLEEP,
                Err(QueueError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, "the queue cannot be worked on");
                    LONGEST_SLEEP
                }
            };
            let (rung, bell) = &self.bell;
            let waited = bell.wait_timeout_while(held(rung), sleep, |rung| !*rung && !stop.load(Ordering::Relaxed));
            *waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0 = false;
        }
    }

    /// Wakes the workers.
    pub fn ring(&self) {
        *held(&self.bell.0) = true;
        self.bell.1.notify_all();
    }

    /// Does one piece of work, if one is due.
    pub fn work_once(&self) -> Result<Done, QueueError> {
        self.trim()?;
        let now = self.services.now();
        let work = {
            // Held until the work is marked as taken, so that no other thread takes it.
            let mut taken = held(&self.taken);
            let known = taken.clone();
            match ask(&*self.services, move |store| queue::next(store, now, |id| known.contains(id)))? {
                Next::Work(work) => {
                    taken.insert(work.id());
                    *work
                }
                Next::Wait(moment) => return Ok(Done::Wait(moment)),
                Next::Nothing => return Ok(Done::Nothing),
            }
        };
        let id = work.id();
        let begun = work.clone();
        let attempt = AssertUnwindSafe(|| Attempt::new(self, work).run());
        let done = catch_unwind(attempt).unwrap_or_else(|_| {
            // A log that makes an analysis panic must not stop the work on others.
            ask(&*self.services, move |store| {
                queue::put_off(store, begun, "it failed unexpectedly", None, now, Vec::new())
            })
        });
        held(&self.taken).remove(&id);
        done.map(|()| Done::Something)
    }

    fn trim(&self) -> Result<(), QueueError> {
        let now = self.services.now();
        {
            let mut trimmed = held(&self.trimmed);
            if now - *trimmed < TRIM {
                return Ok(());
            }
            *trimmed = now;
        }
        ask(&*self.services, move |store| {
            queue::trim(store, now)?;
            quiet::trim(store, now - TOLD)?;
            conversation::trim(store, now - TOLD)
        })
    }

    /// The work that waits, the oldest first.
    pub fn waiting(&self) -> Result<Vec<Work>, QueueError> {
        ask(&*self.services, |store| queue::waiting(store))
    }

    /// The work that was given up, the oldest first.
    pub fn dead(&self) -> Result<Vec<Work>, QueueError> {
        ask(&*self.services, |store| queue::dead(store))
    }

    /// Makes given-up work wait again; false if there is none with that id.
    pub fn retry(&self, id: &str) -> Result<bool, QueueError> {
        let (id, now) = (id.to_owned(), self.services.now());
        let is_there = ask(&*self.services, move |store| queue::retry(store, &id, now))?;
        self.ring();
        Ok(is_there)
    }
}

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// A piece of work.
    Something,
    /// Nothing is due before this moment.
    Wait(Moment),
    /// There is nothing to do.
    Nothing,
}

/// The secrets that can be read. While one is being replaced, another may be missing; it is an error only if none can
/// be read.
fn read_some(sources: &[SecretSource]) -> Result<Vec<Secret>, SecretError> {
    let mut secrets = Vec::new();
    let mut missing = None;
    for source in sources {
        match source.read() {
            Ok(secret) => secrets.push(secret),
            Err(error) => missing = Some(error),
        }
    }
    match missing.filter(|_| secrets.is_empty()) {
        Some(error) => Err(error),
        None => Ok(secrets),
    }
}

/// A panic while the lock was held leaves the value consistent.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
