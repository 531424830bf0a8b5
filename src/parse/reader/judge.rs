//! Judges whether a line says that memory ran out or that a process was killed, by weighing signs for and against it.

use std::ops::Range;

use super::plain_text::{Plain, Wrap};
use crate::knowledge::{FoundSign, Meaning, MemoryOf, Place, SignRow, Signs};

/// The weight from which on a line is believed.
pub(super) const BELIEVED: f64 = 3.0;
/// The weight that the last words of a log gain.
pub(super) const LAST_SAID: f64 = 1.0;
/// The limit of the weight against a line.
const MOST_AGAINST: f64 = -8.0;

/// A message to be judged: its line and the lines around it.
pub(super) struct Message<'t> {
    /// The text of the whole record.
    pub text: &'t str,
    /// The part that is judged: the line with its neighbours.
    pub range: Range<usize>,
    /// The line itself.
    pub line: Range<usize>,
    /// Whether the log mentioned a device before.
    pub device_before: bool,
}

/// The verdict on a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    /// Whether memory ran out or a process was killed.
    pub means: Meaning,
    /// The weight of the signs for and against it.
    pub weight: f64,
    /// Whose memory.
    pub memory: MemoryOf,
    /// Whether it also says that a process was killed.
    pub killed: bool,
    /// Whether it says that the work is tried again.
    pub retries: bool,
    /// The words that say so, as a range of the message's text.
    pub words: Range<usize>,
}

