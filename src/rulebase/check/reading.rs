//! Checks the examples of the rules by which inputs, launchers, code and snapshots are recognised.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::config::{Command, Document, Format, starts_program};
use crate::knowledge::{CodeWords, Inputs, Launchers, SnapshotRules};
use crate::rulebase::sources::RuleSource;
use crate::source::role;

use super::{Finding, Notes};
use crate::rulebase::key_lines::KeyLines;

/// Reads the examples of `inputs.toml`, `launchers.toml`, `python.toml` and `snapshot.toml` among `sources` and reports those with
/// other results than they state. Returns the number of examples.
pub(super) fn check(sources: &[&RuleSource], findings: &mut Vec<Finding>) -> usize {
    let read =
        [inputs(sources, findings), launchers(sources, findings), code(sources, findings), snapshot(sources, findings)];
    read.into_iter().flatten().sum()
}

fn inputs(sources: &[&RuleSource], findings: &mut Vec<Finding>) -> Option<usize> {
    let (source, file) = read::<Inputs>("inputs.toml", sources)?;
    let lines = KeyLines::of(&source.file.content);
    let mut notes = Notes { findings, source, lines: &lines };
    let examples = file.example.iter().enumerate().map(|(index, example)| ("example", index, example, true));
    let misses = file.near_miss.iter().enumerate().map(|(index, miss)| ("near_miss", index, miss, false));
    for (of, index, example, must) in examples.chain(misses) {
        let came = role::of(&example.name, example.head.as_bytes()).0;
        if (came == example.role) != must {
            let first = example.head.lines().next().unwrap_or_default();
            let problem = format!("`{first}` is not read as this {of} says");
            notes.error(&[of, &index.to_string()], problem, format!("what came out: {came:?}"));
        }
    }
    Some(file.example.len() + file.near_miss.len())
}

fn launchers(sources: &[&RuleSource], findings: &mut Vec<Finding>) -> Option<usize> {
    let (source, file) = read::<Launchers>("launchers.toml", sources)?;
    let lines = KeyLines::of(&source.file.content);
    let mut notes = Notes { findings, source, lines: &lines };
    for (index, example) in file.example.iter().enumerate() {
        let read = Document::read_as(Format::Shell, "", &example.line);
        let commands: Vec<String> = read.iter().flat_map(Document::commands).map(Command::typed).collect();
        if commands != example.commands {
            let problem = format!("`{}` is not read as it says", example.line);
            notes.error(&["example", &index.to_string()], problem, format!("what came out: {}", commands.join(", ")));
        }
    }
    for (index, miss) in file.near_miss.iter().enumerate().filter(|(_, miss)| starts_program(&miss.line)) {
        let problem = format!("the near miss `{}` is read as a command", miss.line);
        notes.error(&["near_miss", &index.to_string()], problem, "make the name longer".to_owned());
    }
    Some(file.example.len() + file.near_miss.len())
}

fn code(sources: &[&RuleSource], findings: &mut Vec<Finding>) -> Option<usize> {
    let (source, file) = read::<CodeWords>("python.toml", sources)?;
    let lines = KeyLines::of(&source.file.content);
    let mut notes = Notes { findings, source, lines: &lines };
    for (index, example) in file.example.iter().enumerate() {
        let read = Document::read_as(Format::Python, "", &example.code);
        let entries = read.iter().flat_map(Document::entries);
        let settings: BTreeMap<String, String> =
            entries.map(|entry| (entry.key.clone(), entry.value.to_string())).collect();
        if settings != example.settings {
            let problem = format!("`{}` is not read as it says", example.code.trim());
            notes.error(&["example", &index.to_string()], problem, format!("what came out: {settings:?}"));
        }
    }
    Some(file.example.len())
}

fn snapshot(sources: &[&RuleSource], findings: &mut Vec<Finding>) -> Option<usize> {
    let (source, file) = read::<SnapshotRules>("snapshot.toml", sources)?;
    let lines = KeyLines::of(&source.file.content);
    let mut notes = Notes { findings, source, lines: &lines };
    let examples = file.example.iter().enumerate().map(|(index, example)| ("example", index, example, true));
    let misses = file.near_miss.iter().enumerate().map(|(index, miss)| ("near_miss", index, miss, false));
    for (of, index, example, must) in examples.chain(misses) {
        let came = example.found(&file);
        if (came == example.category) != must {
            let problem = format!("`{}` is not read as this {of} says", example.stack.join(" ← "));
            notes.error(&[of, &index.to_string()], problem, format!("what came out: {came}"));
        }
    }
    Some(file.example.len() + file.near_miss.len())
}

/// The file at `path`, if it is among `sources` and readable; unreadable files have been reported already.
fn read<'s, T: DeserializeOwned>(path: &str, sources: &[&'s RuleSource]) -> Option<(&'s RuleSource, T)> {
    let source = sources.iter().find(|source| source.file.path == path)?;
    Some((source, toml::from_str(&source.file.content).ok()?))
}
