use std::fmt;
use std::sync::Arc;

/// A line of a file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as its reader knows it: `oomdoc.toml`, `~/.config/oomdoc/oomdoc.toml`.
    pub file: Arc<str>,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Who set a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// A flag: `--home`.
    Flag(&'static str),
    /// A variable: `OOMDOC_HOME`.
    Variable(&'static str),
    /// A line of a file.
    File(Place),
    /// Nobody.
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

/// A value and who set it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Held<T> {
    /// It.
    pub value: T,
    /// Who set it.
    pub origin: Origin,
}

/// A row of a list, to which every file may add some.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<T> {
    /// It.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

impl<T> Held<T> {
    /// A value that nobody set.
    pub fn default_of(value: T) -> Held<T> {
        Held { value, origin: Origin::Default }
    }
}
