//! A text as a reader would understand it, without what hides a secret from patterns. Each byte knows its origin.

use std::ops::Range;

use crate::parse::terminal_code;

/// Stands for a line end that is escaped by a backslash. It is unambiguous, since control characters are removed.
const CONTINUED: &str = "\u{b}";

/// A text with parts of its original removed or replaced.
pub(super) struct View {
    pub text: String,
    runs: Vec<Run>,
}

/// Bytes of a view with a common origin, copied verbatim or replaced by their meaning.
struct Run {
    at: usize,
    from: Range<usize>,
    is_verbatim: bool,
}

impl View {
    /// The span of the original that `range` comes from.
    pub fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let run =
            |at: usize| self.runs.partition_point(|run| run.at <= at).checked_sub(1).map(|place| &self.runs[place]);
        let start =
            run(range.start).map_or(0, |run| run.from.start + if run.is_verbatim { range.start - run.at } else { 0 });
        let last = run(range.end.saturating_sub(1).max(range.start));
        let end =
            last.map_or(start, |run| if run.is_verbatim { run.from.start + range.end - run.at } else { run.from.end });
        start..end.max(start)
    }

    /// `text` without colours, zero-width and control characters, and with escapes decoded: those of JSON, Python,
    /// shells, URLs and HTML, and full-width forms. `None` if nothing changes.
    pub fn plain(text: &str) -> Option<View> {
        let first = text.bytes().position(is_special)?;
        let mut view = Builder::new(text);
        view.until(first);
        while view.at < text.len() {
            match meaning(text, view.at) {
                Some((length, meaning)) => view.replace(length, meaning),
                None => view.until(view.at + next_special(text, view.at)),
            }
        }
        view.is_changed.then_some(view.view)
    }

    /// `text` with values joined that continue behind a line end or a closed quote, and the offsets of the joints.
    /// `None` if there are none.
    pub fn joined(text: &str) -> Option<(View, Vec<usize>)> {
        let mut view = Builder::new(text);
        let mut joints = Vec::new();
        let mut at = 0;
        while let Some(found) = text[at..].find(['\n', '\u{b}', '"', '\'']) {
            at += found;
            let gap = gap(text, at, view.at);
            if gap.is_empty() {
                at += 1;
                continue;
            }
            view.until(gap.start);
            view.replace(gap.len(), "");
            joints.push(view.view.text.len());
            at = gap.end;
        }
        view.until(text.len());
        view.is_changed.then_some((view.view, joints))
    }
}

struct Builder<'t> {
    of: &'t str,
    /// The number of bytes consumed.
    at: usize,
    view: View,
    is_changed: bool,
}

impl<'t> Builder<'t> {
    fn new(of: &'t str) -> Builder<'t> {
        let view = View { text: String::with_capacity(of.len()), runs: Vec::new() };
        Builder { of, at: 0, view, is_changed: false }
    }

    /// Copies everything up to `end`.
    fn until(&mut self, end: usize) {
        if end > self.at {
            self.push(end, true, &self.of[self.at..end]);
        }
    }

    /// Replaces the next `length` bytes by `meaning`.
    fn replace(&mut self, length: usize, meaning: &str) {
        self.is_changed = true;
        match meaning.is_empty() {
            true => self.at += length,
            false => self.push(self.at + length, false, meaning),
        }
    }

    fn push(&mut self, end: usize, is_verbatim: bool, text: &str) {
        self.view.runs.push(Run { at: self.view.text.len(), from: self.at..end, is_verbatim });
        self.view.text.push_str(text);
        self.at = end;
    }
}

/// Whether a sequence with a special meaning may begin with `byte`.
fn is_special(byte: u8) -> bool {
    byte >= 0x7f || (byte < b' ' && byte != b'\n' && byte != b'\t') || b"\\%&[^#".contains(&byte)
}

/// The number of bytes from `at` on to copy verbatim, at least one character.
fn next_special(text: &str, at: usize) -> usize {
    let first = text[at..].chars().next().map_or(1, char::len_utf8);
    // A run of backslashes is copied as a whole.
    let first = first.max(text.as_bytes()[at..].iter().take_while(|byte| **byte == b'\\').count());
    let rest = &text.as_bytes()[at + first..];
    first + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// The length and the meaning of the sequence at `at`, if it has a special meaning.
fn meaning(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let rest = &text.as_bytes()[at..];
    if rest.starts_with(b"\r") {
        return Some((1, if rest.get(1) == Some(&b'\n') { "" } else { "\n" }));
    }
    match terminal_code(rest) {
        0 => {}
        length => return Some((length, "")),
    }
    match rest.first()? {
        b'\\' => escaped(rest),
        b'%' => encoded(rest),
        b'&' => ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity.as_bytes())).map(|(e, c)| (e.len(), *c)),
        byte if *byte >= 0x7f => {
            let c = text[at..].chars().next()?;
            Some((c.len_utf8(), unusual(c)?))
        }
        _ => None,
    }
}

const ENTITIES: [(&str, &str); 8] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&amp;", "&"),
    ("&#61;", "="),
    ("&equals;", "="),
];

/// An escape sequence with any number of backslashes.
fn escaped(rest: &[u8]) -> Option<(usize, &'static str)> {
    let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
    let behind = &rest[slashes..];
    let number = |digits: usize| ascii(behind.get(1..=digits)?).map(|c| (slashes + 1 + digits, c));
    match behind.first()? {
        b'\n' => Some(continued(slashes, behind)),
        // A continued line within JSON.
        b'n' if slashes == 3 => Some(continued(slashes, behind)),
        b'n' | b'r' => Some((slashes + 1, "\n")),
        b't' => Some((slashes + 1, "\t")),
        quote @ (b'"' | b'\'' | b'/') => ascii_of(*quote).map(|c| (slashes + 1, c)),
        b'u' => number(4),
        b'x' => number(2),
        _ => None,
    }
}

