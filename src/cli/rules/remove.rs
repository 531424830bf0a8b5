use std::process::ExitCode;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::history;
use crate::rulebase::{RuleSource, nearest_rules};
use crate::store::{DiskStore, own_rules, remove_rules};

/// Remove an imported rule; a shipped rule that it replaced applies again
#[derive(Debug, Args)]
pub(super) struct Remove {
    /// The rule's id, or its file as `oomdoc rules check` names it
    id: String,
}

impl Remove {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let mut store = DiskStore::open(&home.path()?)?;
        let sources = RuleSource::imported(&own_rules(&store)?);
        let is_meant = |source: &&RuleSource| {
            source.file.path == self.id || source.cause().is_some_and(|rule| *rule.id == *self.id)
        };
        let paths: Vec<&str> = sources.iter().filter(is_meant).map(|source| source.file.path.as_str()).collect();
        if paths.is_empty() {
            return Err(CliError::NotYours { nearest: nearest_rules(&self.id, &sources), id: self.id });
        }
        remove_rules(&mut store, &paths)?;
        history::snapshot(&store)?;
        anstream::println!("{} removed", paths.join(", "));
        Ok(ExitCode::SUCCESS)
    }
}
