//! Edits to a text, as byte spans and what replaces them, and helpers that find where lines begin and end.

use std::ops::Range;

use crate::model::{Column, LineNumber, Location};

/// One edit: the bytes in `span` are replaced by `with`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub span: Range<usize>,
    pub with: String,
}

impl Edit {
    pub fn replace(span: Range<usize>, with: impl Into<String>) -> Edit {
        Edit { span, with: with.into() }
    }

    pub fn insert(at: usize, with: impl Into<String>) -> Edit {
        Edit::replace(at..at, with)
    }

    pub fn delete(span: Range<usize>) -> Edit {
        Edit::replace(span, "")
    }

    /// This edit for a larger text that contains the edited one from byte `offset` on.
    pub fn moved(self, offset: usize) -> Edit {
        Edit { span: self.span.start + offset..self.span.end + offset, with: self.with }
    }
}

/// `text` with `edits` applied. They must not overlap; those at the same place are applied in the order given.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let (mut result, mut at) = (String::with_capacity(text.len() + 64), 0);
    for edit in edits {
        result.push_str(text.get(at..edit.span.start).unwrap_or_default());
        result.push_str(&edit.with);
        at = at.max(edit.span.end);
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

/// The byte offset at which each line of a text begins.
#[derive(Debug, Clone)]
pub(super) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub fn of(text: &str) -> LineStarts {
        LineStarts(std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect())
    }

    /// The line of the byte at `offset`, and its column in bytes.
    pub fn locate(&self, offset: usize) -> (LineNumber, Column) {
        let line = self.0.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.0.get(line)).copied().unwrap_or(0);
        (LineNumber(line as u64), Column((offset - start) as u64 + 1))
    }

    /// The offset of the byte at `place`.
    pub fn offset(&self, place: &Location) -> usize {
        let start = self.0.get((place.line.0 as usize).saturating_sub(1)).copied().unwrap_or(0);
        start + (place.column.0 as usize).saturating_sub(1)
    }
}

/// The start of the line that contains `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The end of the line that contains `at`, before its line ending.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    if end > at && text[..end].ends_with('\r') { end - 1 } else { end }
}

/// The start of the line after the one that contains `at`.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// The leading blanks of the line that contains `at`.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.bytes().take_while(|byte| is_blank(*byte)).count()]
}

/// The line ending that `text` uses.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_edits_in_the_order_of_the_text() {
        let edits = vec![Edit::delete(4..5), Edit::insert(1, "b"), Edit::insert(1, "c"), Edit::replace(2..3, "X")];
        assert_eq!(apply("a-d-ef", edits), "abc-X-f");
    }

    #[test]
    fn knows_where_lines_begin_and_end() {
        let text = "a\r\n  bc\r\nd";
        assert_eq!(LineStarts::of(text).locate(6), (LineNumber(2), Column(4)));
        assert_eq!(LineStarts::of(text).locate(10), (LineNumber(3), Column(2)));
        assert_eq!((line_start(text, 6), line_end(text, 6), next_line(text, 6)), (3, 7, 9));
        assert_eq!((line_end(text, 1), line_end(text, 10)), (1, 10));
        assert_eq!((indentation(text, 6), newline(text)), ("  ", "\r\n"));
    }
}
