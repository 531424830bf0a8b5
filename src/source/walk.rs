use std::path::Path;

use walkdir::WalkDir;

use super::{STDIN, SourceError};

/// Folders that contain no logs of jobs.
const PASSED_OVER: &[&str] = &["__pycache__", "node_modules"];

/// Files that describe the logs of a folder or belong to other programs. They are read only if named directly.
fn is_beside_the_point(name: &str) -> bool {
    name.starts_with("README") || ["expected.toml", "pyproject.toml", "Cargo.toml", "oomdoc.toml"].contains(&name)
}

/// Folders that are skipped, hidden ones included.
fn is_passed_over(name: &str) -> bool {
    name.starts_with('.') || PASSED_OVER.contains(&name)
}

/// Whether a walk through a folder reaches `below`, a path in it with `/` between its names.
pub fn leads_to(below: &str) -> bool {
    let name = below.rsplit('/').next().unwrap_or(below);
    !below.split('/').any(is_passed_over) && !is_beside_the_point(name)
}

/// Every file that `paths` name, in order: files themselves, folders recursively and sorted by name, so that two runs read alike. Links
/// inside a folder are not followed (a Ray session folder links to itself). Errors are returned beside the files.
pub fn walk(paths: &[String]) -> (Vec<String>, Vec<SourceError>) {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        if path == STDIN || !Path::new(path).is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len() + errors.len();
        let entries = WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.depth() == 0 || !is_passed_over(&name)
        });
        for entry in entries {
            match entry {
                Ok(entry) if is_beside_the_point(&entry.file_name().to_string_lossy()) => drop(entry),
                Ok(entry) if entry.file_type().is_file() => files.push(entry.path().to_string_lossy().into_owned()),
                Ok(_) => {}
                Err(error) => errors.push(SourceError::Unreadable {
                    path: error.path().unwrap_or(Path::new(path)).to_string_lossy().into_owned(),
                    error: error.into(),
                }),
            }
        }
        if files.len() + errors.len() == before {
            errors.push(SourceError::EmptyFolder { path: path.clone() });
        }
    }
    (files, errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_folders_in_order_and_reports_what_is_missing() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for name in ["b.log", "a/2.log", "a/1.log", ".git/config", "README.md", "a/expected.toml"] {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().ok_or("no parent")?)?;
            std::fs::write(file, "x\n")?;
        }
        let empty = tempfile::tempdir()?;
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let (files, errors) = walk(&[shown(folder.path()), shown(empty.path()), "-".into()]);
        let expected: Vec<_> = ["a/1.log", "a/2.log", "b.log"].map(|name| shown(&folder.path().join(name))).into();
        assert_eq!(files[..3], expected);
        assert_eq!(files[3], "-");
        assert!(matches!(errors.as_slice(), [SourceError::EmptyFolder { .. }]));
        Ok(())
    }
}
