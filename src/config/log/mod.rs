//! Reads configurations that jobs print into their logs.
//!
//! In goes a piece of a log; out come read-only documents: commands that `set -x`, DeepSpeed's launcher or Ray print,
//! argparse's `Namespace(…)`, transformers' `TrainingArguments(…)`, Megatron's and DeepSpeed's dotted lists,
//! dictionaries and JSON over many lines, and what vLLM and SGLang print about their engines. Prefixes before each line
//! (time stamps, ranks, Ray's actors) are stripped, and lines of other processes in between are skipped.

mod first_lines;
mod python;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::entry::FoundSetting;
use super::tree::{Member, Node};
use super::value::word_length;
use super::{Body, Document, Format, Parsed, Value, flatten, shell, tree};
use crate::model::{Citation, Column, LineNumber, Location};
use crate::parse::Line;
use crate::scan::RawLine;
use first_lines::{Head, Notation};

/// The configurations printed in `log`, in order. `first` is the number of its first line in the input called `path`. A
/// configuration that several processes print alike is returned once.
pub fn from_log(path: impl Into<Arc<str>>, first: LineNumber, log: &[u8]) -> Vec<Document> {
    let last = LineNumber(first.0 + memchr::memchr_iter(b'\n', log).count() as u64);
    let mut reader = LogReader {
        path: path.into(),
        documents: Vec::new(),
        seen: HashSet::new(),
        open: None,
        torn: (!log.ends_with(b"\n")).then_some(last),
    };
    let (mut number, mut start) = (first, 0);
    for end in memchr::memchr_iter(b'\n', log).chain([log.len()]) {
        reader.physical_line(RawLine { bytes: &log[start..end], number, column: 0, is_open: false });
        number.0 += 1;
        start = end + 1;
    }
    if let Some(open) = reader.open.take() {
        reader.finish(open);
    }
    reader.documents
}

struct LogReader<'a> {
    path: Arc<str>,
    documents: Vec<Document>,
    /// The texts of the documents so far, to drop repetitions.
    seen: HashSet<String>,
    open: Option<Printed<'a>>,
    /// The last line if the log is cut off in it: its last value may be incomplete.
    torn: Option<LineNumber>,
}

/// Whether the next line continues the open configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It does, and more lines may follow.
    On,
    /// It does, and is the last one.
    End,
    /// It does not.
    Not,
}

/// Up to this many lines that do not belong to a configuration may stand between its lines.
const STRANGERS: usize = 40;

/// The fewest settings of a configuration that introduces itself as one or spans several lines, and of any other single
/// line.
const FEW: usize = 2;
const MANY: usize = 12;

/// The most lines that are read as one configuration.
const LONGEST: usize = 4000;

impl<'a> LogReader<'a> {
    fn physical_line(&mut self, raw: RawLine<'a>) {
        if self.open.is_some() || first_lines::may_begin(raw.bytes) {
            Line::read(raw, |line| self.line(line));
        }
    }

    fn line(&mut self, line: Line<'a>) {
        if let Some(mut open) = self.open.take() {
            match open.next(&line) {
                Next::On if open.pieces.len() < LONGEST => {
                    open.push(line);
                    self.open = Some(open);
                    return;
                }
                Next::On | Next::End => {
                    open.push(line);
                    self.finish(open);
                    return;
                }
                Next::Not if open.strangers < STRANGERS => {
                    open.strangers += 1;
                    self.open = Some(open);
                }
                Next::Not => self.finish(open),
            }
        }
        let Some(head) = first_lines::head(line.body()) else { return };
        let is_over = matches!(head.notation, Notation::Command | Notation::List | Notation::Fields);
        let printed = Printed::new(head, line);
        if is_over || printed.is_closed() {
            self.finish(printed);
        } else if let Some(open) = self.open.replace(printed) {
            // Only one configuration is open at a time.
            self.finish(open);
        }
    }

    fn finish(&mut self, printed: Printed<'a>) {
        let Some(mut parsed) = printed.read() else { return };
        if printed.pieces.last().is_some_and(|(line, _, _)| Some(line.number) == self.torn) {
            parsed.found.retain(|found| found.span.end < printed.text.len());
        }
        if !self.seen.insert(printed.text.clone()) {
            return;
        }
        let cite = |span: &Range<usize>| printed.cite(&self.path, span);
        self.documents.push(Document::assemble(Format::Log, self.path.clone(), &printed.text, parsed, cite));
    }
}

