//! Messages of one line that are data: `rules/messages/`, shipped and the user's own.
//!
//! The input is a line and the rows whose literals it contains; the output is the events that these rows state. Rows that prove nothing are
//! merged into one memory event and one notice of their producer; a row that proves something is an event of its own, at most one for each
//! producer.

mod pattern;
mod statement;

use std::sync::Arc;

use super::record::Record;
use super::record::stated::Stated;
use super::record::{origin, text};
use crate::knowledge::{Message, MessageFile, Said, SlotName, VictimPart};
use crate::model::{DEVICE_IN_USE, Event, PROCESS_IN_USE, RANK_IN_USE, What};

/// All rows of all producers.
pub(super) struct Messages {
    files: Arc<[MessageFile]>,
    /// For each row the index of its file and of the message within the file.
    rows: Vec<(u16, u16)>,
}

impl Messages {
    pub fn new(files: &Arc<[MessageFile]>) -> Messages {
        let of_file =
            |(file, known): (usize, &MessageFile)| (0..known.message.len()).map(move |row| (file as u16, row as u16));
        Messages { rows: files.iter().enumerate().flat_map(of_file).collect(), files: Arc::clone(files) }
    }

    /// Literals for which the scanner searches the whole input.
    pub fn anchors(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| &file.message).flat_map(|row| &row.anchor).map(|anchor| &**anchor)
    }

    /// Pairs of a literal and its row; every line of a row's message contains one of its literals.
    pub fn triggers(&self) -> impl Iterator<Item = (&str, u16)> {
        (0..self.rows.len()).flat_map(|row| self.row(row as u16).1.triggers().map(move |words| (words, row as u16)))
    }

    fn row(&self, row: u16) -> (&MessageFile, &Message) {
        let (file, row) = self.rows[usize::from(row)];
        let file = &self.files[usize::from(file)];
        (file, &file.message[usize::from(row)])
    }

    /// The events of the rows `found`, whose literals `record` contains.
    pub fn read(&self, record: &Record, found: &mut Vec<u16>) -> Vec<Event> {
        found.sort_unstable();
        found.dedup();
        let mut events = Vec::new();
        for of_file in found.chunk_by(|a, b| self.rows[usize::from(*a)].0 == self.rows[usize::from(*b)].0) {
            let Some(first) = of_file.first() else { continue };
            let file = self.row(*first).0;
            read_file(file, of_file.iter().map(|row| self.row(*row).1), record, &mut events);
        }
        keep_fullest(&mut events);
        events
    }
}

/// If producers read one line as shortages of different kinds, keeps the kind whose event has the most figures.
fn keep_fullest(events: &mut Vec<Event>) {
    let kind = |event: &Event| match &event.what {
        What::Shortage(shortage) => Some(shortage.kind),
        _ => None,
    };
    let shortages = || events.iter().filter_map(|event| Some((kind(event)?, event.figures.len())));
    let Some((fullest, most)) = shortages().max_by_key(|(_, figures)| *figures) else { return };
    if shortages().all(|(kind, figures)| kind == fullest || figures < most) {
        events.retain(|event| kind(event).is_none_or(|kind| kind == fullest));
    }
}

/// Adds the events that `rows` of one producer state in `record`.
fn read_file<'m>(
    file: &MessageFile,
    rows: impl Iterator<Item = &'m Message>,
    record: &Record,
    events: &mut Vec<Event>,
) {
    let (mut memory, mut notice) = (Stated::default(), Stated::default());
    let mut is_proven = false;
    for row in rows.filter(|row| applies(row, record.text())) {
        if row.is_statement() {
            if !is_proven && let Some(event) = statement::read(row, file, record) {
                is_proven = true;
                events.push(event);
            }
            continue;
        }
        for reading in row.templates().iter().filter_map(|template| pattern::read(template, record.text())) {
            for (name, words, read) in reading.found {
                match name {
                    SlotName::Figure(name) if row.moment => memory.add_figure(record, name, words, read),
                    SlotName::Figure(name) => notice.add_figure(record, name, words, read),
                    SlotName::Fact(key) => notice.add_fact(record, key, words, read),
                    SlotName::Victim(VictimPart::Device) => notice.add_fact(record, DEVICE_IN_USE, words, read),
                    SlotName::Victim(VictimPart::Pid) => notice.add_fact(record, PROCESS_IN_USE, words, read),
                    SlotName::Victim(VictimPart::Rank) => notice.add_fact(record, RANK_IN_USE, words, read),
                    SlotName::Victim(_) | SlotName::Signal | SlotName::Status | SlotName::Nothing => {}
                }
            }
        }
    }
    let series = What::Memory { series: origin::series(file.series(), record.origin()) };
    events.extend(memory.event(record, file.producer.as_str(), series));
    events.extend(notice.event(record, file.producer.as_str(), What::Notice));
}

/// Whether the conditions of `row` on other words in the line hold.
fn applies(row: &Message, line: &str) -> bool {
    let stands = |words: &str| line.contains(words);
    (row.within.is_empty() || row.within.iter().any(|words| stands(words)))
        && !row.without.iter().any(|words| stands(words))
}

/// `line` from the words of `row` on, at the first place where these are said and not quoted.
fn spoken<'a>(row: &Message, line: &'a str) -> Option<&'a str> {
    row.triggers().find_map(|words| {
        let behind = |part: &str| part[words.len()..].trim_matches(['*', '`', '.', '!', ' ']).is_empty();
        let parts = line.match_indices(words).map(|(at, _)| &line[at..]);
        let mut parts = parts.filter(|part| row.said() != Said::Alone || behind(part.trim_end()));
        parts.find(|part| is_said(row.said(), text::before(line, part)))
    })
}

/// Whether words that follow `before` are a statement and not a quotation, as strictly as `said` demands.
fn is_said(said: Said, before: &str) -> bool {
    let is_quoted = || before.trim_end().ends_with(['"', '\'', '`']) || text::is_in_call(before);
    let reports =
        || ["rror", "ailed", "failure", "signal", "python", ": line "].iter().any(|word| before.contains(word));
    match said {
        Said::Anywhere => true,
        Said::Unquoted => text::may_begin(before) || !is_quoted(),
        Said::Reported => text::may_begin(before) || reports() && !is_quoted(),
        Said::First | Said::Alone => text::may_begin(before),
    }
}

#[cfg(test)]
mod tests;
