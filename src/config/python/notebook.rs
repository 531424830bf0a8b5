//! Jupyter's notebooks: the code of their cells, and the commands that magics start (nbformat 4: `cells[].cell_type`, `cells[].source`).

use std::ops::Range;

use super::super::edit::LineStarts;
use super::super::entry::{FoundCommand, FoundSetting};
use super::super::tree::{Node, Shape};
use super::super::{Body, EntryKind, Parsed, Value, json, shell};
use crate::model::LineNumber;

/// Where the code of a notebook stands in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    code: String,
    /// For each byte of the code, and for its end, the byte of the notebook.
    at: Vec<usize>,
}

impl super::Code {
    /// A span of the code as one of the text, which differ in a notebook.
    pub fn outside(&self, span: &Range<usize>) -> Range<usize> {
        self.notebook.as_ref().map_or_else(|| span.clone(), |places| places.outside(span))
    }
}

impl Places {
    pub fn code(&self) -> &str {
        &self.code
    }

    /// A span of the code as one of the notebook.
    pub fn outside(&self, span: &Range<usize>) -> Range<usize> {
        let end = self.at.last().copied().unwrap_or_default();
        let at = |place: usize| self.at.get(place).copied().unwrap_or(end);
        // What ends with its text's last letter ends before the quote that follows there.
        match span.end.checked_sub(1).filter(|last| *last >= span.start) {
            Some(last) => at(span.start)..at(last) + self.width(last),
            None => at(span.start)..at(span.start),
        }
    }

    /// How many bytes the byte at `place` of the code takes in the notebook.
    fn width(&self, place: usize) -> usize {
        match self.code.as_bytes().get(place) {
            Some(b'\n' | b'\t' | b'\r' | b'"' | b'\\') => 2,
            _ => 1,
        }
    }

    /// A span of the notebook as one of its code.
    pub fn within(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let start = self.at.binary_search(&span.start).ok()?;
        let end = self.at.partition_point(|place| *place < span.end);
        Some(start..end)
    }

    /// Adds `source`, the text of the notebook's string at `span`.
    fn add(&mut self, text: &str, span: &Range<usize>) {
        let mut letters = text.get(span.start + 1..span.end.saturating_sub(1)).unwrap_or_default().char_indices();
        while let Some((at, letter)) = letters.next() {
            let place = span.start + 1 + at;
            let letter = match letter {
                '\\' => match letters.next().map(|(_, escaped)| escaped) {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some('u') => {
                        letters.nth(3);
                        ' '
                    }
                    Some(escaped) => escaped,
                    None => return,
                },
                letter => letter,
            };
            self.code.push(letter);
            self.at.extend((0..letter.len_utf8()).map(|byte| place + byte));
        }
    }

    fn end_line(&mut self, place: usize) {
        if !self.code.is_empty() && !self.code.ends_with('\n') {
            self.code.push('\n');
            self.at.push(place);
        }
    }
}

/// `text` as it stands in a string of JSON.
pub(super) fn escaped(text: &str) -> String {
    let written = serde_json::Value::from(text).to_string();
    written[1..written.len() - 1].to_owned()
}

/// Whether `text` is a notebook.
pub(super) fn is_notebook(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"cells\"") && text.contains("\"cell_type\"")
}

/// The settings in the notebook `text`; `None` if it does not parse.
pub(super) fn read(text: &str) -> Option<Parsed> {
    let root = json::read(text).ok()??;
    let mut places = Places::default();
    for cell in items(member(&root, "cells")?) {
        if member(cell, "cell_type").is_some_and(|kind| is_text(kind, "code")) {
            let source = member(cell, "source")?;
            match &source.shape {
                Shape::List(lines) => lines.iter().for_each(|line| places.add(text, &line.span)),
                _ => places.add(text, &source.span),
            }
            places.end_line(source.span.end);
        }
    }
    places.at.push(places.at.last().map_or(0, |last| last + 1));
    let (blank, commands) = without_magics(&places.code);
    let mut parsed = super::read(&blank);
    for span in commands {
        let command = &places.code[span.clone()];
        let known = parsed.commands.len();
        let (found, commands) =
            shell::read(command).placed(known, |inner| inner.start + span.start..inner.end + span.start);
        parsed.found.extend(found.into_iter().map(|setting| FoundSetting { defined: None, ..setting }));
        parsed.commands.extend(commands);
    }
    parsed.found.extend(variables(&places.code));
    let outside = |span: Range<usize>| places.outside(&span);
    for setting in &mut parsed.found {
        setting.span = outside(setting.span.clone());
        setting.defined = setting.defined.take().map(outside);
    }
    let place = |command: FoundCommand| FoundCommand { at: outside(command.at..command.at).start, ..command };
    parsed.commands = parsed.commands.into_iter().map(place).collect();
    if let Body::Python(code) = &mut parsed.body {
        code.notebook = Some(places);
    }
    Some(parsed)
}

/// What the notebook's cells printed, each line with the number of the line of the notebook in which it stands.
pub(super) fn printed(text: &str) -> Option<Vec<(LineNumber, String)>> {
    let root = json::read(text).ok()??;
    let (starts, mut lines) = (LineStarts::of(text), Vec::new());
    let mut add = |texts: &Node| {
        let all: Vec<&Node> = if matches!(texts.shape, Shape::List(_)) { items(texts).collect() } else { vec![texts] };
        for node in all {
            if let Shape::Scalar(Value::Text(words)) = &node.shape {
                let number = starts.locate(node.span.start).0;
                lines.extend(words.lines().map(|line| (number, line.to_owned())));
            }
        }
    };
    for output in items(member(&root, "cells")?).filter_map(|cell| member(cell, "outputs")).flat_map(items) {
        ["text", "traceback"].into_iter().filter_map(|name| member(output, name)).for_each(&mut add);
    }
    Some(lines)
}

/// The code with blanks in place of magics, and where the commands stand that those start.
fn without_magics(code: &str) -> (String, Vec<Range<usize>>) {
    let (mut blank, mut commands, mut at) = (String::with_capacity(code.len()), Vec::new(), 0);
    let mut is_command = false;
    for line in code.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let is_magic = line[indent..].starts_with(['!', '%']);
        if line[indent..].starts_with('!') && !is_command {
            commands.push(at + indent + 1..at + line.len());
        } else if is_command && let Some(last) = commands.last_mut() {
            last.end = at + line.len();
        }
        match is_magic || is_command {
            true => blank.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            false => blank.push_str(line),
        }
        is_command = (is_command || line[indent..].starts_with('!')) && line.trim_end().ends_with('\\');
        at += line.len();
    }
    (blank, commands)
}

/// `%env NAME=value`
fn variables(code: &str) -> Vec<FoundSetting> {
    let mut at = 0;
    let of_line = |line: &str| {
        let start = at;
        at += line.len();
        let (name, value) = line.strip_prefix("%env ")?.trim_end().split_once('=')?;
        let from = start + line.find('=')? + 1;
        Some(FoundSetting::new(name.trim(), Value::of_word(value), EntryKind::Env, from..from + value.len()))
    };
    code.split_inclusive('\n').filter_map(of_line).collect()
}

fn member<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    let Shape::Map(members) = &node.shape else { return None };
    members.iter().find(|member| member.key == name).map(|member| &*member.value)
}

fn items(node: &Node) -> impl Iterator<Item = &Node> {
    let items = if let Shape::List(items) = &node.shape { items.as_slice() } else { &[] };
    items.iter().map(|item| &**item)
}

fn is_text(node: &Node, text: &str) -> bool {
    matches!(&node.shape, Shape::Scalar(Value::Text(words)) if words == text)
}
