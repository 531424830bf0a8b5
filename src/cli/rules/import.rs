use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{check, count, shown};
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::history;
use crate::knowledge::RuleFile;
use crate::rulebase::{self, RuleSource};
use crate::store::{DiskStore, import_rules, own_rules};

/// Check your rules and keep them: from then on every analysis uses them
#[derive(Debug, Args)]
pub(super) struct Import {
    /// A file or folder of rules
    path: PathBuf,
}

impl Import {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let sources = RuleSource::read(&self.path)?;
        let files: Vec<RuleFile> = sources.iter().map(|source| source.file.clone()).collect();
        let mut store = DiskStore::open(&home.path()?)?;
        // The new rules must be consistent with those imported before.
        let kept = own_rules(&store)?.into_iter().filter(|known| files.iter().all(|file| file.path != known.path));
        let kept: Vec<RuleFile> = kept.collect();
        let checked = rulebase::check(&RuleSource::imported(&kept).into_iter().chain(sources).collect::<Vec<_>>())?;
        check::print(&checked);
        if checked.fails() {
            return Err(CliError::NotImported { path: shown(&self.path) });
        }
        let done = import_rules(&mut store, &files)?;
        history::snapshot(&store)?;
        let (added, replaced, unchanged) = (done.added.len(), done.replaced.len(), done.unchanged.len());
        anstream::println!(
            "{} imported: {added} new, {replaced} replaced, {unchanged} unchanged",
            count(files.len(), "file")
        );
        Ok(ExitCode::SUCCESS)
    }
}
