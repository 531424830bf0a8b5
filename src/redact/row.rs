//! One kind of secret, as it is looked for.

use std::ops::Range;
use std::sync::OnceLock;

use regex::{Captures, Regex};

use crate::knowledge::Secret;

/// A row of `rules/redaction/`, of which the patterns are read only where they are needed: most never are.
pub(super) struct Row {
    pub mask: String,
    pub is_named: bool,
    secret: Secret,
    patterns: OnceLock<Option<Patterns>>,
}

struct Patterns {
    finds: Regex,
    /// The groups of which one is the secret.
    groups: Vec<usize>,
    unless: Option<Regex>,
    harmless: Vec<Regex>,
}

impl Patterns {
    fn read(secret: &Secret) -> Result<Patterns, regex::Error> {
        let finds = Regex::new(&secret.pattern)?;
        let named = finds.capture_names().enumerate();
        let groups = named.filter(|(_, name)| name.is_some_and(|name| name.starts_with("secret")));
        let groups = groups.map(|(place, _)| place).collect();
        let unless = secret.unless.as_deref().map(Regex::new).transpose()?;
        let harmless = secret.harmless.iter().map(|pattern| Regex::new(pattern)).collect::<Result<_, _>>()?;
        Ok(Patterns { finds, groups, unless, harmless })
    }

    /// Where the secret stands in what was found, without what only surrounds it; nothing where it is none.
    fn secret(&self, found: &Captures<'_>) -> Option<Range<usize>> {
        let whole = found.get_match();
        let is_refuted = self.unless.as_ref().is_some_and(|unless| unless.is_match(whole.as_str()));
        let value = self.groups.iter().find_map(|group| found.get(*group)).unwrap_or(whole);
        let (skipped, words) = if self.groups.is_empty() { (0, value.as_str()) } else { bare(value.as_str()) };
        let is_none = words.is_empty() || self.harmless.iter().any(|harmless| harmless.is_match(words));
        let start = value.start() + skipped;
        (!is_refuted && !is_none).then_some(start..start + words.len())
    }
}

impl Row {
    pub fn new(secret: &Secret) -> Row {
        let mask = format!("‹{}›", secret.name);
        Row { mask, is_named: secret.is_named, secret: secret.clone(), patterns: OnceLock::new() }
    }

    /// Tells of all secrets of this kind in `text`: where what tells of one begins, and where it stands itself.
    pub fn find(&self, text: &str, tell: &mut dyn FnMut(usize, Range<usize>)) {
        match self.patterns.get_or_init(|| Patterns::read(&self.secret).ok()) {
            Some(patterns) => patterns.finds.captures_iter(text).for_each(|found| {
                if let Some(range) = patterns.secret(&found) {
                    tell(found.get_match().start(), range);
                }
            }),
            // Patterns were read before they came here; all else would let a secret through.
            None => tell(0, 0..text.len()),
        }
    }
}

/// `words` without quotes and brackets around them, and how many bytes those take before it.
fn bare(words: &str) -> (usize, &str) {
    let is_quote = |c| matches!(c, '"' | '\'' | '`');
    let unmarked = words.trim_start_matches(['r', 'b', 'u', 'f', 'R', 'B', 'U', 'F']);
    let words_start = if unmarked.starts_with(is_quote) { words.len() - unmarked.len() } else { 0 };
    let rest = &words[words_start..];
    let start = rest.find(|c| !is_quote(c) && c != '[').unwrap_or(rest.len());
    let bare = rest[start..].trim_end_matches(|c| is_quote(c) || matches!(c, ']' | ')' | '}' | '\\'));
    (words_start + start, bare)
}
