use serde::de::DeserializeOwned;

use super::{KnowledgeError, Origin, RuleFile};

/// The files of `rules/` that are part of the binary: path below `rules/`, content as written, and as JSON without the examples. Generated
/// by `build.rs`.
static SHIPPED: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// All paths, one after the other. If each stood beside its file's content, a search for one of them would load all
/// contents into memory.
const PATHS: &str = include_str!(concat!(env!("OUT_DIR"), "/rule_paths.txt"));

/// The path between two places in [`PATHS`].
const fn path(begin: usize, end: usize) -> &'static str {
    PATHS.split_at(end).0.split_at(begin).1
}

/// The files of `rules/` that are part of the binary: path below `rules/`, content as written.
pub fn shipped_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.iter().map(|(path, written, _)| (*path, *written))
}

/// A file of rules that is not parsed yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'a> {
    /// Whether it is shipped or the user's.
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
    /// The files in the binary, in the form prepared by the build.
    pub fn shipped() -> Vec<File<'static>> {
        let file = |(path, _, json): &(&'static str, &'static str, &'static str)| File {
            origin: Origin::Shipped,
            path,
            text: Text::Prepared(json),
        };
        SHIPPED.iter().map(file).collect()
    }

    /// A file as written, in TOML.
    pub fn written(origin: Origin, path: &'a str, content: &'a str) -> File<'a> {
        File { origin, path, text: Text::Written(content) }
    }

    /// A user's file.
    pub fn own(file: &'a RuleFile) -> File<'a> {
        File::written(Origin::Own, &file.path, &file.content)
    }

    /// Whether it was prepared by the build, which leaves out the rows that it indexed.
    pub fn is_prepared(&self) -> bool {
        matches!(self.text, Text::Prepared(_))
    }

    /// Its folder below `rules/`; empty for `rules/` itself.
    pub fn folder(&self) -> &'a str {
        self.path.split_once('/').map_or("", |(folder, _)| folder)
    }

    /// Parses its content.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, KnowledgeError> {
        let file = || self.path.to_owned();
        match self.text {
            Text::Written(content) => toml::from_str(content)
                .map_err(|error| KnowledgeError::Malformed { file: file(), error: Box::new(error) }),
            Text::Prepared(content) => serde_json::from_str(content)
                .map_err(|error| KnowledgeError::Unprepared { file: file(), error: Box::new(error) }),
        }
    }

    /// An error about its content.
    pub fn wrong(&self, problem: impl Into<String>) -> KnowledgeError {
        KnowledgeError::Wrong { file: self.path.to_owned(), problem: problem.into() }
    }
}