/// Judges `message`; `None` if it has no sign of a shortage or a kill.
pub(super) fn judge(message: &Message<'_>, signs: &Signs) -> Option<Judgement> {
    let between_words = Case::new(message, signs, Wrap::Blank).best();
    let is_enough = between_words.as_ref().is_some_and(|judgement| judgement.weight >= BELIEVED);
    // Within a single line both readings are the same.
    if is_enough || !message.text[message.range.clone()].contains('\n') {
        return between_words;
    }
    let within_a_word = Case::new(message, signs, Wrap::Nothing).best();
    between_words.into_iter().chain(within_a_word).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

/// A message's words and the signs in them.
struct Case<'m, 's> {
    message: &'m Message<'m>,
    plain: Plain,
    found: Vec<FoundSign<'s>>,
    /// The range of the line in the plain words.
    line: Range<usize>,
}

impl<'m, 's> Case<'m, 's> {
    fn new(message: &'m Message<'m>, signs: &'s Signs, wrap: Wrap) -> Case<'m, 's> {
        let plain = Plain::of(message.text, message.range.clone(), wrap);
        let mut found = signs.find(&plain.text);
        let line = plain.within(&message.line);
        found.extend(cut_off(signs, &plain, &line));
        Case { message, plain, found, line }
    }

    /// The verdict with the largest weight.
    fn best(&self) -> Option<Judgement> {
        let heads = self.found.iter().filter(|found| matches!(found.row.means, Meaning::Shortage | Meaning::Kill));
        let here = heads.filter(|found| found.start < self.line.end && found.end > self.line.start);
        let said: Vec<&FoundSign<'_>> = here.filter(|head| self.is_said(head)).collect();
        // The `oom` of `oom killed` says nothing by itself.
        let is_part = |part: &FoundSign<'_>| {
            said.iter().any(|whole| {
                let longer = whole.end - whole.start > part.end - part.start;
                longer && whole.row.means == part.row.means && whole.start <= part.start && whole.end >= part.end
            })
        };
        let judged = said.iter().filter(|head| !is_part(head)).map(|head| self.weigh(head));
        judged.max_by(|a, b| {
            // A believed shortage says more than a mere kill.
            let shortage = |one: &Judgement| one.means == Meaning::Shortage && one.weight >= BELIEVED;
            shortage(a)
                .cmp(&shortage(b))
                .then(a.weight.total_cmp(&b.weight))
                .then(a.words.len().cmp(&b.words.len()))
                .then(b.words.start.cmp(&a.words.start))
        })
    }

    /// Whether the other words that a sign needs are there, and whether the sign is a statement and not part of a setting's name, a path or
    /// an address.
    fn is_said(&self, head: &FoundSign<'_>) -> bool {
        let place = self.plain.place(self.message.text, head.start..head.end);
        let written = &self.message.text[place.clone()];
        if head.row.one_name && written.contains(char::is_whitespace) {
            return false;
        }
        let sentence = &self.plain.text[self.plain.sentence(&(head.start..head.end))];
        let outside = |words: &str| has_words(sentence, words);
        if !head.row.needs.is_empty() && !head.row.needs.iter().any(|words| outside(words)) {
            return false;
        }
        let line = &self.plain.text[self.line.clone()];
        if !head.row.with.is_empty() && !head.row.with.iter().any(|words| has_words(line, words)) {
            return false;
        }
        !is_name_of_something(self.message.text, &place)
    }

    fn weigh(&self, head: &FoundSign<'_>) -> Judgement {
        let own = head.start..head.end;
        let sentence = self.plain.sentence(&own);
        let others = || self.found.iter().filter(|found| !overlaps(found, &own) && !self.is_within_another(found));
        let on_line = |found: &FoundSign<'_>| found.start >= self.line.start && found.end <= self.line.end;
        let mut weight = head.row.weight;

        let again = |found: &&FoundSign<'_>| {
            found.row.means == head.row.means && sentence.contains(&found.start) && found.row.words != head.row.words
        };
        let said_twice = others().any(|found| again(&found));
        weight += if said_twice { 1.0 } else { 0.0 };

        let mut failing: Vec<f64> = others()
            .filter(|found| found.row.means == Meaning::Failing && (on_line(found) || found.row.place == Place::Near))
            .map(|found| found.row.weight)
            .collect();
        failing.extend(self.class_of_exception());
        failing.sort_by(|a, b| b.total_cmp(a));
        weight += failing.first().copied().unwrap_or(0.0) + if failing.len() > 1 { 0.5 } else { 0.0 };

        let is_alone = sentence.len() <= own.len() + 12;
        weight += if is_alone { 0.5 } else { 0.0 };

        let against = others().filter(|found| {
            found.row.means == Meaning::Against
                && found.row.of.is_none_or(|of| of == head.row.means)
                && self.counts(found, &own, &sentence)
                && !self.is_within_a_name(found, &own)
        });
        let (mut strongest, mut retries, mut rest) = (0.0f64, false, 0.0);
        for found in against {
            retries |= found.row.retries;
            rest += strongest.max(found.row.weight) * 0.5;
            strongest = strongest.min(found.row.weight);
        }
        weight += (strongest + rest).max(MOST_AGAINST);
        weight += self.is_code(&own);

        let killed = others().any(|found| found.row.means == Meaning::Kill && on_line(found))
            || has_words(&self.plain.text[sentence], "killed");
        Judgement {
            means: head.row.means,
            weight,
            memory: self.memory(head),
            killed,
            retries,
            words: self.plain.place(self.message.text, own),
        }
    }

    /// Whether `found` stands where its row demands.
    fn counts(&self, found: &FoundSign<'_>, own: &Range<usize>, sentence: &Range<usize>) -> bool {
        let within = found.start >= sentence.start && found.end <= sentence.end;
        let between = |from: usize, to: usize| self.plain.text.get(from..to).is_some_and(|gap| gap.trim().is_empty());
        match found.row.place {
            Place::Line => found.start >= self.line.start && found.end <= self.line.end,
            Place::Before => within && found.end <= own.start,
            Place::DirectlyBefore => within && found.end <= own.start && between(found.end, own.start),
            Place::Behind => within && found.start >= own.end,
            Place::DirectlyBehind => within && found.start >= own.end && between(own.end, found.start),
            Place::Start => between(self.line.start, found.start) && found.start >= self.line.start,
            Place::Near => true,
        }
    }

    /// Whether it is part of a longer sign with another meaning: the `could` of `could not`.
    fn is_within_another(&self, part: &FoundSign<'_>) -> bool {
        self.found.iter().any(|whole| {
            let longer = whole.end - whole.start > part.end - part.start;
            let is_advice = part.row.retries && !whole.row.retries;
            let another = (whole.row.means != part.row.means || is_advice) && whole.row.means != Meaning::Memory;
            longer && another && whole.start <= part.start && whole.end >= part.end
        })
    }

    /// Whether it is part of a name, which means nothing: the `Handling` of `include/ExceptionHandling.hpp:76`, the `try` of
    /// `try_init_buf: unable to allocate`. A name that has the words `own` in it is about them.
    fn is_within_a_name(&self, found: &FoundSign<'_>, own: &Range<usize>) -> bool {
        let text = &self.message.text[self.message.range.clone()];
        let first = self.message.range.start;
        let place = self.plain.place(self.message.text, found.start..found.end);
        let own = self.plain.place(self.message.text, own.clone());
        let (from, to) = (place.start - first, place.end - first);
        let within = |is_end: fn(char) -> bool| {
            let start =
                text[..from].rfind(is_end).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
            start..text[to..].find(is_end).map_or(text.len(), |at| to + at)
        };
        let name = within(|c| !(c.is_alphanumeric() || c == '_'));
        let is_beside = name.end + first <= own.start || name.start + first >= own.end;
        let written = &text[name.clone()];
        let is_function = name != (from..to)
            && written.contains('_')
            && text[name.end..].starts_with(':')
            && !written.starts_with("test");
        is_source_file(&text[within(char::is_whitespace)]) || is_beside && is_function
    }

    /// The weight of an exception's class on the line, else on a line next to it.
    fn class_of_exception(&self) -> Option<f64> {
        let text = self.message.text;
        if has_class(&text[self.message.line.clone()]) {
            return Some(2.0);
        }
        let near = [self.message.range.start..self.message.line.start, self.message.line.end..self.message.range.end];
        near.into_iter().any(|range| text[range].lines().any(has_class)).then_some(1.0)
    }

    /// The weight against words that are an argument or a string in source code: `print("out of memory")`.
    fn is_code(&self, own: &Range<usize>) -> f64 {
        let place = self.plain.place(self.message.text, own.clone());
        let whole = self.message.text[self.message.line.clone()].trim();
        // An element of a list, or a part of a longer string.
        if whole.starts_with(['"', '\'']) && (whole.contains("\",") || whole.ends_with(" \"")) {
            return -4.0;
        }
        let line = &self.message.text[self.message.line.start.min(place.start)..place.start];
        let opened = line.rfind(['"', '\'']).filter(|quote| line[..*quote].ends_with('('));
        let called =
            opened.map(|quote| line[..quote - 1].rsplit(|c: char| !(c.is_alphanumeric() || "._".contains(c))).next());
        match called.flatten() {
            Some(name) if !name.is_empty() && !is_class(name) => -4.0,
            _ => 0.0,
        }
    }

    /// Whose memory it was: by the sign itself, else by the words around it and by what the log mentioned before.
    fn memory(&self, head: &FoundSign<'_>) -> MemoryOf {
        const ALL: [MemoryOf; 4] = [MemoryOf::Device, MemoryOf::Host, MemoryOf::Container, MemoryOf::Shared];
        if let Some(memory) = head.row.memory {
            // A `bad_alloc` may be a device's; the words around it decide.
            let certain = !matches!(memory, MemoryOf::Host) || head.row.weight > 2.0 || !head.row.one_name;
            if certain {
                return memory;
            }
        }
        let sentence = self.plain.sentence(&(head.start..head.end));
        let share = |memory: MemoryOf| {
            let said = self
                .found
                .iter()
                .filter(|found| found.row.memory == Some(memory) && found.row.means == Meaning::Memory);
            let weight = |found: &FoundSign<'_>| match () {
                () if found.start >= sentence.start && found.end <= sentence.end => found.row.weight,
                () if found.start >= self.line.start && found.end <= self.line.end => 0.7 * found.row.weight,
                () => 0.4 * found.row.weight,
            };
            let own = if head.row.memory == Some(memory) { 1.5 } else { 0.0 };
            let before = match memory {
                MemoryOf::Device if self.message.device_before => 1.2,
                MemoryOf::Host => 0.3,
                _ => 0.0,
            };
            own + before + said.map(weight).sum::<f64>()
        };
        // `rev`, because `max_by` takes the last of equals.
        ALL.into_iter().rev().max_by(|a, b| share(*a).total_cmp(&share(*b))).unwrap_or(MemoryOf::Host)
    }
}

