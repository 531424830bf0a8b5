//! Tests over real and hostile incidents. With OOMDOC_PAGES=FOLDER, [`gallery`] writes its pages there, to be looked
//! at.

mod escaping;
mod gallery;
mod small;

use maud::Markup;

use super::*;
use crate::Options;
use crate::history::{self, Annotations, Document, Note, Outcome, Record};
use crate::knowledge::{Knowledge, retell};
use crate::model::Report;
use crate::redact::Redactor;

pub(super) type Outcomes = Result<(), Box<dyn std::error::Error>>;

/// A viewer who may do everything.
pub(super) fn viewer(language: Language, theme: Theme) -> Viewer<'static> {
    Viewer { language, name: Some("mei"), may_write: true, is_admin: true, csrf: "c5rf", theme, path: "/?q=a" }
}

/// The record of a case of corpus/.
pub(super) fn record(case: &str) -> Result<Record, Box<dyn std::error::Error>> {
    let report = crate::analyze(&[format!("corpus/{case}")], &Options::default())?;
    let redactor = Redactor::new(&Knowledge::shipped()?.secrets)?;
    Ok(Record::of(&report, &redactor)?.ok_or("there is no incident")?)
}

/// The report behind a record.
pub(super) fn report_of(record: &Record, language: Language) -> Result<Report, Box<dyn std::error::Error>> {
    let mut record = record.clone();
    retell(&mut record.incident, &Knowledge::shipped()?, language);
    let Record { inputs, job, incident, failure, .. } = record;
    Ok(crate::report::assemble(inputs, job, incident.kind, vec![incident], None, failure, language))
}
