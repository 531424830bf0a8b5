//! Where a knob is set, or would be, and the edit that sets it.

use std::sync::Arc;

use crate::config::{self, EntryKind, Format, Value};
use crate::knowledge::{Knob, Target, Type};
use crate::launch::{Launch, Setting};

/// An edit of one of the user's files.
pub(super) struct Edited {
    pub file: Arc<str>,
    pub diff: String,
    /// The whole file afterwards.
    pub text: String,
}

/// The edit that sets `knob` to `to`: where it is set, else in the configuration of its framework. `None` where there is no
/// such file, or only the user knows the value.
pub(super) fn edit(
    launch: &Launch<'_>,
    knob: &Knob,
    spelling: &str,
    setting: Option<Setting<'_>>,
    to: &str,
) -> Option<Edited> {
    let value = value(knob, to)?;
    let (document, after) = match setting.filter(Setting::is_own) {
        Some(Setting { document, entry }) => {
            (document, document.set_as(entry.kind, entry.command, &entry.key, &value).ok()?)
        }
        None => launch.documents().iter().filter(|document| launch.takes(document, knob)).find_map(|document| {
            let after = match (document.format(), knob.target) {
                (Format::Shell, Target::Env) => document.set_as(EntryKind::Env, None, spelling, &value),
                (Format::Shell, Target::Yaml) => document.set_as(EntryKind::Override, None, spelling, &value),
                (Format::Shell, _) => document.set_as(EntryKind::Flag, None, spelling, &value),
                _ => document.set(spelling, &value),
            };
            Some((document, after.ok()?))
        })?,
    };
    let diff = config::diff(document.path(), document.text(), &after);
    (!diff.is_empty()).then(|| Edited { file: document.path().clone(), diff, text: after })
}

/// The value as a configuration holds it; a step (`× 0.5`) or a placeholder (`<bytes>`) is none.
fn value(knob: &Knob, to: &str) -> Option<Value> {
    let is_open = to.contains(['<', '×', '−']) || to.starts_with("+ ") || to.contains(' ');
    let text = || Value::Text(to.to_owned());
    (!is_open).then(|| match knob.r#type {
        Type::Text | Type::File | Type::Choice | Type::Size => to.parse().map_or_else(|_| text(), Value::Number),
        _ => Value::of_word(to),
    })
}
