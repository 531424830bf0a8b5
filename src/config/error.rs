use std::sync::Arc;

use thiserror::Error;

use crate::model::{Column, LineNumber};

/// A text that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}:{line}:{}: {message}", column.0)]
pub struct ConfigError {
    /// Of the text.
    pub path: Arc<str>,
    /// Where it goes wrong.
    pub line: LineNumber,
    /// The byte within that line.
    pub column: Column,
    /// What is wrong.
    pub message: String,
}

/// What is wrong or odd at a byte of a text.
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
    /// The key is not one.
    #[error("`{0}` is not a key")]
    BadKey(String),
    /// There is nothing to remove.
    #[error("`{0}` is not set")]
    NotSet(String),
    /// A whole section stands where a value should.
    #[error("`{0}` is a section, not a value")]
    Section(String),
    /// A value stands where a section should.
    #[error("`{0}` is a value, not a section")]
    NoSection(String),
    /// YAML's documents have numbers.
    #[error("`{key}`: there are {count} documents; say which, as in `documents[0].{key}`")]
    NoDocument {
        /// What is meant to be set.
        key: String,
        /// How many documents.
        count: usize,
    },
    /// Lists grow by one.
    #[error("`{key}`: the list has {len} elements")]
    BeyondTheEnd {
        /// The element.
        key: String,
        /// How many there are.
        len: usize,
    },
    /// What would change stands elsewhere and counts for others as well.
    #[error("`{0}` is an alias; edit what it refers to")]
    Shared(String),
    /// There is no command to give it to.
    #[error("no command that could take `{0}`")]
    NoCommand(String),
    /// It cannot be written there so that it reads back as what it is.
    #[error("`{key}` cannot be set to `{value}` here")]
    Unwritable {
        /// The setting.
        key: String,
        /// What it should have become.
        value: String,
    },
    /// It was printed, and cannot be taken back.
    #[error("what a log printed cannot be edited")]
    ReadOnly,
}
