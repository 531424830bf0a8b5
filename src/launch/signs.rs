//! What shows in a configuration that a framework reads it, or is started by it.

use crate::config::{Document, Entry, EntryKind, Format};
use crate::knowledge::Framework;

/// Whether a file is called YAML.
pub(super) fn is_yaml_by_name(document: &Document) -> bool {
    document.path().ends_with(".yaml") || document.path().ends_with(".yml")
}

/// Whether `document` starts the script by which `framework` is started.
pub(super) fn starts(framework: &Framework, document: &Document) -> bool {
    document.commands().iter().filter_map(|command| command.target.as_deref()).any(|target| framework.is_script(target))
}

/// Whether `document` has the section in which `name` stands.
pub(super) fn has_section(document: &Document, name: &str) -> bool {
    name.contains('.') && document.reaches(name) + 1 == name.split('.').count()
}

/// Whether `document` has a combination of keys that is unique to `framework`.
pub(super) fn has_keys(framework: &Framework, document: &Document) -> bool {
    let is_key = |key: &str| {
        let of = |entry: &&Entry| entry.kind == EntryKind::Setting && entry.key.strip_prefix(key).is_some_and(is_end);
        document.entries().iter().any(|entry| of(&entry))
    };
    framework.keys.iter().any(|keys| keys.iter().all(|key| is_key(key)))
}

/// Whether a key's step ends here, with deeper steps or nothing behind it.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

/// Whether `document` starts `framework`. JSON starts nothing, whatever commands its texts contain (`package.json`), so
/// only its keys count.
pub(super) fn is_launched(framework: &Framework, document: &Document) -> bool {
    is_named_in(document, |words| framework.is_launched_by(words))
}

/// Whether `document` holds what `is_named` finds, outside comments.
pub(super) fn is_named_in(document: &Document, is_named: impl Fn(&str) -> bool) -> bool {
    if document.format() == Format::Json {
        return document.entries().iter().any(|entry| is_named(&entry.key));
    }
    let is_code = |line: &&str| !line.trim_start().starts_with('#');
    // Asked for each of a hundred frameworks: nearly none is named anywhere.
    is_named(document.text()) && document.text().lines().filter(is_code).any(is_named)
}
