//! Changes that name another file instead of rewriting the one that is named.

use super::edit;
use crate::knowledge::Knob;
use crate::launch::JobConfig;
use crate::model::{Edit, Patch, Scalar};

/// The edit that names the file beside the one that sets `knob`, if that file sets it to `to`.
pub(super) fn edits(launch: &JobConfig<'_>, knob: &Knob, to: &Scalar) -> Option<Vec<Edit>> {
    let setting = launch.setting(knob).filter(|setting| setting.is_own())?;
    let named = launch.beside(setting, knob, &to.to_string())?;
    let (document, entry) = (named.document, named.entry);
    let given = edit::given(entry.kind)?;
    let (file, key, to) = (document.path().clone(), entry.key.clone(), Scalar::Text(named.to));
    let edits = vec![Edit { file, key, to, given, command: entry.command }];
    edit::can_be_made(document, &edits).then_some(edits)
}

/// Whether one of `patches` rewrites the file that another one leaves for one beside it.
pub(super) fn contradict<'p>(launch: &JobConfig<'_>, patches: impl Iterator<Item = &'p Patch> + Clone) -> bool {
    let named = |edit: &Edit| {
        let document = launch.documents().iter().find(|document| *document.path() == edit.file)?;
        let entry = document.entries().iter().find(|entry| entry.key == edit.key)?;
        Some(entry.value.to_string())
    };
    let left: Vec<String> = patches.clone().flat_map(|patch| &patch.edits).filter_map(named).collect();
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    patches.flat_map(|patch| &patch.edits).any(|edit| left.iter().any(|path| name(path) == name(&edit.file)))
}
