use serde::Deserialize;

use crate::knowledge::{Knob, Knowledge, Origin};
use crate::model::Kind;
use crate::rulebase::names::suggestion;
use crate::rulebase::sources::RuleSource;

use super::condition::Conditions;
use super::{Finding, Notes, files_in};
use crate::rulebase::key_lines::KeyLines;

/// The part of a file of knobs that identifies them.
#[derive(Deserialize)]
struct Names {
    framework: String,
    #[serde(default)]
    knob: Vec<Id>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

/// Checks the knobs of `sources` beyond what keeps them from being read: invalid conditions, frameworks that no job
/// has, missing translations. Returns the number of knobs.
pub(super) fn check(
    sources: &[&RuleSource],
    knowledge: &Knowledge,
    conditions: &Conditions,
    findings: &mut Vec<Finding>,
) -> usize {
    let mut count = 0;
    for (source, Names { framework, knob }) in files_in("knobs", sources) {
        let lines = KeyLines::of(&source.file.content);
        let mut notes = Notes { findings, source, lines: &lines };
        has_jobs(&framework, knowledge, &mut notes);
        count += knob.len();
        let mut untranslated = Vec::new();
        for (index, Id { id }) in knob.iter().enumerate() {
            let known = knowledge.knobs.iter().find(|known| *known.framework == *framework && *known.id == **id);
            let Some(known) = known else { continue };
            asked(known, index, conditions, &mut notes);
            let words = known.constraint.iter().map(|row| &row.text).chain([&known.moves]).chain(known.costs());
            if words.into_iter().any(|words| words.zh.trim().is_empty()) {
                untranslated.push(index);
            }
        }
        if let Some(first) = untranslated.first() {
            let problem = format!("{} of the knobs lack Chinese words, this one first", untranslated.len());
            let advice = "write them as `zh`; until then English stands in".to_owned();
            notes.expected(&["knob", &first.to_string()], problem, advice);
        }
    }
    count
}

/// If a framework is not recognised in logs and launches, no job has it, and its knobs are never proposed.
fn has_jobs(framework: &str, knowledge: &Knowledge, notes: &mut Notes<'_>) {
    if notes.source.origin == Origin::Shipped {
        return;
    }
    let names = knowledge.frameworks.iter().flat_map(|known| known.uses.iter().chain([&known.name]));
    let mut known: Vec<&str> = names.map(|name| &**name).chain(knowledge.stack(None)).collect();
    known.sort_unstable();
    known.dedup();
    if !known.contains(&framework) {
        let advice = suggestion(framework, known.iter().copied());
        let advice = advice.unwrap_or_else(|| format!("one of: {}", known.join(", ")));
        notes.error(&["framework"], format!("no job is of the framework `{framework}`"), advice);
    }
}

fn asked(knob: &Knob, index: usize, conditions: &Conditions, notes: &mut Notes<'_>) {
    for (row, constraint) in knob.constraint.iter().enumerate() {
        let of_row = [("unless", &constraint.unless), ("only", &constraint.only), ("when", &constraint.when)];
        for (key, condition) in of_row.into_iter().filter_map(|(key, condition)| Some((key, condition.as_ref()?))) {
            for (problem, advice) in conditions.faults(condition, Kind::ALL) {
                let path = ["knob", &index.to_string(), "constraint", &row.to_string(), key];
                notes.error(&path, format!("{}: {problem}", knob.id), advice);
            }
        }
    }
    for (row, limit) in knob.lever.iter().enumerate().filter_map(|(row, turn)| Some((row, turn.limit_by.as_ref()?))) {
        // An expression is checked as a comparison of it.
        for (problem, advice) in conditions.faults(&format!("{limit} > 0.0"), Kind::ALL) {
            let path = ["knob", &index.to_string(), "lever", &row.to_string(), "limit_by"];
            notes.error(&path, format!("{}: {problem}", knob.id), advice);
        }
    }
    for (row, condition) in knob.note.iter().enumerate().filter_map(|(row, note)| Some((row, note.when.as_ref()?))) {
        for (problem, advice) in conditions.faults(condition, Kind::ALL) {
            let path = ["knob", &index.to_string(), "note", &row.to_string(), "when"];
            notes.error(&path, format!("{}: {problem}", knob.id), advice);
        }
    }
}
