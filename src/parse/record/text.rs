//! Helpers that several producers share: searching for words, and where messages begin.

use memchr::{memchr, memmem};

use nom::{Offset, Parser};

pub use super::amount::Size;
pub(in crate::parse) use super::amount::{
    Giga, bare_bytes, byte_count, counted, decimal, digits, number_at_end, plain_bytes, size, size_at_end, sized, unit,
    unit_of_label,
};

/// Up to this length of a text it is faster to look for a word's first byte than to prepare a search for the whole word.
const SHORT: usize = 4096;

/// The offset of the first `word` in `text`.
pub(in crate::parse) fn find(text: &str, word: &str) -> Option<usize> {
    let (bytes, word) = (text.as_bytes(), word.as_bytes());
    let Some(first) = word.first().filter(|_| bytes.len() <= SHORT) else { return memmem::find(bytes, word) };
    let mut from = 0;
    loop {
        let at = from + memchr(*first, bytes.get(from..)?)?;
        if bytes[at..].starts_with(word) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Whether `word` stands in `text`.
pub(in crate::parse) fn has(text: &str, word: &str) -> bool {
    find(text, word).is_some()
}

/// The offsets of all `word`s in `text`.
pub(in crate::parse) fn offsets(text: &str, word: &str) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + find(text.get(from..)?, word)?;
        from = at + word.len().max(1);
        Some(at)
    })
}

/// The rest of `text` after the first `word`, or `None`.
pub(in crate::parse) fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    find(text, word).map(|at| &text[at + word.len()..])
}

/// `text` from each `word` on.
pub(in crate::parse) fn each<'a>(text: &'a str, word: &str) -> impl Iterator<Item = &'a str> {
    offsets(text, word).map(|at| &text[at..])
}

/// The first line of `text`.
pub(in crate::parse) fn line(text: &str) -> &str {
    &text[..text.find('\n').unwrap_or(text.len())]
}

/// The line of `text` in which `part`, a slice of it, begins.
pub(in crate::parse) fn line_of<'a>(text: &'a str, part: &str) -> &'a str {
    let start = text.len().min(text.offset(part)) - before(text, part).len();
    line(&text[start..])
}

/// The text before `part`, a slice of `text`, on its line.
pub(in crate::parse) fn before<'a>(text: &'a str, part: &str) -> &'a str {
    let start = &text[..text.len().min(text.offset(part))];
    &start[start.rfind('\n').map_or(0, |feed| feed + 1)..]
}

/// `text` from each `word` on that begins a message; mere mentions are left out.
pub(in crate::parse) fn spoken<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    each(text, word).filter(move |message| may_begin(before(text, message)))
}

/// Only this many bytes before a message are looked at, because a line may hold thousands of messages.
const LOOK_BACK: usize = 1024;

/// Whether a message may begin after `before`: at the beginning of a line, after a label, a prefix or other output such as a progress
/// bar. Within a sentence, a comment or a string in source code it is only mentioned.
pub(in crate::parse) fn may_begin(before: &str) -> bool {
    let before = before[before.ceil_char_boundary(before.len().saturating_sub(LOOK_BACK))..].trim_end();
    // The value of a key in JSON.
    let key = before.strip_suffix(['"', '\'']).map(str::trim_end).filter(|key| key.ends_with(':'));
    let before = key.unwrap_or(before);
    let label = before.chars().next_back().is_none_or(|last| ":])}>|;=!%-│┃█▏▎▍▌▋▊▉".contains(last));
    let bullet = before.trim_start() == "-";
    (label && !bullet || is_number(before)) && !is_in_call(before)
}

/// Whether only a small number stands before: the rank, as some launchers put it before each line.
fn is_number(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    (1..=4).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a string literal is open in the arguments of a call: `raise RuntimeError("Error:`
pub(in crate::parse) fn is_in_call(before: &str) -> bool {
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(LOOK_BACK))..];
    ["(\"", "('", "(f\"", "(f'"].iter().any(|open| {
        let quote = &open[open.len() - 1..];
        before.rfind(open).is_some_and(|at| !before[at + open.len()..].contains(quote))
    })
}

/// The first run of characters that are neither blank nor one of `ends`.
pub(in crate::parse) fn token<'a>(text: &'a str, ends: &str) -> &'a str {
    &text[..text.find(|c: char| c.is_whitespace() || ends.contains(c)).unwrap_or(text.len())]
}

/// The output of `parser` at the beginning of `text`.
pub(in crate::parse) fn read<'a, P>(mut parser: P, text: &'a str) -> Option<P::Output>
where
    P: Parser<&'a str, Error = nom::error::Error<&'a str>>,
{
    let (_, read) = parser.parse(text).ok()?;
    Some(read)
}

/// Whether `part`, a slice of `text`, stands in quotes: source code in a traceback, advice, a mention.
pub(in crate::parse) fn is_quoted(text: &str, part: &str) -> bool {
    text[..text.len().min(nom::Offset::offset(text, part))].trim_end().ends_with(['"', '\'', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn words_are_found_as_a_plain_search_finds_them(text in "[abö]{0,30}", word in "[abö]{1,4}", long in 0usize..2) {
            let text = text + &"b".repeat(long * SHORT);
            let plain: Vec<usize> = text.match_indices(&word).map(|(at, _)| at).collect();
            proptest::prop_assert_eq!(find(&text, &word), plain.first().copied());
            proptest::prop_assert_eq!(offsets(&text, &word).collect::<Vec<_>>(), plain);
        }
    }

    #[test]
    fn a_message_begins_behind_a_label_and_not_in_a_sentence() {
        let spoken = |text| spoken(text, "it failed").count() > 0;
        for text in [
            "it failed",
            "  it failed",
            "RuntimeError: it failed",
            "1/8 [00:01<00:03,  1.7s/it]it failed",
            "epoch 3 (loss 1.7)it failed",
            "{\"level\": \"error\", \"error\": \"it failed\"}",
            "print('a') : it failed",
            "2026-03-01 10:00:00 - trainer - ERROR - it failed",
        ] {
            assert!(spoken(text), "{text}");
        }
        for text in [
            "when it failed",
            "# it failed",
            "  - it failed",
            "raise RuntimeError(\"it failed\")",
            "raise RuntimeError(f\"Error: it failed\")",
            "if \"it failed\" in str(error):",
            "prints `it failed`",
        ] {
            assert!(!spoken(text), "{text}");
        }
    }
}
