//! Reduces text to plain lower-case words, without the decoration that people, terminals and issue trackers add.

use std::ops::Range;

/// How a line's end within a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrap {
    /// It ends a word.
    Blank,
    /// The word continues on the next line.
    Nothing,
}

/// The words of a text in lower case, separated by one blank: names are split into their words (`OutOfMemoryError`, `out_of_memory`);
/// quotes, stars, bars, entities and colons become blanks; numbers keep their sign and decimal point. The original position of every byte
/// is kept.
#[derive(Debug, Default)]
pub(super) struct Plain {
    /// The words.
    pub text: String,
    /// The original offset of each byte of `text`.
    at: Vec<usize>,
    /// Where sentences end in `text`.
    breaks: Vec<usize>,
}

impl Plain {
    /// The words of `range` in `text`.
    pub fn of(text: &str, range: Range<usize>, wrap: Wrap) -> Plain {
        let mut plain = Plain::default();
        let (part, offset) = (&text[range.clone()], range.start);
        let mut chars = part.char_indices().peekable();
        let mut previous = ' ';
        while let Some((at, c)) = chars.next() {
            let rest = &part[at..];
            let skipped = match c {
                '&' => entity(rest),
                '\\' => escape(rest),
                '<' => placeholder(rest),
                _ => 0,
            };
            if skipped > 0 {
                while chars.next_if(|(next, _)| *next < at + skipped).is_some() {}
                plain.blank(offset + at);
                previous = ' ';
                continue;
            }
            let mut next = rest.chars().skip(1);
            let (next, behind) = (next.next().unwrap_or(' '), next.next().unwrap_or(' '));
            match c {
                '\n' if wrap == Wrap::Nothing => {}
                '\n' => {
                    if !next.is_lowercase() || begins_anew(&rest[1..]) {
                        plain.end_sentence();
                    }
                    plain.blank(offset + at);
                }
                '.' if previous.is_ascii_digit() && next.is_ascii_digit() => plain.push(c, offset + at),
                '-' if !previous.is_alphanumeric() && next.is_ascii_digit() => plain.push(c, offset + at),
                // Text recognition reads a capital O as a zero: `0ut of memory`.
                '0' if !previous.is_alphanumeric() && next.is_lowercase() && behind.is_lowercase() => {
                    plain.push('o', offset + at);
                }
                '.' | '!' | '?' | ';' | '。' | '！' | '；' | '？' => {
                    let abbreviates = c == '.' && plain.ends_with_a_letter();
                    let goes_on = c == '.' && (behind.is_lowercase() || behind.is_ascii_digit());
                    if !abbreviates && !goes_on && next.is_whitespace() || !c.is_ascii() || next == '"' || next == '\''
                    {
                        // Who asks does not state: `Not enough GPU memory? INTERNAL: …`
                        if matches!(c, '?' | '？') {
                            plain.blank(offset + at);
                            plain.push('?', offset + at);
                        }
                        plain.end_sentence();
                    }
                    plain.blank(offset + at);
                }
                _ if c.is_alphanumeric() => {
                    let begins_word = c.is_uppercase()
                        && (previous.is_lowercase() && next.is_alphabetic()
                            || previous.is_uppercase() && next.is_lowercase() && behind.is_lowercase());
                    if begins_word {
                        plain.blank(offset + at);
                    }
                    for small in c.to_lowercase() {
                        plain.push(small, offset + at);
                    }
                }
                _ => plain.blank(offset + at),
            }
            if c != '\n' || wrap == Wrap::Blank {
                previous = c;
            }
        }
        plain
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.at.resize(self.text.len(), at);
    }

