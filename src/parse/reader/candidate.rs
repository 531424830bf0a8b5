//! A line that may state a failure, and what is judged with it.

use super::judge::{BELIEVED, LAST_SAID, Message, judge};
use super::{LONGEST, amounts, states};
use crate::knowledge::Signs;
use crate::model::Event;
use crate::parse::record::Record;

/// Of a line's neighbours this many bytes are judged.
const BESIDE: usize = 400;
/// A broken line shorter than this could be the beginning of anything.
const SHORTEST_BEGINNING: usize = 24;

/// A line that may state a failure, with the lines around it.
pub(super) struct Candidate {
    pub origin: usize,
    pub record: Record,
    /// Where the line begins in the record's text, and where, within the line, its first sign ends.
    pub start: usize,
    pub sign: usize,
    /// Where it ends in the record's text, and where what is judged with it ends.
    pub stop: usize,
    pub judged: usize,
    pub behind: usize,
    pub rows: usize,
    pub device_before: bool,
    pub likeness: u64,
}

/// A message that may be a failure; how the input ends decides.
pub(super) struct Likely {
    pub weight: f64,
    pub event: Event,
    /// Whether the line is the beginning of a harmless one.
    pub breaks_off: bool,
}

impl Candidate {
    /// Judges the candidate; `None` if it cannot be a failure.
    pub fn judged(&self, signs: &Signs, harmless: &[String]) -> Option<Likely> {
        let message = self.message();
        let judgement = judge(&message, signs).filter(|judgement| judgement.weight + LAST_SAID >= BELIEVED)?;
        let breaks_off = is_beginning(self.line(), harmless);
        Some(Likely {
            weight: judgement.weight,
            event: states::event(&self.record, &message, &judgement, signs),
            breaks_off,
        })
    }

    /// The line in question, at most as much of it as is judged.
    pub fn line(&self) -> &str {
        let line = &self.record.text()[self.start..self.stop];
        &line[..amounts::floor(line, LONGEST)]
    }

    fn message(&self) -> Message<'_> {
        let text = self.record.text();
        let floor = |at| amounts::floor(text, at);
        let line = match self.stop - self.start > LONGEST {
            false => self.start..self.stop,
            true => {
                let sign = self.start + self.sign;
                floor(sign.saturating_sub(LONGEST / 4).max(self.start))..floor((sign + LONGEST / 2).min(self.stop))
            }
        };
        let from = if line.start == self.start { floor(self.start.saturating_sub(BESIDE)) } else { line.start };
        let to = if line.end == self.stop { floor((self.stop + 2 * BESIDE).min(self.judged)) } else { line.end };
        Message { text, range: from..to, line, device_before: self.device_before }
    }
}

/// Whether `line` breaks off within a word that one of the `harmless` lines has whole: the words that make it harmless are missing. A line
/// that ends with its word may have been meant as it is.
fn is_beginning(line: &str, harmless: &[String]) -> bool {
    if harmless.is_empty() || line.len() < SHORTEST_BEGINNING || !line.ends_with(char::is_alphabetic) {
        return false;
    }
    let line: String = without_digits(line).collect();
    let goes_on = |known: &String| known.strip_prefix(&line).is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    harmless.iter().any(goes_on)
}

/// `line` without its digits.
pub(super) fn without_digits(line: &str) -> impl Iterator<Item = char> {
    line.chars().filter(|letter| !letter.is_ascii_digit())
}
