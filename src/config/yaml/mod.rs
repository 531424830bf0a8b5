//! YAML, as accelerate, EasyR1, verl, LLaMA-Factory, Kubernetes and compose use it.
//!
//! Keys are paths; in a stream of several documents they begin with `documents[0].`. An alias reads as the node that it
//! refers to: setting the alias gives it a value of its own, setting the anchored node changes both. Merged members
//! (`<<`) read like the mapping's own; setting one adds it to the mapping.

mod edit;
mod programs;
mod removal;
mod scalar;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

use super::error::Remark;
use super::path::PathStep;
use super::tree::{Member, Node, Shape};
use super::{EditError, Value};

pub(super) use edit::set;
pub(super) use programs::started;

/// The documents of a stream.
#[derive(Debug, Clone)]
pub(super) struct Stream(Vec<Node>);

impl Stream {
    /// Each document with the prefix of its keys.
    pub fn documents(&self) -> impl Iterator<Item = (String, &Node)> {
        let many = self.0.len() > 1;
        self.0.iter().enumerate().map(move |(at, node)| {
            let prefix = if many { format!("documents[{at}]") } else { String::new() };
            (prefix, node)
        })
    }

    /// The document that `steps` lead to, and the remaining steps within it.
    pub fn find<'a>(&self, steps: &'a [PathStep]) -> Result<(&Node, &'a [PathStep]), EditError> {
        let missing = || EditError::NoDocument { key: super::path::join(steps), count: self.0.len() };
        match (self.0.as_slice(), steps) {
            ([only], _) => Ok((only, steps)),
            (all, [PathStep::Key(word), PathStep::Index(at), rest @ ..]) if word == "documents" => {
                all.get(*at).map(|node| (node, rest)).ok_or_else(missing)
            }
            _ => Err(missing()),
        }
    }
}

/// The documents in `text`, or the first syntax error.
pub(super) fn read(text: &str) -> Result<Stream, Remark> {
    // A byte order mark would count as a column.
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    parse(text, body).or_else(|error| match with_closing_brackets_joined(body) {
        joined if joined == body => Err(error),
        joined => parse(text, &joined).map_err(|_| error),
    })
}

/// `body` with a blank instead of the line break before each closing bracket that begins a line. PyYAML accepts such a bracket, as
/// PaddleDetection's `_BASE_: [ … ]` has it; YAML 1.2 wants it indented. Every character keeps its place.
fn with_closing_brackets_joined(body: &str) -> String {
    let mut joined = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        // A comment would go on.
        let has_comment = |before: &str| before.rsplit('\n').nth(1).is_some_and(|last| last.contains('#'));
        if line.starts_with([']', '}']) && joined.ends_with('\n') && !has_comment(&joined) {
            joined.pop();
            joined.push(' ');
        }
        joined.push_str(line);
    }
    joined
}

/// The documents of `body`, whose characters stand at the same places as those of `text`.
fn parse(text: &str, body: &str) -> Result<Stream, Remark> {
    let offset = text.len() - body.len();
    let mut bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(usize::from(offset > 0)).collect();
    bytes.push(text.len());
    let mut reader =
        NodeReader { text, parser: Parser::new_from_str(body), bytes, anchors: HashMap::new(), end: offset };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            event => documents.push(reader.node(event, span, 0)?),
        }
    }
    // An empty document at the end does not count, unless it is the only one.
    let is_empty = |node: &Node| matches!(node.shape, Shape::Scalar(Value::Null)) && node.span.is_empty();
    if documents.len() > 1 && documents.last().is_some_and(is_empty) {
        documents.pop();
    }
    Ok(Stream(documents))
}

struct NodeReader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    /// The byte offset of each character, since the parser counts characters.
    bytes: Vec<usize>,
    anchors: HashMap<usize, Arc<Node>>,
    /// The end of the last node read.
    end: usize,
}

