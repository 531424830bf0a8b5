use clap::{ArgGroup, Args};

use super::HistoryPlace;
use crate::cli::error::CliError;
use crate::cli::labels::note;
use crate::history::{self, Annotations, Note, Outcome, Record};
use crate::redact::Redactor;

/// Record what was tried after an incident and how it went: the next diagnosis takes it into account
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("change").args(["patch", "knob", "did"]).requires("how"))]
#[command(group = ArgGroup::new("how").args(["worked", "failed"]))]
#[command(group = ArgGroup::new("said").args(["patch", "knob", "did", "note", "link"]).multiple(true).required(true))]
pub(super) struct Resolve {
    /// The incident's id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// A patch by its number in the report
    #[arg(long, value_name = "NUMBER")]
    patch: Option<usize>,
    /// Any other change: `--knob=--zero_stage=3`
    #[arg(long, value_name = "KNOB", allow_hyphen_values = true)]
    knob: Option<String>,
    /// What you did instead, in your words: `--did "moved the job to H200 nodes"`
    #[arg(long, value_name = "TEXT", value_parser = note)]
    did: Option<String>,
    /// It solved the problem
    #[arg(long)]
    worked: bool,
    /// It did not
    #[arg(long)]
    failed: bool,
    /// A note to keep; with --worked and no change, what you did
    #[arg(long, value_name = "TEXT", value_parser = note)]
    note: Option<String>,
    /// A link to more: a ticket, a page, a merge request
    #[arg(long, value_name = "URL", value_parser = note)]
    link: Option<String>,
}

impl Resolve {
    pub fn run(self, place: &HistoryPlace, redactor: &Redactor) -> Result<(), CliError> {
        let record = place.find(&self.id)?;
        let Some(mut outcome) = self.outcome(&record)? else { return self.write_down(place, record, redactor) };
        redactor.mask(&mut outcome);
        place.resolve(&outcome)?;
        let how = if outcome.worked { "worked" } else { "failed" };
        let cause = outcome.cause.as_deref().map(|cause| format!(" against {cause}")).unwrap_or_default();
        anstream::println!("{}: {} {how}{cause}", outcome.incident, outcome.change);
        Ok(())
    }

    /// The outcome to record; `None` if only a note is to be kept.
    fn outcome(&self, record: &Record) -> Result<Option<Outcome>, CliError> {
        if !self.worked && !self.failed {
            return Ok(None);
        }
        let worked = self.worked;
        let (mut note, mut link) = (self.note.clone(), self.link.clone());
        let outcome = match (self.patch, &self.knob, &self.did) {
            (Some(number), _, _) => Outcome::of_patch(record, number, worked)?,
            (_, Some(knob), _) => Outcome::of_knob(record, knob, worked),
            (_, _, Some(did)) => Outcome::of_words(record, did, worked),
            // The note, or else the link, says what was done.
            _ => {
                let words = note.take().or_else(|| link.take()).unwrap_or_default();
                Outcome::of_words(record, &words, worked)
            }
        };
        Ok(Some(Outcome { note, link, ..outcome }))
    }

    /// Keeps a note without an outcome.
    fn write_down(self, place: &HistoryPlace, mut record: Record, redactor: &Redactor) -> Result<(), CliError> {
        let mut note = Note { text: self.note.unwrap_or_default(), link: self.link, time: history::now() };
        redactor.mask(&mut note);
        let said = Annotations { notes: vec![note], ..Annotations::default() };
        record.annotations = record.annotations.with(&said);
        place.annotate(&record)?;
        anstream::println!("{}: noted", record.incident.id);
        Ok(())
    }
}
