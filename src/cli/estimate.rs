use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::analyze::told;
use super::error::CliError;
use super::facts;
use super::home::Home;
use crate::estimate::{self, Flags};
use crate::facts::Value;
use crate::knowledge::Language;

/// As wide where there is no terminal.
const WIDTH: usize = 100;

/// Say how much memory a job should need on each GPU and host, moment by moment, and what makes it fit.
#[derive(Debug, Args)]
pub(super) struct Estimate {
    #[command(flatten)]
    flags: Flags,
    /// Show the parts of every moment, not only of the largest
    #[arg(long)]
    all: bool,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The language, `en` or `zh` [default: $OOMDOC_LANG, else your locale]
    #[arg(long, value_name = "LANG", default_value_t = super::language::preferred(), hide_default_value = true)]
    lang: Language,
    /// Facts that no flag states, under the names that rules use: `config.sub_group_size=1e8`
    #[arg(long, value_name = "KEY=VALUE", value_parser = told)]
    fact: Vec<(String, Value)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

impl Estimate {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let knowledge = home.knowledge()?;
        facts::check(&self.fact, &knowledge)?;
        let estimate = estimate::estimate(&self.flags, &self.fact, &knowledge)?;
        let shown = match self.format {
            Format::Text => estimate::text(&estimate, self.lang, width(), self.all),
            Format::Json => serde_json::to_string_pretty(&estimate)? + "\n",
            Format::Markdown => estimate::markdown(&estimate, self.lang),
        };
        anstream::stdout().write_all(shown.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Columns of the terminal.
fn width() -> usize {
    terminal_size::terminal_size().map_or(WIDTH, |(terminal_size::Width(columns), _)| usize::from(columns))
}
