//! The layout of the recorder's file: numbered lines of equal length, of which the oldest are overwritten.
//!
//! ```text
//! oomdoc record 1 of node7, from 2026-11-20T10:00:00.000Z: …
//! 2026-11-20T10:00:01.000Z oomdoc#9 node7: process 4711 python rank 3: rss 12055.3 MiB, …
//! ```

use std::borrow::Cow;

use crate::model::LineNumber;

/// Bytes of a line, with its line feed. A page holds a whole number of lines, so no line is ever half written.
pub const SLOT: usize = 256;

/// The beginning of the file.
pub const MARK: &str = "oomdoc record 1 of ";

/// Stands before a line's number.
pub const NUMBER: &str = "oomdoc#";

/// Most bytes of a record.
pub const LARGEST: u64 = 1 << 30;

/// Whether an input that begins with `head` is a record.
pub fn is_record(head: &[u8]) -> bool {
    head.starts_with(MARK.as_bytes())
}

/// A line of the file as one slot, cut if it is too long.
pub fn slot(time: &str, number: u64, host: &str, words: &str) -> String {
    padded(&format!("{time} {NUMBER}{number} {host}: {words}"))
}

/// `line` as one slot.
pub fn padded(line: &str) -> String {
    let line: Cow<'_, str> = match line.chars().any(char::is_control) {
        true => Cow::Owned(line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()),
        false => Cow::Borrowed(line),
    };
    let mut slot = line[..line.floor_char_boundary(SLOT - 1)].to_owned();
    slot.extend(std::iter::repeat_n(' ', SLOT - 1 - slot.len()));
    slot.push('\n');
    slot
}

/// The lines of a record in the order in which they were written, each with its line number in the file. Lines without a record number,
/// such as the first, come first; of a duplicated line the first counts.
pub fn in_order(bytes: &[u8]) -> Vec<(LineNumber, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).zip(1..);
    let numbered = lines.filter(|(line, _)| !line.is_empty());
    let mut lines: Vec<(Option<u64>, LineNumber, &[u8])> =
        numbered.map(|(line, place)| (number(line), LineNumber(place), line)).collect();
    lines.sort_by_key(|(number, place, _)| (*number, *place));
    lines.dedup_by(|later, earlier| later.0.is_some() && later.0 == earlier.0);
    lines.into_iter().map(|(_, place, line)| (place, line)).collect()
}

/// The number after the time of a line.
fn number(line: &[u8]) -> Option<u64> {
    let text = str::from_utf8(&line[..line.len().min(64)]).ok()?;
    let (_, behind) = text.split_once(' ')?;
    behind.strip_prefix(NUMBER)?.split_once(' ')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_one_length_whatever_it_says() {
        for words in ["", "machine: used", &"é".repeat(400), "a\nb\tc"] {
            let slot = slot("2026-11-20T10:00:01.000Z", 7, "node7", words);
            assert_eq!(slot.len(), SLOT);
            assert_eq!(slot.matches('\n').count(), 1);
        }
    }

    #[test]
    fn lines_come_in_the_order_in_which_they_were_written() {
        let line = |number, words: &str| slot("2026-11-20T10:00:01.000Z", number, "node7", words);
        let file = padded("oomdoc record 1 of node7") + &line(11, "c") + &line(9, "a") + &line(10, "b") + &line(9, "a");
        let places: Vec<u64> = in_order(file.as_bytes()).iter().map(|(place, _)| place.0).collect();
        assert_eq!(places, [1, 3, 4, 2]);
        assert!(is_record(file.as_bytes()));
    }
}
