//! Comments and chat: the verdict, the cause and the change at a glance, what proves it folded away.

mod escape;

use std::fmt::{self, Write};

use super::choice::from_to;
use super::plain::{amount, describe, describe_job, effects, phase, shorten, title, together};
use super::words::{self, Labels};
use super::{choice, numbered, telling};
use crate::diagnosis::UNKNOWN;
use crate::knowledge::Language;
use crate::model::{Citation, Diagnosis, Incident, Job, Patch, Report};
use escape::{block, cell, code, inline};

/// Lines of proof, of one diagnosis' evidence, other incidents and inputs that are shown.
const PROOF: usize = 8;
const EVIDENCE: usize = 3;
const FOLLOWERS: usize = 4;
const INPUTS: usize = 8;
/// A longer diff (bytes) would fill a comment, of which a forge takes 65,536 characters.
const LONGEST_DIFF: usize = 6000;

/// The report as Markdown (GitHub's and GitLab's dialects). Nothing of a log is obeyed: no markup, no mention, no link.
pub fn markdown(report: &Report, language: Language) -> String {
    let mut page = Page { text: String::new(), language, labels: words::labels(language) };
    // Writing to a string does not fail.
    let _ = page.write(report);
    page.text
}

/// The comment in the making.
struct Page {
    text: String,
    language: Language,
    labels: &'static Labels,
}

impl Page {
    fn write(&mut self, report: &Report) -> fmt::Result {
        writeln!(self.text, "### {}\n", inline(&title(report, self.language)))?;
        if let Some((root, others)) = report.incidents.split_first() {
            self.incident(root, &report.job)?;
            self.fold(self.labels.proof, |page| page.cites(&root.evidence, PROOF))?;
            self.followers(others)?;
        } else if let Some(failure) = &report.other_failure {
            self.fold(self.labels.proof, |page| page.cites(&failure.evidence, PROOF))?;
        }
        self.inputs(report)
    }

    fn incident(&mut self, incident: &Incident, job: &Job) -> fmt::Result {
        let victim = (!incident.victim.is_unknown()).then(|| describe(&incident.victim));
        let seen = (incident.seen.count > 0).then(|| (self.labels.seen)(&incident.seen));
        let job = describe_job(job, self.labels);
        let facts: Vec<String> = [victim, Some(phase(incident, self.language)), incident.failed_at.clone(), job, seen]
            .into_iter()
            .flatten()
            .map(|words| inline(&words))
            .collect();
        writeln!(self.text, "{}\n", facts.join(" · "))?;
        for earlier in &incident.seen.earlier {
            writeln!(self.text, "- {}", inline(&(self.labels.earlier)(earlier)))?;
        }
        if !incident.seen.earlier.is_empty() {
            writeln!(self.text)?;
        }
        let causes = telling(&incident.diagnoses);
        causes.iter().try_for_each(|diagnosis| self.diagnosis(diagnosis))?;
        self.patches(incident)?;
        let useless: Vec<_> = incident.diagnoses.iter().take(1).flat_map(|diagnosis| &diagnosis.not_advised).collect();
        if !useless.is_empty() {
            self.fold(self.labels.useless, |page| {
                useless.iter().try_for_each(|row| writeln!(page.text, "- {}: {}", code(&row.knob), inline(&row.why)))
            })?;
        }
        self.figures(incident)?;
        let evidence: Vec<Citation> =
            causes.iter().flat_map(|diagnosis| diagnosis.evidence.iter().take(EVIDENCE)).cloned().collect();
        if !evidence.is_empty() {
            self.fold(self.labels.why, |page| page.cites(&evidence, PROOF))?;
        }
        if !incident.capture_next.is_empty() {
            self.fold(self.labels.next_time, |page| {
                incident.capture_next.iter().try_for_each(|hint| writeln!(page.text, "- {}", inline(hint)))
            })?;
        }
        Ok(())
    }

    fn diagnosis(&mut self, diagnosis: &Diagnosis) -> fmt::Result {
        let percent = diagnosis.confidence * 100.0;
        writeln!(self.text, "**{percent:.0}% {}** {}\n", inline(&diagnosis.title), code(&diagnosis.cause))?;
        writeln!(self.text, "{}\n", inline(&diagnosis.why))
    }

