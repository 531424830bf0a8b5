//! Signals and exit statuses as Python, shells and the C library name them.

use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::{i32 as integer, space0};
use nom::combinator::{consumed, map_opt};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use crate::model::Signal;

/// `SIGKILL`
pub(in crate::parse) fn name(text: &str) -> IResult<&str, i32> {
    starting(text, |signal| signal.name)
}

/// `Killed`, `Segmentation fault`
pub(in crate::parse) fn description(text: &str) -> IResult<&str, i32> {
    starting(text, |signal| signal.description)
}

fn starting(text: &str, word: impl Fn(&Signal) -> &'static str) -> IResult<&str, i32> {
    match Signal::ALL.iter().find(|signal| text.starts_with(word(signal))) {
        Some(signal) => Ok((&text[word(signal).len()..], signal.number)),
        None => Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Tag))),
    }
}

/// `9`, `SIGKILL`, `Signals.SIGKILL`: a signal in any spelling.
pub(in crate::parse) fn signal(text: &str) -> IResult<&str, i32> {
    let number = map_opt(integer, |number| (1..=64).contains(&number).then_some(number));
    preceded(space0, alt((number, name, preceded(tag("Signals."), name), description))).parse(text)
}

/// `137`, `-9`: a status and the words for it.
pub(in crate::parse) fn status(text: &str) -> IResult<&str, (&str, i32)> {
    consumed(integer).parse(text)
}
