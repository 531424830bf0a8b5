//! Reports in which fixed words stand before values: each row names the words and what the value beside them states.
//!
//! The input is a record; the output is at most two events, one with memory figures and one with facts. A row states nothing if its value
//! is missing or cut off before its unit. Messages of one line are data instead: `rules/messages/`.

use super::stated::Stated;
use super::{Record, origin, text, value};
use crate::knowledge::SlotType;
use crate::model::{Event, FigureName, What};

/// The table of one producer.
pub(in crate::parse) struct Table {
    /// Its name in reports.
    pub producer: &'static str,
    /// The name of its series of figures, to which the writer is added.
    pub series: &'static str,
    /// The rows.
    pub rows: &'static [TableRow],
}

/// Fixed words and the value after them.
pub(in crate::parse) struct TableRow {
    words: &'static str,
    /// If not empty, the message must contain one of these, too.
    within: &'static [&'static str],
    value: SlotType,
    states: States,
}

/// What a value becomes.
#[derive(Clone, Copy)]
enum States {
    Memory(FigureName),
    Fact(&'static str),
}

/// A row for a memory figure, which becomes a point of the timeline.
pub(in crate::parse) const fn memory(words: &'static str, value: SlotType, name: FigureName) -> TableRow {
    TableRow { words, within: &[], value, states: States::Memory(name) }
}

/// A row for a fact; a size becomes its number of bytes.
pub(in crate::parse) const fn fact(words: &'static str, value: SlotType, key: &'static str) -> TableRow {
    TableRow { words, within: &[], value, states: States::Fact(key) }
}

impl TableRow {
    /// The same row, only for messages that contain one of these words.
    pub const fn within(self, within: &'static [&'static str]) -> TableRow {
        TableRow { within, ..self }
    }
}

/// Concatenates two arrays in a constant.
pub(in crate::parse) const fn joined<const L: usize, const R: usize, const N: usize>(
    left: [&'static str; L],
    right: [&'static str; R],
) -> [&'static str; N] {
    let (mut joined, mut at) = ([""; N], 0);
    while at < N {
        joined[at] = if at < L { left[at] } else { right[at - L] };
        at += 1;
    }
    joined
}

impl Table {
    /// The events that the rows state in `record`; of several rows with one name the first counts.
    pub fn read(&self, record: &Record) -> Vec<Event> {
        let (mut memory, mut notice) = (Stated::default(), Stated::default());
        let whole = record.text();
        let applies = |row: &&TableRow| row.within.is_empty() || row.within.iter().any(|words| text::has(whole, words));
        for row in self.rows.iter().filter(applies) {
            let read = |at: usize| value::read(row.value, &whole[at + row.words.len()..], whole, None);
            let Some((words, read)) = places(whole, row.words).find_map(read) else { continue };
            match row.states {
                States::Memory(name) => memory.add_figure(record, name, words, read),
                States::Fact(key) => notice.add_fact(record, key, words, read),
            }
        }
        let series = || What::Memory { series: origin::series(self.series, record.origin()) };
        let notice = notice.event(record, self.producer, || What::Notice);
        let events = [memory.event(record, self.producer, series), notice];
        events.into_iter().flatten().collect()
    }
}

/// The offsets of `words` in `text`. Words within a longer word do not count.
pub(in crate::parse) fn places<'a>(text: &'a str, words: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text::offsets(text, words).filter(move |at| !(words.starts_with(is_letter) && text[..*at].ends_with(is_letter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_longer_word_is_another_word() {
        assert_eq!(places("Max_MA 1 MA 2", "MA ").collect::<Vec<_>>(), [9]);
        assert_eq!(places("is_MA 1", "MA ").count(), 0);
    }
}
