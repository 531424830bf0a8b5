use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::HistoryError;

/// Where a page of a list ends and the next one begins; its text form can stand in a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cursor {
    /// After this incident, in the order newest first. New incidents come before it, so that the pages after it stay
    /// the same.
    Incident {
        /// When it happened, in seconds since 1970.
        time: i64,
        /// Its id as a number.
        number: u64,
    },
    /// After this many incidents in the order of relevance, at one generation of the index.
    Best {
        /// The generation of the index.
        generation: u64,
        /// How many incidents come before the page.
        skip: usize,
    },
    /// After this group, in the order it was sorted by.
    Group {
        /// The sort key of this group.
        key: i64,
        /// Its name.
        group: String,
    },
}

impl fmt::Display for Cursor {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cursor::Incident { time, number } => write!(to, "i{time}.{number:016x}"),
            Cursor::Best { generation, skip } => write!(to, "b{generation}.{skip}"),
            Cursor::Group { key, group } => write!(to, "g{key}.{group}"),
        }
    }
}

impl FromStr for Cursor {
    type Err = HistoryError;

    fn from_str(word: &str) -> Result<Cursor, HistoryError> {
        let read = || {
            let (of, rest) = (word.get(..1)?, word.get(1..)?);
            let (first, second) = rest.split_once('.')?;
            Some(match of {
                "i" => Cursor::Incident { time: first.parse().ok()?, number: u64::from_str_radix(second, 16).ok()? },
                "b" => Cursor::Best { generation: first.parse().ok()?, skip: second.parse().ok()? },
                "g" => Cursor::Group { key: first.parse().ok()?, group: second.to_owned() },
                _ => return None,
            })
        };
        read().ok_or_else(|| HistoryError::Cursor { cursor: word.to_owned() })
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_written_or_refused() -> Result<(), HistoryError> {
        for cursor in [
            Cursor::Incident { time: -3, number: u64::MAX },
            Cursor::Best { generation: 7, skip: 40 },
            Cursor::Group { key: 9, group: "1-ab.c".to_owned() },
        ] {
            assert_eq!(cursor.to_string().parse::<Cursor>()?, cursor);
        }
        for word in ["", "i", "i1", "x1.2", "i1.xyz", "b-1.2", "显1.2", "g.a"] {
            assert!(word.parse::<Cursor>().is_err(), "{word}");
        }
        Ok(())
    }
}
