use std::fmt;
use std::sync::Arc;

/// A line of a file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// The file's name in messages: `oomdoc.toml`, `~/.config/oomdoc/oomdoc.toml`.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: usize,
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// A flag: `--home`.
    Flag(&'static str),
    /// A variable: `OOMDOC_HOME`.
    Variable(&'static str),
    /// A line of a file.
    File(FileLine),
    /// Nowhere.
    #[default]
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => f.write_str(flag),
            Origin::Variable(name) => write!(f, "${name}"),
            Origin::File(place) => place.fmt(f),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub origin: Origin,
}

/// A row of a list; the lists of all files are concatenated.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<T> {
    /// The value.
    pub value: T,
    /// Its line.
    pub place: FileLine,
}

impl<T> Setting<T> {
    /// A default value.
    pub fn default_of(value: T) -> Setting<T> {
        Setting { value, origin: Origin::Default }
    }
}
