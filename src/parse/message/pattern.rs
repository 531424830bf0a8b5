//! Matches a row's template against a line.

use super::super::record::value::{self, SlotValue};
use super::super::table::places;
use crate::knowledge::{Piece, SlotName, SlotType, Template};

/// The value of a slot: its name, the words that state it, what they mean.
pub(super) type Found<'a> = (SlotName, &'a str, SlotValue);

/// A match of a template.
pub(super) struct Reading<'a> {
    pub found: Vec<Found<'a>>,
    /// The matched part of the line.
    pub words: &'a str,
    /// Whether all of the template was matched.
    pub is_whole: bool,
}

/// The first full match of `template` in `line`, else the first one that the line's end cuts off.
pub(super) fn read<'a>(template: &'a Template, line: &'a str) -> Option<Reading<'a>> {
    let pieces = template.pieces.as_slice();
    let (leading, pieces) = match pieces {
        [Piece::Slot(name, SlotType::Line)] => {
            let (words, read) = value::read(SlotType::Line, line, line, None)?;
            return Some(Reading { found: vec![(*name, words, read)], words, is_whole: true });
        }
        [Piece::Slot(name, slot), rest @ ..] => (Some((*name, *slot)), rest),
        _ => (None, pieces),
    };
    let (Piece::Words(first) | Piece::Said(_, first)) = pieces.first()? else { return None };
    let mut cut = None;
    for at in places(line, first) {
        let mut found = Vec::new();
        let mut start = at;
        if let Some((name, slot)) = leading {
            let Some((words, read)) = value::read_backwards(slot, &line[..at]) else { continue };
            start = offset(line, words);
            found.push((name, words, read));
        }
        let Some((end, is_whole)) = forwards(pieces, line, at, &mut found) else { continue };
        let reading = Reading { found, words: &line[start..end], is_whole };
        if reading.is_whole {
            return Some(reading);
        }
        if cut.is_none() && !reading.found.is_empty() {
            cut = Some(reading);
        }
    }
    cut
}

/// Matches `pieces` from `at` on; returns the end of the match and whether it is full. `None` if the line has other words.
fn forwards<'a>(
    pieces: &'a [Piece],
    line: &'a str,
    mut at: usize,
    found: &mut Vec<Found<'a>>,
) -> Option<(usize, bool)> {
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Words(words) | Piece::Said(_, words) => match alike(words, &line[at..]) {
                Some(length) => {
                    if let Piece::Said(name, _) = piece {
                        found.push((*name, line[at..at + length].trim(), SlotValue::Text));
                    }
                    at += length;
                }
                None if is_begun(words, &line[at..]) => return Some((at, false)),
                None => return None,
            },
            Piece::Slot(name, slot) => {
                let end = match pieces.get(index + 1) {
                    Some(Piece::Words(words) | Piece::Said(_, words)) => Some(&**words),
                    _ => None,
                };
                match value::read(*slot, &line[at..], line, end) {
                    Some((words, read)) => {
                        found.push((*name, words, read));
                        at = if *slot == SlotType::Line { line.len() } else { offset(line, words) + words.len() };
                        // An option's value may be quoted.
                        if *slot == SlotType::Option || *slot == SlotType::Quoted {
                            at += line[at..].starts_with(['\'', '"']) as usize;
                        }
                    }
                    // At the end of the line the rest is cut off; any other text that is no value is a mismatch.
                    None if line[at..].trim().is_empty() => return Some((at, false)),
                    None => return None,
                }
            }
        }
    }
    Some((at, true))
}

/// Length of the prefix of `text` that equals `words`, where a blank matches any run of blanks.
fn alike(words: &str, text: &str) -> Option<usize> {
    // Most lines spell them exactly so.
    if text.starts_with(words) && !words.ends_with(char::is_whitespace) {
        return Some(words.len());
    }
    let mut rest = text;
    let mut letters = words.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            while letters.peek().is_some_and(|next| next.is_whitespace()) {
                letters.next();
            }
            let trimmed = rest.trim_start();
            if trimmed.len() == rest.len() {
                // A blank at the end of the template is optional at the end of the line.
                return (letters.peek().is_none() && rest.is_empty()).then(|| text.len() - rest.len());
            }
            rest = trimmed;
        } else {
            rest = rest.strip_prefix(letter)?;
        }
    }
    Some(text.len() - rest.len())
}

/// Whether `text` ends within `words`.
fn is_begun(words: &str, text: &str) -> bool {
    text.len() < words.len() && words.starts_with(text.trim_end())
}

fn offset(line: &str, part: &str) -> usize {
    nom::Offset::offset(line, part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<'a>(template: &'a Template, line: &'a str) -> Option<(Vec<&'a str>, bool)> {
        read(template, line).map(|reading| (reading.found.iter().map(|found| found.1).collect(), reading.is_whole))
    }

    #[test]
    fn a_pattern_is_read_whole_cut_off_or_not_at_all() -> Result<(), String> {
        let template = Template::read("allocating {requested:size} on device {gpu_index:number}: failed")?;
        for (line, found) in [
            ("x allocating 1.50 MiB on device 3: failed, y", Some((vec!["1.50 MiB", "3"], true))),
            ("allocating  1.50  MiB  on\tdevice 3: failed", Some((vec!["1.50  MiB", "3"], true))),
            ("allocating nothing, then allocating 2 GiB on device 0: failed", Some((vec!["2 GiB", "0"], true))),
            ("allocating 1.50 MiB on dev", Some((vec!["1.50 MiB"], false))),
            ("allocating 1.50 MiB", Some((vec!["1.50 MiB"], false))),
            ("allocating 1.50", None),
            ("allocating", None),
            ("allocating 1.50 MiB for you", None),
            ("reallocating 1.50 MiB on device 3: failed", None),
        ] {
            assert_eq!(values(&template, line), found, "{line}");
        }
        Ok(())
    }

    #[test]
    fn a_value_before_the_words_is_read_backwards() -> Result<(), String> {
        let template = Template::read("{requested:size} is more than {gpu_free:size}")?;
        assert_eq!(values(&template, "a 2 GiB is more than 1 GiB"), Some((vec!["2 GiB", "1 GiB"], true)));
        assert_eq!(values(&template, "a GiB is more than 1 GiB"), None);
        Ok(())
    }

    #[test]
    fn words_may_state_something_by_being_there() -> Result<(), String> {
        let template = Template::read("({x.y=insufficient memory})")?;
        assert_eq!(values(&template, "on CPU (insufficient memory)"), Some((vec!["insufficient memory"], true)));
        Ok(())
    }
}
