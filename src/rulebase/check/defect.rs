use std::sync::Arc;

use crate::Error;
use crate::knowledge::{Defect, DefectExample, DefectFile, Knowledge};
use crate::model::{Kind, Patch};
use crate::rulebase::example::proposed;
use crate::rulebase::names::suggestion;
use crate::rulebase::sources::RuleSource;

use super::condition::Conditions;
use super::{Finding, Notes, files_in};
use crate::rulebase::key_lines::KeyLines;

/// Checks the defects of programs among `sources`, and runs their examples. Returns the number of examples.
pub(super) fn check(
    sources: &[&RuleSource],
    knowledge: &Arc<Knowledge>,
    conditions: &Conditions,
    findings: &mut Vec<Finding>,
) -> Result<usize, Error> {
    let mut tried = 0;
    for (source, file) in files_in::<DefectFile>("defects", sources) {
        let lines = KeyLines::of(&source.file.content);
        let mut notes = Notes { findings, source, lines: &lines };
        for (index, defect) in file.defect.iter().enumerate() {
            one(defect, &index.to_string(), &file, knowledge, conditions, &mut notes);
        }
        for (index, example) in file.example.iter().enumerate() {
            holds(example, &index.to_string(), knowledge, &mut notes)?;
        }
        tried += file.example.len();
    }
    Ok(tried)
}

/// Analyses the log of `example` and notes if its defect is named where it must not be, or not where it must.
fn holds(example: &DefectExample, at: &str, knowledge: &Arc<Knowledge>, notes: &mut Notes<'_>) -> Result<(), Error> {
    let Some(defect) = knowledge.defects.iter().find(|defect| defect.name == example.defect) else {
        let known = knowledge.defects.iter().map(|defect| &*defect.name);
        let advice = suggestion(&example.defect, known).unwrap_or_else(|| "name one of this file".to_owned());
        notes.error(&["example", at, "defect"], format!("no defect is called `{}`", example.defect), advice);
        return Ok(());
    };
    let to = defect.patch.to.as_deref().unwrap_or_default();
    let patches = proposed(example, knowledge)?;
    let is_it = |patch: &Patch| {
        patch.lever == defect.patch.lever && patch.to.as_ref().is_some_and(|value| value.to_string() == to)
    };
    if patches.iter().any(is_it) != example.is_named {
        let came: Vec<String> = patches.iter().map(|patch| patch.knob.clone()).collect();
        let verb = if example.is_named { "is not" } else { "is" };
        let problem = format!("{to} {verb} proposed for the example of `{}`", example.defect);
        notes.error(&["example", at], problem, format!("what is proposed: {}", came.join(", ")));
    }
    Ok(())
}

fn one(
    defect: &Defect,
    at: &str,
    file: &DefectFile,
    knowledge: &Knowledge,
    conditions: &Conditions,
    notes: &mut Notes<'_>,
) {
    for cause in &defect.causes {
        let mut known = knowledge.causes.iter().map(|rule| &*rule.cause);
        if !known.clone().any(|known| known == &**cause) {
            let advice = suggestion(cause, known.by_ref()).unwrap_or_else(|| "docs/causes.md lists them".to_owned());
            notes.error(&["defect", at, "causes"], format!("no rule concludes `{cause}`"), advice);
        }
    }
    for (key, condition) in [("when", Some(&defect.when)), ("shown_by", defect.shown_by.as_ref())] {
        for (problem, advice) in condition.into_iter().flat_map(|condition| conditions.faults(condition, Kind::ALL)) {
            notes.error(&["defect", at, key], problem, advice);
        }
    }
    if defect.why.zh.trim().is_empty() {
        notes.expected(
            &["defect", at, "why"],
            "the Chinese words are missing".to_owned(),
            "write them as `zh`".to_owned(),
        );
    }
    if !defect.source.starts_with("http") {
        let problem = format!("`{}` is no address", defect.source);
        notes.error(&["defect", at, "source"], problem, "give a link: https://…".to_owned());
    }
    if !file.example.iter().any(|example| example.defect == defect.name && example.is_named) {
        let problem = format!("no example shows `{}`", defect.name);
        notes.expected(&["defect", at, "name"], problem, "add an [[example]] with `is_named = true`".to_owned());
    }
}