/// A continued line, also within a diff: the backslashes, the line end, and the indentation of the next line.
fn continued(slashes: usize, behind: &[u8]) -> (usize, &'static str) {
    let sign = usize::from(matches!(behind.get(1), Some(b'+' | b'-')));
    let blanks = behind[1 + sign..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    (slashes + 1 + sign + blanks, CONTINUED)
}

/// `%3D`, also if the percent sign is encoded itself.
fn encoded(rest: &[u8]) -> Option<(usize, &'static str)> {
    let again = rest[1..].chunks_exact(2).take_while(|pair| *pair == b"25").count();
    let again = if ascii(rest.get(1 + 2 * again..3 + 2 * again)?).is_some() { again } else { again.checked_sub(1)? };
    let length = 3 + 2 * again;
    ascii(&rest[length - 2..length]).map(|c| (length, c))
}

/// The printable ASCII character with this hexadecimal code.
fn ascii(digits: &[u8]) -> Option<&'static str> {
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    ascii_of(u8::try_from(code).ok()?)
}

fn ascii_of(byte: u8) -> Option<&'static str> {
    const PRINTABLE: &str =
        " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
    let place = usize::from(byte.checked_sub(b' ')?);
    PRINTABLE.get(place..=place)
}

/// The replacement of a character outside of ASCII that is displayed as nothing or like ASCII.
fn unusual(c: char) -> Option<&'static str> {
    match c {
        // Zero-width, direction marks, soft hyphens, variations.
        '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' => Some(""),
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => Some(""),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e007f}' => Some(""),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => Some(" "),
        '\u{2018}' | '\u{2019}' => Some("'"),
        '\u{201c}' | '\u{201d}' => Some("\""),
        '\u{fe55}' => Some(":"),
        '\u{fe66}' => Some("="),
        // Full-width forms.
        '\u{ff01}'..='\u{ff5e}' => ascii_of(u8::try_from(u32::from(c) - 0xfee0).ok()?),
        _ => None,
    }
}

/// The gap between two pieces of one value, found at the line end or quote at `at` but not reaching back before `from`:
/// a line end with frames and indentation, or the end of one string and the start of the next. Empty if there is none.
fn gap(text: &str, at: usize, from: usize) -> Range<usize> {
    const FRAME: [char; 7] = [' ', '\t', '\r', '│', '┃', '|', '\\'];
    match text.as_bytes()[at] {
        b'\n' | 0x0b => {
            let start = from + text[from..at].trim_end_matches(FRAME).len();
            let rest = &text[at + 1..];
            let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest).trim_start_matches(FRAME);
            start..text.len() - rest.len()
        }
        quote => {
            let rest = &text[at + 1..];
            let next = rest.trim_start_matches([' ', '\t', '\n', '+', '\\']);
            match next.as_bytes().first() == Some(&quote) {
                true => at..text.len() - next.len() + 1,
                false => at..at,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        View::plain(text).map_or(text.to_owned(), |view| view.text)
    }

    #[test]
    fn a_text_is_read_as_it_is_meant() {
        for (text, meant) in [
            ("\u{1b}[33mghp_1\u{1b}[0m [36mx", "ghp_1 x"),
            ("g\u{200b}hp_1\u{ad}", "ghp_1"),
            (r"a\nb\\tc", "a\nb\tc"),
            (r#"{\"a\": \\\"b\\\"}"#, r#"{"a": "b"}"#),
            ("a%3Db%253Dc 100% 5%zz", "a=b=c 100% 5%zz"),
            (r"\u003d \x3d \u4e2d", r"= = \u4e2d"),
            ("密码：ａ＝b", "密码:a=b"),
            ("--key \\\n+    value", "--key \u{b}value"),
            ("&quot;a&quot;&x", "\"a\"&x"),
            ("50%\r60%\r\n", "50%\n60%\n"),
        ] {
            assert_eq!(plain(text), meant, "{text}");
        }
        assert!(View::plain("step 1 loss 2.5").is_none());
    }

    #[test]
    fn every_byte_knows_where_it_stands() -> Result<(), &'static str> {
        let text = "x\u{1b}[33mghp\u{200b}_1%3D2\u{1b}[0m";
        let view = View::plain(text).ok_or("nothing to take out")?;
        assert_eq!(view.text, "xghp_1=2");
        assert_eq!(&text[view.origin(&(1..6))], "ghp\u{200b}_1");
        assert_eq!(&text[view.origin(&(6..7))], "%3D");
        assert_eq!(&text[view.origin(&(0..1))], "x");
        Ok(())
    }

    #[test]
    fn pieces_meet() -> Result<(), &'static str> {
        let joined = |text: &str| View::joined(text).map(|(view, joints)| (view.text, joints));
        assert_eq!(joined("ab \u{b}cd"), Some(("abcd".to_owned(), vec![2])));
        assert_eq!(joined("ab\n+  cd"), Some(("abcd".to_owned(), vec![2])));
        assert_eq!(joined("'ab' + 'cd'"), Some(("'abcd'".to_owned(), vec![3])));
        assert_eq!(joined("│ ab │\n│ cd │"), Some(("│ abcd │".to_owned(), vec!["│ ab".len()])));
        assert_eq!(joined("ab, 'cd', 'ef'"), None);
        Ok(())
    }
}
