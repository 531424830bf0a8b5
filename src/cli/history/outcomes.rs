use std::io::Write;
use std::path::Path;

use clap::Args;

use super::{ListFormat, open, publish};
use crate::cli::error::CliError;
use crate::cli::table::table;
use crate::history;
use crate::model::Outcomes as Count;

/// Show which changes worked here and how that affects diagnoses, or forget it
#[derive(Debug, Args)]
pub(super) struct Outcomes {
    /// How to show them
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
    /// Forget the outcomes of incident ID, or of all incidents without one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    reset: Option<Option<String>>,
}

impl Outcomes {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        if let Some(incident) = self.reset {
            let mut store = open(home)?;
            let incident = incident.map(|id| history::find(&store, &id)).transpose()?.map(|found| found.incident.id);
            let gone = history::forget(&mut store, incident.as_deref())?;
            publish(&mut store)?;
            anstream::println!("{gone} forgotten");
            return Ok(());
        }
        let tallies = history::experience(&history::look(home)?)?.tallies;
        let factor = |outcomes: Count| format!("{:.2}", outcomes.log_odds().exp());
        let mut out = anstream::stdout();
        match self.format {
            ListFormat::Json => writeln!(out, "{}", serde_json::to_string_pretty(&tallies)?)?,
            ListFormat::Csv => {
                writeln!(out, "kind,phase,cause,knob,worked,failed,odds_factor")?;
                for tally in &tallies {
                    let Count { worked, failed } = tally.outcomes;
                    let knob = tally.knob.replace('"', "\"\"");
                    let factor = factor(tally.outcomes);
                    writeln!(
                        out,
                        "{},{},{},\"{knob}\",{worked},{failed},{factor}",
                        tally.kind, tally.phase, tally.cause
                    )?;
                }
            }
            ListFormat::Text if tallies.is_empty() => writeln!(out, "nothing was told yet")?,
            ListFormat::Text => {
                let row = |tally: &crate::model::Tally| {
                    let (worked, tried) = (tally.outcomes.worked, tally.outcomes.tried());
                    [
                        tally.kind.to_string(),
                        tally.phase.to_string(),
                        tally.cause.to_string(),
                        tally.knob.clone(),
                        format!("worked {worked} of {tried}"),
                        format!("odds × {}", factor(tally.outcomes)),
                    ]
                };
                out.write_all(table(&tallies.iter().map(row).collect::<Vec<_>>()).as_bytes())?;
            }
        }
        Ok(())
    }
}
