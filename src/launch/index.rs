//! Which settings of the configurations are which knobs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::config::{Document, Entry, EntryKind, Format};
use crate::knowledge::{Knob, Target, last_step};

/// A knob as a configuration sets it.
#[derive(Clone, Copy)]
pub struct Setting<'l> {
    /// Where.
    pub document: &'l Document,
    /// What.
    pub entry: &'l Entry,
}

impl Setting<'_> {
    /// Whether it stands in a file of the user's, not in what the job printed.
    pub fn is_own(&self) -> bool {
        self.document.format() != Format::Log
    }
}

/// Places of settings, document and entry, by the last step of their names.
pub(super) struct Index {
    places: HashMap<String, Vec<(usize, usize)>>,
}

impl Index {
    pub fn of(documents: &[Document]) -> Index {
        let mut places: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (document, entries) in documents.iter().map(Document::entries).enumerate() {
            for (entry, Entry { key, .. }) in entries.iter().enumerate() {
                places.entry(end_of(key)).or_default().push((document, entry));
            }
        }
        Index { places }
    }

    /// What sets `knob`: in the first document that does, the entry that counts there.
    pub fn setting<'d>(&self, documents: &'d [Document], knob: &Knob) -> Option<Setting<'d>> {
        let mut settings: Vec<(usize, bool, Setting<'d>)> = Vec::new();
        for place in knob.names().filter_map(|name| self.places.get(&last_step(name))).flatten() {
            let document = documents.get(place.0)?;
            let entry = document.entries().get(place.1)?;
            let is_part = || document.format() == Format::Yaml && knob.ends_in(&entry.key);
            let is_named = knob.knows(without_file(&entry.key));
            if suits(knob.target, entry.kind) && (is_named || is_part()) {
                settings.push((place.0, !is_named, Setting { document, entry }));
            }
        }
        // Whole names before parts of them; of several in one document the last.
        let rank = |&(document, is_part, _): &(usize, bool, _)| (document, is_part);
        let best = settings.iter().map(rank).min()?;
        let (_, _, Setting { document, entry }) = settings.into_iter().rfind(|setting| rank(setting) == best)?;
        let counts = document.get(&entry.key).filter(|counted| suits(knob.target, counted.kind));
        Some(Setting { document, entry: counts.unwrap_or(entry) })
    }

    /// The frameworks of whose keys one stands in a file of keys: such a file names no program. A key of a single plain
    /// word is everybody's.
    pub fn keyed(&self, documents: &[Document], knobs: &[Knob]) -> HashSet<Arc<str>> {
        let is_keyed = |knob: &&Knob| {
            let format = match knob.target {
                Target::Json => Format::Json,
                Target::Yaml => Format::Yaml,
                _ => return false,
            };
            let is_telling = knob.names().all(|name| name.contains(['.', '_']));
            is_telling && self.setting(documents, knob).is_some_and(|setting| setting.document.format() == format)
        };
        knobs.iter().filter(is_keyed).map(|knob| knob.framework.clone()).collect()
    }
}

/// An entry's name as knobs are called: without the file, and Hydra's `+` before a new key.
fn end_of(key: &str) -> String {
    last_step(without_file(key).trim_start_matches('+'))
}

/// A key without the file that a script writes it to: `ds_config.json:zero_optimization.stage`.
fn without_file(key: &str) -> &str {
    key.split_once(':').map_or(key, |(_, key)| key)
}

/// Whether a knob of this target can be set by such an entry. A variable of a script is none of the processes it starts.
fn suits(target: Target, kind: EntryKind) -> bool {
    match kind {
        EntryKind::Variable => false,
        EntryKind::Env => target == Target::Env,
        EntryKind::Setting | EntryKind::Flag | EntryKind::Override | EntryKind::Directive => target != Target::Env,
    }
}
