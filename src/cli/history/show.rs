use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::cli::error::CliError;
use crate::cli::screen;
use crate::cli::told::told;
use crate::history::{self, Outcome, Record};
use crate::knowledge::{Knowledge, Language, retell};
use crate::report::{self, Length};

/// Show an incident as it was analysed, and what was tried
#[derive(Debug, Args)]
pub(super) struct Show {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The language, `en` or `zh` [default: $OOMDOC_LANG, else your locale]
    #[arg(long, value_name = "LANG", default_value_t = crate::cli::language::preferred(), hide_default_value = true)]
    lang: Language,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    record: Record,
    outcomes: Vec<Outcome>,
}

impl Show {
    /// Only text takes `knowledge`, which tells it in the reader's language.
    pub fn run(
        self,
        home: &Path,
        knowledge: impl FnOnce() -> Result<Arc<Knowledge>, CliError>,
    ) -> Result<(), CliError> {
        let store = history::look(home)?;
        let mut record = history::find(&store, &self.id)?;
        let outcomes = history::outcomes(&store, Some(&record.incident.id))?;
        let experience = history::experience(&store)?;
        record.incident.seen = experience.seen(&record.incident.fingerprint, &record.incident.id);
        let mut out = anstream::stdout();
        match self.format {
            Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&Shown { record, outcomes })?)?,
            Format::Text => {
                retell(&mut record.incident, &*knowledge()?, self.lang);
                let Record { time, inputs, job, incident, failure, .. } = record;
                writeln!(out, "{}  {time}", incident.id)?;
                let grouped = format!("grouped by {}", incident.fingerprint.parts.join(", "));
                writeln!(out, "{}\n", told(&grouped, self.lang))?;
                let shown = report::assemble(inputs, job, incident.kind, vec![incident], None, failure, self.lang);
                out.write_all(report::text(&shown, self.lang, Length::Full, screen::width()).as_bytes())?;
                // The report has the first one's only.
                let patches = shown.incidents.first().map(report::numbered).unwrap_or_default();
                for (number, patch) in (1..).zip(patches).skip(1) {
                    if let Some(diff) = &patch.diff {
                        writeln!(out, "\n{number}. {}\n{}", patch.knob, diff.trim_end())?;
                    }
                }
                for outcome in outcomes {
                    let how = if outcome.worked { "worked" } else { "failed" };
                    writeln!(out, "\n{}  {}  {}", outcome.change, told(how, self.lang), outcome.time)?;
                }
            }
        }
        Ok(())
    }
}
