//! The search for one kind of secret.

use std::ops::{Deref, Range};
use std::sync::OnceLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::knowledge::Secret;

/// A row of `rules/redaction/`. Its patterns are compiled on first use, since most are never needed.
pub(super) struct SecretKind {
    pub mask: String,
    pub secret: Secret,
    finder: OnceLock<Option<Finder>>,
    refuter: OnceLock<Refuter>,
}

/// How many characters of a kind stand in a row in a text, at most. A secret of random characters is longer than most words, and its pattern
/// need not be prepared where nothing is so long.
pub(super) struct Runs {
    /// Letters, digits, `_` and `-`.
    of_words: usize,
    /// Letters, digits, `+` and `/`.
    of_base64: usize,
}

impl Runs {
    pub fn of(text: &str) -> Runs {
        let (mut runs, mut now) = (Runs { of_words: 0, of_base64: 0 }, (0, 0));
        for byte in text.bytes() {
            let is_both = byte.is_ascii_alphanumeric();
            now.0 = if is_both || matches!(byte, b'_' | b'-') { now.0 + 1 } else { 0 };
            now.1 = if is_both || matches!(byte, b'+' | b'/') { now.1 + 1 } else { 0 };
            runs = Runs { of_words: runs.of_words.max(now.0), of_base64: runs.of_base64.max(now.1) };
        }
        runs
    }
}

/// Finds candidates for secrets.
struct Finder {
    pattern: Regex,
    /// The capture groups of which one holds the secret.
    groups: Vec<usize>,
}

/// Rejects candidates that are not secrets.
struct Refuter {
    unless: Option<Regex>,
    harmless: Vec<Regex>,
}

/// Compiles `pattern` to match bytes if it is ASCII, or `made` from names, whose other letters stand in `(?u:…)` or by themselves: Unicode
/// tables take longer to prepare than everything else here, and letters of other alphabets do not occur in secrets.
fn read(pattern: &str, made: bool) -> Result<Regex, regex::Error> {
    let has_case = |letter: char| !letter.is_ascii() && (letter.is_lowercase() || letter.is_uppercase());
    match pattern.is_ascii() || made && !pattern.contains(has_case) {
        true => RegexBuilder::new(pattern).unicode(false).build().or_else(|_| Regex::new(pattern)),
        false => Regex::new(pattern),
    }
}

impl Finder {
    fn read(secret: &Secret) -> Result<Finder, regex::Error> {
        let pattern = read(&secret.pattern, secret.is_named())?;
        let named = pattern.capture_names().enumerate();
        let groups = named.filter(|(_, name)| name.is_some_and(|name| name.starts_with("secret")));
        let groups = groups.map(|(place, _)| place).collect();
        Ok(Finder { pattern, groups })
    }

    /// The span of the secret within a match, without quotes and brackets.
    fn secret(&self, text: &str, found: &Captures<'_>) -> Range<usize> {
        let value = self.groups.iter().find_map(|group| found.get(*group)).unwrap_or(found.get_match());
        let range = whole_characters(text, value.range());
        let value = &text[range.clone()];
        let (skipped, words) = if self.groups.is_empty() { (0, value) } else { bare(value) };
        let start = range.start + skipped;
        start..start + words.len()
    }
}

impl Refuter {
    /// A pattern that does not compile rejects nothing: masking too much is better.
    fn read(secret: &Secret) -> Refuter {
        let read = |pattern: &String| read(pattern, secret.is_named()).ok();
        Refuter {
            unless: secret.unless.as_ref().and_then(read),
            harmless: secret.harmless.iter().filter_map(read).collect(),
        }
    }

    /// Whether `words`, matched in the context `found`, are not a secret.
    fn refutes(&self, found: &str, words: &str) -> bool {
        let is = |pattern: &Regex| pattern.is_match(words.as_bytes());
        self.unless.as_ref().is_some_and(|unless| unless.is_match(found.as_bytes())) || self.harmless.iter().any(is)
    }
}

impl SecretKind {
    pub fn new(secret: &Secret) -> SecretKind {
        let mask = format!("‹{}›", secret.name);
        SecretKind { mask, secret: secret.clone(), finder: OnceLock::new(), refuter: OnceLock::new() }
    }

    /// Whether `text`, which contains a trigger and the longest `runs`, also has what must stand beside it and is so long.
    pub fn may_stand_in(&self, text: &str, runs: &dyn Deref<Target = Runs>) -> bool {
        let Secret { with, run, base64_run, .. } = &self.secret;
        let least = *run.max(base64_run);
        let is_long = || least <= text.len() && *run <= runs.of_words && *base64_run <= runs.of_base64;
        (least == 0 || is_long()) && (with.is_empty() || with.iter().any(|literal| text.contains(literal)))
    }

    /// Reports all secrets of this kind in `text` to `tell`: the start of the match, and the span of the secret.
    pub fn find(&self, text: &str, tell: &mut dyn FnMut(usize, Range<usize>)) {
        let Some(finder) = self.finder.get_or_init(|| Finder::read(&self.secret).ok()) else {
            // Patterns have been validated before; should one fail anyway, everything is masked.
            return tell(0, 0..text.len());
        };
        for found in finder.pattern.captures_iter(text.as_bytes()) {
            let (whole, secret) = (whole_characters(text, found.get_match().range()), finder.secret(text, &found));
            let refuter = self.refuter.get_or_init(|| Refuter::read(&self.secret));
            if !secret.is_empty()
                && !refuter.refutes(&text[word_before(text, whole.start)..whole.end], &text[secret.clone()])
            {
                tell(whole.start, secret);
            }
        }
    }
}

/// `range` of `text`, extended to whole characters.
fn whole_characters(text: &str, range: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end)
}

/// The start of the word directly before `at`, separated by one blank: the `backward` of "backward pass: 3".
fn word_before(text: &str, at: usize) -> usize {
    let Some(before) = text[..at].strip_suffix(' ') else { return at };
    let word = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if word.len() < before.len() { word.len() } else { at }
}

/// `words` without surrounding quotes and brackets, and the number of bytes removed in front.
fn bare(words: &str) -> (usize, &str) {
    let is_quote = |c| matches!(c, '"' | '\'' | '`');
    let unmarked = words.trim_start_matches(['r', 'b', 'u', 'f', 'R', 'B', 'U', 'F']);
    let words_start = if unmarked.starts_with(is_quote) { words.len() - unmarked.len() } else { 0 };
    let rest = &words[words_start..];
    let start = rest.find(|c| !is_quote(c) && c != '[').unwrap_or(rest.len());
    let bare = rest[start..].trim_end_matches(|c| is_quote(c) || matches!(c, ']' | ')' | '}' | '\\'));
    (words_start + start, bare)
}
