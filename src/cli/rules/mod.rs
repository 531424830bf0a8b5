//! `oomdoc rules`: the rule base, one file per subcommand.

mod check;
mod fit;
mod import;
mod list;
mod new;
mod remove;
mod show;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::home::Home;
use crate::rulebase::RuleSource;

/// List, check, test and import rules: what oomdoc knows of the causes of out-of-memory failures.
#[derive(Debug, Args)]
pub(super) struct Rules {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    New(new::New),
    Show(show::Show),
    Check(check::Check),
    Test(test::Test),
    #[command(visible_alias = "calibrate")]
    Fit(fit::Fit),
    Import(import::Import),
    Remove(remove::Remove),
}

impl Rules {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        match self.command {
            Command::List(list) => list.run(home),
            Command::New(new) => new.run(),
            Command::Show(show) => show.run(home),
            Command::Check(check) => check.run(home),
            Command::Test(test) => test.run(home),
            Command::Fit(fit) => fit.run(home),
            Command::Import(import) => import.run(home),
            Command::Remove(remove) => remove.run(home),
        }
    }
}

/// The rules at `path`; without one, all shipped and imported rules.
fn sources(path: Option<&PathBuf>, home: &Home) -> Result<Vec<RuleSource>, CliError> {
    match path {
        Some(path) => Ok(RuleSource::read(path)?),
        None => {
            let own = RuleSource::imported(&home.own_rules()).into_iter().chain(home.named_rules()?);
            Ok(RuleSource::shipped().into_iter().chain(own).collect())
        }
    }
}

/// `1 rule`, `2 rules`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
