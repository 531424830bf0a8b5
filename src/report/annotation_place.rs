//! Finds the place of an annotation in the repository: the line of the launch configuration that should change.

use std::path::{Component, Path, PathBuf};

use super::diff::first_changed_line;
use super::selection::{numbered, telling};
use crate::model::{Report, Role};

/// A line of a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnnotationPlace {
    /// The path relative to the repository's root, separated by `/`.
    pub file: String,
    /// The physical line.
    pub line: u64,
}

/// The line that the first patch edits, else the line of a configuration that supports a diagnosis. `None` if no such
/// file was given, or it lies outside of the repository at `root`; logs are never annotated.
pub(super) fn annotation_place(report: &Report, root: &Path) -> Option<AnnotationPlace> {
    let incident = report.incidents.first()?;
    let edited = numbered(incident).into_iter().filter_map(|patch| {
        let line = first_changed_line(patch.diff.as_deref()?)?;
        Some((patch.file.clone()?, line))
    });
    let is_config = |path: &str| {
        report.inputs.iter().any(|input| &*input.path == path && matches!(input.role, Role::Config | Role::Script))
    };
    let cited = telling(&incident.diagnoses).into_iter().flat_map(|diagnosis| &diagnosis.evidence);
    let cited =
        cited.map(|cite| (cite.location.path.to_string(), cite.location.line.0)).filter(|(path, _)| is_config(path));
    edited.chain(cited).find_map(|(path, line)| Some(AnnotationPlace { file: within(&path, root)?, line }))
}

/// `path` relative to `root`; `None` if it lies outside.
pub(super) fn within(path: &str, root: &Path) -> Option<String> {
    let absolute = tidy(&std::path::absolute(path).ok()?);
    let inner = absolute.strip_prefix(tidy(&std::path::absolute(root).ok()?)).ok()?;
    let parts: Vec<String> = inner.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Resolves `..` lexically, since a file in an archive does not exist on disk.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_outside_the_repository_has_no_place() {
        let root = Path::new("/repo");
        assert_eq!(within("/repo/conf/ds.json", root).as_deref(), Some("conf/ds.json"));
        assert_eq!(within("/repo/logs/../ds.json", root).as_deref(), Some("ds.json"));
        assert_eq!(within("/repo/../etc/ds.json", root), None);
        assert_eq!(within("/elsewhere/ds.json", root), None);
    }
}
