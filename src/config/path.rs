//! Keys of nested settings, such as `zero_optimization.offload_optimizer.pin_memory` or `spec.containers[0].image`.
//!
//! A key that is empty or contains `.`, `[`, `]` or `"` is written in brackets and quotes:
//! `metadata.labels["app.kubernetes.io/name"]`.

use std::fmt::{self, Write};

use nom::branch::alt;
use nom::bytes::complete::{escaped_transform, is_not, tag};
use nom::character::complete::{char, digit1, one_of};
use nom::combinator::{all_consuming, map_opt, opt, verify};
use nom::multi::many0;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

/// One step of a path into nested settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    /// A key of a mapping.
    Key(String),
    /// An index of a list, from 0.
    Index(usize),
}

/// The steps of `key`, or `None` if it is malformed.
pub(super) fn parse(key: &str) -> Option<Vec<PathStep>> {
    let first = alt((bracketed, plain));
    let further = alt((bracketed, preceded(char('.'), plain)));
    let (_, (first, further)) = all_consuming((first, many0(further))).parse(key).ok()?;
    Some(std::iter::once(first).chain(further).collect())
}

fn plain(text: &str) -> IResult<&str, PathStep> {
    verify(is_not(".[]\""), |key: &str| !key.is_empty()).map(|key: &str| PathStep::Key(key.to_owned())).parse(text)
}

fn bracketed(text: &str) -> IResult<&str, PathStep> {
    let index = map_opt(digit1, |digits: &str| digits.parse().ok()).map(PathStep::Index);
    let quoted = delimited(char('"'), opt(escaped_transform(is_not("\"\\"), '\\', one_of("\"\\"))), char('"'));
    delimited(tag("["), alt((index, quoted.map(|key| PathStep::Key(key.unwrap_or_default())))), tag("]")).parse(text)
}

/// Appends one step to `path`.
pub(super) fn push(path: &mut String, step: &PathStep) {
    let dot = if path.is_empty() { "" } else { "." };
    // Writing into a string does not fail.
    let _: fmt::Result = match step {
        PathStep::Index(index) => write!(path, "[{index}]"),
        PathStep::Key(key) if key.is_empty() || key.contains(['.', '[', ']', '"']) => {
            write!(path, "[\"{}\"]", key.replace('\\', "\\\\").replace('"', "\\\""))
        }
        PathStep::Key(key) => write!(path, "{dot}{key}"),
    };
}

/// The key that `steps` spell; the inverse of [`parse`].
pub(super) fn join(steps: &[PathStep]) -> String {
    let mut path = String::new();
    steps.iter().for_each(|step| push(&mut path, step));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_as_they_are_written() {
        for key in [
            "stage",
            "zero_optimization.offload_optimizer.pin_memory",
            "spec.containers[0].resources.limits.memory",
            "metadata.labels[\"app.kubernetes.io/name\"].x",
            "[\"\"][3][\"a\\\\b\\\"c]\"]",
            "a b.c:d",
            "[2].x",
        ] {
            assert_eq!(parse(key).map(|steps| join(&steps)).as_deref(), Some(key));
        }
        for key in ["", ".", "a.", ".a", "a..b", "a[", "a[x]", "a]", "a[99999999999999999999999]"] {
            assert_eq!(parse(key), None, "{key}");
        }
    }
}
