//! Gives a container or service a variable of its environment, which what a shell exports on the host does not reach.

use crate::config::{Document, Entry, EntryKind, Format};
use crate::knowledge::{Knob, Target};
use crate::launch::JobConfig;
use crate::model::{Edit, Given, Scalar};

/// The edits that give the variable of `knob` to the container that runs the job, in the first file that has one, behind what `made` gives it.
pub(super) fn edits(
    launch: &JobConfig<'_>,
    knob: &Knob,
    spelling: &str,
    to: &Scalar,
    made: &[Edit],
) -> Option<Vec<Edit>> {
    if knob.target != Target::Env && launch.as_variable(knob).is_none() || super::edit::is_open(to) {
        return None;
    }
    let (name, value) = super::line::assigned(launch, spelling, to);
    launch.documents().iter().filter(|document| document.format() == Format::Yaml).find_map(|document| {
        let container = launch.container(document, &knob.framework)?;
        let edits = in_container(document, container, name, &value, made)?;
        let all: Vec<Edit> = made.iter().chain(&edits).filter(|edit| edit.file == *document.path()).cloned().collect();
        super::edit::can_be_made(document, &all).then_some(edits)
    })
}

/// The lines that set the variable in a service of Compose or a container of Kubernetes, if a file of the job starts one and no script.
pub(super) fn lines(launch: &JobConfig<'_>, spelling: &str, to: &Scalar) -> Option<String> {
    let mut documents = launch.documents().iter();
    let starts = |document: &&Document| document.format() == Format::Shell && !document.commands().is_empty();
    if documents.clone().any(|document| starts(&document)) {
        return None;
    }
    let (name, value) = super::line::assigned(launch, spelling, to);
    documents.find_map(|document| {
        let container = launch.container(document, launch.framework().unwrap_or_default())?;
        Some(match is_of_compose(container) {
            true => format!("environment:\n  {name}: \"{value}\""),
            false => format!("env:\n- name: {name}\n  value: \"{value}\""),
        })
    })
}

fn is_of_compose(container: &str) -> bool {
    !container.ends_with(']')
}

/// The edits that write the variable into the container at the path `container`; `None` if it has that variable.
fn in_container(document: &Document, container: &str, name: &str, value: &str, made: &[Edit]) -> Option<Vec<Edit>> {
    let settings = || document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting);
    let is_compose = is_of_compose(container);
    let list = format!("{container}.{}", if is_compose { "environment" } else { "env" });
    let within = |entry: &Entry| entry.key.strip_prefix(&list).map(str::to_owned);
    let is_variable = |entry: &Entry| {
        let Some(rest) = within(entry) else { return false };
        let words = entry.value.to_string();
        rest == format!(".{name}") || rest.ends_with(".name") && words == name || words.starts_with(&format!("{name}="))
    };
    if settings().any(is_variable) {
        return None;
    }
    let index = |key: &str| key.strip_prefix(&list)?.strip_prefix('[')?.split_once(']')?.0.parse::<usize>().ok();
    let keys = settings().map(|entry| &*entry.key);
    let added = made.iter().filter(|edit| edit.file == *document.path()).map(|edit| &*edit.key);
    let last = keys.chain(added).filter_map(index).max();
    let next = last.map_or(0, |last| last + 1);
    let edit = |key: String, to: &str| {
        let (file, to) = (document.path().clone(), Scalar::Text(to.to_owned()));
        Edit { file, key, to, given: Given::Setting, command: None }
    };
    Some(match (is_compose, last) {
        (true, None) => vec![edit(format!("{list}.{name}"), value)],
        (true, Some(_)) => vec![edit(format!("{list}[{next}]"), &format!("{name}={value}"))],
        (false, _) => vec![edit(format!("{list}[{next}].name"), name), edit(format!("{list}[{next}].value"), value)],
    })
}
