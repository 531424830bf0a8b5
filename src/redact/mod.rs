//! Masks secrets in what leaves the process: what is stored and what is sent. What is printed locally stays verbatim.
//!
//! In go texts, or anything that contains some ([`Texts`]), and the rows of `rules/redaction/`; out comes the same with
//! masks like `‹hf-token›`. Secrets are searched in a text as it is written and as a reader would understand it
//! (`view.rs`), and masked where they are written. Changed citations are marked. Figures, line numbers and names of our
//! own are not texts and stay as they are.

mod across_lines;
mod named_value;
mod secret_kind;
mod view;

use std::borrow::Cow;
use std::cell::LazyCell;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use thiserror::Error;

use crate::knowledge::Secret;
use crate::model::{Text, Texts};
use across_lines::{CitedLines, SecretPieces};
use named_value::NameEnds;
use secret_kind::{Runs, SecretKind};
use view::View;

/// Why secrets cannot be searched.
#[derive(Debug, Error)]
pub enum RedactError {
    /// There are too many triggers.
    #[error("secrets cannot be looked for: {0}")]
    Search(#[from] aho_corasick::BuildError),
}

/// Finds secrets and masks them.
pub struct Redactor {
    rows: Vec<SecretKind>,
    /// One search for the triggers of all rows, since nearly every text contains none.
    triggers: AhoCorasick,
    /// The row of each trigger, and how its names end behind it if it has names.
    row_of: Vec<(usize, Option<NameEnds>)>,
    /// Rows without triggers, which are tried on every text.
    always: Vec<usize>,
}

/// A secret in a text.
#[derive(Debug)]
struct Match {
    /// The start of the whole match, including the words before the secret.
    from: usize,
    secret: Range<usize>,
    row: usize,
}

impl Redactor {
    /// A redactor for `secrets`.
    pub fn new(secrets: &[Secret]) -> Result<Redactor, RedactError> {
        let triggers =
            || secrets.iter().enumerate().flat_map(|(row, secret)| secret.triggers.iter().map(move |t| (row, t)));
        Ok(Redactor {
            rows: secrets.iter().map(SecretKind::new).collect(),
            triggers: AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(triggers().map(|(_, trigger)| trigger))?,
            row_of: triggers().map(|(row, trigger)| (row, name_ends(&secrets[row], trigger))).collect(),
            always: (0..secrets.len()).filter(|row| secrets[*row].triggers.is_empty()).collect(),
        })
    }

    /// `text` with its secrets masked; borrowed if it has none.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.without(text, self.secrets(text))
    }

    /// Masks all secrets in the texts of `it`; returns the number of texts that had some.
    pub fn mask(&self, it: &mut impl Texts) -> usize {
        let mut lines = CitedLines::default();
        it.texts(&mut |text| lines.add(&text));
        let lines = lines.search(self);
        let (mut masked, mut path) = (0, None);
        it.texts(&mut |text| masked += usize::from(self.mask_text(text, &lines, &mut path)));
        masked
    }

    /// Masks the secrets in `text`; returns whether it had some. `path` is the last path and what it became: most citations are of one file.
    fn mask_text(&self, text: Text<'_>, lines: &SecretPieces, path: &mut Option<(Arc<str>, Option<Arc<str>>)>) -> bool {
        match text {
            Text::Own(words) | Text::Lines(words) => replace(words, |words| self.text(words)),
            Text::Shared(words) => replace(words, |words| self.text(words)),
            Text::Cited { location, words, redacted } => {
                let beside = lines.of(location);
                let masked = replace(words, |words| {
                    let mut secrets = self.secrets(words);
                    beside.iter().for_each(|piece| piece.find(words, &mut secrets));
                    self.without(words, secrets)
                });
                redacted.into_iter().for_each(|redacted| *redacted |= masked);
                let (_, became) = match path {
                    Some(known) if known.0 == location.path => known,
                    _ => {
                        let became = match self.text(&location.path) {
                            Cow::Owned(masked) => Some(masked.into()),
                            Cow::Borrowed(_) => None,
                        };
                        path.insert((Arc::clone(&location.path), became))
                    }
                };
                let Some(became) = became else { return masked };
                location.path = Arc::clone(became);
                true
            }
        }
    }

