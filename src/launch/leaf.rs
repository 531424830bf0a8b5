//! Finds the setting of a generic knob under a name of the user's own: as a key at any depth of a configuration that no framework claims, as an
//! argument of a call in the job's code, or as one of the code's own names.

use std::collections::{HashMap, HashSet};

use super::index::{Setting, SettingIndex};
use super::part;
use crate::config::{Document, Entry, EntryKind, Format};
use crate::knowledge::{CodeWords, Knob, is_constant, last_step, plain_name};
use crate::model::{Citation, Frame};

/// The settings that may be those of a generic knob by the last step of their names alone.
#[derive(Default)]
pub(super) struct Leaves {
    /// The positions of settings, as indices of document and entry, by the last steps of their names in small letters.
    places: HashMap<String, Vec<(usize, usize)>>,
    /// The positions of settings and options by the last word of their names: `envs` of `camera_num_envs`.
    ends: HashMap<String, Vec<(usize, usize)>>,
    /// Those on a line of the code that the stack of the failure shows.
    of_stack: HashSet<(usize, usize)>,
}

impl Leaves {
    pub fn of(documents: &[Document]) -> Leaves {
        let mut leaves = Leaves::default();
        for (number, document) in documents.iter().enumerate() {
            for (at, entry) in document.entries().iter().enumerate() {
                let is_leaf =
                    matches!(entry.kind, EntryKind::Setting | EntryKind::Variable) && may_be_leaf(document, entry);
                let is_option = matches!(entry.kind, EntryKind::Flag | EntryKind::Override)
                    || entry.kind == EntryKind::Setting && document.format() != Format::Python;
                if !is_leaf && !is_option {
                    continue;
                }
                let name = last_step(&entry.key);
                if let Some(last) = words(&name).pop() {
                    leaves.ends.entry(last).or_default().push((number, at));
                }
                if is_leaf {
                    leaves.places.entry(name.to_ascii_lowercase()).or_default().push((number, at));
                }
            }
        }
        leaves
    }

    /// Notes which settings stand on the lines that `frames` show.
    pub fn enter(&mut self, documents: &[Document], frames: &[Frame]) {
        let codes = documents.iter().enumerate().filter(|(_, document)| document.format() == Format::Python);
        for (number, document) in codes {
            let of_file = |frame: &&Frame| part::name(&frame.file) == part::name(document.path());
            let shown: HashSet<&str> =
                frames.iter().filter(of_file).map(|frame| frame.code.trim()).filter(|code| !code.is_empty()).collect();
            if shown.is_empty() {
                continue;
            }
            let numbered = (1_u64..).zip(document.text().lines());
            let lines: HashSet<u64> =
                numbered.filter(|(_, line)| shown.contains(line.trim())).map(|(number, _)| number).collect();
            let is_shown =
                |at: usize| document.entries().get(at).is_some_and(|entry| lines.contains(&entry.at.location.line.0));
            let places = self.places.values().flatten().filter(|(of, at)| *of == number && is_shown(*at));
            self.of_stack.extend(places.copied());
        }
    }

    /// The setting of `knob`, if exactly one of those that `counts` accepts can be meant. Of several, one that the stack shows is.
    pub fn setting<'d>(
        &self,
        documents: &'d [Document],
        knob: &Knob,
        counts: impl Fn((usize, usize), Setting<'d>) -> bool,
    ) -> Option<Setting<'d>> {
        let mut found: Vec<((usize, usize), Setting<'d>)> = Vec::new();
        for name in knob.names().filter(|name| !name.contains(['.', ' '])).map(plain_name) {
            for &place in self.places.get(&name.to_ascii_lowercase()).into_iter().flatten() {
                let (document, entry) = at(documents, place)?;
                let is_own_name = entry.kind == EntryKind::Variable && is_constant(&entry.key);
                let is_telling = document.format() != Format::Python || name.contains('_') || is_own_name;
                if is_telling && counts(place, Setting { document, entry }) {
                    found.push((place, Setting { document, entry }));
                }
            }
        }
        if found.is_empty() {
            for (ends, place) in knob.ends.iter().flat_map(|ends| self.that_end(ends).map(move |place| (ends, place))) {
                let (document, entry) = at(documents, place)?;
                if says(&entry.key, ends) && counts(place, Setting { document, entry }) {
                    found.push((place, Setting { document, entry }));
                }
            }
        }
        // A file that comes first takes precedence.
        let first = found.iter().map(|((document, _), _)| *document).min()?;
        found.retain(|((document, _), _)| *document == first);
        let is_one = |found: &[((usize, usize), Setting<'d>)]| {
            let mut values = found.iter().map(|(_, setting)| defined(setting.entry));
            values.next().is_some_and(|value| values.all(|other| other == value))
        };
        if !is_one(&found) {
            found.retain(|(place, _)| self.of_stack.contains(place));
        }
        // A name is changed where all that use it see it.
        let of_name = || found.iter().find(|(_, setting)| setting.entry.kind == EntryKind::Variable);
        is_one(&found).then(|| of_name().or(found.first()).map(|(_, setting)| *setting)).flatten()
    }
}

impl Leaves {
    /// The positions whose names' last word is that of `ends`.
    fn that_end<'a>(&'a self, ends: &str) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let last = ends.rsplit(' ').next().unwrap_or(ends);
        self.ends.get(last).into_iter().flatten().copied()
    }
}

/// Whether the name of `key` ends with the words `ends` and says nothing of an evaluation.
fn says(key: &str, ends: &str) -> bool {
    let words = words(&last_step(key));
    let own = ends.split(' ').collect::<Vec<_>>();
    words.len() >= own.len()
        && words[words.len() - own.len()..].iter().eq(own.iter())
        && !words.iter().any(|word| part::is_of_evaluation(word))
}

/// The words of a name, in small letters: `cameraNumEnvs`, `camera_num_envs` and `CAMERA_NUM_ENVS` have three.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_ascii_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

impl SettingIndex {
    /// The setting of the generic `knob` by the last step of its name, if nothing has its whole name.
    pub(super) fn leaf<'d>(&self, documents: &'d [Document], knob: &Knob) -> Option<Setting<'d>> {
        self.leaves().setting(documents, knob, |place, Setting { document, entry }| {
            self.may_count(documents, knob, place, document, entry)
        })
    }
}

fn at(documents: &[Document], (document, entry): (usize, usize)) -> Option<(&Document, &Entry)> {
    let document = documents.get(document)?;
    Some((document, document.entries().get(entry)?))
}

/// Where the value of `entry` is written: two calls that are given one constant have one value.
fn defined(entry: &Entry) -> (u64, u64) {
    let Citation { location, .. } = entry.defined.as_ref().unwrap_or(&entry.at);
    (location.line.0, location.column.0)
}

/// Whether the last step of the name of `entry` says what it is.
fn may_be_leaf(document: &Document, entry: &Entry) -> bool {
    match document.format() {
        // What a framework's class takes has that framework's names. Calls that work on data have batches of their own.
        Format::Python => {
            let call = entry.key.rsplit_once('.').map_or("", |(call, _)| call);
            let words = CodeWords::shipped();
            entry.tells_amount()
                && !entry.key.contains([':', '/'])
                && !words.is_of_data(call)
                && !words.is_of_evaluation(&entry.key)
        }
        Format::Yaml | Format::Toml | Format::Json => entry.key.contains('.'),
        Format::Ini | Format::Shell | Format::Log => false,
    }
}
