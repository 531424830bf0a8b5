use std::sync::mpsc;

use super::error::QueueError;
use super::work::Moment;
use crate::history::{HistoryError, Likeness, Outcome, Record};
use crate::knowledge::{Knowledge, Language};
use crate::model::Report;
use crate::redact::Redactor;
use crate::source::Input;
use crate::store::Store;

/// An operation on the store, run by its owner.
pub type StoreAction = Box<dyn FnOnce(&mut dyn Store) + Send>;

/// What the bot needs of the server.
pub trait Services: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Moment;
    /// The language in which the bot writes.
    fn language(&self) -> Language;
    /// Runs `act` on the store and returns when it is done.
    fn with_store(&self, act: StoreAction) -> Result<(), QueueError>;
    /// Analyses a log; one report per job that it belongs to, in [`Services::language`].
    fn analyze(&self, log: Input<'static>) -> Result<Vec<Report>, crate::Error>;
    /// Keeps an incident durably. Keeping the same one twice has no further effect.
    fn keep(&self, record: Record) -> Result<(), HistoryError>;
    /// At most `most` incidents similar to `record`.
    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, HistoryError>;
    /// Records what was done about an incident.
    fn resolve(&self, outcome: Outcome) -> Result<(), HistoryError>;
    /// The rules.
    fn knowledge(&self) -> &Knowledge;
    /// The redactor that masks secrets.
    fn redactor(&self) -> &Redactor;
}

/// Runs `act` on the store and returns its result.
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
