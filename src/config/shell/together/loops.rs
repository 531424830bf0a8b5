//! `for … in …`, and how often its body runs.

use std::collections::HashMap;
use std::ops::Range;

use super::commands::Started;
use super::{Way, Word};
use crate::config::shell::words::Content;

/// A loop that is open.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    /// From `for` to the last of its items.
    pub header: Range<usize>,
    /// How often its body runs, if that can be told without running it.
    pub repeats: Option<usize>,
    pub way: Way,
    /// The loop's variable, and those that its body makes of it, with what they are made of.
    pub names: Vec<(String, String)>,
    pub started: Vec<Started>,
    /// How many blocks of `if` and `case` are open around it.
    pub blocks: usize,
    /// Whether something beside what it starts goes by its variable.
    pub differs: bool,
    /// Whether its body waits for what it started.
    pub waits: bool,
}

/// The number of processes up to which the body of a loop starts another one.
pub(super) enum Limit {
    None,
    At(usize, Range<usize>),
    Unknown,
}

/// The most items that a loop starts at once; more is no such loop.
const MOST: usize = 256;

impl Loop {
    /// A loop of which nothing is known.
    pub fn unknown() -> Loop {
        let names = Vec::new();
        let started = Vec::new();
        Loop {
            header: 0..0,
            repeats: None,
            way: Way::Elsewhere,
            names,
            started,
            blocks: 0,
            differs: false,
            waits: false,
        }
    }

    /// `for NAME in …`, `for ((i = 0; i < 4; i++))`
    pub fn open(text: &str, words: &[Word], numbers: &HashMap<String, i64>, lengths: &HashMap<String, usize>) -> Loop {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return Loop::unknown() };
        let mut opened = Loop { header: first.span.start..last.span.end, ..Loop::unknown() };
        let Some(name) = words.get(1).and_then(Word::bare) else {
            return opened.counted(text, first.span.end);
        };
        opened.names.push((name.to_owned(), String::new()));
        let items = words.get(3..).unwrap_or_default();
        let of_variable = |name: &str| numbers.get(name).copied();
        if let [only] = items
            && let Some(range) = range(text, only, of_variable)
        {
            let count = range.last.checked_sub(range.first).and_then(|steps| steps.checked_add(1));
            let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
            opened.repeats = repeats(count);
            opened.way = range.place.map_or(Way::Elsewhere, |place| Way::Last(place, range.first));
            return opened;
        }
        let count: Option<usize> = items.iter().map(|item| length(item, lengths)).sum();
        if let Some(count) = count {
            opened.repeats = repeats(count);
        }
        let is_written_out = items.iter().all(|item| item.bare().is_some());
        if is_written_out {
            opened.way = Way::Items(items.iter().map(|item| item.span.clone()).collect());
        }
        opened
    }

    /// The loop's numbers where they stand in double parentheses behind `from`.
    fn counted(mut self, text: &str, from: usize) -> Loop {
        let rest = text.get(from..).unwrap_or_default();
        let Some(inner) = rest.trim_start().strip_prefix("((") else { return self };
        let at = text.len() - inner.len();
        let inner = inner.split("))").next().unwrap_or_default();
        self.header.end = at + inner.len();
        let mut parts = inner.split(';');
        let (begin, test) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let step = parts.next().unwrap_or_default();
        if !step.contains("++") {
            return self;
        }
        let Some((name, first)) = begin.split_once('=') else { return self };
        self.names.push((name.trim().to_owned(), String::new()));
        let Some(sign) = test.find('<') else { return self };
        let is_with = test[sign + 1..].starts_with('=');
        let value = &test[sign + 1 + usize::from(is_with)..];
        let (Ok(first), Ok(last)) = (first.trim().parse::<i64>(), value.trim().parse::<i64>()) else { return self };
        let place = text.len() - text[at + begin.len() + 1..].len() + sign + 1 + usize::from(is_with);
        let blanks = value.len() - value.trim_start().len();
        let (count, one) = (last.checked_sub(first), first.checked_add(i64::from(!is_with)));
        let (Some(count), Some(one)) = (count.and_then(|count| count.checked_add(i64::from(is_with))), one) else {
            return self;
        };
        self.repeats = repeats(usize::try_from(count).unwrap_or_default());
        let place = place + blanks..place + blanks + value.trim().len();
        self.way = Way::Last(place, one);
        self
    }

    /// Whether `word` is made of the loop's variable.
    pub fn is_used(&self, word: &Word, text: &str) -> bool {
        word.parts.iter().any(|part| match &part.content {
            Content::Literal(_) => false,
            Content::Variable { name, .. } => self.names.iter().any(|(own, _)| own == name),
            Content::Arithmetic(words) => self.names.iter().any(|(own, _)| says(words, own)),
            Content::Opaque => {
                let words = text.get(part.span.clone()).unwrap_or_default();
                self.names.iter().any(|(own, _)| says(words, own))
            }
        })
    }
}