/// A configuration whose lines are being collected.
struct Printed<'a> {
    head: Head,
    /// Each line, its offset in `text`, and the offset in the line's body at which it begins.
    pieces: Vec<(Line<'a>, usize, usize)>,
    text: String,
    brackets: Brackets,
    strangers: usize,
}

impl<'a> Printed<'a> {
    fn new(head: Head, line: Line<'a>) -> Printed<'a> {
        let mut brackets = Brackets::default();
        let part = line.body().get(head.part.clone()).unwrap_or_default().to_owned();
        if matches!(head.notation, Notation::Brackets { .. }) {
            brackets.read(&part);
        } else if let (Notation::Dots, Some((_, value))) = (head.notation, first_lines::dots(&part)) {
            brackets.read(&part[value]);
        }
        let from = head.part.start;
        Printed { head, pieces: vec![(line, 0, from)], text: part, brackets, strangers: 0 }
    }

    fn is_closed(&self) -> bool {
        matches!(self.head.notation, Notation::Brackets { .. }) && self.brackets.depth == 0
    }

    /// Whether and how this line continues the configuration.
    fn next(&mut self, line: &Line<'_>) -> Next {
        let is_same = self.pieces.last().is_some_and(|(last, _, _)| writer(last) == writer(line));
        let body = line.body();
        let is_inner = body.starts_with([' ', '\t', '}', ']', ')']);
        if !is_same {
            return Next::Not;
        }
        match self.head.notation {
            Notation::Brackets { .. } if is_inner => {
                self.brackets.read(body);
                if self.brackets.depth == 0 { Next::End } else { Next::On }
            }
            Notation::Assignments if body.trim() == ")" => Next::End,
            Notation::Assignments if assignment(body).is_some() => Next::On,
            Notation::Dots => match first_lines::dots(body) {
                Some((_, value)) => {
                    self.brackets = Brackets::default();
                    self.brackets.read(&body[value]);
                    Next::On
                }
                // Continues a value over several lines.
                None if is_inner && self.brackets.depth > 0 => {
                    self.brackets.read(body);
                    Next::On
                }
                None => Next::Not,
            },
            Notation::Colons if colons(body).is_some() => Next::On,
            _ => Next::Not,
        }
    }

    fn push(&mut self, line: Line<'a>) {
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(line.body());
        self.pieces.push((line, start, 0));
    }

    /// Cites `span` of the text up to the end of its first line.
    fn cite(&self, path: &Arc<str>, span: &Range<usize>) -> Citation {
        let number = self.pieces.partition_point(|(_, start, _)| *start <= span.start).saturating_sub(1);
        let end = self.pieces.get(number + 1).map_or(self.text.len(), |(_, next, _)| next - 1);
        match self.pieces.get(number) {
            Some((line, start, from)) => {
                let part = span.start - start + from..span.end.min(end).max(span.start) - start + from;
                line.cite_body(path, part)
            }
            None => Citation::new(Location { path: path.clone(), line: LineNumber::FIRST, column: Column(1) }, ""),
        }
    }

    /// The settings; `None` if it turns out not to be a configuration.
    fn read(&self) -> Option<Parsed> {
        let text = self.text.as_str();
        let (root, least) = match self.head.notation {
            Notation::Command => {
                let parsed = shell::read(text);
                return (!parsed.found.is_empty()).then_some(Parsed { body: Body::Printed, ..parsed });
            }
            Notation::List => {
                let node = python::value(text, 0)?;
                let tree::Shape::List(items) = &node.shape else { return None };
                let words = items.iter().filter_map(|item| match &item.shape {
                    tree::Shape::Scalar(Value::Text(word)) => Some((word.clone(), item.span.clone())),
                    _ => None,
                });
                let parsed = shell::read_words(words.collect());
                let is_command = parsed.commands.first().is_some_and(|command| shell::starts_program(&command.program));
                return (is_command && !parsed.found.is_empty()).then_some(Parsed { body: Body::Printed, ..parsed });
            }
            Notation::Fields => (python::fields(text, 0), 3),
            Notation::Brackets { is_named } => {
                (python::value(text, 0)?, if is_named || self.pieces.len() > 1 { FEW } else { MANY })
            }
            Notation::Assignments => (self.listed(assignment), 2),
            Notation::Dots => (self.listed(first_lines::dots), 3),
            Notation::Colons => (self.listed(colons), 3),
        };
        let is_nested = matches!(&root.shape, tree::Shape::Map(members) if members.iter().any(|member| !member.value.children().is_empty()));
        let settings = flatten(std::iter::once((String::new(), &root))).ok()?;
        let is_config = settings.entries.len() >= least && (least < MANY || is_nested);
        let found: Vec<FoundSetting> = settings.entries;
        is_config.then_some(Parsed { body: Body::Printed, found, commands: Vec::new() })
    }

    /// The settings of a notation with one setting per line.
    fn listed(&self, key_and_value: impl Fn(&str) -> Option<(Range<usize>, Range<usize>)>) -> Node {
        let mut members: Vec<Member> = Vec::new();
        let ends = self.pieces.iter().skip(1).map(|(_, start, _)| start - 1).chain([self.text.len()]);
        let lines: Vec<Range<usize>> = self.pieces.iter().zip(ends).map(|((_, start, _), end)| *start..end).collect();
        for (number, line) in lines.iter().enumerate() {
            let Some((key, value)) = key_and_value(&self.text[line.clone()]) else { continue };
            // A value continues up to the line of the next setting.
            let more =
                lines[number + 1..].iter().take_while(|next| key_and_value(&self.text[(*next).clone()]).is_none());
            let end = more.last().map_or(line.start + value.end, |last| last.end);
            let span = line.start + value.start..end;
            let at = line.start + key.start..line.start + key.end;
            let name = self.text[at.clone()].to_owned();
            members.push(Member { key: name, at, value: Arc::new(printed_value(&self.text, span)) });
        }
        Node::new(0..self.text.len(), tree::Shape::Map(members))
    }
}

/// The process that wrote a line, as far as its prefixes identify it.
fn writer<'l>(line: &'l Line<'_>) -> (Option<&'l str>, Option<&'l str>, Option<u32>, Option<u32>) {
    let envelope = line.envelope();
    let words = |span: &Option<Range<usize>>| span.as_ref().map(|span| line.words(span));
    (words(&envelope.host), words(&envelope.role), envelope.pid, envelope.rank)
}

