//! One line as its writer wrote it, and the prefixes around it.
//!
//! Physical lines come in; [`Line`]s go out, freed of colours, escapes, wrappers and prefixes, with each byte's position in the input kept.
//! Nothing here knows what a line means.

mod clean;
pub(super) mod clock;
mod cut;
mod envelope;
pub(super) mod progress;

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use clean::clean;
pub(crate) use clean::removed as terminal_code;

use crate::model::{Citation, Column, LineNumber, Location};
use crate::scan::RawLine;
pub use envelope::Envelope;
use envelope::Writer;

/// One line as its writer wrote it: without colours, escapes and control characters, separated from other lines that a progress bar or a
/// JSON wrapper put into the same physical line, and with its prefixes peeled off.
///
/// The position of each byte in the input is kept.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// The physical line.
    pub number: LineNumber,
    /// At which byte of the physical line `raw` begins, from 0.
    column: u64,
    /// The bytes as they stand in the input.
    raw: Cow<'a, [u8]>,
    /// The cleaned text.
    text: Cow<'a, str>,
    /// Where runs of equal bytes begin, as offsets in `text` and in `raw`. Empty if both are the same.
    runs: Vec<(usize, usize)>,
    envelope: Envelope,
}

impl<'a> Line<'a> {
    /// Calls `each` for the lines within a physical line, in order. Blank lines are skipped.
    pub fn read(physical: RawLine<'a>, mut each: impl FnMut(Line<'a>)) {
        let mut start = 0;
        for end in memchr_iter(b'\r', physical.bytes).chain([physical.bytes.len()]) {
            let raw = &physical.bytes[start..end];
            if !raw.trim_ascii().is_empty() {
                let (mut raw, mut before) = (raw, start);
                if physical.is_open && end == physical.bytes.len() {
                    raw = &raw[..raw.len() - cut::at_end(raw)];
                }
                if physical.column > 0 && start == 0 {
                    before = cut::at_start(raw);
                    raw = &raw[before..];
                }
                Line::read_part(physical.number, physical.column + before as u64, raw, &mut each);
            }
            start = end + 1;
        }
    }

    fn read_part(number: LineNumber, column: u64, raw: &'a [u8], each: &mut impl FnMut(Line<'a>)) {
        let (text, runs) = clean(raw);
        let writer = Writer::of(raw);
        let line = |text: Cow<'a, str>, runs| {
            let mut envelope = envelope::peel(&text);
            envelope.complete(&writer);
            Line { number, column, raw: Cow::Borrowed(raw), text, runs, envelope }
        };
        if memchr(b'\n', text.as_bytes()).is_none() {
            if !text.trim().is_empty() {
                each(line(text, runs));
            }
            return;
        }
        let mut start = 0;
        for part in text.split('\n') {
            if !part.trim().is_empty() {
                let runs = runs_of(&runs, start..start + part.len());
                each(line(Cow::Owned(part.to_owned()), runs));
            }
            start += part.len() + 1;
        }
    }

    /// The line without prefixes and suffixes.
    pub fn body(&self) -> &str {
        &self.text[self.envelope.body.clone()]
    }

    /// What the prefixes say about the writer.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The words of a span of the envelope.
    pub fn words(&self, span: &Range<usize>) -> &str {
        &self.text[span.clone()]
    }

    /// Cites the whole body as it stands in the input.
    pub fn cite(&self, path: &std::sync::Arc<str>) -> Citation {
        self.cite_body(path, 0..self.envelope.body.len())
    }

    /// Cites a part of the body, given by offsets into [`Line::body`], as it stands in the input.
    pub(crate) fn cite_body(&self, path: &std::sync::Arc<str>, part: Range<usize>) -> Citation {
        let body = self.envelope.body.start;
        let start = self.raw_position(body + part.start);
        let end = match part.is_empty() {
            true => start,
            false => self.raw_position(body + part.end - 1) + 1,
        };
        let raw = &self.raw[start..end];
        // Almost all lines are valid UTF-8 and need no lossy conversion.
        let text = std::str::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Borrowed);
        let text = &text[..text.floor_char_boundary(Citation::LONGEST)];
        let column = Column(self.column + start as u64 + 1);
        Citation::new(Location { path: path.clone(), line: self.number, column }, text)
    }

    fn raw_position(&self, position: usize) -> usize {
        match self.runs.partition_point(|(text, _)| *text <= position) {
            0 => position,
            after => {
                let (text, raw) = self.runs[after - 1];
                // Within a run both offsets advance alike. Text longer than the bytes that it replaces ends where the next run begins.
                let limit = self.runs.get(after).map_or(self.raw.len(), |(_, next)| *next);
                (raw + position - text).min(limit.saturating_sub(1))
            }
        }
    }

    /// Copies this line into `kept`, reusing its buffers.
    pub(crate) fn copy_to(&self, kept: &mut Line<'static>) {
        kept.number = self.number;
        kept.column = self.column;
        let raw = kept.raw.to_mut();
        raw.clear();
        raw.extend_from_slice(&self.raw);
        let text = kept.text.to_mut();
        text.clear();
        text.push_str(&self.text);
        kept.runs.clone_from(&self.runs);
        kept.envelope.clone_from(&self.envelope);
    }

    /// The same line, free of the buffer that it was read from.
    pub fn into_owned(self) -> Line<'static> {
        Line {
            number: self.number,
            column: self.column,
            raw: Cow::Owned(self.raw.into_owned()),
            text: Cow::Owned(self.text.into_owned()),
            runs: self.runs,
            envelope: self.envelope,
        }
    }
}

