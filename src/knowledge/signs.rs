use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::KnowledgeError;
use crate::model::{FigureName, Kind};
use crate::scan::Literals;

/// One file of `rules/signs/`: general words with which people and programs say that memory ran out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignFile {
    /// Where this was read.
    #[serde(rename = "source")]
    _source: String,
    /// Literals of which one occurs, exactly as written, in every line worth judging.
    #[serde(default)]
    triggers: Vec<Arc<str>>,
    /// Literals which show that the job computes on a device.
    #[serde(default)]
    device_marks: Vec<Arc<str>>,
    #[serde(default)]
    sign: Vec<SignRow>,
    #[serde(default)]
    amount: Vec<AmountRow>,
    #[serde(default)]
    number: Vec<NumberRow>,
    /// [`SignExamples`].
    #[serde(default, rename = "example")]
    _example: IgnoredAny,
    #[serde(default, rename = "near_miss")]
    _near_miss: IgnoredAny,
}

/// The examples of a file of signs, which an analysis does not read.
#[derive(Debug, Deserialize)]
pub struct SignExamples {
    /// Lines that say that memory ran out, or that a process was killed.
    #[serde(default)]
    pub example: Vec<SignExample>,
    /// Lines that look alike and say neither.
    #[serde(default)]
    pub near_miss: Vec<SignMiss>,
}

/// A line and what it says.
#[derive(Debug, Deserialize)]
pub struct SignExample {
    /// The line.
    pub text: String,
    /// What ran out.
    pub kind: Kind,
    /// The lines before it.
    #[serde(default)]
    pub context: String,
    /// The figures that it states, as it writes them.
    #[serde(flatten)]
    pub figures: BTreeMap<FigureName, String>,
}

/// A line that says nothing of memory that ran out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignMiss {
    /// The line.
    pub text: String,
}

/// Most words that `…` in a sign stands for.
const GAP: usize = 3;

/// Words with a meaning. They are written as plain text: in lower case, names split into their words, everything but letters, numbers and
/// the mark of a question replaced by a blank.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignRow {
    /// What they mean.
    pub means: Meaning,
    /// One of these. `…` stands for up to three words: `not enough … memory`.
    pub words: Vec<Arc<str>>,
    /// Their weight.
    pub weight: f64,
    /// The memory that they are about.
    #[serde(default)]
    pub memory: Option<MemoryOf>,
    /// One of these must occur in the same sentence; if empty, the words suffice.
    #[serde(default)]
    pub needs: Vec<Arc<str>>,
    /// One of these must occur on the same line, perhaps in another sentence.
    #[serde(default)]
    pub with: Vec<Arc<str>>,
    /// Where they count.
    #[serde(default)]
    pub place: Place,
    /// Whether they count only if written as one name: `MemoryError`, not `memory error`.
    #[serde(default)]
    pub one_name: bool,
    /// What they speak against, a shortage or a kill; absent: both.
    #[serde(default)]
    pub of: Option<Meaning>,
    /// Whether they also say that the work is tried again.
    #[serde(default)]
    pub retries: bool,
}

/// What words mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Memory ran out.
    Shortage,
    /// A process was killed.
    Kill,
    /// Something failed.
    Failing,
    /// The line is not about a failure: advice, a test's name, a help text.
    Against,
    /// It only tells whose memory the line is about.
    Memory,
}

/// Where words count, relative to a sign of a shortage or a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Anywhere on its line.
    #[default]
    Line,
    /// Before it in the same sentence.
    Before,
    /// Directly before it.
    DirectlyBefore,
    /// After it in the same sentence.
    Behind,
    /// Directly after it.
    DirectlyBehind,
    /// At the beginning of the line.
    Start,
    /// On its line or on those next to it.
    Near,
}

/// Whose memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryOf {
    /// An accelerator's.
    Device,
    /// The host's, as a process requests it.
    Host,
    /// The host's, as the kernel manages it.
    Kernel,
    /// What a cgroup, container or pod may use.
    Container,
    /// What a daemon in user space watches.
    Daemon,
    /// What a scheduler, a supervisor or a runtime allows a job.
    Job,
    /// What Ray's monitor watches.
    Ray,
    /// Shared memory: /dev/shm, an object store.
    Shared,
}

/// The figure that an amount of memory is, by the words beside it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountRow {
    /// The figure.
    pub figure: FigureName,
    /// The memories for which the row counts; if empty, all.
    #[serde(default)]
    pub memory: Vec<MemoryOf>,
    /// Words directly before it.
    #[serde(default)]
    pub before: Vec<Arc<str>>,
    /// Words directly after it.
    #[serde(default)]
    pub behind: Vec<Arc<str>>,
    /// Words directly before a number that counts bytes though it has no unit.
    #[serde(default)]
    pub bytes: Vec<Arc<str>>,
    /// The same, but only directly after a comma: `, size 59187712`, not `vocab size 151936`.
    #[serde(default)]
    pub bytes_alone: Vec<Arc<str>>,
    /// Words directly behind such a number: `3959521280 in use`.
    #[serde(default)]
    pub bytes_behind: Vec<Arc<str>>,
}

/// What a number is, by the words before it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberRow {
    /// What it is.
    pub is: NumberOf,
    /// Words directly before it.
    pub words: Vec<Arc<str>>,
    /// What must stand between words and number; if empty: a blank, a colon, an equals sign, a bracket, a hash.
    #[serde(default)]
    pub between: Vec<Arc<str>>,
    /// A smaller number is something else: a pool's worker has a pid and an index in the pool.
    #[serde(default)]
    pub least: u32,
}

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberOf {
    /// A process id.
    Pid,
    /// A rank.
    Rank,
    /// The number of a device.
    Device,
}

