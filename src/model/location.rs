use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// Number of a physical line (ended by `\n`), starting at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct LineNumber(pub u64);

impl LineNumber {
    /// The first line of a file.
    pub const FIRST: LineNumber = LineNumber(1);
    /// The line number of an input without lines: a memory snapshot is a pickle.
    pub const NONE: LineNumber = LineNumber(0);
}

impl fmt::Display for LineNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of a byte within its physical line, starting at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Column(pub u64);

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Location {
    /// The input as the user named it; `-` is standard input.
    #[serde(deserialize_with = "shared")]
    pub path: Arc<str>,
    /// Physical line; 0 in a memory snapshot, which has no lines.
    pub line: LineNumber,
    /// Byte within the line; 0 if there are no lines.
    pub column: Column,
}

/// Reads a path, and returns the path that was read before if it is equal: transferred data repeats the same path many times.
fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    thread_local! { static LAST: RefCell<Option<Arc<str>>> = const { RefCell::new(None) }; }
    let path = Cow::<'de, str>::deserialize(deserializer)?;
    LAST.with_borrow_mut(|last| match last {
        Some(last) if **last == *path => Ok(Arc::clone(last)),
        _ => Ok(Arc::clone(last.insert(path.into()))),
    })
}

impl Location {
    /// The byte at `column` of a line of `path`.
    pub fn new(path: &str, line: LineNumber, column: Column) -> Location {
        Location { path: path.into(), line, column }
    }

    /// An input without lines; the text next to the location says which entry is meant.
    pub fn of_whole(path: &Arc<str>) -> Location {
        Location { path: Arc::clone(path), line: LineNumber::NONE, column: Column(0) }
    }

    /// Whether it is on an earlier line of the same input than `other`.
    pub fn is_before(&self, other: &Location) -> bool {
        self.path == other.path && self.line < other.line
    }

    /// Whether the location has a line.
    pub fn is_line(&self) -> bool {
        self.line != LineNumber::NONE
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_line() { write!(f, "{}:{}", self.path, self.line) } else { f.write_str(&self.path) }
    }
}

/// Words of an input, verbatim, and where they stand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Citation {
    /// Where the first byte of `text` stands.
    #[serde(flatten)]
    pub location: Location,
    /// A part of that physical line, verbatim, at most [`Citation::LONGEST`] bytes. For a memory snapshot, which has no lines, it is the
    /// entry as Python writes it: `device_traces[0][41]: {'action': 'oom', …}`.
    pub text: String,
    /// Whether a secret in `text` was masked, so that it is no longer verbatim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

impl Citation {
    /// A citation is cut at this many bytes.
    pub const LONGEST: usize = 4096;

    /// `text` as it stands at `location`.
    pub fn new(location: Location, text: impl Into<String>) -> Citation {
        Citation { location, text: text.into(), redacted: false }
    }
}
