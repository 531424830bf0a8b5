use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::destination::Destination;
use super::error::CliError;
use super::facts::ToldFacts;
use super::flags::Flags;
use super::home::Home;
use super::language::Lang;
use crate::{Options, estimate};

/// The width where there is no terminal.
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
    #[arg(long, value_enum, default_value_t = EstimateFormat::Text)]
    format: EstimateFormat,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    lang: Lang,
    #[command(flatten)]
    told: ToldFacts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EstimateFormat {
    Text,
    Json,
    Markdown,
}

impl Estimate {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let knowledge = home.knowledge()?;
        self.told.check(&knowledge)?;
        let site = home.site(&knowledge)?;
        let options = Options { facts: self.told.fact, knowledge: Some(knowledge), site, ..Options::default() };
        let estimate = estimate::estimate(&self.flags.job(), &options)?;
        let shown = match self.format {
            EstimateFormat::Text => estimate::text(&estimate, self.lang.language, width(), self.all),
            EstimateFormat::Json => serde_json::to_string_pretty(&estimate)? + "\n",
            EstimateFormat::Markdown => estimate::markdown(&estimate, self.lang.language),
        };
        self.destination.write_styled(&shown)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The terminal's width in columns.
fn width() -> usize {
    terminal_size::terminal_size().map_or(WIDTH, |(terminal_size::Width(columns), _)| usize::from(columns))
}
