//! Checks rules: what can be verified without an incident, and whether their examples hold.

mod cause;
mod condition;
mod defect;
mod knob;
mod message;
mod reading;
mod sign;
mod whole;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::Error;
use crate::knowledge::{CauseRule, Glossary, Knowledge, KnowledgeError, Origin, RuleFile};

use super::example::{ExampleOutcome, try_examples};
use super::key_lines::{self, KeyLines};
use super::sources::RuleSource;
use condition::Conditions;

/// A problem of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The file, as its owner knows it.
    pub file: String,
    /// The line, if known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub advice: String,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The rule, or part of it, cannot work.
    Error,
    /// The rule works but could be better.
    Warning,
}

/// What was checked, and the findings, errors first.
#[derive(Debug, Default)]
pub struct Checked {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The number of rules of causes that could be read.
    pub rules: usize,
    /// The number of knobs.
    pub knobs: usize,
    /// The number of messages.
    pub messages: usize,
    /// The number of examples that were run.
    pub examples: usize,
}

impl Checked {
    /// Whether there is an error among the findings.
    pub fn fails(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// Checks `sources`. The user's own are overlaid on the shipped rules.
pub fn check(sources: &[RuleSource]) -> Result<Checked, Error> {
    let mut findings = Vec::new();
    let (mut own, mut causes, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids: BTreeMap<(bool, Arc<str>), String> = BTreeMap::new();
    for source in sources {
        let lines = KeyLines::of(&source.file.content);
        let mut note = Notes { findings: &mut findings, source, lines: &lines };
        let fits = match (source.is_cause(), source.origin) {
            (true, _) => match toml::from_str::<CauseRule>(&source.file.content) {
                Ok(rule) => {
                    let known = (source.origin == Origin::Own, rule.id.clone());
                    let first = ids.insert(known, source.shown.clone());
                    if let Some(first) = &first {
                        let problem = format!("{first} has a rule `{}` already", rule.id);
                        note.error(&["id"], problem, "give one of them another id".to_owned());
                    }
                    causes.push((source, lines, CauseRule { origin: source.origin, ..rule }));
                    first.is_none()
                }
                Err(error) => {
                    note.malformed(&error);
                    false
                }
            },
            (false, Origin::Shipped) => true,
            // Each file is overlaid separately, so that errors are attributed to it.
            (false, Origin::Own) => match Knowledge::with_own(std::slice::from_ref(&source.file)) {
                Ok(_) => true,
                Err(error) => {
                    note.refused(&error);
                    false
                }
            },
        };
        if fits && source.origin == Origin::Own {
            own.push(source.file.clone());
        }
        if fits && !source.is_cause() {
            others.push(source);
        }
    }
    if let Err(error) = shipped(sources) {
        refuse(sources, Origin::Shipped, &error, &mut findings);
    }
    let knowledge = Arc::new(overlaid(&own, sources, &mut findings)?);
    let glossary = Glossary::shipped()?;
    let conditions = Conditions::new(&knowledge, &glossary);
    let mut checked = Checked { rules: causes.len(), ..Checked::default() };
    for (source, lines, rule) in &causes {
        let mut notes = Notes { findings: &mut findings, source, lines };
        cause::check(rule, &knowledge, &conditions, &mut notes);
        let tried = try_examples(rule, &knowledge)?;
        checked.examples += tried.len();
        for (index, tried) in tried.iter().enumerate() {
            notes.example(index, tried);
        }
    }
    checked.examples += defect::check(&others, &knowledge, &conditions, &mut findings)?;
    checked.knobs = knob::check(&others, &knowledge, &conditions, &mut findings);
    let grammars = crate::grammars(&knowledge)?;
    let (messages, examples) = message::check(&others, &grammars, &mut findings);
    (checked.messages, checked.examples) = (messages, checked.examples + examples);
    checked.examples += reading::check(&others, &mut findings);
    checked.examples += sign::check(&others, &grammars, &mut findings);
    whole::check(sources, &knowledge, &glossary, &conditions, &mut findings);
    findings.sort_by(|a, b| (a.severity, &a.file, a.line).cmp(&(b.severity, &b.file, b.line)));
    findings.dedup();
    Ok(Checked { findings, ..checked })
}

/// The files of `folder` among `sources`, without the unreadable ones, which have been reported already.
fn files_in<'s, T: DeserializeOwned>(folder: &str, sources: &[&'s RuleSource]) -> Vec<(&'s RuleSource, T)> {
    let of_folder =
        sources.iter().filter(|source| source.file.path.split_once('/').is_some_and(|(own, _)| own == folder));
    of_folder.filter_map(|source| Some((*source, toml::from_str(&source.file.content).ok()?))).collect()
}

/// The shipped rules overlaid with `own`; only the shipped ones if that is inconsistent.
fn overlaid(
    own: &[RuleFile],
    sources: &[RuleSource],
    findings: &mut Vec<Finding>,
) -> Result<Knowledge, KnowledgeError> {
    Knowledge::with_own(own).or_else(|error| {
        refuse(sources, Origin::Own, &error, findings);
        Knowledge::shipped()
    })
}

/// Reads the shipped rules with the checks that an analysis leaves out.
fn shipped(sources: &[RuleSource]) -> Result<(), KnowledgeError> {
    let files = || sources.iter().filter(|source| source.origin == Origin::Shipped);
    match files().next() {
        None => Ok(()),
        Some(_) => Knowledge::load(files().map(|source| (&*source.file.path, &*source.file.content))).map(|_| ()),
    }
}

/// Notes `error` at the file of `origin` that it is about.
fn refuse(sources: &[RuleSource], origin: Origin, error: &KnowledgeError, findings: &mut Vec<Finding>) {
    let file = error.file();
    if let Some(source) = sources.iter().find(|source| source.file.path == file && source.origin == origin) {
        let lines = KeyLines::of(&source.file.content);
        Notes { findings, source, lines: &lines }.refused(error);
    }
}

/// Collects the findings of one file.
pub(super) struct Notes<'n> {
    findings: &'n mut Vec<Finding>,
    source: &'n RuleSource,
    lines: &'n KeyLines,
}

