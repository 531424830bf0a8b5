//! Configurations that jobs print into their logs.
//!
//! In goes a piece of a log; out come documents that can be read like any other and not be edited: commands that `set -x`,
//! DeepSpeed's launcher or Ray repeat, argparse's `Namespace(…)`, transformers' `TrainingArguments(…)`, Megatron's and
//! DeepSpeed's lists with dots, dictionaries and JSON over many lines, what vLLM and SGLang say of their engines. What others
//! put before each line (time stamps, ranks, Ray's actors) does not matter, nor do lines of other processes in between.

mod first_lines;
mod python;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::entry::Found;
use super::tree::{Member, Node};
use super::value::word_length;
use super::{Body, Document, Format, Parsed, Value, flatten, shell, tree};
use crate::model::{Citation, Column, LineNumber, Location};
use crate::parse::Line;
use crate::scan::RawLine;
use first_lines::{Head, Shape};

/// The configurations printed in `log`, in order, whose first line has the number `first` in the input called `path`. One that
/// several processes print alike comes once.
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
    /// What was printed already.
    seen: HashSet<String>,
    open: Option<Printed<'a>>,
    /// The last line, where it has no end: what it ends with may go on.
    torn: Option<LineNumber>,
}

/// Where a configuration goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// With this line, and perhaps further.
    On,
    /// It ends with this line.
    End,
    /// This line is none of it.
    Not,
}

/// As many lines may others print in between.
const STRANGERS: usize = 40;

/// Settings of what introduces itself as a configuration, at least, and of a line that does not.
const FEW: usize = 2;
const MANY: usize = 12;

/// A configuration of more lines is none.
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
        let is_over = matches!(head.shape, Shape::Command | Shape::List | Shape::Fields);
        let printed = Printed::new(head, line);
        if is_over || printed.is_closed() {
            self.finish(printed);
        } else if let Some(open) = self.open.replace(printed) {
            // Only one is followed at a time.
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

/// A configuration as its lines come.
struct Printed<'a> {
    head: Head,
    /// Each line, where it begins in the text, and where that is in the line's body.
    pieces: Vec<(Line<'a>, usize, usize)>,
    text: String,
    brackets: Brackets,
    strangers: usize,
}

impl<'a> Printed<'a> {
    fn new(head: Head, line: Line<'a>) -> Printed<'a> {
        let mut brackets = Brackets::default();
        let part = line.body().get(head.part.clone()).unwrap_or_default().to_owned();
        if matches!(head.shape, Shape::Brackets { .. }) {
            brackets.read(&part);
        } else if let (Shape::Dots, Some((_, value))) = (head.shape, first_lines::dots(&part)) {
            brackets.read(&part[value]);
        }
        let from = head.part.start;
        Printed { head, pieces: vec![(line, 0, from)], text: part, brackets, strangers: 0 }
    }

    fn is_closed(&self) -> bool {
        matches!(self.head.shape, Shape::Brackets { .. }) && self.brackets.depth == 0
    }

    /// Whether the configuration goes on with this line.
    fn next(&mut self, line: &Line<'_>) -> Next {
        let is_same = self.pieces.last().is_some_and(|(last, _, _)| writer(last) == writer(line));
        let body = line.body();
        let is_inner = body.starts_with([' ', '\t', '}', ']', ')']);
        if !is_same {
            return Next::Not;
        }
        match self.head.shape {
            Shape::Brackets { .. } if is_inner => {
                self.brackets.read(body);
                if self.brackets.depth == 0 { Next::End } else { Next::On }
            }
            Shape::Assignments if body.trim() == ")" => Next::End,
            Shape::Assignments if assignment(body).is_some() => Next::On,
            Shape::Dots => match first_lines::dots(body) {
                Some((_, value)) => {
                    self.brackets = Brackets::default();
                    self.brackets.read(&body[value]);
                    Next::On
                }
                // A value of several lines.
                None if is_inner && self.brackets.depth > 0 => {
                    self.brackets.read(body);
                    Next::On
                }
                None => Next::Not,
            },
            Shape::Colons if colons(body).is_some() => Next::On,
            _ => Next::Not,
        }
    }

    fn push(&mut self, line: Line<'a>) {
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(line.body());
        self.pieces.push((line, start, 0));
    }

    /// What stands at `span` of the text, as far as it is one line.
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

    /// The settings in it; `None` where it turns out to be none.
    fn read(&self) -> Option<Parsed> {
        let text = self.text.as_str();
        let (root, least) = match self.head.shape {
            Shape::Command => {
                let parsed = shell::read(text);
                return (!parsed.found.is_empty()).then_some(Parsed { body: Body::Printed, ..parsed });
            }
            Shape::List => {
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
            Shape::Fields => (python::fields(text, 0), 3),
            Shape::Brackets { is_named } => {
                (python::value(text, 0)?, if is_named || self.pieces.len() > 1 { FEW } else { MANY })
            }
            Shape::Assignments => (self.listed(assignment), 2),
            Shape::Dots => (self.listed(first_lines::dots), 3),
            Shape::Colons => (self.listed(colons), 3),
        };
        let is_nested = matches!(&root.shape, tree::Shape::Map(members) if members.iter().any(|member| !member.value.children().is_empty()));
        let settings = flatten(std::iter::once((String::new(), &root))).ok()?;
        let is_config = settings.entries.len() >= least && (least < MANY || is_nested);
        let found: Vec<Found> = settings.entries;
        is_config.then_some(Parsed { body: Body::Printed, found, commands: Vec::new() })
    }

    /// The settings of lines that have one each.
    fn listed(&self, key_and_value: impl Fn(&str) -> Option<(Range<usize>, Range<usize>)>) -> Node {
        let mut members: Vec<Member> = Vec::new();
        let ends = self.pieces.iter().skip(1).map(|(_, start, _)| start - 1).chain([self.text.len()]);
        let lines: Vec<Range<usize>> = self.pieces.iter().zip(ends).map(|((_, start, _), end)| *start..end).collect();
        for (number, line) in lines.iter().enumerate() {
            let Some((key, value)) = key_and_value(&self.text[line.clone()]) else { continue };
            // A value of several lines ends where the next setting begins.
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

/// Who wrote a line, as far as its prefixes say.
fn writer<'l>(line: &'l Line<'_>) -> (Option<&'l str>, Option<&'l str>, Option<u32>, Option<u32>) {
    let envelope = line.envelope();
    let words = |span: &Option<Range<usize>>| span.as_ref().map(|span| line.words(span));
    (words(&envelope.host), words(&envelope.role), envelope.pid, envelope.rank)
}

/// A value as `str()` prints it: strings without quotes.
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

/// `key=value,` of `TrainingArguments.__str__`: where the two stand.
fn assignment(body: &str) -> Option<(Range<usize>, Range<usize>)> {
    let name = word_length(body);
    let value = body[name..].strip_prefix('=')?.strip_suffix(',')?;
    (name > 0).then(|| (0..name, name + 1..name + 1 + value.len()))
}

/// `  min_nodes        : 1`: where key and value stand.
fn colons(body: &str) -> Option<(Range<usize>, Range<usize>)> {
    let start = body.len() - body.trim_start().len();
    let name = word_length(&body[start..]);
    let value = body[start + name..].trim_start().strip_prefix(": ")?;
    let from = body.len() - value.len();
    (name > 0).then(|| (start..start + name, from..from + value.trim_end().len()))
}

/// How many brackets are open, line by line. Strings do not go on over a line's end.
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
