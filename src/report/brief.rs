//! A few lines for whoever only glances: an annotation, a message in a chat.

use super::details::{shorten, strip, sure};
use super::phrases::{describe, title};
use super::texts;
use super::{change, numbered, telling};
use crate::knowledge::Language;
use crate::model::Report;

/// The verdict, who was hit, why, what to change, and the line that proves it: a line each, without control characters.
pub fn brief(report: &Report, language: Language) -> String {
    let mut lines = vec![title(report, language)];
    if let Some(incident) = report.incidents.first() {
        lines.extend(incident.ignored.as_ref().map(texts::labels(language).ignored));
        if !incident.victim.is_unknown() {
            lines.push(describe(&incident.victim, language));
        }
        let causes = telling(&incident.diagnoses);
        lines.extend(
            causes
                .iter()
                .take(1)
                .map(|diagnosis| format!("{} {}: {}", sure(diagnosis), diagnosis.title, diagnosis.why)),
        );
        lines.extend((1..).zip(numbered(incident)).map(|(number, patch)| format!("{number}. {}", change(patch))));
    }
    let proof = report.incidents.first().map(|incident| &incident.evidence);
    let proof = proof.or(report.other_failure.as_ref().map(|failure| &failure.evidence));
    let first = proof.and_then(|cites| cites.first());
    lines.extend(first.map(|cite| format!("{}  {}", cite.location, shorten(&cite.text))));
    lines.iter().map(|line| strip(line)).collect::<Vec<_>>().join("\n")
}
