use std::path::PathBuf;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::Args;

use super::error::CliError;
use crate::knowledge::{Knowledge, RuleFile};
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

    /// The user's own rules. What cannot be read is said on standard error: it costs nobody an answer.
    pub fn own_rules(&self) -> Vec<RuleFile> {
        let Ok(path) = self.path() else { return Vec::new() };
        match Snapshot::read(&path) {
            Ok(snapshot) => snapshot.rules,
            Err(error) => {
                warn(&format!("your rules are left out: {error}"), error.advice());
                Vec::new()
            }
        }
    }

    /// The shipped rules with the user's own over them, or without them where they do not fit.
    pub fn knowledge(&self) -> Result<Arc<Knowledge>, CliError> {
        Ok(Arc::new(self.load()?))
    }

    /// [`Home::knowledge`], to be changed.
    pub fn load(&self) -> Result<Knowledge, CliError> {
        let own = self.own_rules();
        let knowledge = Knowledge::with_own(&own).or_else(|error| {
            warn(&format!("your rules are left out: {error}"), "`oomdoc rules check` says what to mend");
            Knowledge::shipped()
        });
        Ok(knowledge?)
    }
}

/// Says what went wrong without an end to it.
pub(super) fn warn(problem: &str, advice: &str) {
    const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default();
    anstream::eprintln!("{WARNING}warning{WARNING:#}: {problem}");
    anstream::eprintln!("{HINT}hint{HINT:#}: {advice}");
}