impl Notes<'_> {
    fn note(&mut self, severity: Severity, line: Option<usize>, problem: String, advice: String) {
        let file = self.source.shown.clone();
        self.findings.push(Finding { severity, file, line, problem, advice });
    }

    /// `path` is the key with the problem: `["evidence", "2", "when"]`.
    fn error(&mut self, path: &[&str], problem: String, advice: String) {
        self.note(Severity::Error, self.lines.line(path), problem, advice);
    }

    fn warning(&mut self, path: &[&str], problem: String, advice: String) {
        self.note(Severity::Warning, self.lines.line(path), problem, advice);
    }

    /// Notes something that shipped rules must have and the user's own should have.
    fn expected(&mut self, path: &[&str], problem: String, advice: String) {
        match self.source.origin {
            Origin::Shipped => self.error(path, problem, advice),
            Origin::Own => self.warning(path, problem, advice),
        }
    }

    fn malformed(&mut self, error: &toml::de::Error) {
        let line = error.span().and_then(|span| key_lines::line_at(&self.source.file.content, span.start));
        self.note(Severity::Error, line, error.message().to_owned(), self.pages().to_owned());
    }

    /// Where such a file is documented.
    fn pages(&self) -> &'static str {
        match self.source.file.path.split('/').next() {
            Some("causes") => "docs/writing-rules.md lists every field of a rule",
            Some("messages") => "docs/writing-rules.md lists slots and fields of a message",
            Some("defects") => "docs/writing-rules.md lists every field of a defect",
            Some("knobs") => "docs/writing-rules.md lists every field of a knob, docs/knobs.md shows the shipped ones",
            _ => "compare with the files of this folder that are shipped",
        }
    }

    fn refused(&mut self, error: &KnowledgeError) {
        match error {
            KnowledgeError::Malformed { error, .. } => self.malformed(error),
            KnowledgeError::Wrong { problem, .. } => {
                let line = key_lines::line_of_words(&self.source.file.content, problem);
                self.note(Severity::Error, line, problem.clone(), self.pages().to_owned());
            }
            KnowledgeError::Unprepared { .. } => {
                self.note(Severity::Error, None, error.to_string(), "build oomdoc anew".to_owned());
            }
        }
    }

    fn example(&mut self, index: usize, tried: &ExampleOutcome) {
        let Some(problem) = &tried.problem else { return };
        let named: Vec<String> =
            tried.named.iter().map(|(cause, confidence)| format!("{cause} {confidence:.2}")).collect();
        let came = if named.is_empty() { tried.verdict.to_string() } else { named.join(", ") };
        let problem = format!("example “{}” must be {}: {problem}", tried.example, tried.must.as_str());
        self.error(&["example", &index.to_string(), "must"], problem, format!("what came out: {came}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shipped_knob_that_contradicts_its_lever_is_found() -> Result<(), Box<dyn std::error::Error>> {
        let mut sources = RuleSource::shipped();
        assert!(shipped(&sources).is_ok());
        let trainer = sources.iter_mut().find(|source| source.file.path == "knobs/hf_trainer.toml");
        let trainer = trainer.ok_or("no knobs of the Trainer")?;
        trainer.file.content = trainer.file.content.replacen(
            r#"{ name = "micro_batch","#,
            r#"{ name = "micro_batch", direction = "lower","#,
            1,
        );
        let error = shipped(&sources).err().ok_or("it passes")?;
        let mut findings = Vec::new();
        refuse(&sources, Origin::Shipped, &error, &mut findings);
        let found: Vec<(&str, &str)> = findings.iter().map(|finding| (&*finding.file, &*finding.problem)).collect();
        let problem =
            "per_device_train_batch_size: lever micro_batch: it helps one way only: leave out the `direction`";
        assert_eq!(found, [("rules/knobs/hf_trainer.toml", problem)]);
        Ok(())
    }
}
