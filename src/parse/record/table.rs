//! Parts of a report that are a table: fixed words, and what the number or word beside them states.
//!
//! In goes a message whose values all stand beside words that never change; out come at most two events: what memory
//! there is now, and what else is worth knowing. A row whose words are there and whose value is not, or is cut off before
//! its unit, states nothing. Messages of one line are data instead: `rules/messages/`.

use super::stated::Stated;
use super::{Record, origin, value};
use crate::knowledge::SlotType;
use crate::model::{Event, FigureName, What};

/// One producer's lines.
pub(in crate::parse) struct Table {
    /// Its name in reports.
    pub producer: &'static str,
    /// What its series of figures are called; who wrote the line is added.
    pub series: &'static str,
    /// What stands beside which words.
    pub rows: &'static [TableRow],
}

/// Words and what stands behind them.
pub(in crate::parse) struct TableRow {
    words: &'static str,
    /// One of these must stand in the message too; none: in any message.
    within: &'static [&'static str],
    value: SlotType,
    states: States,
}

/// What a value is.
#[derive(Clone, Copy)]
enum States {
    Memory(FigureName),
    Fact(&'static str),
}

/// A row for memory at this moment, a point of the timeline.
pub(in crate::parse) const fn memory(words: &'static str, value: SlotType, name: FigureName) -> TableRow {
    TableRow { words, within: &[], value, states: States::Memory(name) }
}

/// A row for anything else; of a size the fact is the bytes.
pub(in crate::parse) const fn fact(words: &'static str, value: SlotType, key: &'static str) -> TableRow {
    TableRow { words, within: &[], value, states: States::Fact(key) }
}

impl TableRow {
    /// The same, only in messages in which one of these words stands.
    pub const fn within(self, within: &'static [&'static str]) -> TableRow {
        TableRow { within, ..self }
    }
}

/// `left`, then `right`.
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
    /// What the rows state in `record`; of several rows with one name the first.
    pub fn read(&self, record: &Record) -> Vec<Event> {
        let (mut memory, mut notice) = (Stated::default(), Stated::default());
        let whole = record.text();
        let applies = |row: &&TableRow| row.within.is_empty() || row.within.iter().any(|words| whole.contains(words));
        for row in self.rows.iter().filter(applies) {
            let read = |at: usize| value::read(row.value, &whole[at + row.words.len()..], whole, None);
            let Some((words, read)) = places(whole, row.words).find_map(read) else { continue };
            match row.states {
                States::Memory(name) => memory.add_figure(record, name, words, read),
                States::Fact(key) => notice.add_fact(record, key, words, read),
            }
        }
        let series = What::Memory { series: origin::series(self.series, record.origin()) };
        let events = [memory.event(record, self.producer, series), notice.event(record, self.producer, What::Notice)];
        events.into_iter().flatten().collect()
    }
}

/// Where `words` begin in `text`. The end of a longer word is another word.
pub(in crate::parse) fn places<'a>(text: &'a str, words: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(words)
        .map(|(at, _)| at)
        .filter(move |at| !(words.starts_with(is_letter) && text[..*at].ends_with(is_letter)))
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
