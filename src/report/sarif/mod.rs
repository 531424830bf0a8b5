//! SARIF 2.1.0: one result per incident, with its first cause as the rule.

mod format;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::annotation_place::{annotation_place, within};
use super::details::{percent, strip};
use super::phrases::{describe, headline, title};
use super::wording;
use super::{change, numbered};
use crate::diagnosis::UNKNOWN;
use crate::knowledge::{CauseRule, Language};
use crate::model::{Citation, Diagnosis, Ignored, Incident, OtherFailure, Report};
use format::{
    ArtifactLocation, Driver, Finding, Location, Log, LogicalLocation, Message, PhysicalLocation, Region, Rule, Run,
    Suppression, Tool,
};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The file name that stands for standard input.
const STDIN: &str = "stdin";
/// The most related locations per result.
const RELATED: usize = 10;

/// The reports as SARIF, each as a run. `causes` are the rules with their explanations. The location of a result is the
/// line of the launch configuration under `root`, else the log line that proves it, since code scanning requires one.
/// The log lines are related locations.
pub fn sarif(
    reports: &[Report],
    language: Language,
    root: &Path,
    causes: &[CauseRule],
) -> Result<String, serde_json::Error> {
    let run = |report: &Report| {
        let mut writer = Writer { report, language, root, causes, rules: Vec::new() };
        let results = writer.results();
        let driver = Driver { name: "oomdoc", version: report.version.clone(), rules: writer.rules };
        Run { tool: Tool { driver }, results }
    };
    serde_json::to_string_pretty(&Log { schema: SCHEMA, version: "2.1.0", runs: reports.iter().map(run).collect() })
}

struct Writer<'a> {
    report: &'a Report,
    language: Language,
    root: &'a Path,
    causes: &'a [CauseRule],
    /// Each rule once, in the order of first use.
    rules: Vec<Rule>,
}

