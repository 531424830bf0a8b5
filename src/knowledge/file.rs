use serde::de::DeserializeOwned;

use super::{KnowledgeError, Origin, RuleFile};

/// The files of `rules/` that are part of the binary: path below `rules/`, content as written, and as JSON without the
/// examples. `build.rs` makes it.
static SHIPPED: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// The files of `rules/` that are part of the binary: path below `rules/`, content as written.
pub fn shipped_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.iter().map(|(path, written, _)| (*path, *written))
}

/// A file of rules before it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'a> {
    /// Whose it is.
    pub origin: Origin,
    /// Its path below `rules/`.
    pub path: &'a str,
    text: Text<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Text<'a> {
    Written(&'a str),
    Prepared(&'a str),
}

impl<'a> File<'a> {
    /// What is part of the binary, as an analysis reads it.
    pub fn shipped() -> Vec<File<'static>> {
        let file = |(path, _, json): &(&'static str, &'static str, &'static str)| File {
            origin: Origin::Shipped,
            path,
            text: Text::Prepared(json),
        };
        SHIPPED.iter().map(file).collect()
    }

    /// A file as somebody wrote it.
    pub fn written(origin: Origin, path: &'a str, content: &'a str) -> File<'a> {
        File { origin, path, text: Text::Written(content) }
    }

    /// The user's own.
    pub fn own(file: &'a RuleFile) -> File<'a> {
        File::written(Origin::Own, &file.path, &file.content)
    }

    /// Whether it is part of the binary, without what the build made an index of.
    pub fn is_prepared(&self) -> bool {
        matches!(self.text, Text::Prepared(_))
    }

    /// The folder of `rules/` in which it stands; empty for `rules/` itself.
    pub fn folder(&self) -> &'a str {
        self.path.split_once('/').map_or("", |(folder, _)| folder)
    }

    /// What it holds.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, KnowledgeError> {
        let file = || self.path.to_owned();
        match self.text {
            Text::Written(content) => toml::from_str(content)
                .map_err(|error| KnowledgeError::Malformed { file: file(), error: Box::new(error) }),
            Text::Prepared(content) => serde_json::from_str(content)
                .map_err(|error| KnowledgeError::Unprepared { file: file(), error: Box::new(error) }),
        }
    }

    /// Why it cannot be what it says.
    pub fn wrong(&self, problem: impl Into<String>) -> KnowledgeError {
        KnowledgeError::Wrong { file: self.path.to_owned(), problem: problem.into() }
    }
}
