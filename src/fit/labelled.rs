use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::model::{Kind, Phase};
use crate::source;

/// The files of an incident with their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its folder's name.
    pub name: String,
    /// The origin: cases of one origin resemble each other.
    pub group: String,
    /// Acceptable kinds, the label itself first.
    pub kinds: Vec<Kind>,
    /// Acceptable phases; empty if there is no label.
    pub phases: Vec<Phase>,
    /// Acceptable first causes; empty if there is no label.
    pub causes: Vec<String>,
    /// The files that a user would pass.
    pub files: Vec<String>,
}

/// Why a folder of labelled cases cannot be used.
#[derive(Debug, Error)]
pub enum LabelError {
    /// A folder or a label cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable {
        /// The folder or the label.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: std::io::Error,
    },
    /// A label does not say what it must.
    #[error("{}: {problem}", .path.display())]
    Malformed {
        /// The label.
        path: PathBuf,
        /// The position and the problem.
        problem: String,
    },
    /// No folder in it has a label.
    #[error("no folder in {} has a label {label}", .folder.display())]
    NoCases {
        /// The folder.
        folder: PathBuf,
        /// The file names that were looked for.
        label: String,
    },
}

/// A label file in JSON or TOML: `cause` is the answer, `cause_ok` what a fair expert would also accept. Other fields
/// are ignored.
#[derive(Debug, Deserialize)]
struct Label {
    kind: Kind,
    #[serde(default)]
    kind_ok: Vec<Kind>,
    #[serde(default)]
    phase: OneOrMany<Phase>,
    #[serde(default)]
    phase_ok: Vec<Phase>,
    #[serde(default)]
    cause: OneOrMany<String>,
    #[serde(default)]
    cause_ok: Vec<String>,
    /// The public report that the case was taken from.
    #[serde(default)]
    source: Option<String>,
}

/// One answer, or several equally good ones.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Any(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> OneOrMany<T> {
        OneOrMany::Any(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    fn with(self, more: Vec<T>) -> Vec<T> {
        let mut all = match self {
            OneOrMany::One(answer) => vec![answer],
            OneOrMany::Any(answers) => answers,
        };
        all.extend(more);
        all
    }
}

/// The label files that are looked for if none is named.
const LABELS: &[&str] = &["truth.json", "expected.toml"];

/// The cases in `folder` by name: each subfolder that contains a file `label`, or `truth.json` or `expected.toml`.
pub fn read(folder: &Path, label: Option<&str>) -> Result<Vec<Case>, LabelError> {
    let unreadable = |error| LabelError::Unreadable { path: folder.to_owned(), error };
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        folders.push(entry.map_err(unreadable)?.path());
    }
    folders.sort();
    let labels = label.map_or(LABELS.to_vec(), |label| vec![label]);
    let mut cases = Vec::new();
    for case in folders {
        if let Some(label) = labels.iter().map(|label| case.join(label)).find(|label| label.is_file()) {
            cases.push(read_case(&case, &label)?);
        }
    }
    if cases.is_empty() {
        return Err(LabelError::NoCases { folder: folder.to_owned(), label: labels.join(" or ") });
    }
    Ok(cases)
}

fn read_case(case: &Path, path: &Path) -> Result<Case, LabelError> {
    let text = fs::read_to_string(path).map_err(|error| LabelError::Unreadable { path: path.to_owned(), error })?;
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let label: Result<Label, String> = match is_toml {
        true => toml::from_str(&text).map_err(|error| error.to_string()),
        false => serde_json::from_str(&text).map_err(|error| error.to_string()),
    };
    let label = label.map_err(|problem| LabelError::Malformed { path: path.to_owned(), problem })?;
    let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Case {
        group: label.source.as_deref().map_or_else(|| name.clone(), origin),
        name,
        kinds: OneOrMany::One(label.kind).with(label.kind_ok),
        phases: label.phase.with(label.phase_ok),
        causes: label.cause.with(label.cause_ok),
        files: files(case, path),
    })
}

/// The repository, list or site of a report: the host and the first two parts of the path (`github.com/owner/name`);
/// other text unchanged.
fn origin(source: &str) -> String {
    match source.split_once("://") {
        Some((_, address)) => address.split('/').take(3).collect::<Vec<_>>().join("/"),
        None => source.to_owned(),
    }
}

/// All files except the label, the README and the scripts that produced the logs.
fn files(case: &Path, label: &Path) -> Vec<String> {
    let is_input = |file: &String| {
        let path = Path::new(file);
        let inner = path.strip_prefix(case).unwrap_or(path);
        let produces = inner.iter().any(|part| Path::new(part).file_stem().is_some_and(|stem| stem == "produce"));
        let is_python = path.extension().is_some_and(|extension| extension == "py");
        !(produces || is_python || path == label || inner == Path::new("README.md"))
    };
    let (files, _) = source::walk(&[case.to_string_lossy().into_owned()]);
    files.into_iter().filter(is_input).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_labels_in_json_and_in_toml() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for (path, text) in [
            (
                "a/truth.json",
                r#"{"kind": "gpu_oom", "phase": "backward", "phase_ok": ["forward"], "cause": "fragmentation",
                    "cause_ok": ["activations_too_large"], "source": "https://example.org/owner/name/issues/7", "notes": ""}"#,
            ),
            ("a/job.log", "x"),
            ("a/ray/worker.log", "x"),
            ("a/produce.sh", "x"),
            ("a/produce/run.sh", "x"),
            ("a/train.py", "x"),
            ("a/README.md", "x"),
            ("b/expected.toml", "kind = 'none'\nphase = ['setup', 'unknown']\n[[figure]]\nname = 'requested'\n"),
            ("b/job.log", "x"),
            ("tools/notes.txt", "x"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().ok_or("no parent")?)?;
            fs::write(path, text)?;
        }
        let cases = read(folder.path(), None)?;
        let shown: Vec<(&str, &str)> = cases.iter().map(|case| (&*case.name, &*case.group)).collect();
        assert_eq!(shown, [("a", "example.org/owner/name"), ("b", "b")]);
        assert_eq!(cases[0].causes, ["fragmentation", "activations_too_large"]);
        assert_eq!(cases[0].phases, [Phase::Backward, Phase::Forward]);
        assert_eq!(cases[0].files.len(), 2, "{:?}", cases[0].files);
        assert_eq!((&*cases[1].kinds, cases[1].causes.len()), (&[Kind::None][..], 0));
        assert!(matches!(read(folder.path(), Some("label.json")), Err(LabelError::NoCases { .. })));
        fs::write(folder.path().join("b/expected.toml"), "kind = 'sunday'")?;
        assert!(matches!(read(folder.path(), None), Err(LabelError::Malformed { .. })));
        Ok(())
    }
}