    /// All secrets of `text`: in its plain view, in the view with torn values joined, and, where secrets include
    /// escapes, the rest of them in the verbatim text.
    fn secrets(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let plain = View::plain(text);
        let origin = |range: &Range<usize>| plain.as_ref().map_or(range.clone(), |plain| plain.origin(range));
        let meant = plain.as_ref().map_or(text, |plain| &plain.text);
        let mut secrets: Vec<_> =
            self.find(meant).into_iter().map(|found| (origin(&found.secret), found.row)).collect();
        let known = self.merged(secrets.clone());
        let is_known = |range: &Range<usize>| {
            let before = known.partition_point(|(known, _)| known.start < range.end).checked_sub(1);
            before.is_some_and(|place| known[place].0.end > range.start)
        };
        if plain.is_some() && !known.is_empty() {
            let verbatim = self.find(text).into_iter().map(|found| (found.secret, found.row));
            secrets.extend(verbatim.filter(|(range, _)| is_known(range)));
        }
        if let Some((joined, joints)) = View::joined(meant) {
            for found in self.find(&joined.text) {
                let secret = origin(&joined.origin(&found.secret));
                let start = secret.start..secret.start + 1;
                if self.is_torn(&found, &joined.text, &joints, is_known(&start)) {
                    secrets.push((secret, found.row));
                }
            }
        }
        secrets
    }

    /// Whether `found` really continues over one of `joints`, rather than being a secret that ends there beside other
    /// words.
    fn is_torn(&self, found: &Match, text: &str, joints: &[usize], is_known: bool) -> bool {
        let Match { from, secret, row } = found;
        let first = joints.partition_point(|joint| joint <= from);
        let last = joints.partition_point(|joint| *joint < secret.end).max(first);
        let joints = &joints[first..last];
        let ends = joints.iter().skip(1).copied().chain([secret.end]);
        let mut pieces = joints.iter().zip(ends).map(|(start, end)| &text[(*start).max(secret.start).min(end)..end]);
        let is_only_whole = !self.rows[*row].secret.is_named() && !is_known;
        !joints.is_empty() && pieces.all(|piece| is_of_a_token(piece) && looks_random(piece, is_only_whole))
    }

    /// The secrets in the verbatim `text`.
    fn find(&self, text: &str) -> Vec<Match> {
        let mut found = Vec::new();
        let mut asked = vec![false; self.rows.len()];
        self.always.iter().for_each(|row| asked[*row] = true);
        for hit in self.triggers.find_overlapping_iter(text) {
            let (row, ends) = &self.row_of[hit.pattern().as_usize()];
            asked[*row] = asked[*row]
                || ends.as_ref().is_none_or(|ends| ends.may_have_value(text.as_bytes(), hit.start(), hit.end()));
        }
        let runs = LazyCell::new(|| Runs::of(text));
        let may_stand = |(row, known): &(usize, &SecretKind)| asked[*row] && known.may_stand_in(text, &runs);
        for (row, known) in self.rows.iter().enumerate().filter(may_stand) {
            known.find(text, &mut |from, secret| found.push(Match { from, secret, row }));
        }
        found
    }

    /// `secrets` in order, with overlapping ones merged. A kind that is recognised by its own shape takes precedence
    /// over one that is recognised by its name.
    fn merged(&self, mut secrets: Vec<(Range<usize>, usize)>) -> Vec<(Range<usize>, usize)> {
        secrets.sort_by_key(|(range, row)| (range.start, *row));
        let rank = |row: usize| (self.rows[row].secret.is_named(), row);
        let mut merged: Vec<(Range<usize>, usize)> = Vec::with_capacity(secrets.len());
        for (range, row) in secrets {
            match merged.last_mut() {
                Some((before, kind)) if range.start < before.end => {
                    before.end = before.end.max(range.end);
                    *kind = if rank(row) < rank(*kind) { row } else { *kind };
                }
                _ => merged.push((range, row)),
            }
        }
        merged
    }

