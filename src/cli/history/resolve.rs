use std::path::Path;

use clap::Args;

use super::{open, publish};
use crate::cli::error::CliError;
use crate::history::{self, Outcome};
use crate::redact::Redactor;

/// Record what was tried after an incident and how it went: the next diagnosis takes it into account
#[derive(Debug, Args)]
pub(super) struct Resolve {
    /// The incident's id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// A patch by its number in the report
    #[arg(long, value_name = "NUMBER", required_unless_present = "knob", conflicts_with = "knob")]
    patch: Option<usize>,
    /// Any other change: `--knob=--zero_stage=3`
    #[arg(long, value_name = "KNOB", allow_hyphen_values = true)]
    knob: Option<String>,
    /// It solved the problem
    #[arg(long, required_unless_present = "failed", conflicts_with = "failed")]
    worked: bool,
    /// It did not
    #[arg(long)]
    failed: bool,
}

impl Resolve {
    pub fn run(self, home: &Path, redactor: &Redactor) -> Result<(), CliError> {
        let mut store = open(home)?;
        let record = history::find(&store, &self.id)?;
        let mut outcome = match (self.patch, &self.knob) {
            (Some(number), _) => Outcome::of_patch(&record, number, self.worked)?,
            (None, knob) => Outcome::of_knob(&record, knob.as_deref().unwrap_or_default(), self.worked),
        };
        redactor.mask(&mut outcome);
        history::resolve(&mut store, &outcome)?;
        publish(&mut store)?;
        let how = if self.worked { "worked" } else { "failed" };
        let cause = outcome.cause.as_deref().map(|cause| format!(" against {cause}")).unwrap_or_default();
        anstream::println!("{}: {} {how}{cause}", outcome.incident, outcome.change);
        Ok(())
    }
}