    fn patches(&mut self, incident: &Incident) -> fmt::Result {
        let shown = numbered(incident);
        if shown.is_empty() {
            return Ok(());
        }
        let is_known = incident.diagnoses.first().is_some_and(|diagnosis| &*diagnosis.cause != UNKNOWN);
        let heading = if is_known { self.labels.change } else { self.labels.first_steps };
        writeln!(self.text, "#### {heading}\n")?;
        for (number, patch) in (1..).zip(shown) {
            self.patch(number, patch)?;
        }
        if let Some(words) = together(incident, self.language) {
            writeln!(self.text, "\n**{words}**")?;
        }
        writeln!(self.text)
    }

    fn patch(&mut self, number: usize, patch: &Patch) -> fmt::Result {
        let effects = effects(patch, self.language).map(|effects| format!(" ({effects})")).unwrap_or_default();
        writeln!(self.text, "{number}. {} {}{effects}", code(&patch.knob), code(&from_to(patch)))?;
        for (label, words) in [(self.labels.cost, &patch.cost), (self.labels.needs, &patch.constraint)] {
            if let Some(words) = words {
                writeln!(self.text, "   - {label}: {}", inline(words))?;
            }
        }
        if let Some(line) = &patch.line {
            write!(self.text, "\n{}", block(line, "", "   "))?;
        }
        match &patch.diff {
            Some(diff) if diff.len() > LONGEST_DIFF => writeln!(self.text, "   - {}", self.labels.long_diff),
            Some(diff) => write!(self.text, "\n{}", block(diff, "diff", "   ")),
            None => Ok(()),
        }
    }

    fn figures(&mut self, incident: &Incident) -> fmt::Result {
        let figures = choice::figures(&incident.figures);
        if figures.is_empty() && incident.memory.explains.is_none() {
            return Ok(());
        }
        let Labels { figure, amount: number, place, .. } = self.labels;
        self.fold(self.labels.figures, |page| {
            writeln!(page.text, "| {figure} | {number} | {place} |\n|---|--:|---|")?;
            for figure in figures {
                let meaning = words::figure(figure.name, page.language);
                let Some(amount) = amount(figure) else { continue };
                writeln!(page.text, "| {meaning} | {amount} | {} |", cell(&figure.source.to_string()))?;
            }
            match &incident.memory.explains {
                Some(words) => write!(page.text, "\n{}", block(words, "text", "")),
                None => Ok(()),
            }
        })
    }

    fn cites(&mut self, cites: &[Citation], most: usize) -> fmt::Result {
        for cite in cites.iter().take(most) {
            writeln!(self.text, "- {} {}", code(&cite.location.to_string()), code(&shorten(&cite.text)))?;
        }
        self.rest(cites.len(), most, self.labels.more_in_json)
    }

    fn followers(&mut self, others: &[Incident]) -> fmt::Result {
        if others.is_empty() {
            return Ok(());
        }
        self.fold(self.labels.also, |page| {
            for other in others.iter().take(FOLLOWERS) {
                let what = if other.recovered { page.labels.went_on } else { page.labels.followed };
                let at = other.evidence.first().map(|cite| code(&cite.location.to_string())).unwrap_or_default();
                writeln!(page.text, "- {}, {what} {at}", words::headline(other.kind, page.language))?;
            }
            page.rest(others.len(), FOLLOWERS, page.labels.more)
        })
    }

    fn inputs(&mut self, report: &Report) -> fmt::Result {
        let paths: Vec<String> = report.inputs.iter().take(INPUTS).map(|input| code(&input.path)).collect();
        let rest = report.inputs.len().saturating_sub(INPUTS);
        let rest = if rest > 0 { format!(", {}", (self.labels.more)(rest)) } else { String::new() };
        writeln!(self.text, "oomdoc {}. {}: {}{rest}", inline(&report.version), self.labels.read, paths.join(", "))?;
        for input in report.inputs.iter().filter(|input| input.warning.is_some()).take(INPUTS) {
            writeln!(self.text, "- {}: {}", code(&input.path), inline(input.warning.as_deref().unwrap_or_default()))?;
        }
        Ok(())
    }

    fn rest(&mut self, all: usize, shown: usize, say: fn(usize) -> String) -> fmt::Result {
        if all > shown { writeln!(self.text, "- {}", say(all - shown)) } else { Ok(()) }
    }

    /// What `write` writes, under a summary that opens it.
    fn fold(&mut self, summary: &str, write: impl FnOnce(&mut Page) -> fmt::Result) -> fmt::Result {
        writeln!(self.text, "<details><summary>{summary}</summary>\n")?;
        write(self)?;
        writeln!(self.text, "\n</details>\n")
    }
}