impl<'a> NodeReader<'a> {
    /// The next event with its bytes; [`Event::StreamEnd`] for ever behind the last one.
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), Remark> {
        match self.parser.next_event() {
            None => Ok((Event::StreamEnd, self.text.len()..self.text.len())),
            Some(Ok((event, Span { start, end }))) => Ok((event, self.byte(&start)..self.byte(&end))),
            Some(Err(error)) => Err(Remark::new(self.byte(error.marker()), error.info())),
        }
    }

    fn byte(&self, marker: &Marker) -> usize {
        self.bytes.get(marker.index()).copied().unwrap_or(self.text.len())
    }

    /// The node that begins with `event`.
    fn node(&mut self, event: Event<'a>, span: Range<usize>, depth: usize) -> Result<Node, Remark> {
        if depth > Node::DEEPEST {
            return Err(Remark::new(span.start, "nested too deeply"));
        }
        // Move behind an opening bracket; a block collection has no bytes of its own at its start.
        if matches!(event, Event::SequenceStart(..) | Event::MappingStart(..)) && !span.is_empty() {
            self.end = self.end.max(span.end);
        }
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let value = match style {
                    ScalarStyle::Plain if !is_text => scalar::resolve(&text),
                    _ => Value::Text(text.into_owned()),
                };
                (self.scalar(value, style, span), anchor)
            }
            Event::Alias(of) => {
                let of = self.anchors.get(&of).cloned();
                // An alias within its own anchor has no finite value.
                let shape = of.map_or(Shape::Scalar(Value::Null), Shape::Alias);
                (Node::new(span, shape), 0)
            }
            Event::SequenceStart(anchor, _) => (self.sequence(span, depth)?, anchor),
            Event::MappingStart(anchor, _) => (self.mapping(span, depth)?, anchor),
            _ => return Err(Remark::new(span.start, "a value should stand here")),
        };
        self.end = self.end.max(node.span.end);
        if anchor > 0 {
            self.anchors.insert(anchor, Arc::new(node.clone()));
        }
        Ok(node)
    }

    /// The offset behind the anchor and the tag at `at`.
    fn behind_properties(&self, mut at: usize) -> usize {
        while self.text[at..].starts_with(['&', '!']) {
            let rest = &self.text[at..];
            let name = rest.find(|c: char| c.is_whitespace() || ",[]{}".contains(c)).unwrap_or(rest.len());
            at += name + (rest[name..].len() - rest[name..].trim_start().len());
        }
        at
    }

    fn scalar(&self, value: Value, style: ScalarStyle, event: Range<usize>) -> Node {
        let text = self.text;
        let has_properties = |start: usize| text[start..].starts_with(['&', '!']);
        let (span, whole) = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let letter = if style == ScalarStyle::Literal { '|' } else { '>' };
                let header = text
                    .get(self.end..event.start)
                    .and_then(|before| before.find(letter))
                    .map_or(event.start, |at| self.end + at);
                let end = header + text[header..event.end.max(header)].trim_end().len();
                // The trailing blank lines belong only to a scalar that keeps them (`|+`, `>+`).
                let keeps = text[header..]
                    .lines()
                    .next()
                    .is_some_and(|line| line.split('#').next().unwrap_or("").contains('+'));
                let newline = usize::from(text[..event.end].ends_with('\n'));
                (header..end, header..if keeps { end.max(event.end - newline) } else { end })
            }
            // A missing value. The event's span may lie at the next token, so the node is placed behind the colon or
            // dash before it.
            ScalarStyle::Plain if value == Value::Null && !text[event.clone()].contains(['~', 'n', 'N']) => {
                let at = match has_properties(event.start) {
                    true => text[..self.behind_properties(event.start).min(event.end)].trim_end().len(),
                    false => behind_colon(text, self.end),
                };
                (at..at, if has_properties(event.start) { event.start..at } else { at..at })
            }
            _ => {
                let start = self.behind_properties(event.start).min(event.end);
                let end = start + text[start..event.end].trim_end().len();
                (start..end, event.start..end)
            }
        };
        Node { span, whole, is_flow: false, shape: Shape::Scalar(value) }
    }

    fn sequence(&mut self, start: Range<usize>, depth: usize) -> Result<Node, Remark> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                let last = items.last().map_or(start.end, |item: &Arc<Node>| item.whole.end);
                return Ok(self.collection(start, span, last, Shape::List(items)));
            }
            if start.is_empty() {
                self.end = behind_dash(self.text, self.end).unwrap_or(self.end);
            }
            items.push(Arc::new(self.node(event, span, depth + 1)?));
        }
    }

    fn mapping(&mut self, start: Range<usize>, depth: usize) -> Result<Node, Remark> {
        let mut members = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let last = members.last().map_or(start.end, |member: &Member| member.span().end);
                return Ok(self.collection(start, span, last, Shape::Map(members)));
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = Arc::new(self.node(event, span, depth + 1)?);
            let name = match key.shape {
                Shape::Scalar(Value::Text(name)) => name,
                _ => self.text[key.span.clone()].to_owned(),
            };
            members.push(Member { key: name, at: key.span, value });
        }
    }

    /// A collection between the events of its start and its end. In block style it ends with its last child, at `last`.
    fn collection(&mut self, start: Range<usize>, end: Range<usize>, last: usize, shape: Shape) -> Node {
        let at = self.behind_properties(start.start);
        // Only a bracket marks the end; the event may include more of its line.
        let is_flow = self.text[at..].starts_with(['{', '[']) && !end.is_empty();
        let first = match &shape {
            Shape::Map(members) => members.first().map(|member| member.at.start),
            Shape::List(items) => items.first().map(|item| item.whole.start),
            _ => None,
        };
        let start_of_block = first.unwrap_or(at);
        let span = match is_flow {
            true => at..(end.start + 1).max(at),
            false => start_of_block..last.max(start_of_block),
        };
        self.end = self.end.max(span.end);
        Node { whole: start.start.min(span.start)..span.end, span, is_flow, shape }
    }
}

/// The offset behind the dash of the item that begins after `at`.
fn behind_dash(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text[at..].trim_start_matches(|c: char| c.is_whitespace() || c == ':');
        at = text.len() - rest.len();
        match rest.as_bytes().first()? {
            b'-' => return Some(at + 1),
            b'#' => at += rest.find('\n')?,
            b'&' | b'!' => at += rest.find(char::is_whitespace)?,
            _ => return None,
        }
    }
}

/// The offset behind the colon at `at`, which blanks may precede; `at` itself if there is none.
fn behind_colon(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if rest[blanks..].starts_with(':') { at + blanks + 1 } else { at }
}

#[cfg(test)]
mod tests;
