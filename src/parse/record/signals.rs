//! Signals and exit statuses as Python, shells and the C library name them.

use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::{i32 as integer, space0};
use nom::combinator::{consumed, map_opt};
use nom::sequence::preceded;
use nom::{IResult, Parser};

/// Python's name, glibc's `strsignal`, the number on Linux.
const SIGNALS: [(&str, &str, i32); 14] = [
    ("SIGHUP", "Hangup", 1),
    ("SIGINT", "Interrupt", 2),
    ("SIGQUIT", "Quit", 3),
    ("SIGILL", "Illegal instruction", 4),
    ("SIGTRAP", "Trace/breakpoint trap", 5),
    ("SIGABRT", "Aborted", 6),
    ("SIGBUS", "Bus error", 7),
    ("SIGFPE", "Floating point exception", 8),
    ("SIGKILL", "Killed", 9),
    ("SIGUSR1", "User defined signal 1", 10),
    ("SIGSEGV", "Segmentation fault", 11),
    ("SIGUSR2", "User defined signal 2", 12),
    ("SIGPIPE", "Broken pipe", 13),
    ("SIGTERM", "Terminated", 15),
];

/// `SIGKILL`
pub(in crate::parse) fn name(text: &str) -> IResult<&str, i32> {
    starting(text, |(name, _, _)| name)
}

/// `Killed`, `Segmentation fault`
pub(in crate::parse) fn description(text: &str) -> IResult<&str, i32> {
    starting(text, |(_, description, _)| description)
}

fn starting(text: &str, word: impl Fn(&(&'static str, &'static str, i32)) -> &'static str) -> IResult<&str, i32> {
    match SIGNALS.iter().find(|signal| text.starts_with(word(signal))) {
        Some(signal) => Ok((&text[word(signal).len()..], signal.2)),
        None => Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Tag))),
    }
}

/// `9`, `SIGKILL`, `Signals.SIGKILL`: a signal, however it is written.
pub(in crate::parse) fn signal(text: &str) -> IResult<&str, i32> {
    let number = map_opt(integer, |number| (1..=64).contains(&number).then_some(number));
    preceded(space0, alt((number, name, preceded(tag("Signals."), name), description))).parse(text)
}

/// `137`, `-9`: a status and the words for it.
pub(in crate::parse) fn status(text: &str) -> IResult<&str, (&str, i32)> {
    consumed(integer).parse(text)
}
