//! Files beside the one that the launch names, of the same kind: `ds_z3_config.json` beside `ds_z2_config.json`. What they set is none of
//! the job's settings, but a change may name another file instead of rewriting one that other jobs use, too.

use std::collections::{BTreeMap, HashSet};

use super::index::SettingIndex;
use super::{JobConfig, Setting, part};
use crate::config::{Document, Entry, Format};
use crate::knowledge::Knob;

/// The lever that is turned by another setting of such a file than the one that shards: what fills the host comes only if it is asked for.
const FILLS_HOST: &str = "more_host_offload";

/// The value that names another file, and where it stands.
pub(crate) struct Named<'l> {
    /// The document that names the file.
    pub document: &'l Document,
    /// The setting that does.
    pub entry: &'l Entry,
    /// The path of the other file, in the folder of the one that is named now.
    pub to: String,
}

/// Takes those of `documents` out that no document names, beside one of the same keys that is named.
pub(super) fn take_out(documents: &mut Vec<Document>) -> Vec<Document> {
    let is_json = |document: &Document| document.format() == Format::Json;
    if documents.iter().filter(|document| is_json(document)).count() < 2 {
        return Vec::new();
    }
    let words: Vec<String> = documents.iter().flat_map(words).collect();
    let named: HashSet<&str> = words.iter().filter_map(|word| part::name(word)).collect();
    let is_named = |document: &Document| part::name(document.path()).is_some_and(|name| named.contains(name));
    let of_named: HashSet<&str> =
        documents.iter().filter(|document| is_json(document) && is_named(document)).flat_map(paths).collect();
    let is_spare = |document: &Document| {
        is_json(document) && !is_named(document) && paths(document).any(|path| of_named.contains(path))
    };
    let spare: HashSet<usize> = (0..documents.len()).filter(|index| is_spare(&documents[*index])).collect();
    let (out, kept): (Vec<_>, Vec<_>) = (0..).zip(documents.drain(..)).partition(|(index, _)| spare.contains(index));
    documents.extend(kept.into_iter().map(|(_, document)| document));
    out.into_iter().map(|(_, document)| document).collect()
}

/// The words of a document that may name a file.
fn words(document: &Document) -> impl Iterator<Item = String> {
    let values = document.entries().iter().map(|entry| entry.value.to_string());
    values.chain(document.commands().iter().flat_map(|command| command.operands.iter().cloned()))
}

/// The keys of a document that are paths: words alone may stand in files of any kind.
fn paths(document: &Document) -> impl Iterator<Item = &str> {
    document.entries().iter().map(|entry| entry.key.as_str()).filter(|key| key.contains('.'))
}

impl JobConfig<'_> {
    /// Where the job names the file of `setting`, if a file beside it sets `knob` to `to` and asks for nothing of the host that this one
    /// does not.
    pub(crate) fn beside(&self, setting: Setting<'_>, knob: &Knob, to: &str) -> Option<Named<'_>> {
        let name = part::name(setting.document.path())?;
        let spare = self.spare.iter().find(|spare| self.serves_instead(spare, setting, knob, to))?;
        let own = self.documents.iter().filter(|document| document.format() != Format::Log);
        let mut naming = own.flat_map(|document| document.entries().iter().map(move |entry| (document, entry))).filter(
            |(_, entry)| part::name(&entry.value.to_string()) == Some(name) && entry.value.to_string().ends_with(name),
        );
        let (document, entry) = naming.next().filter(|_| naming.next().is_none())?;
        let value = entry.value.to_string();
        Some(Named { document, entry, to: format!("{}{}", folder(&value)?, part::name(spare.path())?) })
    }

    fn serves_instead(&self, spare: &Document, setting: Setting<'_>, knob: &Knob, to: &str) -> bool {
        if folder(spare.path()) != folder(setting.document.path()) || !is_same_beside(spare, setting) {
            return false;
        }
        let documents = std::slice::from_ref(spare);
        let index = SettingIndex::of(documents);
        let value = |other: &Knob| index.setting(documents, other).map(|setting| setting.entry.value.to_string());
        let mut fills = self
            .knobs_of(&knob.framework)
            .filter(|other| other.id != knob.id && other.lever.iter().any(|turn| *turn.name == *FILLS_HOST));
        let own = |other: &Knob| {
            let found = self.setting(other).filter(|found| found.document.path() == setting.document.path());
            found.map(|found| found.entry.value.to_string())
        };
        let is_off = |value: &String| matches!(value.as_str(), "none" | "false");
        value(knob).is_some_and(|value| value == to)
            && fills.all(|other| value(other).is_none_or(|value| is_off(&value) || own(other) == Some(value)))
    }
}

/// The folder of a path, with the slash at its end.
fn folder(path: &str) -> Option<&str> {
    path.strip_suffix(part::name(path)?)
}

/// Whether `spare` says the same as the file of `setting`, but for the section of that.
fn is_same_beside(spare: &Document, setting: Setting<'_>) -> bool {
    let section = |key: &str| key.split('.').next().unwrap_or_default().to_owned();
    let changed = section(&setting.entry.key);
    let others = |document: &Document| -> BTreeMap<String, String> {
        let entries = document.entries().iter().filter(|entry| section(&entry.key) != changed);
        let told = entries.map(|entry| (entry.key.to_string(), entry.value.to_string()));
        // What the trainer fills in is as if it were not there.
        told.filter(|(_, value)| value != "auto").collect()
    };
    others(spare) == others(setting.document)
}
