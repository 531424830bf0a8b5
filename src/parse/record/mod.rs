//! The lines of one message, joined into a record, and the small grammars that producers share to read records.

pub(super) mod amount;
pub(super) mod origin;
pub(super) mod signals;
pub(super) mod stated;
pub(super) mod statement;
pub(super) mod table;
pub(super) mod text;
pub(super) mod value;
pub(super) mod wrap;

use std::ops::Range;
use std::sync::Arc;

use super::line::Line;
use crate::model::{
    Basis, Bytes, Citation, Derivation, Event, Fact, FactValue, Figure, FigureName, LineContext, LineNumber, Origin,
    What,
};
use text::Size;

/// Most bytes of a broken message that are kept in one piece; no program prints a longer one, but several may be glued together.
const LONGEST_MESSAGE: usize = 1200;

/// The lines of one message, joined into one text. Every byte of it can still be cited.
#[derive(Debug, Clone)]
pub struct Record {
    path: Arc<str>,
    origin: Origin,
    context: LineContext,
    text: String,
    lines: Vec<RecordLine>,
}

/// A line within a record.
#[derive(Debug, Clone)]
struct RecordLine {
    line: Line<'static>,
    /// The range of its words in the record's text.
    at: Range<usize>,
    /// How many bytes of the line's body precede those words.
    skipped: usize,
}

/// How two lines of a message are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// A line feed: the message has lines.
    Line,
    /// A blank: the message was wrapped between words.
    Blank,
    /// Nothing: the message was cut within a word.
    Nothing,
}

impl Record {
    /// A record that begins with `line`.
    pub fn new(path: Arc<str>, origin: Origin, context: LineContext, line: Line<'static>) -> Record {
        let mut record = Record { path, origin, context, text: String::new(), lines: Vec::new() };
        record.push(Joint::Nothing, line);
        record
    }

    /// Adds the next line.
    pub fn push(&mut self, joint: Joint, line: Line<'static>) {
        let body = line.body();
        let words = match joint {
            Joint::Blank => body.trim_start(),
            Joint::Line | Joint::Nothing => body,
        };
        match joint {
            Joint::Line => self.text.push('\n'),
            Joint::Blank => self.text.push(' '),
            Joint::Nothing => self.text.truncate(wrap::without_mark(&self.text).len()),
        }
        let (start, skipped) = (self.text.len(), body.len() - words.len());
        self.text.push_str(words);
        self.lines.push(RecordLine { line, at: start..self.text.len(), skipped });
    }

    /// The message.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines it has.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Always `false`: a record has at least one line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The number of its last physical line.
    pub fn last_number(&self) -> LineNumber {
        self.lines.last().map_or(LineNumber::FIRST, |part| part.line.number)
    }

    /// The words of its last line.
    pub fn last_line(&self) -> &str {
        self.lines.last().map_or("", |part| &self.text[part.at.clone()])
    }

    /// Who wrote it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The index of the line that contains the byte at `position` of the text.
    fn line_at(&self, position: usize) -> usize {
        self.lines.partition_point(|part| part.at.start <= position).saturating_sub(1)
    }

    /// Citations of `part`, a slice of [`Record::text`]: one for each line that it spans.
    pub fn cites(&self, part: &str) -> Vec<Citation> {
        let start = self.place(part);
        let end = start + part.len();
        let mut cites = Vec::new();
        for line in &self.lines[self.line_at(start)..] {
            if line.at.start >= end {
                break;
            }
            let from = start.max(line.at.start);
            let words = &self.text[from..end.min(line.at.end).max(from)];
            let from = from - line.at.start + line.skipped + (words.len() - words.trim_start().len());
            if !words.trim().is_empty() {
                cites.push(line.line.cite_body(&self.path, from..from + words.trim().len()));
            }
        }
        cites
    }

    /// The citation of `part`, or of its first line if it spans several.
    pub fn cite(&self, part: &str) -> Citation {
        self.cites(part).into_iter().next().unwrap_or_else(|| self.cite_line_of(part))
    }

