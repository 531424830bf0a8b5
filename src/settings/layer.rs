use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::SettingsError;
use super::file::File;
use super::find::{FileOwner, FoundFile, SearchPaths};
use super::key::{KEYS, Setter};
use super::origin::{FileLine, Origin};
use super::{schema, unknown_key};
use crate::rulebase::{KeyLines, line_at};

/// The largest file in bytes; nobody writes more settings by hand.
const LARGEST: u64 = 1 << 20;

/// A file that was read, with the lines of its keys.
#[derive(Debug)]
pub struct Layer {
    /// The file's place.
    pub found: FoundFile,
    /// Its contents.
    pub file: File,
    lines: KeyLines,
}

impl Layer {
    /// Reads a file; a project's may only set what projects may.
    pub fn read(found: FoundFile, places: &SearchPaths) -> Result<Layer, SettingsError> {
        let content = content(&found)?;
        let wrong = |line, problem: String, advice: String| SettingsError::Wrong {
            place: FileLine { file: Arc::clone(&found.shown), line },
            problem,
            advice,
        };
        let file: File = toml::from_str(&content).map_err(|error| {
            let schema = serde_json::to_value(schema()).unwrap_or_default();
            if found.whose == FileOwner::Named && !unknown_key::has_any(&content, &schema) {
                return SettingsError::NotSettings { file: Arc::clone(&found.shown) };
            }
            if let Some(unknown_key) = unknown_key::find(&content, &schema) {
                let line = line_at(&content, unknown_key.offset).unwrap_or(1);
                return wrong(line, format!("there is no key `{}`", unknown_key.key), unknown_key.advice);
            }
            let line = error.span().and_then(|span| line_at(&content, span.start)).unwrap_or(1);
            wrong(line, error.message().to_owned(), "docs/configuration.md shows every key".to_owned())
        })?;
        let layer = Layer { file, lines: KeyLines::of(&content), found };
        layer.check_setters(places)?;
        Ok(layer)
    }

    /// Refuses keys that a project's file may not set.
    fn check_setters(&self, places: &SearchPaths) -> Result<(), SettingsError> {
        for key in KEYS.iter().filter(|_| self.found.whose == FileOwner::Project) {
            let path: Vec<&str> = key.name.split('.').collect();
            if let (Setter::User(otherwise), true) = (key.setter, self.lines.has(&path)) {
                let problem = format!("`{}` may not be set by a project's file: {otherwise}", key.name);
                let advice = format!("set it in your own, {}{}", places.own_shown(), key.other_ways());
                return Err(self.wrong(&path, problem, advice));
            }
        }
        Ok(())
    }

    /// The line of the key at `path`.
    pub fn place(&self, path: &[&str]) -> FileLine {
        FileLine { file: Arc::clone(&self.found.shown), line: self.lines.line(path).unwrap_or(1) }
    }

    /// The origin of the key at `path`.
    pub fn origin(&self, path: &[&str]) -> Origin {
        Origin::File(self.place(path))
    }

    pub(super) fn wrong(&self, path: &[&str], problem: String, advice: impl Into<String>) -> SettingsError {
        SettingsError::Wrong { place: self.place(path), problem, advice: advice.into() }
    }

    /// The file's folder.
    pub fn folder(&self) -> PathBuf {
        let absolute = std::path::absolute(&self.found.path).unwrap_or_else(|_| self.found.path.clone());
        absolute.parent().map_or_else(PathBuf::new, Path::to_owned)
    }

    /// Resolves `path`, the file or folder at `key`; that of a project's file must be below its folder.
    pub(super) fn inside(&self, path: &str, key: &[&str], places: &SearchPaths) -> Result<PathBuf, SettingsError> {
        let folder = self.folder();
        let there = places
            .of_home(path)
            .filter(|_| self.found.whose != FileOwner::Project)
            .unwrap_or_else(|| folder.join(path));
        let is_outside = || {
            let problem = format!("`{path}` lies outside of the project");
            self.wrong(key, problem, "a project's file names what lies in its own folder, without links out of it")
        };
        if self.found.whose == FileOwner::Project && !Path::new(path).is_relative() {
            return Err(is_outside());
        }
        let real = there.canonicalize().map_err(|error| {
            self.wrong(key, format!("`{path}` cannot be read: {error}"), "name a file or folder of rules")
        })?;
        let root = folder.canonicalize().unwrap_or(folder);
        match self.found.whose == FileOwner::Project && !real.starts_with(root) {
            true => Err(is_outside()),
            false => Ok(there),
        }
    }
}

/// The file's text, if it is a regular file of acceptable size and, for a project, not a link out of its folder.
fn content(found: &FoundFile) -> Result<String, SettingsError> {
    let file = || Arc::clone(&found.shown);
    let unreadable = |error| SettingsError::Unreadable { file: file(), error };
    let unfit = |problem| Err(SettingsError::Unfit { file: file(), problem });
    let metadata = fs::metadata(&found.path).map_err(unreadable)?;
    if !metadata.is_file() {
        return unfit("it is no file");
    }
    let real = found.path.canonicalize().map_err(unreadable)?;
    let folder = found.path.parent().and_then(|folder| folder.canonicalize().ok());
    if found.whose == FileOwner::Project && folder.is_none_or(|folder| !real.starts_with(folder)) {
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
