//! What the logs tell about the job itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Case;
use crate::knowledge::{Framework, Knowledge, installed, is_newer};
use crate::model::{Event, FactValue, Frame, Job, What};

pub(super) fn of(case: &Case, knowledge: &Knowledge) -> Job {
    let text = |key: &str| {
        facts(case, key).find_map(|value| match value {
            FactValue::Text(text) => Some(text.clone()),
            FactValue::Number(_) => None,
        })
    };
    let number = |key: &str| {
        facts(case, key).find_map(|value| match value {
            FactValue::Number(number) => Some(*number),
            FactValue::Text(_) => None,
        })
    };
    let framework = framework(&case.events, knowledge);
    let version = framework.as_deref().and_then(|name| text(&format!("version.{name}")));
    Job {
        framework,
        framework_version: version,
        framework_version_at_most: None,
        model: text("job.model"),
        parameters: number("job.parameters").map(|count| count as u64),
        world_size: number("job.world_size").map(|size| size as u32),
        gpu: text("job.gpu"),
        config_digest: None,
        versions: versions(case, knowledge),
    }
}

/// The model that the process of `failed` itself says it runs: another service of the same log runs another one.
pub(super) fn model_of(case: &Case, failed: &Event) -> Option<String> {
    let is_own = |event: &&Event| event.origin == failed.origin && event.at.location.path == failed.at.location.path;
    let own = case.events.iter().filter(|event| failed.origin.pid.is_some() && is_own(event));
    own.flat_map(|event| &event.facts).find_map(|fact| match &fact.value {
        FactValue::Text(model) if fact.key == "job.model" => Some(model.clone()),
        _ => None,
    })
}

/// The versions that messages state; of a program that does not state its own, the newest that its messages can be of.
fn versions(case: &Case, knowledge: &Knowledge) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut versions = BTreeMap::new();
    for fact in case.events.iter().flat_map(|event| &event.facts) {
        if let (Some(program), FactValue::Text(version)) = (fact.key.strip_prefix("version."), &fact.value) {
            versions.entry(program.into()).or_insert_with(|| version.as_str().into());
        }
    }
    let stated: BTreeSet<Arc<str>> = versions.keys().cloned().collect();
    let refused = case.events.iter().filter(|event| matches!(event.what, What::Shortage(_)));
    for message in refused.flat_map(|event| std::iter::once(&event.at).chain(&event.evidence)) {
        for wording in knowledge.wordings.iter().filter(|wording| wording.is_of(&message.text)) {
            let newest = versions.entry(Arc::clone(&wording.of)).or_insert_with(|| Arc::clone(&wording.until));
            if !stated.contains(&wording.of) && is_newer(newest, &wording.until) {
                *newest = Arc::clone(&wording.until);
            }
        }
    }
    versions
}

/// Whether `path` stands in `file` as whole steps: `whisper/transcribe.py` is none of `faster_whisper/transcribe.py`.
fn stands_in(file: &str, path: &str) -> bool {
    let begins = |at: usize| !file[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    file.match_indices(path).any(|(at, _)| begins(at))
}

/// The framework that the messages, stacks and processes of `events` show.
pub fn framework(events: &[Event], knowledge: &Knowledge) -> Option<String> {
    let stacks = events.iter().filter_map(|event| match &event.what {
        What::Traceback(stack) => Some(&stack.frames),
        _ => None,
    });
    let files: Vec<Cow<'_, str>> = stacks.flatten().map(path_of).collect();
    let modules: Vec<String> = events.iter().flat_map(|event| modules(&event.at.text)).collect();
    let places = || events.iter().filter_map(|event| event.context.place.as_deref());
    let producers = || events.iter().map(|event| event.producer);
    let roles = || events.iter().flat_map(roles);
    let shows = |framework: &&Framework| {
        framework.paths.iter().any(|path| files.iter().any(|file| stands_in(file, path)))
            || framework.places.iter().any(|known| places().any(|place| place == known))
            || framework.paths.iter().any(|path| modules.iter().any(|module| module.starts_with(path.as_str())))
            || framework.producers.iter().any(|known| producers().any(|producer| producer == known))
            || framework.roles.iter().any(|known| roles().any(|role| role.contains(known.as_str())))
    };
    knowledge.frameworks.iter().find(shows).map(|framework| framework.name.to_string())
}

/// The path of a frame's source file below the installed packages: an environment's folder may be called like a framework.
fn path_of(frame: &Frame) -> Cow<'_, str> {
    match with_slashes(&frame.file) {
        Cow::Borrowed(file) => Cow::Borrowed(installed(file).unwrap_or(file)),
        Cow::Owned(file) => Cow::Owned(installed(&file).map(str::to_owned).unwrap_or(file)),
    }
}

/// `path` with slashes instead of Windows' backslashes.
fn with_slashes(path: &str) -> Cow<'_, str> {
    match path.contains('\\') {
        true => Cow::Owned(path.replace('\\', "/")),
        false => Cow::Borrowed(path),
    }
}

/// The paths below folders of installed packages that `text` contains, for messages without a stack. Each ends at a blank, which no
/// framework's path has.
fn modules(text: &str) -> Vec<String> {
    let text = with_slashes(text);
    let below = text.split("-packages/").skip(1);
    below.map(|rest| rest.split(' ').next().unwrap_or_default().to_owned()).collect()
}

/// The roles of the processes that `event` is about.
fn roles(event: &Event) -> Vec<&str> {
    let mut roles: Vec<&str> = event.origin.role.as_deref().into_iter().collect();
    if let What::Shortage(shortage) = &event.what {
        roles.extend(shortage.victims.iter().filter_map(|victim| victim.role.as_deref()));
        roles.extend(shortage.consumers.iter().filter_map(|consumer| consumer.role.as_deref()));
    }
    roles
}

fn facts<'a>(case: &'a Case, key: &'a str) -> impl Iterator<Item = &'a FactValue> {
    case.events
        .iter()
        .flat_map(|event: &Event| &event.facts)
        .filter(move |fact| fact.key == key)
        .map(|fact| &fact.value)
}