impl Writer<'_> {
    fn results(&mut self) -> Vec<Finding> {
        let report = self.report;
        let incidents: Vec<Finding> =
            report.incidents.iter().enumerate().map(|(place, incident)| self.incident(incident, place == 0)).collect();
        let other = report.other_failure.as_ref().filter(|_| incidents.is_empty());
        let other: Vec<Finding> = other.map(|failure| self.other_failure(failure)).into_iter().collect();
        incidents.into_iter().chain(other).collect()
    }

    fn incident(&mut self, incident: &Incident, is_root: bool) -> Finding {
        let first = incident.diagnoses.first();
        let (rule_id, rule_index) = self.rule(first);
        let level = match (incident.recovered, is_root) {
            (true, _) => "note",
            (false, true) => "error",
            (false, false) => "warning",
        };
        let place = is_root.then(|| annotation_place(self.report, self.root)).flatten();
        let fingerprint = &incident.fingerprint;
        Finding {
            rule_id,
            rule_index,
            level,
            message: Message { text: self.message(incident) },
            locations: place
                .map(|place| physical(&place.file, place.line, None))
                .or_else(|| self.proof(&incident.evidence))
                .into_iter()
                .collect(),
            related_locations: self.related(&incident.evidence),
            partial_fingerprints: BTreeMap::from([(
                format!("oomdoc/v{}", fingerprint.version),
                fingerprint.key.clone(),
            )]),
            suppressions: incident.ignored.iter().map(|ignored| self.suppression(ignored)).collect(),
            properties: BTreeMap::from([
                ("kind", incident.kind.as_str().into()),
                ("phase", incident.phase.name.as_str().into()),
                ("confidence", first.map(|diagnosis| (diagnosis.confidence * 100.0).round() / 100.0).into()),
                ("id", incident.id.as_str().into()),
            ]),
        }
    }

    /// The suppression of a result that a file beside the code accepts.
    fn suppression(&self, ignored: &Ignored) -> Suppression {
        let justification = strip(&(wording::labels(self.language).ignored)(ignored));
        Suppression { kind: "external", status: "accepted", justification }
    }

    fn message(&self, incident: &Incident) -> String {
        let mut text = headline(incident, self.language);
        // Writing to a string does not fail.
        if !incident.victim.is_unknown() {
            let _ = write!(text, " ({})", describe(&incident.victim, self.language));
        }
        if let Some(first) = incident.diagnoses.first() {
            let _ = write!(text, ". {} {}: {}", percent(first), first.title, first.why);
        }
        for patch in numbered(incident).iter().take(1) {
            let _ = write!(text, " → {}", change(patch));
        }
        strip(&text)
    }

    fn other_failure(&mut self, failure: &OtherFailure) -> Finding {
        let text = title(self.report, self.language);
        let id = format!("other_failure/{}", failure.name);
        let rule_index = self.add(Rule {
            id: id.clone(),
            short_description: Message { text: text.clone() },
            full_description: None,
            help: None,
        });
        Finding {
            rule_id: id,
            rule_index,
            level: "warning",
            message: Message { text },
            locations: self.proof(&failure.evidence).into_iter().collect(),
            related_locations: self.related(&failure.evidence),
            partial_fingerprints: BTreeMap::new(),
            suppressions: Vec::new(),
            properties: BTreeMap::from([("kind", self.report.verdict.as_str().into())]),
        }
    }

    /// The first line that proves a result, as a path within the repository. A log elsewhere is given by its file name,
    /// with its full path as the logical location.
    fn proof(&self, cites: &[Citation]) -> Option<Location> {
        let Citation { location, text, .. } = cites.first()?;
        let (path, line) = (&*location.path, location.line.0);
        if let Some(inner) = self.inner(path) {
            return Some(physical(&inner, line, Some(text)));
        }
        let name = if path == "-" { STDIN } else { path.rsplit(['/', '\\']).next().unwrap_or(path) };
        let logical = LogicalLocation { fully_qualified_name: strip(path), kind: "resource" };
        Some(Location { logical_locations: vec![logical], ..physical(name, line, Some(text)) })
    }

    /// `path` relative to the repository's root; `None` for standard input and for paths outside.
    fn inner(&self, path: &str) -> Option<String> {
        if path == "-" { None } else { within(path, self.root) }
    }

    fn related(&self, cites: &[Citation]) -> Vec<Location> {
        // Standard input has no URI.
        let addressed = cites.iter().filter(|cite| &*cite.location.path != "-").take(RELATED);
        let location = |Citation { location, text, .. }: &Citation| {
            let path = self.inner(&location.path).unwrap_or_else(|| location.path.to_string());
            physical(&path, location.line.0, Some(text))
        };
        addressed.map(location).collect()
    }

    /// The id of a diagnosis's rule, and its index in `rules`.
    fn rule(&mut self, diagnosis: Option<&Diagnosis>) -> (String, usize) {
        let id = diagnosis.map_or(UNKNOWN, |diagnosis| &diagnosis.cause).to_owned();
        let known = diagnosis.and_then(|diagnosis| self.causes.iter().find(|rule| rule.id == diagnosis.rule));
        let words = |words: &crate::knowledge::Words| Message { text: words.in_language(self.language).to_owned() };
        let title = diagnosis.map_or(UNKNOWN, |diagnosis| &diagnosis.title).to_owned();
        let rule = Rule {
            id: id.clone(),
            short_description: known.map_or(Message { text: title }, |rule| words(&rule.title)),
            full_description: known.map(|rule| words(&rule.explanation)),
            help: known.map(|rule| Message { text: help(rule, self.language) }),
        };
        let index = self.add(rule);
        (id, index)
    }

    fn add(&mut self, rule: Rule) -> usize {
        match self.rules.iter().position(|known| known.id == rule.id) {
            Some(index) => index,
            None => {
                self.rules.push(rule);
                self.rules.len() - 1
            }
        }
    }
}

/// The explanation of a cause, what must not be concluded from it, and references.
fn help(rule: &CauseRule, language: Language) -> String {
    let said = [&rule.explanation, &rule.not_concluded].map(|words| words.in_language(language).trim().to_owned());
    said.into_iter().chain(rule.references.iter().cloned()).collect::<Vec<_>>().join("\n\n")
}

fn physical(path: &str, start_line: u64, text: Option<&str>) -> Location {
    let snippet = text.map(|text| Message { text: strip(text) });
    let artifact_location = ArtifactLocation { uri: uri(path) };
    // A memory snapshot has no lines.
    let region = (start_line > 0).then_some(Region { start_line, snippet });
    let physical_location = PhysicalLocation { artifact_location, region };
    Location { physical_location, logical_locations: Vec::new() }
}

/// A path as a URI reference (RFC 3986).
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.strip_prefix("./").unwrap_or(path).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
            byte => {
                // Writing to a string does not fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_addresses() {
        assert_eq!(uri("./logs/job 1.log"), "logs/job%201.log");
        assert_eq!(uri("/var/é?.log"), "file:///var/%C3%A9%3F.log");
        assert_eq!(uri("a.tar!b:c"), "a.tar%21b%3Ac");
    }
}