    /// `text` with masks in place of `secrets`.
    fn without<'t>(&self, text: &'t str, mut secrets: Vec<(Range<usize>, usize)>) -> Cow<'t, str> {
        // Masks are not masked again.
        secrets.retain(|(range, _)| !text[range.clone()].contains('‹') && !range.is_empty());
        if secrets.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut at = 0;
        for (range, row) in self.merged(secrets) {
            masked.push_str(&text[at..range.start]);
            cover(&text[range.clone()], &self.rows[row].mask, &mut masked);
            at = range.end;
        }
        masked.push_str(&text[at..]);
        Cow::Owned(masked)
    }
}

/// How the names of `secret` end behind `trigger`; `None` if it is not recognised by a name.
fn name_ends(secret: &Secret, trigger: &str) -> Option<NameEnds> {
    secret.is_named().then(|| NameEnds::new(trigger, &secret.names))
}

/// Replaces `words` by the result of `mask`, if it is different; returns whether it is.
fn replace<T: AsRef<str> + From<String>>(words: &mut T, mask: impl Fn(&str) -> Cow<'_, str>) -> bool {
    let Cow::Owned(masked) = mask(words.as_ref()) else { return false };
    *words = masked.into();
    true
}

/// Writes `mask` for `secret` once per line, so that the number of lines stays the same, behind indentation and the
/// sign of a diff.
fn cover(secret: &str, mask: &str, out: &mut String) {
    for (place, line) in secret.split_inclusive('\n').enumerate() {
        let words = line.trim_end_matches(['\r', '\n']);
        let signed = if place > 0 { words.trim_start_matches(['+', '-']) } else { words };
        let indented = signed.trim_start_matches([' ', '\t']);
        let before = if place > 0 { words.len() - indented.len() } else { 0 };
        out.push_str(&words[..before]);
        out.push_str(if words.len() > before { mask } else { "" });
        out.push_str(&line[words.len()..]);
    }
}

/// Whether `piece` has only characters that occur in tokens.
fn is_of_a_token(piece: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-.~".contains(&byte);
    piece.trim_end_matches('=').bytes().all(is_plain)
}