/// General signs of a shortage, and signs for and against them.
#[derive(Debug, Default)]
pub struct Signs {
    triggers: Vec<Arc<str>>,
    device_marks: Vec<Arc<str>>,
    rows: Vec<SignRow>,
    /// The rows that name amounts.
    pub amounts: Vec<AmountRow>,
    /// The rows that name numbers.
    pub numbers: Vec<NumberRow>,
    /// The search for all words, and the row of each; built when the first line is judged.
    search: OnceLock<Search>,
}

/// A search for the words of all rows up to their gap, with the row of each.
#[derive(Debug)]
struct Search {
    heads: Literals,
    of: Vec<Wanted>,
}

/// The row of some words, and the words after their gap.
#[derive(Debug)]
struct Wanted {
    row: usize,
    /// How long the words before the gap are.
    length: usize,
    tail: Option<Arc<str>>,
}

/// Words of a row in a plain text.
#[derive(Debug, Clone, Copy)]
pub struct FoundSign<'s> {
    /// The row.
    pub row: &'s SignRow,
    /// Where the words begin and end.
    pub start: usize,
    /// See `start`.
    pub end: usize,
}

impl Signs {
    /// Adds the rows of a file.
    pub(super) fn add(&mut self, path: &str, file: SignFile) -> Result<(), KnowledgeError> {
        let SignFile { triggers, device_marks, sign, amount, number, .. } = file;
        let written = sign.iter().flat_map(|row| row.words.iter().chain(&row.needs));
        let beside = amount.iter().flat_map(|row| row.before.iter().chain(&row.behind));
        let numbers = number.iter().flat_map(|row| &row.words);
        if let Some(odd) = written.chain(beside).chain(numbers).find(|words| !is_plain(words)) {
            let problem = format!("`{odd}` never stands in a plain text: small letters, one blank between words");
            return Err(KnowledgeError::Wrong { file: path.to_owned(), problem });
        }
        if let Some(short) = triggers.iter().chain(&device_marks).find(|literal| literal.len() < 3) {
            let problem = format!("`{short}` stands in nearly every line; write a longer literal");
            return Err(KnowledgeError::Wrong { file: path.to_owned(), problem });
        }
        self.triggers.extend(triggers);
        self.device_marks.extend(device_marks);
        self.rows.extend(sign);
        self.amounts.extend(amount);
        self.numbers.extend(number);
        self.search = OnceLock::new();
        Ok(())
    }

    /// Literals of which one occurs in every line worth judging.
    pub fn triggers(&self) -> impl Iterator<Item = &str> {
        self.triggers.iter().map(|literal| &**literal)
    }

    /// Literals which show that the job computes on a device.
    pub fn device_marks(&self) -> impl Iterator<Item = &str> {
        self.device_marks.iter().map(|literal| &**literal)
    }

    /// All rows.
    pub fn rows(&self) -> &[SignRow] {
        &self.rows
    }

    /// Every sign in a plain `text`, whole words only.
    pub fn find<'s>(&'s self, text: &str) -> Vec<FoundSign<'s>> {
        let search = self.search.get_or_init(|| Search::of(&self.rows));
        let mut found = Vec::new();
        search.heads.each(text, |head, end| {
            let Wanted { row, length, tail } = &search.of[head];
            let start = end - length;
            if !is_whole(text, start, end) {
                return;
            }
            let end = tail.as_ref().map_or(Some(end), |tail| behind_gap(text, end, tail));
            found.extend(end.map(|end| FoundSign { row: &self.rows[*row], start, end }));
        });
        found
    }
}

impl Search {
    fn of(rows: &[SignRow]) -> Search {
        let words = rows.iter().enumerate().flat_map(|(row, of)| of.words.iter().map(move |words| (row, words)));
        let (heads, of): (Vec<&str>, Vec<Wanted>) = words
            .map(|(row, words)| match words.split_once(" … ") {
                None => (&**words, Wanted { row, length: words.len(), tail: None }),
                Some((head, tail)) => (head, Wanted { row, length: head.len(), tail: Some(tail.into()) }),
            })
            .unzip();
        Search { heads: Literals::new(heads), of }
    }
}

/// The end of `tail` after `from` in `text`, with at most [`GAP`] words between.
fn behind_gap(text: &str, from: usize, tail: &str) -> Option<usize> {
    let rest = text[from..].strip_prefix(' ')?;
    let starts = std::iter::once(0).chain(rest.match_indices(' ').map(|(at, _)| at + 1));
    let start = starts.take(GAP + 1).find(|start| {
        rest[*start..].strip_prefix(tail).is_some_and(|behind| behind.is_empty() || behind.starts_with(' '))
    })?;
    Some(from + 1 + start + tail.len())
}

fn is_plain(words: &str) -> bool {
    let odd = |c: char| c.is_uppercase() || (c.is_ascii_punctuation() && c != '-' && c != '?');
    !words.is_empty() && words.trim() == words && !words.contains("  ") && !words.contains(odd)
}

/// Whether the text from `start` to `end` is not part of a longer word or number. Chinese has no blanks.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let (first, last) = (text[start..end].chars().next(), text[start..end].chars().next_back());
    let (before, behind) = (text[..start].chars().next_back(), text[end..].chars().next());
    let joins = |one: Option<char>, other: Option<char>| match (one, other) {
        (Some(one), Some(other)) if one.is_ascii_alphabetic() => other.is_ascii_alphabetic(),
        (Some(one), Some(other)) if one.is_ascii_digit() || one == '-' => {
            other.is_ascii_digit() || other == '.' || other == '-'
        }
        _ => false,
    };
    !joins(first, before) && !joins(last, behind)
}
