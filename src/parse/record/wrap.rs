//! Joins the lines of a message that a terminal's width or a box wrapped.

use nom::{IResult, Parser};

use super::Joint;

/// How many bytes of a message can be read, and whether it may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::parse) enum Progress {
    /// Other text follows.
    Stuck(usize),
    /// The text ends within the message.
    Open(usize),
    /// It was read to its end.
    Ended,
}

/// How far the streaming `parser` reads in `text`.
pub(in crate::parse) fn progress<'a, P>(text: &'a str, mut parser: P) -> Progress
where
    P: Parser<&'a str, Error = nom::error::Error<&'a str>>,
{
    let read: IResult<&str, P::Output> = parser.parse(text);
    match read {
        Ok(_) => Progress::Ended,
        Err(nom::Err::Incomplete(_)) => Progress::Open(text.len()),
        Err(nom::Err::Error(error) | nom::Err::Failure(error)) => Progress::Stuck(text.len() - error.input.len()),
    }
}

/// `begun` without the backslash with which Emacs' terminal ends a line that it wrapped.
pub(in crate::parse) fn without_mark(begun: &str) -> &str {
    begun.strip_suffix('\\').unwrap_or(begun)
}

/// The joint with which `next` lets `begun` be read further, if there is one: a terminal cuts anywhere, a box between words.
pub(in crate::parse) fn joint(begun: &str, next: &str, progress: impl Fn(&str) -> Progress) -> Option<Joint> {
    let begun = without_mark(begun);
    let now = progress(begun);
    if now == Progress::Ended {
        return None;
    }
    let blank = progress(&format!("{begun} {}", next.trim_start()));
    let nothing = progress(&format!("{begun}{next}"));
    match (blank > now, nothing > blank) {
        (_, true) => Some(Joint::Nothing),
        (true, _) => Some(Joint::Blank),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nom::bytes::streaming::{tag, take_while1};

    use super::*;

    fn read(text: &str) -> Progress {
        progress(text, (tag("pid is "), take_while1(|c: char| c.is_ascii_digit()), tag(".")))
    }

    #[test]
    fn joins_so_that_the_message_can_be_read() {
        assert_eq!(joint("pid i", "s 12.", read), Some(Joint::Nothing));
        assert_eq!(joint("pid is 1", "2.", read), Some(Joint::Nothing));
        assert_eq!(joint("pid is", "12.", read), Some(Joint::Blank));
        assert_eq!(joint("pid is", "  12.", read), Some(Joint::Blank));
        assert_eq!(joint("pid is 1", "two", read), None);
        assert_eq!(joint("pid is 12.", "3", read), None);
    }
}
