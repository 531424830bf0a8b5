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
use crate::knowledge::{Message, MessageFile, Said, SlotName, Template, VictimPart};
use crate::model::{DEVICE_IN_USE, Event, PROCESS_IN_USE, RANK_IN_USE, What};

/// All messages of all producers.
pub(super) struct Messages {
    files: Arc<[MessageFile]>,
    rows: Vec<Row>,
}

/// What some literals begin: a message, or one of its patterns if each has words by which it is found.
#[derive(Clone, Copy)]
struct Row {
    /// The index of its file, and of the message within the file.
    file: u16,
    message: u16,
    pattern: Option<u16>,
}

impl Messages {
    pub fn new(files: &Arc<[MessageFile]>) -> Messages {
        let mut rows = Vec::new();
        for (file, known) in files.iter().enumerate() {
            for (place, message) in known.message.iter().enumerate() {
                let row = |pattern| Row { file: file as u16, message: place as u16, pattern };
                match message.is_found_by_patterns() {
                    true => rows.extend((0..message.pattern.len()).map(|pattern| row(Some(pattern as u16)))),
                    false => rows.push(row(None)),
                }
            }
        }
        Messages { rows, files: Arc::clone(files) }
    }

    /// Literals for which the scanner searches the whole input.
    pub fn anchors(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| &file.message).flat_map(|row| &row.anchor).map(|anchor| &**anchor)
    }

    /// Pairs of a literal and its row; every line of a row's message contains one of its literals.
    pub fn triggers(&self) -> impl Iterator<Item = (&str, u16)> {
        self.rows.iter().zip(0..).flat_map(|(row, index)| {
            let (_, message) = self.message(*row);
            let own = |place: usize| row.pattern.is_none_or(|pattern| usize::from(pattern) == place);
            let triggers = message.triggers().enumerate().filter(move |(place, _)| own(*place));
            triggers.map(move |(_, words)| (words, index))
        })
    }

    fn message(&self, row: Row) -> (&MessageFile, &Message) {
        let file = &self.files[usize::from(row.file)];
        (file, &file.message[usize::from(row.message)])
    }

    /// The events of the rows `found`, whose literals `record` contains.
    pub fn read(&self, record: &Record, found: &mut Vec<u16>) -> Vec<Event> {
        found.sort_unstable();
        found.dedup();
        let found: Vec<Row> = found.iter().map(|row| self.rows[usize::from(*row)]).collect();
        let mut events = Vec::new();
        for of_file in found.chunk_by(|a, b| a.file == b.file) {
            let Some(file) = of_file.first().map(|row| self.message(*row).0) else { continue };
            let of_messages = of_file.chunk_by(|a, b| a.message == b.message);
            let messages = of_messages.filter_map(|rows| Some((self.message(*rows.first()?).1, rows)));
            read_file(file, messages, record, &mut events);
        }
        keep_fullest(&mut events);
        events
    }
}

/// The patterns of `message` that the rows found of it may be.
fn templates<'m>(message: &'m Message, found: &[Row]) -> impl Iterator<Item = &'m Template> {
    let of_row = |row: &Row| match row.pattern {
        None => 0..message.templates().len(),
        Some(pattern) => usize::from(pattern)..usize::from(pattern) + 1,
    };
    found.iter().map(of_row).flat_map(|places| message.templates().get(places).unwrap_or_default())
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

/// Adds the events that `messages` of one producer, with the rows found of each, state in `record`.
fn read_file<'m>(
    file: &MessageFile,
    messages: impl Iterator<Item = (&'m Message, &'m [Row])>,
    record: &Record,
    events: &mut Vec<Event>,
) {
    let (mut memory, mut notice) = (Stated::default(), Stated::default());
    let mut is_proven = false;
    for (row, found) in messages.filter(|(row, _)| applies(row, record.text())) {
        if row.is_statement() {
            if !is_proven && let Some(event) = statement::read(row, file, record) {
                is_proven = true;
                events.push(event);
            }
            continue;
        }
        for reading in templates(row, found).filter_map(|template| pattern::read(template, record.text())) {
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
    let series = || What::Memory { series: origin::series(file.series(), record.origin()) };
    events.extend(memory.event(record, file.producer.as_str(), series));
    events.extend(notice.event(record, file.producer.as_str(), || What::Notice));
}

/// Whether the conditions of `row` on other words in the line hold.
fn applies(row: &Message, line: &str) -> bool {
    let stands = |words: &str| text::has(line, words);
    (row.within.is_empty() || row.within.iter().any(|words| stands(words)))
        && !row.without.iter().any(|words| stands(words))
}

/// `line` from the words of `row` on, at the first place where these are said and not quoted.
fn spoken<'a>(row: &Message, line: &'a str) -> Option<&'a str> {
    row.triggers().find_map(|words| {
        let behind = |part: &str| part[words.len()..].trim_matches(['*', '`', '.', '!', ' ']).is_empty();
        let parts = text::each(line, words);
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
