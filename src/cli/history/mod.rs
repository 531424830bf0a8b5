//! `oomdoc history`: earlier incidents, one file per subcommand.

mod backup;
mod compact;
mod drain;
mod export;
mod import;
mod list;
mod outcomes;
mod page;
mod place;
mod prune;
mod reindex;
mod resolve;
mod restore;
mod salvage;
mod search;
mod show;
mod similar;
mod stats;
mod tag;
mod verify;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::error::CliError;
use super::home::{Home, warn};
use crate::history::{self, Answer, HistoryError, IndexError, Query};
use crate::store::DiskStore;
pub(super) use place::HistoryPlace;

/// Find earlier incidents, and record what solved them.
#[derive(Debug, Args)]
pub(super) struct History {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Search(search::Search),
    Show(show::Show),
    Similar(similar::Similar),
    Stats(stats::Stats),
    Resolve(resolve::Resolve),
    Tag(tag::Tag),
    Outcomes(outcomes::Outcomes),
    Export(export::Export),
    Import(import::Import),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Prune(prune::Prune),
    Reindex(reindex::Reindex),
    Verify(verify::Verify),
    Compact(compact::Compact),
    Salvage(salvage::Salvage),
    Drain(drain::Drain),
}

impl History {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let (settings, home) = (home, &home.path()?);
        match self.command {
            Command::List(list) => list.run(&HistoryPlace::of(settings)?),
            Command::Search(search) => search.run(settings, &HistoryPlace::of(settings)?),
            Command::Show(show) => show.run(&HistoryPlace::of(settings)?, || settings.knowledge()),
            Command::Similar(similar) => similar.run(settings, &HistoryPlace::of(settings)?),
            Command::Stats(stats) => stats.run(settings, &HistoryPlace::of(settings)?),
            Command::Resolve(resolve) => resolve.run(&HistoryPlace::of(settings)?, &settings.redactor()?),
            Command::Tag(tag) => tag.run(home, &settings.redactor()?),
            Command::Outcomes(outcomes) => outcomes.run(home),
            Command::Export(export) => export.run(&HistoryPlace::of(settings)?, &settings.redactor()?),
            Command::Import(import) => import.run(home, &settings.redactor()?),
            Command::Backup(backup) => backup.run(home),
            Command::Restore(restore) => restore.run(home),
            Command::Prune(prune) => prune.run(home),
            Command::Reindex(reindex) => reindex.run(home),
            Command::Verify(verify) => verify.run(home),
            Command::Compact(compact) => compact.run(home),
            Command::Salvage(salvage) => salvage.run(home),
            Command::Drain(drain) => drain.run(settings, home),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    Text,
    Json,
    Csv,
}

/// How long to wait for another process that has the store open.
const PATIENCE: Duration = Duration::from_secs(3);

/// Parses a query. Causes and frameworks that neither the rules nor the history know are errors: they cannot match.
pub(in crate::cli) fn asked(words: &str, settings: &Home, place: &HistoryPlace) -> Result<Query, CliError> {
    let query: Query = words.parse().map_err(HistoryError::from)?;
    let is_closed = ["cause", "framework"].map(|field| query.asks_for(field));
    if is_closed.contains(&true) {
        let knowledge = settings.knowledge()?;
        let kept = place.stats("", &Query::default())?;
        let causes = knowledge.causes.iter().map(|rule| rule.cause.to_string()).chain(kept.causes.into_keys());
        let frameworks = knowledge.frameworks.iter().map(|known| known.name.to_string());
        let frameworks = frameworks.chain(kept.frameworks.into_keys());
        for (field, mut known) in [("cause", causes.collect::<Vec<_>>()), ("framework", frameworks.collect())] {
            known.sort();
            known.dedup();
            query.check(words, field, &known).map_err(HistoryError::from)?;
        }
    }
    Ok(query)
}

/// The answer. If the index could not be used, warns and starts rebuilding it in the background.
fn found<T>(home: &Path, answer: Answer<T>) -> T {
    // A new history has no index until its first incident was kept; that needs no warning.
    let is_being_made = || DiskStore::is_in_use(home) || history::is_indexed(home);
    if let Some(error) = answer.without_index.filter(|error| !matches!(error, IndexError::Missing) || !is_being_made())
    {
        warn(&format!("{error}; the store was read instead"), "`oomdoc history reindex` rebuilds the index");
        super::save::drain(home, &Default::default());
    }
    answer.found
}

/// Makes changes in `store` visible to searches and analyses.
fn publish(store: &mut DiskStore) -> Result<(), HistoryError> {
    if let Some(error) = history::publish(store)? {
        behind(&error);
    }
    Ok(())
}

/// Warns that the index is out of date; searches read the store until it is rebuilt.
fn behind(error: &IndexError) {
    warn(&format!("the index is out of date: {error}"), "`oomdoc history reindex` rebuilds it; nothing is lost");
}

/// Opens the store and takes over the spool.
fn open(home: &Path) -> Result<DiskStore, HistoryError> {
    if let Some(kind) = crate::store::network(home) {
        let problem = format!("{} is on {kind}, where data may get lost", home.display());
        warn(&problem, "name a folder on a disk of this machine with --home or $OOMDOC_HOME");
    }
    history::drain(home, PATIENCE)
}