/// Whether `words` contain `name` as a word of its own.
pub(super) fn says(words: &str, name: &str) -> bool {
    words.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

fn repeats(count: usize) -> Option<usize> {
    (1..=MOST).contains(&count).then_some(count)
}

/// How many items a word of the list is; `None` if only a run would show it.
fn length(item: &Word, lengths: &HashMap<String, usize>) -> Option<usize> {
    match item.parts.as_slice() {
        [part] => match &part.content {
            Content::Variable { name, is_list: true, .. } => lengths.get(name).copied(),
            Content::Literal(text) if !text.contains(['*', '?', '{']) => Some(1),
            _ => None,
        },
        parts => {
            let is_literal =
                |content: &Content| matches!(content, Content::Literal(text) if !text.contains(['*', '?', '{']));
            parts.iter().all(|part| is_literal(&part.content)).then_some(1)
        }
    }
}

/// `{0..3}`, `$(seq 4)`, `$(seq 0 3)`: the numbers, and the place of the last one if it is written there.
struct Numbers {
    first: i64,
    last: i64,
    place: Option<Range<usize>>,
}

fn range(text: &str, item: &Word, of_variable: impl Fn(&str) -> Option<i64>) -> Option<Numbers> {
    let written = text.get(item.span.clone())?;
    let braces = written.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    let (first, last) = if let Some((first, last)) = braces.and_then(|inner| inner.split_once("..")) {
        (first, last)
    } else {
        let inner = written.strip_prefix("$(").and_then(|inner| inner.strip_suffix(')'));
        let inner = inner.or_else(|| written.strip_prefix('`')?.strip_suffix('`'))?;
        let mut words = inner.split_whitespace().skip_while(|word| *word != "seq").skip(1);
        match (words.next()?, words.next(), words.next()) {
            (last, None, None) => ("1", last),
            (first, Some(last), None) => (first, last),
            _ => return None,
        }
    };
    let number = |words: &str| match words.trim_start_matches("${").trim_start_matches('$').trim_end_matches('}') {
        name if words.starts_with('$') => of_variable(name),
        words => words.parse().ok(),
    };
    let (one, end) = (number(first)?, number(last)?);
    let at = item.span.start + (last.as_ptr() as usize).checked_sub(written.as_ptr() as usize)?;
    let place = (!last.starts_with('$')).then(|| at..at + last.len());
    Some(Numbers { first: one, last: end, place })
}

/// The number to which the body `text`, which begins at `base`, compares its running jobs.
pub(super) fn limit(text: &str, base: usize) -> Limit {
    // `--n_jobs 4` is an option of the program.
    let is_part = |at: &usize| text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    let Some(jobs) = text.match_indices("jobs ").map(|(at, _)| at).find(|at| !is_part(at)) else {
        return Limit::None;
    };
    let rest = text[jobs..].lines().next().unwrap_or_default();
    let signs = ["-ge ", ">= "];
    let Some(sign) = signs.iter().filter_map(|sign| Some(rest.find(sign)? + sign.len())).min() else {
        return Limit::Unknown;
    };
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let at = base + jobs + sign;
    match rest[sign..sign + digits].parse() {
        Ok(limit) => Limit::At(limit, at..at + digits),
        Err(_) => Limit::Unknown,
    }
}
