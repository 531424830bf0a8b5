//! Gives one argument to every call of a script that a knob names, as to each of several metrics.

use super::edit::can_be_made;
use crate::config::{Document, EntryKind, Format, Value};
use crate::knowledge::{Knob, is_named};
use crate::launch::JobConfig;
use crate::model::{Edit, Given, Scalar};

/// The edits that give `to` to the calls of the job's code that `knob` names and that have no value of their own; none for other knobs.
pub(super) fn edits(launch: &JobConfig<'_>, knob: &Knob, to: &Scalar) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for (document, name) in places(launch, knob) {
        let edit =
            Edit { file: document.path().clone(), key: name, to: to.clone(), given: Given::Setting, command: None };
        let own = edits.iter().filter(|made: &&Edit| made.file == edit.file).cloned();
        let all: Vec<Edit> = own.chain([edit.clone()]).collect();
        if can_be_made(document, &all) {
            edits.push(edit);
        }
    }
    (!edits.is_empty()).then_some(edits)
}

/// The name of the first call of the job's code that would be given the argument.
pub(super) fn first_name(launch: &JobConfig<'_>, knob: &Knob) -> Option<String> {
    places(launch, knob).next().map(|(_, name)| name)
}

/// The calls with the argument, each by the name of the knob or by the key that the code gives it.
fn places<'a>(launch: &'a JobConfig<'_>, knob: &'a Knob) -> impl Iterator<Item = (&'a Document, String)> {
    let codes = launch.documents().iter().filter(|document| document.format() == Format::Python && knob.each_call);
    codes.flat_map(move |document| {
        knob.names().filter_map(move |name| {
            let set =
                document.entries().iter().find(|entry| entry.kind == EntryKind::Setting && is_named(name, &entry.key));
            let is_open = set.is_none_or(|entry| entry.value == Value::Null);
            let (call, _) = name.rsplit_once('.')?;
            let is_it = is_open && calls(document.text(), call);
            is_it.then(|| (document, set.map_or(name, |entry| &*entry.key).to_owned()))
        })
    })
}

/// Whether `call(` stands in `code`, and not as the end of a longer name.
fn calls(code: &str, call: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = code.match_indices(call);
    let is_comment = |at: usize| code[..at].rsplit('\n').next().is_some_and(|line| line.contains('#'));
    places.any(|(at, _)| !code[..at].ends_with(is_part) && code[at + call.len()..].starts_with('(') && !is_comment(at))
}
