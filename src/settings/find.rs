//! Finds the files of settings that apply.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::base_strategy::{BaseStrategy, choose_base_strategy};

use super::NAME;

/// Where to look for files.
#[derive(Debug, Clone, Default)]
pub struct SearchPaths {
    /// The working folder: a project's file is in it or above.
    pub working: PathBuf,
    /// The user's own file; absent where the system has no place for it.
    pub own: Option<PathBuf>,
    /// The user's home folder, for `~`.
    pub home: Option<PathBuf>,
}

/// Whom a file belongs to, which decides what it may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// The user: it is in the folder for configurations.
    User,
    /// A file that the user named, trusted like the user's own.
    Named,
    /// A project: it was found in or above the working folder and may come from anybody.
    Project,
}

impl FileOwner {
    pub fn as_str(self) -> &'static str {
        match self {
            FileOwner::User => "user",
            FileOwner::Named => "named",
            FileOwner::Project => "project",
        }
    }
}

/// A file that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path.
    pub path: PathBuf,
    /// Its name in messages.
    pub shown: Arc<str>,
    /// Whom it belongs to.
    pub whose: FileOwner,
}

impl SearchPaths {
    /// The places of this process.
    pub fn here() -> SearchPaths {
        SearchPaths {
            working: std::env::current_dir().unwrap_or_default(),
            own: choose_base_strategy().ok().map(|strategy| strategy.config_dir().join("oomdoc").join(NAME)),
            home: etcetera::home_dir().ok(),
        }
    }

    /// The user's own file as people write it: `~/.config/oomdoc/oomdoc.toml`.
    pub(super) fn own_shown(&self) -> String {
        self.own.as_deref().map_or_else(|| NAME.to_owned(), |own| self.below_home(own))
    }

    /// Expands a `path` that begins with `~/`.
    pub(super) fn of_home(&self, path: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(path.strip_prefix("~/")?))
    }

    fn below_home(&self, path: &Path) -> String {
        match self.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(inner) => format!("~/{}", inner.display()),
            None => path.display().to_string(),
        }
    }
}

/// The files that apply, in order of precedence, and a project's file that was left out because it belongs to a
/// stranger. `named` replaces the project's file.
pub fn find(places: &SearchPaths, named: Option<&Path>) -> (Vec<FoundFile>, Option<PathBuf>) {
    let own = places.own.as_ref().filter(|own| own.symlink_metadata().is_ok());
    let own =
        own.map(|own| FoundFile { shown: places.below_home(own).into(), path: own.clone(), whose: FileOwner::User });
    let is_own = |path: &Path| own.as_ref().is_some_and(|own| same(&own.path, path));
    let mut left_out = None;
    let nearest = match named {
        Some(path) => {
            Some(FoundFile { path: path.to_owned(), shown: path.to_string_lossy().into(), whose: FileOwner::Named })
        }
        None => above(&places.working).filter(|(path, _)| !is_own(path)).and_then(|(path, steps)| {
            if is_strangers(&path, &places.working) {
                left_out = Some(path);
                return None;
            }
            Some(FoundFile { path, shown: format!("{}{NAME}", "../".repeat(steps)).into(), whose: FileOwner::Project })
        }),
    };
    (nearest.into_iter().chain(own).collect(), left_out)
}

/// The nearest file in or above `working`, and how many folders up it is. The search ends at the root of a repository.
fn above(working: &Path) -> Option<(PathBuf, usize)> {
    for (steps, folder) in working.ancestors().enumerate() {
        let file = folder.join(NAME);
        if file.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
            return Some((file, steps));
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// Whether the owner of `file` owns neither its folder nor the working folder: in `/tmp` anybody could place a file for
/// everybody below.
#[cfg(unix)]
fn is_strangers(file: &Path, working: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| path.symlink_metadata().ok().map(|metadata| metadata.uid());
    is_of_none(owner(file), &[file.parent().and_then(owner), owner(working)])
}

#[cfg(not(unix))]
fn is_strangers(_: &Path, _: &Path) -> bool {
    false
}

/// Whether `owner` is neither root nor one of `trusted`.
#[cfg(unix)]
fn is_of_none(owner: Option<u32>, trusted: &[Option<u32>]) -> bool {
    const ROOT: u32 = 0;
    owner.is_none_or(|owner| owner != ROOT && !trusted.contains(&Some(owner)))
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[cfg(unix)]
    #[test]
    fn a_stranger_s_file_is_none() {
        const TMP: Option<u32> = Some(0);
        let (me, stranger) = (Some(1000), Some(1001));
        assert!(is_of_none(stranger, &[TMP, me]), "in /tmp, above a folder of mine");
        assert!(!is_of_none(me, &[TMP, me]) && !is_of_none(TMP, &[TMP, me]));
        assert!(!is_of_none(stranger, &[stranger, TMP]), "a repository of somebody's, in a folder made by root");
        assert!(is_of_none(None, &[None, me]));
    }

    #[test]
    fn the_nearest_file_up_to_the_repository_s_root_holds() -> Outcome {
        let folder = tempfile::tempdir()?;
        let working = folder.path().join("repository/a/b");
        fs::create_dir_all(&working)?;
        let own = folder.path().join("config/oomdoc/oomdoc.toml");
        let places = SearchPaths { working, own: Some(own.clone()), home: Some(folder.path().to_owned()) };
        let shown = |named| -> Vec<String> {
            find(&places, named).0.iter().map(|found| format!("{} {}", found.whose.as_str(), found.shown)).collect()
        };
        // Keeps the search from leaving the temporary folder.
        fs::create_dir(folder.path().join(".git"))?;
        assert_eq!(shown(None), [""; 0]);
        fs::write(folder.path().join(NAME), "")?;
        assert_eq!(shown(None), ["project ../../../oomdoc.toml"]);
        fs::create_dir(folder.path().join("repository/.git"))?;
        assert_eq!(shown(None), [""; 0]);
        fs::create_dir_all(folder.path().join("config/oomdoc"))?;
        fs::write(&own, "")?;
        fs::write(folder.path().join("repository/a").join(NAME), "")?;
        assert_eq!(shown(None), ["project ../oomdoc.toml", "user ~/config/oomdoc/oomdoc.toml"]);
        assert_eq!(shown(Some(Path::new("x.toml"))), ["named x.toml", "user ~/config/oomdoc/oomdoc.toml"]);
        let places = SearchPaths { working: folder.path().join("config/oomdoc"), ..places };
        assert_eq!(find(&places, None).0.len(), 1, "one's own file is no project's");
        Ok(())
    }
}