/// Signs that the end of the line cuts off, or of which the first letters are missing at its beginning.
fn cut_off<'s>(signs: &'s Signs, plain: &Plain, line: &Range<usize>) -> Vec<FoundSign<'s>> {
    /// At least this many bytes of the words must be left.
    const LEFT: usize = 9;
    let mut found = Vec::new();
    let text = plain.text.get(line.clone()).unwrap_or_default();
    let trimmed = text.trim_end();
    let may_be_cut = |row: &&SignRow| {
        matches!(row.means, Meaning::Shortage | Meaning::Kill) && row.needs.is_empty() && !row.one_name
    };
    for row in signs.rows().iter().filter(may_be_cut) {
        for words in row.words.iter().filter(|words| words.len() > LEFT && words.is_ascii()) {
            let end = (LEFT.max(words.len() * 3 / 5)..words.len()).rev().find(|length| {
                // A cut between words does not count: what is left may be a phrase of its own.
                let head = words[..*length].strip_suffix(' ').map_or(&words[..*length], |_| "\0");
                let in_mid_word = words.as_bytes().get(*length).is_some_and(|next| *next != b' ');
                in_mid_word
                    && trimmed.strip_suffix(head).is_some_and(|before| before.is_empty() || before.ends_with(' '))
            });
            if let Some(length) = end {
                let end = line.start + trimmed.len();
                found.push(FoundSign { row, start: end - length, end });
            }
            let lost = (1..=2).find(|lost| {
                text.strip_prefix(&words[*lost..]).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            });
            if let Some(lost) = lost {
                found.push(FoundSign { row, start: line.start, end: line.start + words.len() - lost });
            }
        }
    }
    found
}