/// Whether `piece` looks random rather than like a word or a figure: letters and digits that alternate often. If it
/// `completes` a token, fewer changes, or letters alone, suffice.
fn looks_random(piece: &str, completes: bool) -> bool {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    let kinds: Vec<u8> = piece.bytes().map(kind).filter(|kind| *kind > 0).collect();
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let has_digit = kinds.contains(&3);
    match completes {
        true => changes >= if has_digit { 2 } else { 4 },
        false => has_digit && changes >= 3 && kinds.len() >= 6,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::knowledge::{Knowledge, example_of_secret};
    use crate::model::{Citation, Column, LineNumber, Location};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// Asks every row about every text.
    static ALWAYS: OnceLock<Option<Redactor>> = OnceLock::new();

    fn redactor() -> Result<(Redactor, Vec<Secret>), Box<dyn std::error::Error>> {
        let secrets = Knowledge::shipped()?.secrets.to_vec();
        Ok((Redactor::new(&secrets)?, secrets))
    }

    #[test]
    fn every_row_does_what_its_examples_say() -> Outcome {
        let (redactor, secrets) = redactor()?;
        assert!(secrets.len() >= 40);
        for secret in &secrets {
            let alone = Redactor::new(std::slice::from_ref(secret))?;
            for example in secret.examples.iter().map(|example| example_of_secret(example)) {
                let mask = format!("‹{}›", secret.name);
                assert!(alone.text(&example).contains(&mask), "{} by {}: {example}", secret.name, secret.pattern);
                let masked = redactor.text(&example);
                for (range, _) in alone.secrets(&example) {
                    let words = &example[range];
                    assert!(words.len() < 4 || !masked.contains(words), "{words} is left of {example}: {masked}");
                }
            }
            for example in secret.counter_examples.iter().map(|example| example_of_secret(example)) {
                assert_eq!(redactor.text(&example), example, "{}", secret.name);
            }
        }
        Ok(())
    }

    /// Triggers, and what stands with them, only save the asking.
    #[test]
    fn nothing_is_found_where_no_trigger_stands() -> Outcome {
        let (_, secrets) = redactor()?;
        let examples = secrets.iter().flat_map(|secret| secret.examples.iter().chain(&secret.counter_examples));
        let examples: Vec<String> = examples.map(|example| example_of_secret(example)).collect();
        for secret in &secrets {
            let asked = Secret { triggers: Vec::new(), with: Vec::new(), ..secret.clone() };
            let (asked, triggered) = (Redactor::new(&[asked])?, Redactor::new(std::slice::from_ref(secret))?);
            for example in &examples {
                assert_eq!(asked.text(example), triggered.text(example), "{} by {}", secret.name, secret.pattern);
            }
        }
        Ok(())
    }

    proptest! {
        /// What is seen beside a name only saves the asking, too.
        #[test]
        fn a_secret_is_looked_for_wherever_a_value_may_stand(
            before in select(vec!["", " ", "my_", "--", "step-", "env ", "ENV\t", "<", "\"", "'", "- name: ", "‹token›"]),
            name in select(vec!["token", "hf_token", "API key", "api-key", "passwd", "secretKey", "密码", "TOKEN", "tokens", "pass word"]),
            pieces in vec(select(vec![
                "s", "value", "\"", "'", "`", " ", "\t", "\n", ":", "=", ":=", "->", "(", ")", "[", "{", ",", "+", "-", "env ", "<", ">", "\\", "：",
                "‹token›", "str", "|", ".",
            ]), 0..6),
            after in select(vec!["", "hunter2X9abQ", "\"hunter2X9abQ\")", "hunter2X9abQ</", "value: hunter2X9abQ"]),
        ) {
            let text = [&[before, name], &pieces[..], &[after]].concat().concat();
            let (redactor, secrets) = redactor().map_err(|error| TestCaseError::fail(error.to_string()))?;
            let always: Vec<_> = secrets.iter().map(|secret| Secret { triggers: Vec::new(), ..secret.clone() }).collect();
            let always = ALWAYS.get_or_init(|| Redactor::new(&always).ok()).as_ref();
            let always = always.ok_or_else(|| TestCaseError::fail("the shipped rows are unsound"))?;
            prop_assert_eq!(redactor.text(&text), always.text(&text));
        }
    }

    #[test]
    fn figures_paths_and_line_numbers_stay() -> Outcome {
        let (redactor, _) = redactor()?;
        for text in [
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB",
            "File \"/opt/conda/lib/python3.11/site-packages/deepspeed/runtime/zero/stage3.py\", line 2081, in step",
            "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods.slice/pod0a1b2c3d,task=python3,pid=4211,uid=1000",
            "(WorkerDict pid=4211, ip=10.1.2.3) kv_cache_dtype=auto, max_tokens=4096, past_key_values=None",
            "0123456789abcdef0123456789abcdef01234567",
            "--max_new_tokens 1024 --pad_token_id 151643 --hidden-key-size 128",
        ] {
            assert_eq!(redactor.text(text), text);
        }
        Ok(())
    }

    #[test]
    fn a_changed_citation_says_so() -> Outcome {
        let (redactor, _) = redactor()?;
        let cite = |line: u64, text: &str| {
            let location = Location { path: "job.log".into(), line: LineNumber(line), column: Column(1) };
            Citation::new(location, text)
        };
        let mut cites = vec![cite(3, "HF_TOKEN=hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"), cite(4, "step 4")];
        assert_eq!(redactor.mask(&mut cites), 1);
        assert!(cites[0].redacted && !cites[0].text.contains("aBcDeF"));
        assert_eq!(cites[1], cite(4, "step 4"));
        Ok(())
    }

    #[test]
    fn masking_twice_changes_nothing_more() -> Outcome {
        let (redactor, secrets) = redactor()?;
        for example in secrets.iter().flat_map(|secret| &secret.examples) {
            let once = redactor.text(&example_of_secret(example)).into_owned();
            assert_eq!(redactor.text(&once), once);
        }
        Ok(())
    }

    #[test]
    fn a_key_keeps_its_lines() -> Outcome {
        let (redactor, _) = redactor()?;
        let key = example_of_secret("+-----BEGIN PRIVATE KEY-----\n+  ⟨64⟩\n+⟨20⟩==\n+-----END PRIVATE KEY-----\n+x\n");
        let masked = "+-----BEGIN PRIVATE KEY-----\n+  ‹private-key›\n+‹private-key›\n+-----END PRIVATE KEY-----\n+x\n";
        assert_eq!(redactor.text(&key), masked);
        Ok(())
    }
}
