use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::SettingsError;
use super::file::File;
use super::find::{Found, Places, Whose};
use super::key::{KEYS, Setter};
use super::origin::{Origin, Place};
use super::{schema, stray};
use crate::rulebase::{KeyLines, line_at};

/// Nobody writes more settings by hand, in bytes.
const LARGEST: u64 = 1 << 20;

/// A file that was read, and on which lines its keys stand.
#[derive(Debug)]
pub struct Layer {
    /// Which.
    pub found: Found,
    /// What stands there.
    pub file: File,
    lines: KeyLines,
}

impl Layer {
    /// Reads the file that was `found`; a project's must keep to what those may set.
    pub fn read(found: Found, places: &Places) -> Result<Layer, SettingsError> {
        let content = content(&found)?;
        let wrong = |line, problem: String, advice: String| SettingsError::Wrong {
            place: Place { file: Arc::clone(&found.shown), line },
            problem,
            advice,
        };
        let file: File = toml::from_str(&content).map_err(|error| {
            let schema = serde_json::to_value(schema()).unwrap_or_default();
            if let Some(stray) = stray::find(&content, &schema) {
                let line = line_at(&content, stray.offset).unwrap_or(1);
                return wrong(line, format!("there is no key `{}`", stray.key), stray.advice);
            }
            let line = error.span().and_then(|span| line_at(&content, span.start)).unwrap_or(1);
            wrong(line, error.message().to_owned(), "docs/configuration.md shows every key".to_owned())
        })?;
        let layer = Layer { file, lines: KeyLines::of(&content), found };
        layer.keeps_to_its_place(places)?;
        Ok(layer)
    }

    /// Refuses what only the user's own file may set.
    fn keeps_to_its_place(&self, places: &Places) -> Result<(), SettingsError> {
        for key in KEYS.iter().filter(|_| self.found.whose == Whose::Project) {
            let path: Vec<&str> = key.name.split('.').collect();
            if let (Setter::User(otherwise), true) = (key.setter, self.lines.has(&path)) {
                let problem = format!("`{}` may not be set by a project's file: {otherwise}", key.name);
                let advice = format!("set it in your own, {}{}", places.own_shown(), key.otherwise());
                return Err(self.wrong(&path, problem, advice));
            }
        }
        Ok(())
    }

    /// The line of the key at `path`.
    pub fn place(&self, path: &[&str]) -> Place {
        Place { file: Arc::clone(&self.found.shown), line: self.lines.line(path).unwrap_or(1) }
    }

    /// That the key at `path` was set here.
    pub fn origin(&self, path: &[&str]) -> Origin {
        Origin::File(self.place(path))
    }

    pub(super) fn wrong(&self, path: &[&str], problem: String, advice: impl Into<String>) -> SettingsError {
        SettingsError::Wrong { place: self.place(path), problem, advice: advice.into() }
    }

    /// The folder that the file lies in.
    pub fn folder(&self) -> PathBuf {
        let absolute = std::path::absolute(&self.found.path).unwrap_or_else(|_| self.found.path.clone());
        absolute.parent().map_or_else(PathBuf::new, Path::to_owned)
    }

    /// Where `path`, a file or folder that stands at `key`, lies; a project's lies in its folder.
    pub(super) fn inside(&self, path: &str, key: &[&str], places: &Places) -> Result<PathBuf, SettingsError> {
        let folder = self.folder();
        let there =
            places.of_home(path).filter(|_| self.found.whose != Whose::Project).unwrap_or_else(|| folder.join(path));
        let is_outside = || {
            let problem = format!("`{path}` lies outside of the project");
            self.wrong(key, problem, "a project's file names what lies in its own folder, without links out of it")
        };
        if self.found.whose == Whose::Project && !Path::new(path).is_relative() {
            return Err(is_outside());
        }
        let real = there.canonicalize().map_err(|error| {
            self.wrong(key, format!("`{path}` cannot be read: {error}"), "name a file or folder of rules")
        })?;
        let root = folder.canonicalize().unwrap_or(folder);
        match self.found.whose == Whose::Project && !real.starts_with(root) {
            true => Err(is_outside()),
            false => Ok(there),
        }
    }
}

/// What stands in the file, if it is one of a likely size, and of the project where it is a project's.
fn content(found: &Found) -> Result<String, SettingsError> {
    let file = || Arc::clone(&found.shown);
    let unreadable = |error| SettingsError::Unreadable { file: file(), error };
    let unfit = |problem| Err(SettingsError::Unfit { file: file(), problem });
    let metadata = fs::metadata(&found.path).map_err(unreadable)?;
    if !metadata.is_file() {
        return unfit("it is no file");
    }
    let real = found.path.canonicalize().map_err(unreadable)?;
    let folder = found.path.parent().and_then(|folder| folder.canonicalize().ok());
    if found.whose == Whose::Project && folder.is_none_or(|folder| !real.starts_with(folder)) {
        return unfit("it is a link out of its folder");
    }
    let mut bytes = Vec::new();
    fs::File::open(real).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return unfit("it is larger than 1 MiB");
    }
    match String::from_utf8(bytes) {
        Ok(content) => Ok(content.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(content)),
        Err(_) => unfit("it is not UTF-8"),
    }
}