/// The runs of a part of the text.
fn runs_of(runs: &[(usize, usize)], part: Range<usize>) -> Vec<(usize, usize)> {
    let first = runs.partition_point(|(text, _)| *text <= part.start).saturating_sub(1);
    // The next run tells where the last one ends.
    let end = runs.len().min(runs.partition_point(|(text, _)| *text < part.end) + 1);
    let moved = |(text, raw): &(usize, usize)| match *text < part.start {
        true => (0, raw + part.start - text),
        false => (text - part.start, *raw),
    };
    runs[first..end].iter().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(raw: &[u8]) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        Line::read(RawLine { bytes: raw, number: LineNumber::FIRST, column: 0, is_open: false }, |line| {
            lines.push(line)
        });
        lines
    }

    fn bodies(raw: &[u8]) -> Vec<String> {
        read(raw).iter().map(|line| line.body().to_owned()).collect()
    }

    #[test]
    fn takes_colours_out_however_they_were_mangled() {
        for raw in [
            "\x1b[36mloss\x1b[0m 1",
            "^[[36mloss^[[0m 1",
            "#033[2m#033[36mloss#033[0m 1",
            "\\x1b[36mloss\\x1b[0m 1",
            "\\u001b[36mloss\\u001b[0m 1",
            "[36mloss[0m 1",
            "\x1b]0;title\x07loss 1",
        ] {
            assert_eq!(bodies(raw.as_bytes()), ["loss 1"], "{raw}");
        }
        assert_eq!(bodies(b"a[3] = list[1m"), ["a[3] = list"]);
        assert_eq!(bodies(b"C:\\new\\x ^ [1] #1"), ["C:\\new\\x ^ [1] #1"]);
    }

    #[test]
    fn a_progress_bar_is_many_lines_in_one() {
        let raw = b"\r 1%|a\r 2%|b\x1b[A\r\r";
        assert_eq!(bodies(raw), [" 1%|a", " 2%|b"]);
        let path = "job.log".into();
        assert_eq!(read(raw)[1].cite(&path).location.column, Column(8));
    }

    #[test]
    fn a_wrapped_message_is_cited_as_it_stands() {
        let raw = br#"{"log":"a \"b\" \u001b[31mCUDA\u001b[0m out\nnext\n","stream":"stderr"}"#;
        let lines = read(raw);
        assert_eq!(lines.iter().map(Line::body).collect::<Vec<_>>(), ["a \"b\" CUDA out", "next"]);
        let cited = lines[0].cite(&"-".into());
        assert_eq!(cited.text, r#"a \"b\" \u001b[31mCUDA\u001b[0m out"#);
        assert_eq!(lines[1].cite(&"-".into()).text, "next");
    }

    #[test]
    fn an_exception_beside_the_message_is_read_line_by_line() {
        let raw = br#"{"message": "step failed", "rank": 3, "exc_info": "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nE: x"}"#;
        let lines = read(raw);
        let wanted = ["step failed", "Traceback (most recent call last):", "  File \"a.py\", line 3, in f", "E: x"];
        assert_eq!(lines.iter().map(Line::body).collect::<Vec<_>>(), wanted);
        assert!(lines.iter().all(|line| line.envelope().rank == Some(3)));
        assert_eq!(lines[2].cite(&"-".into()).text, r#"  File \"a.py\", line 3, in f"#);
    }

    #[test]
    fn json_within_json_is_unwrapped() {
        let raw = br#"{"log":"{\"msg\":\"failed\",\"error\":\"a \\\"b\\\" c\\nE: x\"}\n","stream":"stderr"}"#;
        let lines = read(raw);
        assert_eq!(lines.iter().map(Line::body).collect::<Vec<_>>(), ["failed", "a \"b\" c", "E: x"]);
        assert_eq!(lines[1].cite(&"-".into()).text, r#"a \\\"b\\\" c"#);
        assert_eq!(lines[2].cite(&"-".into()).text, "E: x");
    }

    #[test]
    fn an_escaped_traceback_in_plain_text_is_read_line_by_line() {
        let raw = br#"job failed: 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nE: x\n'"#;
        let wanted = [
            "job failed: 'Traceback (most recent call last):",
            "  File \"a.py\", line 3, in f",
            "    g()",
            "E: x",
            "'",
        ];
        assert_eq!(bodies(raw), wanted);
        assert_eq!(bodies(br"C:\new\x (most recent call last): C:\new"), [r"C:\new\x (most recent call last): C:\new"]);
    }

    proptest! {
        #[test]
        fn whatever_is_cited_stands_there(raw in prop::collection::vec(prop_oneof![
            4 => any::<u8>(),
            4 => prop::sample::select(b"ab{}[]\"\\#^:\x1b\rn0m".to_vec()),
        ], 0..120)) {
            let raw: Vec<u8> = raw.into_iter().filter(|byte| *byte != b'\n').collect();
            let whole = String::from_utf8_lossy(&raw);
            for line in read(&raw) {
                let body = line.body().len();
                for (start, end) in [(0, body), (body / 3, body), (0, body / 2)] {
                    if line.body().is_char_boundary(start) && line.body().is_char_boundary(end) {
                        let cited = line.cite_body(&"-".into(), start..end);
                        prop_assert!(cited.text.contains('\u{fffd}') || whole.contains(&cited.text), "{:?}", cited);
                    }
                }
            }
        }
    }
}
