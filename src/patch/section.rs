//! Writes all that a knob needs beside itself if none of it exists: a volume and its mount, in each pod of a manifest; a plugin that reads it.

use crate::config::{Document, Entry, EntryKind, Format, Value};
use crate::knowledge::{Knob, Section};
use crate::launch::JobConfig;
use crate::model::{Edit, Given, Partner, Scalar};

/// The edits that write the section of `knob`, set to `to`, into the first of the user's files that has a place for it.
pub(super) fn edits(launch: &JobConfig<'_>, knob: &Knob, to: &Scalar) -> Option<Vec<Edit>> {
    let section = knob.section.as_ref()?;
    let takes_sections = |document: &&Document| match &section.file {
        Some(name) => document.path().rsplit(['/', '\\']).next() == Some(&**name),
        None => matches!(document.format(), Format::Yaml | Format::Ini),
    };
    let mut files = launch.documents().iter().filter(takes_sections);
    files.find_map(|document| {
        let edits = of_document(document, section, to);
        (!edits.is_empty() && super::edit::can_be_made(document, &edits)).then_some(edits)
    })
}

/// The edit that writes `partner` into the section that `edits` write, if it belongs there.
pub(super) fn partner(section: &Section, edits: &[Edit], partner: &Partner) -> Option<Edit> {
    let (top, _) = partner.knob.split_once('.')?;
    let is_in = |[key, _]: &[String; 2]| key.split_once('.').is_some_and(|(other, _)| other == top);
    let file = edits.first().filter(|_| section.keys.iter().any(is_in))?.file.clone();
    Some(Edit { file, key: partner.knob.clone(), to: partner.to.clone(), given: Given::Setting, command: None })
}

fn of_document(document: &Document, section: &Section, to: &Scalar) -> Vec<Edit> {
    let settings = || document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting);
    let begins = |text: &str| section.taken.iter().any(|taken| text.split('=').next() == Some(taken));
    let is_taken = |Entry { value, .. }: &Entry| matches!(value, Value::Text(text) if section.taken.contains(text) || begins(text));
    if settings().any(is_taken) {
        return Vec::new();
    }
    let mut places: Vec<&str> = match section.beside.is_empty() {
        true => vec![""],
        false => settings().filter_map(|entry| above(&entry.key, &section.beside)).collect(),
    };
    places.dedup();
    let edit = |place: &str, key: &str, value: &str| {
        let filled = || value.replace("{to}", &to.to_string());
        let written = || value.parse().map_or_else(|_| Scalar::Text(filled()), Scalar::Flag);
        let to = if value == "{to}" { to.clone() } else { written() };
        let key = format!("{place}{}", behind_last(document, place, key));
        Edit { file: document.path().clone(), key, to, given: Given::Setting, command: None }
    };
    let keys = |place| section.keys.iter().map(move |[key, value]| edit(place, key, value));
    places.into_iter().flat_map(keys).collect()
}

/// The part of `key` above the section `name`, if the key leads through one.
fn above<'k>(key: &'k str, name: &str) -> Option<&'k str> {
    let mut places = key.match_indices(name).map(|(at, _)| key.split_at(at));
    places
        .find(|(above, rest)| {
            let behind = &rest[name.len()..];
            (above.is_empty() || above.ends_with('.')) && (behind.is_empty() || behind.starts_with('.'))
        })
        .map(|(above, _)| above)
}

/// `key` below `place`, with `[+]` replaced by the first free index.
fn behind_last(document: &Document, place: &str, key: &str) -> String {
    let Some((list, rest)) = key.split_once("[+]") else { return key.to_owned() };
    let start = format!("{place}{list}[");
    let number = |entry: &Entry| entry.key.strip_prefix(&start)?.split_once(']')?.0.parse::<usize>().ok();
    let last = document.entries().iter().filter_map(number).max();
    format!("{list}[{}]{rest}", last.map_or(0, |last| last + 1))
}