fn overlaps(found: &FoundSign<'_>, own: &Range<usize>) -> bool {
    found.start < own.end && found.end > own.start
}

/// Whether `text` contains `words` as whole words.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, words)| {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
        !joins(text[..at].chars().next_back()) && !joins(text[at + words.len()..].chars().next())
    })
}

/// Whether a line has the class of an exception, perhaps damaged: `xyz.FooError: …`, `untimeError: …`, `FooError('…')`.
fn has_class(line: &str) -> bool {
    let names = line.split(|c: char| !(c.is_alphanumeric() || "._:".contains(c)));
    names.map(|name| name.trim_matches(['.', ':'])).any(is_class)
}

fn is_class(name: &str) -> bool {
    const ENDS: &[&str] = &["Error", "Exception", "Exhausted", "OutOfMemory", "Failure"];
    let own = name.rsplit(['.', ':']).next().unwrap_or(name);
    ENDS.iter().any(|end| own.strip_suffix(end).is_some_and(|rest| rest.ends_with(|c: char| c.is_alphanumeric())))
}

/// Whether a word is the path of a source file, perhaps with a line number: `/opt/willow/src/irlowering.cpp:3516`.
fn is_source_file(word: &str) -> bool {
    const SOURCES: &[&str] =
        &["c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hh", "hpp", "inl", "rs", "go", "mm", "m", "swift"];
    let path = word.trim_matches(|c: char| "()[]{}<>'\",;:.".contains(c) || c.is_ascii_digit());
    path.contains(['/', '\\']) && path.rsplit_once('.').is_some_and(|(_, extension)| SOURCES.contains(&extension))
}

/// Whether the words at `place` are part of a setting's or function's name (`oom_score_adj`, `--oom-kill-disable`, `test_out_of_memory`),
/// of a path or of an address. Codes in capitals and class names do not count as such.
fn is_name_of_something(text: &str, place: &Range<usize>) -> bool {
    let blank = |c: char| c.is_whitespace() || c == '\u{3000}';
    let start =
        text[..place.start].rfind(blank).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let end = text[place.end..].find(blank).map_or(text.len(), |at| place.end + at);
    let chunk = &text[start..end];
    if text[place.clone()].contains(blank) {
        // Several words are part of a sentence, not of a name.
        return false;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let begins = text[start..place.start]
        .rfind(|c: char| !is_part(c))
        .map_or(start, |at| start + at + text[start + at..].chars().next().map_or(1, char::len_utf8));
    let ends = text[place.end..end].find(|c: char| !is_part(c)).map_or(end, |at| place.end + at);
    let name = &text[begins..ends];
    let written = &text[place.clone()];
    if name.starts_with("--") || chunk.contains("://") {
        return true;
    }
    let is_path = chunk.starts_with(['/', '~']) || chunk.starts_with("./") || chunk.starts_with("../");
    let extension =
        [".md", ".html", ".py", ".txt", ".log", ".rst", ".json", ".yaml", ".sh"].iter().any(|end| name.ends_with(end));
    if is_path && text[begins..place.start].is_empty() && text[..begins].ends_with('/') || extension {
        return true;
    }
    let rest = name.len() > written.len();
    let small = name.chars().all(|c| !c.is_ascii_uppercase());
    // `bad_alloc` and `out_of_memory` alone are words; `mem_cgroup_out_of_memory` is a function.
    rest && small && name.contains('_') && name.trim_matches('.') != written && !written.contains("bad_alloc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};

    fn weight(signs: &Signs, line: &str) -> f64 {
        let all = 0..line.len();
        let message = Message { text: line, range: all.clone(), line: all, device_before: false };
        judge(&message, signs).map_or(0.0, |judgement| judgement.weight)
    }

    #[test]
    fn names_of_settings_and_tests_say_nothing() -> Result<(), KnowledgeError> {
        let signs = Knowledge::shipped()?.signs;
        for line in
            ["oom_score_adj: 0", "--oom-kill-disable", "mem_cgroup_out_of_memory+0x4a/0x80", "see https://a.b/OOM"]
        {
            assert_eq!(weight(&signs, line), 0.0, "{line}");
        }
        assert!(weight(&signs, "Error: CUDA_ERROR_OUT_OF_MEMORY") >= BELIEVED);
        assert!(weight(&signs, "what(): std::bad_alloc, aborted") >= BELIEVED);
        Ok(())
    }
}
