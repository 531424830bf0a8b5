use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;
use walkdir::WalkDir;

use crate::knowledge::{CauseRule, Knowledge, KnowledgeError, Origin, RuleFile, Secret, shipped_files};

/// A file of rules with its owner.
#[derive(Debug, Clone)]
pub struct RuleSource {
    /// Whether it is shipped or the user's own.
    pub origin: Origin,
    /// The path as its owner knows it.
    pub shown: String,
    /// The file.
    pub file: RuleFile,
}

/// Why rules could not be read.
#[derive(Debug, Error)]
pub enum SourcesError {
    /// A file or folder cannot be read.
    #[error("{path} cannot be read: {error}")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The content of a file is invalid.
    #[error("{place}: {problem}")]
    Faulty {
        /// The file as its owner knows it, with the line if known.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A folder contains no rules.
    #[error("{path} holds no .toml file")]
    Empty {
        /// The folder.
        path: PathBuf,
    },
}

/// The folders of `rules/` that the user's own rules may use.
const FOLDERS: [&str; 7] = ["causes", "defects", "knobs", "messages", "phases", "models", "redaction"];

impl RuleSource {
    /// The rules that are part of the binary.
    pub fn shipped() -> Vec<RuleSource> {
        let source = |(path, content): (&str, &str)| RuleSource {
            origin: Origin::Shipped,
            shown: format!("rules/{path}"),
            file: RuleFile { path: path.to_owned(), content: content.to_owned() },
        };
        shipped_files().map(source).collect()
    }

    /// The rules that the user imported.
    pub fn imported(files: &[RuleFile]) -> Vec<RuleSource> {
        let source = |file: &RuleFile| RuleSource { origin: Origin::Own, shown: file.path.clone(), file: file.clone() };
        files.iter().map(source).collect()
    }

    /// Reads the user's rules at `path`, a file or a folder. In a folder, `causes/`, `knobs/`, `messages/`, `phases/`,
    /// `models/` and `redaction/` mean the same as in the shipped rules; files elsewhere are rules of causes.
    pub fn read(path: &Path) -> Result<Vec<RuleSource>, SourcesError> {
        let mut sources = Vec::new();
        for entry in WalkDir::new(path).sort_by_file_name() {
            let entry =
                entry.map_err(|error| SourcesError::Unreadable { path: path.to_owned(), error: error.into() })?;
            let (file, is_file) = (entry.path(), entry.file_type().is_file());
            if !is_file || file.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let content =
                fs::read_to_string(file).map_err(|error| SourcesError::Unreadable { path: file.to_owned(), error })?;
            let parts: Vec<String> =
                file.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            let name = parts.last().cloned().unwrap_or_default();
            let folder = parts.iter().rev().nth(1).filter(|folder| FOLDERS.contains(&folder.as_str()));
            let folder = folder.map_or("causes", |folder| folder);
            sources.push(RuleSource {
                origin: Origin::Own,
                shown: file.to_string_lossy().into_owned(),
                file: RuleFile { path: format!("{folder}/{name}"), content },
            });
        }
        match sources.is_empty() {
            true => Err(SourcesError::Empty { path: path.to_owned() }),
            false => Ok(sources),
        }
    }

    /// The shipped knowledge overlaid with the user's own among `sources`. Errors name the user's file.
    pub fn overlay(sources: &[RuleSource]) -> Result<Knowledge, SourcesError> {
        RuleSource::with_own(sources, Knowledge::with_own)
    }

    /// The secrets of the shipped rules and of the user's own among `sources`, without reading anything else.
    pub fn secrets(sources: &[RuleSource]) -> Result<Vec<Secret>, SourcesError> {
        RuleSource::with_own(sources, Knowledge::secrets_with)
    }

    fn with_own<T>(
        sources: &[RuleSource],
        read: impl FnOnce(&[RuleFile]) -> Result<T, KnowledgeError>,
    ) -> Result<T, SourcesError> {
        let own = sources.iter().filter(|source| source.origin == Origin::Own);
        let files: Vec<RuleFile> = own.clone().map(|source| source.file.clone()).collect();
        read(&files).map_err(|error| {
            let source = own.clone().find(|source| source.file.path == error.file());
            let before = source.and_then(|source| source.file.content.get(..error.offset()?));
            let line = before.map(|before| format!(":{}", before.matches('\n').count() + 1)).unwrap_or_default();
            let shown = source.map_or(error.file(), |source| &source.shown);
            SourcesError::Faulty { place: format!("{shown}{line}"), problem: error.problem() }
        })
    }

    /// The rule of a cause, if the file is one and is well-formed.
    pub fn cause(&self) -> Option<CauseRule> {
        let rule: CauseRule = self.is_cause().then(|| toml::from_str(&self.file.content).ok())??;
        Some(CauseRule { origin: self.origin, ..rule })
    }

    /// Whether the file is meant to be the rule of a cause.
    pub fn is_cause(&self) -> bool {
        self.file.path.starts_with("causes/")
    }
}
