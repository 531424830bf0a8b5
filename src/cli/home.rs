use std::path::PathBuf;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::Args;

use super::error::CliError;
use super::language::of_command_line;
use super::messages::told;
use super::screen::said;
use crate::knowledge::{Knowledge, RuleFile};
use crate::model::Experience;
use crate::redact::Redactor;
use crate::rulebase::RuleSource;
use crate::store::{self, HomeUnknown, Snapshot};

/// Where oomdoc keeps what is the user's.
#[derive(Debug, Args)]
pub(super) struct Home {
    /// The folder for your rules and history [default: $OOMDOC_HOME, else your data folder]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
}

impl Home {
    /// The folder; it need not exist.
    pub fn path(&self) -> Result<PathBuf, HomeUnknown> {
        store::find_home(self.home.clone())
    }

    /// The user's own rules.
    pub fn own_rules(&self) -> Vec<RuleFile> {
        self.snapshot().rules
    }

    /// The shipped rules with the user's own over them, or without them where they do not fit.
    pub fn knowledge(&self) -> Result<Arc<Knowledge>, CliError> {
        Ok(Arc::new(self.load()?))
    }

    /// Masks what the shipped rules and the user's own call secret.
    pub fn redactor(&self) -> Result<Redactor, CliError> {
        Ok(Redactor::new(&self.knowledge()?.secrets)?)
    }

    /// [`Home::knowledge`], to be changed.
    pub fn load(&self) -> Result<Knowledge, CliError> {
        overlaid(&self.own_rules())
    }

    /// [`Home::knowledge`], and what came up and was tried before.
    pub fn knowledge_and_experience(&self) -> Result<(Arc<Knowledge>, Arc<Experience>), CliError> {
        let Snapshot { rules, experience, .. } = self.snapshot();
        Ok((Arc::new(overlaid(&rules)?), Arc::new(experience)))
    }

    /// What is told of the store. What cannot be read is said on standard error: it costs nobody an answer.
    fn snapshot(&self) -> Snapshot {
        let Ok(path) = self.path() else { return Snapshot::default() };
        Snapshot::read(&path).unwrap_or_else(|error| {
            warn(&format!("your rules and history are left out: {error}"), error.advice());
            Snapshot::default()
        })
    }
}

fn overlaid(own: &[RuleFile]) -> Result<Knowledge, CliError> {
    let knowledge = RuleSource::overlay(&RuleSource::imported(own)).or_else(|error| {
        warn(&format!("your rules are left out: {error}"), "`oomdoc rules check` says what to fix");
        Knowledge::shipped()
    });
    Ok(knowledge?)
}

/// Says on standard error what went wrong and what to do about it.
pub(super) fn warn(problem: &str, advice: &str) {
    const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default();
    let language = of_command_line();
    let told = |words: &str| said(&told(words, language));
    anstream::eprintln!("{WARNING}{}{WARNING:#}: {}", told("warning"), told(problem));
    anstream::eprintln!("{HINT}{}{HINT:#}: {}", told("hint"), told(advice));
}
