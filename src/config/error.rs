use std::sync::Arc;

use thiserror::Error;

use crate::model::{Column, LineNumber};

/// A configuration that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}:{line}:{}: {message}", column.0)]
pub struct ConfigError {
    /// The file, as citations name it.
    pub path: Arc<str>,
    /// The line of the error.
    pub line: LineNumber,
    /// The byte within that line, from 1.
    pub column: Column,
    /// What is wrong.
    pub message: String,
}

/// A syntax error at a byte of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remark {
    pub at: usize,
    pub message: String,
}

impl Remark {
    pub fn new(at: usize, message: impl Into<String>) -> Remark {
        Remark { at, message: message.into() }
    }
}

/// An edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The key is not well formed.
    #[error("`{0}` is not a key")]
    BadKey(String),
    /// The key is not set.
    #[error("`{0}` is not set")]
    NotSet(String),
    /// The key names a section, which cannot be set to a value.
    #[error("`{0}` is a section, not a value")]
    Section(String),
    /// A parent of the key is a value, not a section.
    #[error("`{0}` is a value, not a section")]
    NoSection(String),
    /// The key must say which document of a YAML stream it means.
    #[error("`{key}`: there are {count} documents; say which, as in `documents[0].{key}`")]
    NoDocument {
        /// The key that was to be set.
        key: String,
        /// How many documents the stream has.
        count: usize,
    },
    /// A list can only grow by one element at its end.
    #[error("`{key}`: the list has {len} elements")]
    BeyondTheEnd {
        /// The key of the element.
        key: String,
        /// How many elements the list has.
        len: usize,
    },
    /// The key leads through an alias: an edit would change everything else that shares the anchor.
    #[error("`{0}` is an alias; edit what it refers to")]
    Shared(String),
    /// The script has no command that could take the setting.
    #[error("no command that could take `{0}`")]
    NoCommand(String),
    /// The value cannot be written in this place so that it reads back as itself.
    #[error("`{key}` cannot be set to `{value}` here")]
    Unwritable {
        /// The key that was to be set.
        key: String,
        /// The new value.
        value: String,
    },
    /// The configuration was printed into a log.
    #[error("what a log printed cannot be edited")]
    ReadOnly,
}
