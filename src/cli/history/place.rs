//! Where the history is that a command asks: in the home folder, or with the team's server.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{found, open, publish};
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::history::{self, Export, Likeness, Mark, Order, Outcome, Page, Query, Record, Stats};
use crate::redact::Redactor;
use crate::remote::Remote;

/// Where it is.
pub(in crate::cli) enum HistoryPlace {
    /// In this home folder.
    Here(PathBuf),
    /// With this server.
    There(Remote),
}

impl HistoryPlace {
    /// The one that settings say.
    pub fn of(settings: &Home) -> Result<HistoryPlace, CliError> {
        Ok(match settings.remote()? {
            Some(remote) => HistoryPlace::There(remote),
            None => HistoryPlace::Here(settings.path()?),
        })
    }

    /// The incidents that `query`, which reads `words`, asks for.
    pub fn ask(&self, words: &str, query: &Query, order: Order, skip: usize, most: usize) -> Result<Page, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(found(home, history::ask(home, query, order, skip, most)?)),
            HistoryPlace::There(remote) => Ok(remote.search(words, order, skip, most)?),
        }
    }

    /// Counts them.
    pub fn stats(&self, words: &str, query: &Query) -> Result<Stats, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(found(home, history::ask_stats(home, query)?)),
            HistoryPlace::There(remote) => Ok(remote.stats(words)?),
        }
    }

    /// An incident, with what was seen of its kind, and what was tried after it.
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

    /// An incident as it is kept.
    pub fn find(&self, id: &str) -> Result<Record, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(history::find(&history::look(home)?, id)?),
            HistoryPlace::There(remote) => Ok(remote.show(id)?.0),
        }
    }

    /// The incidents most like `record`.
    pub fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, CliError> {
        match self {
            HistoryPlace::Here(home) => Ok(found(home, history::ask_similar(home, record, most)?)),
            HistoryPlace::There(remote) => Ok(remote.similar(record, most)?),
        }
    }

    /// Writes what `export` asks for to `out`: how many lines that were, and where the next export goes on.
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

    /// Keeps what was tried.
    pub fn resolve(&self, outcome: &Outcome) -> Result<(), CliError> {
        match self {
            HistoryPlace::Here(home) => change(home, |store| history::resolve(store, outcome)),
            HistoryPlace::There(remote) => Ok(remote.resolve(outcome)?),
        }
    }

    /// Keeps what the annotations of `record` say now.
    pub fn annotate(&self, record: &Record) -> Result<(), CliError> {
        match self {
            HistoryPlace::Here(home) => change(home, |store| history::annotate(store, record)),
            HistoryPlace::There(remote) => Ok(remote.annotate(record)?),
        }
    }
}

/// Changes the store in `home`, and tells searches and analyses.
fn change(
    home: &Path,
    change: impl FnOnce(&mut crate::store::DiskStore) -> Result<(), history::HistoryError>,
) -> Result<(), CliError> {
    let mut store = open(home)?;
    change(&mut store)?;
    Ok(publish(&mut store)?)
}
