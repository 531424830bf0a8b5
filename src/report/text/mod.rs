//! What a person reads: one screen.

mod causes;
mod incident;

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use super::plain::{printable, shorten, title};
use super::words::{self, Labels};
use crate::knowledge::Language;
use crate::model::{Bytes, Citation, Incident, InputSummary, Report};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default();

/// Lines of proof, other incidents, inputs that are shown; the rest is counted.
const PROOF: usize = 3;
const FOLLOWERS: usize = 4;
const INPUTS: usize = 4;

/// The report as text with colours; who prints it to no terminal takes them out.
pub fn text(report: &Report, language: Language) -> String {
    let mut page = Page { text: String::new(), language, labels: words::labels(language) };
    // Writing to a string does not fail.
    let _ = page.write(&printable(report));
    page.text
}

/// The screen in the making.
struct Page {
    text: String,
    language: Language,
    labels: &'static Labels,
}

impl Page {
    fn write(&mut self, report: &Report) -> fmt::Result {
        match report.incidents.split_first() {
            Some((root, others)) => {
                self.incident(root, &report.job)?;
                self.causes(root)?;
                self.heading(self.labels.proof)?;
                self.cites(&root.evidence)?;
                self.followers(others)?;
            }
            None => self.no_incident(report)?,
        }
        self.inputs(&report.inputs)
    }

    fn heading(&mut self, words: &str) -> fmt::Result {
        writeln!(self.text, "\n{BOLD}{words}{BOLD:#}")
    }

    fn no_incident(&mut self, report: &Report) -> fmt::Result {
        let Labels { nothing_read, healthy, proof, .. } = self.labels;
        match &report.other_failure {
            Some(failure) => {
                let title = title(report, self.language);
                writeln!(self.text, "{WARN}{title}{WARN:#}  {DIM}{}{DIM:#}", failure.name)?;
                self.heading(proof)?;
                self.cites(&failure.evidence)
            }
            None if report.inputs.iter().all(|input| input.lines == 0) => {
                writeln!(self.text, "{WARN}{nothing_read}{WARN:#}")
            }
            None => writeln!(self.text, "{GOOD}{healthy}{GOOD:#}"),
        }
    }

    fn cites(&mut self, cites: &[Citation]) -> fmt::Result {
        for cite in cites.iter().take(PROOF) {
            self.cite("  ", cite)?;
        }
        self.rest(cites.len(), PROOF, self.labels.more_in_json)
    }

    fn cite(&mut self, indent: &str, cite: &Citation) -> fmt::Result {
        writeln!(self.text, "{indent}{DIM}{}{DIM:#}  {}", cite.location, shorten(&cite.text))
    }

    fn rest(&mut self, all: usize, shown: usize, say: fn(usize) -> String) -> fmt::Result {
        if all > shown { writeln!(self.text, "  {DIM}{}{DIM:#}", say(all - shown)) } else { Ok(()) }
    }

    fn followers(&mut self, others: &[Incident]) -> fmt::Result {
        if others.is_empty() {
            return Ok(());
        }
        self.heading(self.labels.also)?;
        for other in others.iter().take(FOLLOWERS) {
            let what = if other.recovered { self.labels.went_on } else { self.labels.followed };
            let at = other.evidence.first().map(|cite| cite.location.to_string()).unwrap_or_default();
            writeln!(self.text, "  {}, {what}  {DIM}{at}{DIM:#}", words::headline(other.kind, self.language))?;
        }
        self.rest(others.len(), FOLLOWERS, self.labels.more)
    }

    fn inputs(&mut self, inputs: &[InputSummary]) -> fmt::Result {
        self.heading(self.labels.read)?;
        let (warned, plain): (Vec<_>, Vec<_>) = inputs.iter().partition(|input| input.warning.is_some());
        for input in plain.iter().take(INPUTS) {
            let role = format!("{:?}", input.role).to_lowercase();
            let lines = if input.lines > 0 { format!(", {} lines", input.lines) } else { String::new() };
            let producers =
                if input.producers.is_empty() { String::new() } else { format!(": {}", input.producers.join(", ")) };
            writeln!(
                self.text,
                "  {}  {DIM}{role}{lines}, {}{producers}{DIM:#}",
                input.path,
                Bytes(input.bytes as i64)
            )?;
        }
        self.rest(plain.len(), INPUTS, self.labels.more)?;
        for input in warned {
            writeln!(self.text, "  {WARN}{}: {}{WARN:#}", input.path, input.warning.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }
}
