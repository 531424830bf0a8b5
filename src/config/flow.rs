//! Inserts children into the `{…}` and `[…]` of JSON, YAML and TOML.
//!
//! Only the gaps between children are inspected; they hold nothing but blanks, commas and comments (`//…`, `#…`,
//! `/*…*/`).

use std::ops::Range;

use super::edit::{Edit, indentation, is_blank, line_end, line_start, newline};

/// How the new child of a collection is to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'a> {
    /// Its indentation, if it gets a line of its own.
    pub indent: Option<&'a str>,
    /// Blanks that one level of nesting adds.
    pub unit: &'a str,
    /// The text's line ending.
    pub newline: &'a str,
}

/// `text` with its comments replaced by blanks, so that every byte keeps its place. Comment marks inside strings do not
/// count.
pub(super) fn without_comments(text: &str) -> String {
    let (bytes, mut shadow, mut at) = (text.as_bytes(), String::with_capacity(text.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let comment = comment_end(text, at);
        shadow.extend(bytes[at..comment].iter().map(|byte| if *byte == b'\n' { '\n' } else { ' ' }));
        let end = match byte {
            _ if comment > at => comment,
            b'"' | b'\'' => string_end(bytes, at),
            _ => {
                at + 1 + bytes[at + 1..].iter().position(|byte| b"\"'#/".contains(byte)).unwrap_or(bytes.len() - at - 1)
            }
        };
        shadow.push_str(&text[at.max(comment)..end]);
        at = end;
    }
    shadow
}

/// The end of the comment that begins at `at`; `at` itself if none begins there.
fn comment_end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    if rest.starts_with(b"//") || rest.starts_with(b"#") {
        at + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
    } else if rest.starts_with(b"/*") {
        memchr::memmem::find(&rest[2..], b"*/").map_or(at, |end| at + end + 4)
    } else {
        at
    }
}

/// The byte behind the closing quote of the string that begins at `start`. A string ends at the latest with its line.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii) => at += 1,
            b'\n' => return at,
            byte if *byte == bytes[start] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Whether the rest of the line from `at` on is blank or a comment.
fn line_is_done(text: &str, at: usize) -> bool {
    let rest = text[at..line_end(text, at)].trim_start();
    rest.is_empty() || rest.starts_with('#') || rest.starts_with("//")
}

/// The start and the text, without comments, of the gap between child `index` and the next child or the closing
/// bracket.
fn gap(text: &str, collection: &Range<usize>, children: &[Range<usize>], index: usize) -> (usize, String) {
    let start = children.get(index).map_or(collection.end - 1, |child| child.end);
    let end = children.get(index + 1).map_or(collection.end - 1, |next| next.start);
    (start, without_comments(text.get(start..end).unwrap_or_default()))
}

/// Whether only blanks and comments precede `child` on its line.
fn begins_line(text: &str, collection: &Range<usize>, child: &Range<usize>) -> bool {
    let start = line_start(text, child.start);
    start > collection.start && without_comments(&text[start..child.start]).trim().is_empty()
}

fn comma(text: &str, collection: &Range<usize>, children: &[Range<usize>], index: usize) -> Option<usize> {
    let (start, gap) = gap(text, collection, children, index);
    gap.find(',').map(|at| start + at)
}

/// Whether `children` follow each other within the brackets. YAML's empty keys (`{? }`) may violate this.
fn is_in_order(collection: &Range<usize>, children: &[Range<usize>]) -> bool {
    let end = children.iter().try_fold(collection.start + 1, |at, child| {
        (at <= child.start && child.start <= child.end).then_some(child.end)
    });
    end.is_some_and(|end| end < collection.end)
}

/// Inserts a child at the end of `collection`, laid out like the last one. `None` if the children's spans are out of
/// order, so that the end of the collection is unknown.
pub(super) fn insert(
    text: &str,
    collection: &Range<usize>,
    children: &[Range<usize>],
    unit: &str,
    render: impl Fn(Layout<'_>) -> String,
) -> Option<Vec<Edit>> {
    if !is_in_order(collection, children) {
        return None;
    }
    let newline = newline(text);
    let layout = |indent| Layout { indent, unit, newline };
    let Some((last, before)) = children.split_last() else {
        return Some(insert_first(text, collection, unit, &render));
    };
    let index = before.len();
    let trailing = comma(text, collection, children, index);
    let has_commas = index == 0 || comma(text, collection, children, index - 1).is_some();
    let mut edits = Vec::new();
    if trailing.is_none() && has_commas {
        edits.push(Edit::insert(last.end, ","));
    }
    let comma_after = if trailing.is_some() { "," } else { "" };
    let behind = trailing.map_or(last.end, |comma| comma + 1);
    if begins_line(text, collection, last) {
        let indent = indentation(text, last.start);
        let child = render(layout(Some(indent)));
        let at = if line_is_done(text, behind) { line_end(text, behind) } else { behind };
        edits.push(Edit::insert(at, format!("{newline}{indent}{child}{comma_after}")));
    } else {
        let blanks = match before.last() {
            Some(previous) => text[previous.end..last.start].trim_start().strip_prefix(','),
            None => None,
        };
        let blanks = blanks.filter(|blanks| blanks.bytes().all(is_blank)).unwrap_or(" ");
        edits.push(Edit::insert(behind, format!("{blanks}{}{comma_after}", render(layout(None)))));
    }
    Some(edits)
}

/// Inserts a child into an empty collection: on a line of its own if the collection spans several lines or is the whole
/// text.
fn insert_first(
    text: &str,
    collection: &Range<usize>,
    unit: &str,
    render: &impl Fn(Layout<'_>) -> String,
) -> Vec<Edit> {
    let newline = newline(text);
    let inner = collection.start + 1..collection.end - 1;
    let is_everything = text.trim().len() == collection.len();
    if !text[inner.clone()].contains('\n') && !is_everything {
        return vec![Edit::replace(inner, render(Layout { indent: None, unit, newline }))];
    }
    let outer = indentation(text, collection.start);
    let indent = format!("{outer}{unit}");
    let child = render(Layout { indent: Some(&indent), unit, newline });
    let comments = text[inner.clone()].trim_end();
    vec![Edit::replace(inner.start + comments.len()..inner.end, format!("{newline}{indent}{child}{newline}{outer}"))]
}
