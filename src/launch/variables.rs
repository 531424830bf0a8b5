//! Values that one file only refers to and another one gives: `${SHARE}` in compose, `SHARE=0.9` in the `.env` beside it or exported by the
//! script that starts it.

use super::{JobConfig, Setting};
use crate::config::{Document, Entry, EntryKind, Format, Value};

/// Gives references in `documents` the values of the variables that other documents set.
pub(super) fn resolve(documents: &mut [Document]) {
    if !documents.iter().any(|document| document.format() == Format::Yaml) {
        return;
    }
    let given: Vec<(String, Value)> =
        exports(documents).map(|(_, entry)| (entry.key.clone(), entry.value.clone())).collect();
    let value = |name: &str| {
        let mut named = given.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
        named.next().filter(|_| named.next().is_none()).cloned()
    };
    documents.iter_mut().for_each(|document| document.resolve(value));
}

/// What scripts and files of variables set for what they start.
fn exports(documents: &[Document]) -> impl Iterator<Item = (&Document, &Entry)> {
    let scripts = documents.iter().filter(|document| document.format() == Format::Shell);
    scripts.flat_map(|document| {
        let holds_variables = document.holds_variables();
        let is_export =
            move |entry: &&Entry| entry.command.is_none() && (entry.kind == EntryKind::Env || holds_variables);
        document.entries().iter().filter(is_export).map(move |entry| (document, entry))
    })
}

impl JobConfig<'_> {
    /// The variable of another file that gives `setting` its value, if the setting only refers to it and nothing else does.
    pub(crate) fn variable_behind(&self, setting: Setting<'_>) -> Option<Setting<'_>> {
        let name = setting.document.refers_to(setting.entry)?;
        let mut given = exports(&self.documents).filter(|(_, entry)| entry.key == name);
        let (document, entry) = given.next().filter(|_| given.next().is_none())?;
        let uses: usize = self.documents.iter().map(|document| document.uses_of(name)).sum();
        (uses == 1).then_some(Setting { document, entry })
    }
}