    /// The whole line in which `part` begins.
    pub fn cite_line_of(&self, part: &str) -> Citation {
        self.lines[self.line_at(self.place(part))].line.cite(&self.path)
    }

    /// The text before `part`.
    pub fn before(&self, part: &str) -> &str {
        self.text.get(..self.place(part)).unwrap_or_default()
    }

    /// The offset of `part` in the text; 0 if it is no slice of it.
    fn place(&self, part: &str) -> usize {
        let place = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        place.filter(|place| place + part.len() <= self.text.len()).unwrap_or(0)
    }

    /// The words around `part` up to the ends of the message's own lines, if they were broken over several.
    fn unbroken(&self, part: &str) -> Option<Arc<str>> {
        // Asked of every event, and nearly all have one line.
        if self.lines.len() < 2 {
            return None;
        }
        let place = self.place(part);
        let start = self.text[..place].rfind('\n').map_or(0, |end| end + 1);
        let end = self.text[place..].find('\n').map_or(self.text.len(), |end| place + end);
        let words = &self.text[start..end];
        let (first, last) = (self.line_at(start), self.line_at(end.max(start + 1) - 1));
        (first < last).then(|| words[..words.floor_char_boundary(LONGEST_MESSAGE)].into())
    }

    /// A figure in bytes; `None` if `size` means "no limit".
    pub fn figure(&self, name: FigureName, size: Size<'_>) -> Option<Figure> {
        // What no machine has can only be asked for. A limit of 2^64 less a page is none.
        let bytes = size.bytes.filter(|bytes| name == FigureName::Requested || *bytes < Bytes::EIB)?;
        Some(self.stated(name, size.text, Some(bytes), None))
    }

    /// A figure that is no memory: an index, a share, a pid.
    pub fn number(&self, name: FigureName, text: &str, value: f64) -> Figure {
        self.stated(name, text, None, Some(value))
    }

    /// A figure that `text` states. If the words span several lines, no single line states it, so it names all of them as its source.
    fn stated(&self, name: FigureName, text: &str, bytes: Option<Bytes>, value: Option<f64>) -> Figure {
        let mut cites = self.cites(text);
        if cites.is_empty() {
            cites.push(self.cite_line_of(text));
        }
        let formula = match bytes {
            _ if cites.len() > 1 => Some(format!("`{}`, broken over {} lines", text.replace('\n', " "), cites.len())),
            Some(Bytes(decimal)) if text.starts_with("0x") => Some(format!("{text} = {decimal} bytes")),
            _ => None,
        };
        let derived = formula.map(|formula| Derivation { formula, from: cites.clone() });
        let Citation { location, text, .. } = cites.swap_remove(0);
        Figure { name, bytes, value, text, source: location, derived }
    }

    /// A fact of the message.
    pub fn fact(&self, key: &'static str, text: &str) -> Fact {
        Fact { key, value: FactValue::Text(text.to_owned()), at: self.cite(text) }
    }

    /// A fact that is a number.
    pub fn number_fact(&self, key: &'static str, text: &str, value: f64) -> Fact {
        Fact { key, value: FactValue::Number(value), at: self.cite(text) }
    }

    /// An event that `part` of this message states.
    pub fn event(&self, producer: &'static str, part: &str, what: What) -> Event {
        let time = |line: &RecordLine| line.line.envelope().time;
        Event {
            what,
            producer,
            basis: Basis::Grammar,
            at: self.cite_line_of(part),
            unbroken: self.unbroken(part),
            evidence: Vec::new(),
            figures: Vec::new(),
            facts: Vec::new(),
            origin: self.origin.clone(),
            time: time(&self.lines[self.line_at(self.place(part))]).or_else(|| self.lines.iter().find_map(time)),
            repeated: self.lines.iter().map(|line| line.line.envelope().repeated).max().unwrap_or(0),
            others: Vec::new(),
            context: self.context.clone(),
        }
    }
}
