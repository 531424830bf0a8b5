use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::KnowledgeError;
use crate::model::FigureName;
use crate::scan::Literals;

/// One file of `rules/signs/`: how people and programs say that memory ran out, whoever they are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignFile {
    /// Where this was read.
    #[serde(rename = "source")]
    _source: String,
    /// Literals of which one stands in every line that is worth judging, as they are written.
    #[serde(default)]
    triggers: Vec<Arc<str>>,
    /// Literals that say that a device computes here.
    #[serde(default)]
    device_marks: Vec<Arc<str>>,
    #[serde(default)]
    sign: Vec<SignRow>,
    #[serde(default)]
    amount: Vec<AmountRow>,
    #[serde(default)]
    number: Vec<NumberRow>,
    /// A test reads them.
    #[serde(default, rename = "example")]
    _example: IgnoredAny,
    #[serde(default, rename = "near_miss")]
    _near_miss: IgnoredAny,
}

/// As many words may stand where a sign has `…`.
const GAP: usize = 3;

/// Words that mean something, wherever they are said. They are written as plain text is: in small letters, names split
/// into their words, everything but letters and numbers a blank.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignRow {
    /// What they mean.
    pub means: Meaning,
    /// One of these. `…` stands for up to three words: `not enough … memory`.
    pub words: Vec<Arc<str>>,
    /// How much it weighs.
    pub weight: f64,
    /// Whose memory they speak of.
    #[serde(default)]
    pub memory: Option<MemoryOf>,
    /// One of these must stand in the same sentence; none: they mean it by themselves.
    #[serde(default)]
    pub needs: Vec<Arc<str>>,
    /// One of these must stand on the same line besides: what is done about it may be another sentence.
    #[serde(default)]
    pub with: Vec<Arc<str>>,
    /// Where they count.
    #[serde(default)]
    pub place: Place,
    /// That they count only where they are written as one name: `MemoryError`, not `memory error`.
    #[serde(default)]
    pub one_name: bool,
    /// What they speak against; absent: either.
    #[serde(default)]
    pub of: Option<Meaning>,
    /// That they also say that whoever speaks tries again.
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
    /// It is no failure that is spoken of: a hint, a test's name, a help text.
    Against,
    /// Only whose memory is spoken of.
    Memory,
}

/// Where words count, seen from a sign of shortage or of a kill.
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
    /// Behind it in the same sentence.
    Behind,
    /// Directly behind it.
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
    /// The machine's, as a process asks for it.
    Host,
    /// The machine's, as the kernel gives it out.
    Kernel,
    /// What a control group, container or pod may use.
    Container,
    /// What a daemon in user space watches.
    Daemon,
    /// What a scheduler, a supervisor or a runtime allows a job.
    Job,
    /// What Ray's monitor watches.
    Ray,
    /// Memory that processes share: /dev/shm, an object store.
    Shared,
}

/// What an amount of memory is, by the words beside it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountRow {
    /// The figure.
    pub figure: FigureName,
    /// It counts for these memories; none: for all.
    #[serde(default)]
    pub memory: Vec<MemoryOf>,
    /// Words directly before it.
    #[serde(default)]
    pub before: Vec<Arc<str>>,
    /// Words directly behind it.
    #[serde(default)]
    pub behind: Vec<Arc<str>>,
    /// Words directly before a number that counts bytes though it has no unit.
    #[serde(default)]
    pub bytes: Vec<Arc<str>>,
    /// The same, where nothing else stands between them and the last comma: `, size 59187712`, not `vocab size 151936`.
    #[serde(default)]
    pub bytes_alone: Vec<Arc<str>>,
}

/// What a number is, by the words before it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberRow {
    /// What it is.
    pub is: NumberOf,
    /// Words directly before it.
    pub words: Vec<Arc<str>>,
    /// What must stand between; nothing: a blank, a colon, an equals sign, a bracket, a hash.
    #[serde(default)]
    pub between: Vec<Arc<str>>,
    /// A smaller number is something else: one of a pool's workers has a pid and a place in the pool.
    #[serde(default)]
    pub least: u32,
}

/// What a number says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberOf {
    /// Its id.
    Pid,
    /// Its rank.
    Rank,
    /// Its device.
    Device,
}

/// General signs of shortage, and of what speaks for and against them.
#[derive(Debug, Default)]
pub struct Signs {
    triggers: Vec<Arc<str>>,
    device_marks: Vec<Arc<str>>,
    rows: Vec<SignRow>,
    /// What each amount is.
    pub amounts: Vec<AmountRow>,
    /// What each number is.
    pub numbers: Vec<NumberRow>,
    /// The search for all words, and the row of each; made when the first line is judged.
    search: OnceLock<Search>,
}

/// A search for the words of all rows, up to their gap, and what each belongs to.
#[derive(Debug)]
struct Search {
    heads: Literals,
    of: Vec<Wanted>,
}

/// The row of some words, and what must stand behind a gap.
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
    /// Adds what a file holds.
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

    /// Literals of which one stands in every line that is worth judging.
    pub fn triggers(&self) -> impl Iterator<Item = &str> {
        self.triggers.iter().map(|literal| &**literal)
    }

    /// Literals that say that a device computes here.
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

/// Where `tail` ends that stands behind `from` in `text`, with at most [`GAP`] words between.
fn behind_gap(text: &str, from: usize, tail: &str) -> Option<usize> {
    let rest = text[from..].strip_prefix(' ')?;
    let starts = std::iter::once(0).chain(rest.match_indices(' ').map(|(at, _)| at + 1));
    let start = starts.take(GAP + 1).find(|start| {
        rest[*start..].strip_prefix(tail).is_some_and(|behind| behind.is_empty() || behind.starts_with(' '))
    })?;
    Some(from + 1 + start + tail.len())
}

fn is_plain(words: &str) -> bool {
    let odd = |c: char| c.is_uppercase() || (c.is_ascii_punctuation() && c != '-');
    !words.is_empty() && words.trim() == words && !words.contains("  ") && !words.contains(odd)
}

/// Whether what stands from `start` to `end` is no part of a longer word or number. Chinese has no blanks.
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
