//! Whether a value can stand behind a name that tells a secret.
//!
//! A trigger such as `token` occurs in nearly every log: `tokenizer`, "sequences of tokens". Whether the name ends there, and a value begins,
//! is seen from a few bytes; to compile the row's pattern takes longer than all else that happens to such a text. What is said here is
//! necessary for a match of `knowledge::secrets::named::pattern`, never sufficient.

/// What may follow a trigger up to the end of a name: one list of words for each name that contains it.
pub(super) struct NameEnds(Vec<Vec<String>>);

impl NameEnds {
    /// How `names`, whose words are joined by `_`, end behind `trigger`.
    pub fn new(trigger: &str, names: &[String]) -> NameEnds {
        let mut ends = Vec::new();
        for name in names.iter().map(|name| name.to_lowercase()) {
            for (at, _) in name.match_indices(trigger) {
                let end: Vec<String> = name[at + trigger.len()..].split('_').map(str::to_owned).collect();
                if !ends.contains(&end) {
                    ends.push(end);
                }
            }
        }
        NameEnds(ends)
    }

    /// Whether a name that contains the trigger at `start..end` of `text` ends behind it, with something like a value beside it.
    pub fn may_have_value(&self, text: &[u8], start: usize, end: usize) -> bool {
        let mut ends = self.0.iter().filter_map(|words| name_end(text, end, words));
        ends.any(|end| value_follows(text, end) || is_option(text, start, end) || is_tag(text, start, end))
    }
}

/// Where `words`, joined or with one separator between them, end if they stand at `at`.
fn name_end(text: &[u8], mut at: usize, words: &[String]) -> Option<usize> {
    for (place, word) in words.iter().enumerate() {
        let separated = usize::from(place > 0 && text.get(at).is_some_and(|byte| b"_-. ".contains(byte)));
        at += separated;
        let standing = text.get(at..at + word.len())?;
        if !standing.eq_ignore_ascii_case(word.as_bytes()) {
            return None;
        }
        at += word.len();
    }
    Some(at)
}

/// Where the bytes of `set` end that stand at `at`, at most `most` of them.
fn skip(text: &[u8], at: usize, most: usize, set: &[u8]) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take(most).take_while(|byte| set.contains(byte)).count()
}

/// `name=`, `"name": `, `name => `, `("name", "…")`, `name("…")`, `name: NAME` with `value:` behind it.
fn value_follows(text: &[u8], at: usize) -> bool {
    let marks = skip(text, at, 3, b"\"'`)]");
    let rest = &text[skip(text, marks, usize::MAX, b" \t")..];
    let is_assigned = rest.starts_with(b":") || rest.starts_with(b"=") || rest.starts_with(b"->");
    let is_paired = marks > at && rest.starts_with(b",") || text.get(at) == Some(&b'(');
    is_assigned || is_paired || is_listed(text, at)
}

/// Kubernetes' `value` behind a name.
fn is_listed(text: &[u8], at: usize) -> bool {
    let at = skip(text, at, 1, b"\"'");
    let at = skip(text, at, usize::MAX, b" \t\r\n\x0b\x0c,:{+-");
    let at = skip(text, at, 1, b"\"'");
    text.get(at..at + 5).is_some_and(|word| word.eq_ignore_ascii_case(b"value"))
}

/// `--name value`, `ENV NAME value`: a hyphen or the instruction somewhere before, in the same run of words.
fn is_option(text: &[u8], start: usize, end: usize) -> bool {
    let is_instruction = |words: &[u8]| words.eq_ignore_ascii_case(b"env");
    text.get(end).is_some_and(|byte| b" \t\x0b\\".contains(byte))
        && run_before(text, start).is_none_or(|run| run.contains(&b'-') || run.windows(3).any(is_instruction))
}

/// `<name>…</`.
fn is_tag(text: &[u8], start: usize, end: usize) -> bool {
    let opens = |run: &[u8]| text[..start - run.len()].ends_with(b"<");
    run_before(text, start).is_none_or(opens) && text[end..].iter().take(81).any(|byte| *byte == b'>')
}

/// The run of words that ends at `at`; `None` if it is longer than names are, so that each trigger in a long text costs the same.
fn run_before(text: &[u8], at: usize) -> Option<&[u8]> {
    const LONGEST: usize = 256;
    let is_within = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-. \t".contains(byte) || !byte.is_ascii();
    let length = text[..at].iter().rev().take(LONGEST).take_while(is_within).count();
    (length < LONGEST).then(|| &text[at - length..at])
}
