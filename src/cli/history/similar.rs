use std::io::Write;
use std::path::Path;

use clap::{Args, ValueEnum};

use super::{HistoryPlace, page};
use crate::Options;
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::cli::language::spoken;
use crate::history::Record;
use crate::redact::Redactor;

/// Find incidents similar to another one, or to that of a log, and show what they share
#[derive(Debug, Args)]
pub(super) struct Similar {
    /// The id of an incident, or a log
    #[arg(value_name = "ID|LOG")]
    what: String,
    /// How to show them
    #[arg(long, value_enum, default_value_t = SimilarFormat::Text)]
    format: SimilarFormat,
    /// Show at most this many
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SimilarFormat {
    Text,
    Json,
}

impl Similar {
    pub fn run(self, settings: &Home, place: &HistoryPlace) -> Result<(), CliError> {
        let record = match Path::new(&self.what).exists() {
            true => self.analyzed(settings)?,
            false => place.find(&self.what)?,
        };
        let found = place.similar(&record, self.limit)?;
        let mut out = anstream::stdout();
        match self.format {
            SimilarFormat::Json => {
                let shown = serde_json::json!({ "incidents": found, "total": found.len() });
                writeln!(out, "{}", serde_json::to_string_pretty(&shown)?)?;
            }
            SimilarFormat::Text if found.is_empty() => writeln!(out, "nothing like it")?,
            SimilarFormat::Text => {
                let (likenesses, documents): (Vec<_>, Vec<_>) =
                    found.into_iter().map(|found| ((found.score, found.alike), found.incident)).unzip();
                let lines = page::lines(&documents, spoken());
                let (header, lines) = lines.split_first().map_or(("", &[][..]), |(header, lines)| (header, lines));
                writeln!(out, "{header}")?;
                for (line, (score, alike)) in lines.iter().zip(likenesses) {
                    writeln!(out, "{line}\n  {:.0}% alike: {}", score * 100.0, alike.join("; "))?;
                }
            }
        }
        Ok(())
    }

    /// The record of a log's incident, without keeping it.
    fn analyzed(&self, settings: &Home) -> Result<Record, CliError> {
        let knowledge = settings.knowledge()?;
        let (site, redactor) = (settings.site(&knowledge)?, Redactor::new(&knowledge.secrets)?);
        let options = Options { knowledge: Some(knowledge), site, ..Options::default() };
        let report = crate::analyze(std::slice::from_ref(&self.what), &options)?;
        Record::of(&report, &redactor)?.ok_or_else(|| CliError::NothingAlike { path: self.what.clone() })
    }
}