/// A value as Python's `str()` prints it: strings without quotes.
fn printed_value(text: &str, span: Range<usize>) -> Node {
    let words = &text[span.clone()];
    let name = word_length(words);
    let looks_like_fields = name > 0 && words[name..].starts_with('=');
    let node = match words.as_bytes().first() {
        Some(b'{' | b'[' | b'(' | b'<') => python::value(&text[..span.end], span.start),
        // DeepSpeed's sections: `stage=2 contiguous_gradients=True …`
        _ if looks_like_fields && words.contains(' ') => Some(python::fields(&text[..span.end], span.start)),
        _ => None,
    };
    node.unwrap_or_else(|| Node::new(span.clone(), tree::Shape::Scalar(Value::of_word(words.trim()))))
}

/// The spans of key and value in `key=value,`, as `TrainingArguments.__str__` prints it.
fn assignment(body: &str) -> Option<(Range<usize>, Range<usize>)> {
    let name = word_length(body);
    let value = body[name..].strip_prefix('=')?.strip_suffix(',')?;
    (name > 0).then(|| (0..name, name + 1..name + 1 + value.len()))
}

/// The spans of key and value in `  min_nodes        : 1`.
fn colons(body: &str) -> Option<(Range<usize>, Range<usize>)> {
    let start = body.len() - body.trim_start().len();
    let name = word_length(&body[start..]);
    let value = body[start + name..].trim_start().strip_prefix(": ")?;
    let from = body.len() - value.len();
    (name > 0).then(|| (start..start + name, from..from + value.trim_end().len()))
}

/// Counts open brackets line by line. A string ends at the latest with its line.
#[derive(Debug, Default, Clone)]
struct Brackets {
    depth: usize,
}

impl Brackets {
    fn read(&mut self, line: &str) {
        let (mut quote, mut escaped) = (None, false);
        for byte in line.bytes() {
            match (byte, quote) {
                _ if escaped => escaped = false,
                (b'\\', Some(_)) => escaped = true,
                (_, Some(open)) if byte == open => quote = None,
                (_, Some(_)) => {}
                (b'\'' | b'"', None) => quote = Some(byte),
                (b'{' | b'[' | b'(', None) => self.depth += 1,
                (b'}' | b']' | b')', None) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
