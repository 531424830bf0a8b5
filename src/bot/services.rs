use std::sync::mpsc;

use super::error::QueueError;
use super::work::Moment;
use crate::history::{HistoryError, Likeness, Outcome, Record};
use crate::knowledge::{Knowledge, Language};
use crate::model::Report;
use crate::redact::Redactor;
use crate::source::Input;
use crate::store::Store;

/// What is done with the store by whoever has it.
pub type Act = Box<dyn FnOnce(&mut dyn Store) + Send>;

/// What the bot needs of the server.
pub trait Services: Send + Sync + 'static {
    /// This moment.
    fn now(&self) -> Moment;
    /// The language in which it answers.
    fn language(&self) -> Language;
    /// Does `act` with the store, and returns when it is done.
    fn with_store(&self, act: Act) -> Result<(), QueueError>;
    /// The reports on a log, one for each job that it is of, in [`Services::language`].
    fn analyze(&self, log: Input<'static>) -> Result<Vec<Report>, crate::Error>;
    /// Keeps an incident; it is durable when this returns, and the same one twice is one.
    fn keep(&self, record: Record) -> Result<(), HistoryError>;
    /// Incidents like `record`.
    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, HistoryError>;
    /// Keeps what was done about an incident.
    fn resolve(&self, outcome: Outcome) -> Result<(), HistoryError>;
    /// What is known.
    fn knowledge(&self) -> &Knowledge;
    /// What masks secrets.
    fn redactor(&self) -> &Redactor;
}

/// What `act` makes of the store.
pub(super) fn ask<T, E>(
    services: &dyn Services,
    act: impl FnOnce(&mut dyn Store) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<QueueError> + Send + 'static,
{
    let (answer, answered) = mpsc::channel();
    services.with_store(Box::new(move |store| drop(answer.send(act(store)))))?;
    answered.recv().unwrap_or_else(|_| Err(QueueError::Closed.into()))
}
