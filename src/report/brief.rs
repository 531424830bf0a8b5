//! A summary of a few lines, for an annotation or a chat message.

use super::details::{percent, shorten, strip};
use super::device::call_device;
use super::phrases::{describe, title};
use super::wording;
use super::{change, numbered, telling};
use crate::knowledge::Language;
use crate::model::Report;

/// The verdict, the victim, the cause, the changes and the proving line: one line each, without control characters.
pub fn brief(report: &Report, language: Language) -> String {
    let mut lines = vec![title(report, language)];
    if let Some(incident) = report.subject() {
        lines.extend(incident.ignored.as_ref().map(wording::labels(language).ignored));
        if !incident.victim.is_unknown() {
            lines.push(call_device(&describe(&incident.victim, language), incident));
        }
        let causes = telling(&incident.diagnoses);
        lines.extend(
            causes
                .iter()
                .take(1)
                .map(|diagnosis| format!("{} {}: {}", percent(diagnosis), diagnosis.title, diagnosis.why)),
        );
        lines.extend((1..).zip(numbered(incident)).map(|(number, patch)| format!("{number}. {}", change(patch))));
    }
    let proof = report.subject().map(|incident| &incident.evidence);
    let proof = proof.or(report.other_failure.as_ref().map(|failure| &failure.evidence));
    let first = proof.and_then(|cites| cites.first());
    lines.extend(first.map(|cite| format!("{}  {}", cite.location, shorten(&cite.text))));
    lines.iter().map(|line| strip(line)).collect::<Vec<_>>().join("\n")
}