    fn blank(&mut self, at: usize) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.push(' ', at);
        }
    }

    /// Whether the last word is a single letter: `e.g.`
    fn ends_with_a_letter(&self) -> bool {
        let word = self.text.rsplit(' ').next().unwrap_or_default();
        word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    }

    fn end_sentence(&mut self) {
        self.breaks.push(self.text.len());
    }

    /// The range of `text` that became `part` of the words.
    pub fn place(&self, text: &str, part: Range<usize>) -> Range<usize> {
        let start = self.at.get(part.start).copied().unwrap_or(0);
        let last = part.end.checked_sub(1).and_then(|last| self.at.get(last)).copied().unwrap_or(start);
        let end = last + text[last..].chars().next().map_or(0, char::len_utf8);
        start..end.max(start)
    }

    /// The range of the words that came from `range` of the original text.
    pub fn within(&self, range: &Range<usize>) -> Range<usize> {
        self.at.partition_point(|at| *at < range.start)..self.at.partition_point(|at| *at < range.end)
    }

    /// The sentence around `part` of the words.
    pub fn sentence(&self, part: &Range<usize>) -> Range<usize> {
        let start = self.breaks.iter().rev().find(|end| **end <= part.start).copied().unwrap_or(0);
        let end = self.breaks.iter().find(|end| **end >= part.end).copied().unwrap_or(self.text.len());
        start..end
    }
}

/// Whether a line begins with a label and thus continues no sentence: `time=…`, `g++: …`
fn begins_anew(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.contains('=') || word.ends_with(':')
}

/// The length of a placeholder for a missing value at the beginning of `text`. Its words (`none`, `null`) negate nothing, so they are
/// skipped.
fn placeholder(text: &str) -> usize {
    const PLACEHOLDERS: &[&str] = &["<none>", "<null>", "<nil>", "<unknown>", "<unset>"];
    let begins = |word: &&&str| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    PLACEHOLDERS.iter().find(begins).map_or(0, |word| word.len())
}

/// The length of an HTML entity at the beginning of `text`: `&quot;`, `&#39;`.
fn entity(text: &str) -> usize {
    let length = text[1..].bytes().take(7).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#').count();
    if length > 1 && text[1 + length..].starts_with(';') { length + 2 } else { 0 }
}

/// The length of an escaped line feed, tab or quote at the beginning of `text`.
fn escape(text: &str) -> usize {
    if text.as_bytes().get(1).is_some_and(|byte| b"ntr\"'".contains(byte)) { 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        Plain::of(text, 0..text.len(), Wrap::Blank).text.trim().to_owned()
    }

    #[test]
    fn names_are_split_and_ornaments_are_blanks() {
        assert_eq!(plain("**`torch.OutOfMemoryError`**: CUDA"), "torch out of memory error cuda");
        assert_eq!(plain("| CUDA_ERROR_OUT_OF_MEMORY |"), "cuda error out of memory");
        assert_eq!(plain("OOMKilled (exitcode: -9) 1.5 GiB, kB"), "oom killed exitcode -9 1.5 gib kb");
        assert_eq!(plain("&quot;std::bad_alloc&quot;\\n"), "std bad alloc");
        assert_eq!(plain("显存不足！"), "显存不足");
    }

    #[test]
    fn every_word_knows_where_it_stood() {
        let text = "x **OutOfMemory** 显存";
        let plain = Plain::of(text, 0..text.len(), Wrap::Blank);
        let found = plain.text.find("of memory").unwrap_or(0);
        assert_eq!(&text[plain.place(text, found..found + 9)], "OfMemory");
        let found = plain.text.find("显存").unwrap_or(0);
        assert_eq!(&text[plain.place(text, found..found + 6)], "显存");
    }

    #[test]
    fn a_word_may_go_on_in_the_next_line() {
        let text = "CUDA out of mem\nory";
        assert_eq!(Plain::of(text, 0..text.len(), Wrap::Nothing).text, "cuda out of memory");
        let text = "If you run\nout of memory. Try\nThis";
        let plain = Plain::of(text, 0..text.len(), Wrap::Blank);
        let found = plain.text.find("out").unwrap_or(0);
        assert_eq!(&plain.text[plain.sentence(&(found..found + 13))], "if you run out of memory");
    }
}
