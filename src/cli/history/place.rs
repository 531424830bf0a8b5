//! The history that a command uses: in the home folder or on the team's server.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{found, open, publish};
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::history::{self, Export, Likeness, Mark, Order, Outcome, Page, Query, Record, Stats};
use crate::redact::Redactor;
use crate::remote::Remote;

/// Where the history is.
pub(in crate::cli) enum HistoryPlace {
    /// In this home folder.
    Here(PathBuf),
    /// On this server.
    There(Box<Remote>),
}

impl HistoryPlace {
    /// The place that the settings name.
    pub fn of(settings: &Home) -> Result<HistoryPlace, CliError> {
        Ok(match settings.remote()? {
            Some(remote) => HistoryPlace::There(Box::new(remote)),
            None => HistoryPlace::Here(settings.path()?),
        })
    }

    /// The incidents that match `query`, which was parsed from `words`.
    pub fn ask(&self, words: &str, query: &Query, order: Order, skip: usize, most: usize) -> Result<Page, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(found(home, history::ask(home, query, order, skip, most)?)),
            HistoryPlace::There(remote) => Ok(remote.search(words, order, skip, most)?),
        }
    }

    /// Counts the incidents that match `query`.
    pub fn stats(&self, words: &str, query: &Query) -> Result<Stats, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(found(home, history::ask_stats(home, query)?)),
            HistoryPlace::There(remote) => Ok(remote.stats(words)?),
        }
    }

    /// An incident with earlier occurrences, and its outcomes.
    pub fn show(&self, id: &str) -> Result<(Record, Vec<Outcome>), CliError> {
        match self {
            HistoryPlace::Here(home) => {
                let store = history::look(home)?;
                let mut record = history::find(&store, id)?;
                let outcomes = history::outcomes(&store, Some(&record.incident.id))?;
                let experience = history::experience(&store)?;
                record.incident.seen = experience.seen(&record.incident.fingerprint, &record.incident.id);
                Ok((record, outcomes))
            }
            HistoryPlace::There(remote) => Ok(remote.show(id)?),
        }
    }

    /// An incident as it is stored.
    pub fn find(&self, id: &str) -> Result<Record, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(history::find(&history::look(home)?, id)?),
            HistoryPlace::There(remote) => Ok(remote.show(id)?.0),
        }
    }

    /// The incidents most similar to `record`.
    pub fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(found(home, history::ask_similar(home, record, most)?)),
            HistoryPlace::There(remote) => Ok(remote.similar(record, most)?),
        }
    }

    /// Writes `export` to `out`; returns the number of lines and the mark where the next export continues.
    pub fn export(&self, export: Export, redactor: &Redactor, out: &mut dyn Write) -> Result<(u64, Mark), CliError> {
        match self {
            HistoryPlace::Here(home) => {
                let exporting = export.begin(home)?;
                let lines = exporting.write(redactor, out)?;
                Ok((lines, exporting.next().clone()))
            }
            HistoryPlace::There(remote) => Ok(remote.export(&export, out)?),
        }
    }

    /// Records an outcome.
    pub fn resolve(&self, outcome: &Outcome) -> Result<(), CliError> {
        match self {
            HistoryPlace::Here(home) => change(home, |store| history::resolve(store, outcome)),
            HistoryPlace::There(remote) => Ok(remote.resolve(outcome)?),
        }
    }

    /// Records the annotations of `record`.
    pub fn annotate(&self, record: &Record) -> Result<(), CliError> {
        match self {
            HistoryPlace::Here(home) => change(home, |store| history::annotate(store, record)),
            HistoryPlace::There(remote) => Ok(remote.annotate(record)?),
        }
    }
}

/// Changes the store in `home` and makes the change visible to searches and analyses.
fn change(
    home: &Path,
    change: impl FnOnce(&mut crate::store::DiskStore) -> Result<(), history::HistoryError>,
) -> Result<(), CliError> {
    let mut store = open(home)?;
    change(&mut store)?;
    Ok(publish(&mut store)?)
}
