//! How many processes of one program a script starts at once on one device: commands behind each other that end in `&`, or a loop around one.
//!
//! What the script sends to different devices is not counted together: `CUDA_VISIBLE_DEVICES=$i`, `--device cuda:1`. Nor is what it waits
//! for before it goes on. A loop whose length only a run would show tells nothing.

mod commands;
mod loops;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::super::edit::Edit;
use super::words::{Content, Operator, Part, Token, Word, tokens};
use commands::Started;
use loops::Loop;

/// The name of the setting.
pub(super) const KEY: &str = "processes at once";

/// Processes of one program that are started at once on one device.
#[derive(Debug, Clone)]
pub(super) struct Together {
    /// How many they are.
    pub count: usize,
    /// What says so.
    pub place: Range<usize>,
    way: Way,
}

/// How there can be fewer.
#[derive(Debug, Clone)]
enum Way {
    /// A loop that does the same again and again: the places of its items.
    Items(Vec<Range<usize>>),
    /// The same over numbers: the place of the last one, and what it is for one item.
    Last(Range<usize>, i64),
    /// The number up to which the script itself lets them run at once.
    Limit(Range<usize>),
    /// A loop in which each does something else: the start of the command in it.
    Each(usize),
    /// Commands behind each other: the end of each.
    Between(Vec<usize>),
    /// Not by an edit of this script.
    Elsewhere,
}

impl Way {
    /// Whether it lets a loop run less often.
    fn cuts(&self) -> bool {
        matches!(self, Way::Items(_) | Way::Last(..))
    }
}

/// Finds what `text` starts at once; of several programs, the one that it starts most often.
pub(super) fn read(text: &str) -> Option<Together> {
    let mut reader = Reader { text, numbers: HashMap::new(), lengths: HashMap::new(), ..Reader::default() };
    reader.run();
    reader.settle();
    let most = |one: &Together, other: &Together| one.count.cmp(&other.count);
    reader.found.into_iter().max_by(most)
}

impl Together {
    /// The edits after which `to` of them run at once.
    pub fn set(&self, text: &str, to: usize) -> Option<Vec<Edit>> {
        if to == 0 || to >= self.count {
            return None;
        }
        // What `jobs` shows and how a script waits for one of several is not the same in every shell.
        let is_bash = || !text.starts_with("#!/bin/sh");
        Some(match &self.way {
            Way::Items(items) => {
                let (kept, last) = (items.get(to - 1)?, items.last()?);
                vec![Edit::delete(kept.end..last.end)]
            }
            Way::Last(place, one) => {
                let last = one + i64::try_from(to).ok()? - 1;
                vec![Edit::replace(place.clone(), last.to_string())]
            }
            Way::Limit(place) => vec![Edit::replace(place.clone(), to.to_string())],
            Way::Each(start) if is_bash() => {
                let line = text[..*start].rfind('\n').map_or(0, |end| end + 1);
                let before = &text[line..*start];
                let waits = format!("while [ \"$(jobs -rp | wc -l)\" -ge {to} ]; do sleep 5; done");
                let is_alone = before.trim().is_empty();
                vec![Edit::insert(*start, if is_alone { format!("{waits}\n{before}") } else { format!("{waits}; ") })]
            }
            Way::Between(ends) => {
                let groups = ends.iter().enumerate().filter(|(at, _)| (at + 1) % to == 0 && at + 1 < ends.len());
                groups.map(|(_, end)| Edit::insert(*end, waits_behind(text, *end))).collect()
            }
            Way::Each(_) | Way::Elsewhere => return None,
        })
    }
}

/// `wait` on a line of its own if the command ends its line.
fn waits_behind(text: &str, end: usize) -> String {
    let is_last = text[end..].split('\n').next().is_some_and(|rest| rest.trim().is_empty());
    if is_last { "\nwait".to_owned() } else { " wait;".to_owned() }
}

#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    /// Variables that are given a number, and arrays with the number of their elements.
    numbers: HashMap<String, i64>,
    lengths: HashMap<String, usize>,
    loops: Vec<Loop>,
    /// What was started since the script last waited, outside of loops.
    started: Vec<Started>,
    /// How many blocks of `if` and `case` are open, of whose branches one runs: what they start is not counted.
    blocks: usize,
    /// Where the list of commands begins that the next one belongs to: `cd job && python train.py`.
    list: usize,
    /// The commands in the parentheses that were closed last.
    group: Vec<Started>,
    found: Vec<Together>,
}

impl Reader<'_> {
    fn run(&mut self) {
        let (mut words, mut end): (Vec<Word>, usize) = (Vec::new(), 0);
        let (mut redirects, mut groups): (bool, Vec<(usize, Vec<Started>)>) = (false, Vec::new());
        let mut before = Operator::End;
        for token in tokens(self.text, 0) {
            match token {
                Token::Comment(_) | Token::Heredoc { .. } => {}
                Token::Redirect => redirects = true,
                Token::Word(word) => {
                    end = word.span.end;
                    if !std::mem::take(&mut redirects) {
                        words.push(word);
                    }
                }
                Token::Operator(Operator::Open) if words.is_empty() => groups.push((end, Vec::new())),
                Token::Operator(operator) => {
                    let command = std::mem::take(&mut words);
                    redirects = false;
                    let is_behind = operator == Operator::Background;
                    let end = is_behind.then(|| self.text[end..].find('&').map_or(end, |at| end + at + 1));
                    if command.is_empty() && is_behind {
                        let group = std::mem::take(&mut self.group);
                        self.start(group.into_iter().next(), end);
                        before = operator;
                        continue;
                    }
                    self.command(command, before, end, groups.last_mut().map(|(_, group)| group));
                    before = operator;
                    if operator == Operator::Close
                        && let Some((start, group)) = groups.pop()
                    {
                        let opened = self.text[start..].find('(').map_or(start, |at| start + at);
                        self.group = group.into_iter().map(|started| Started { start: opened, ..started }).collect();
                    }
                }
            }
        }
        self.command(words, before, None, None);
    }

    /// Reads one command, which stands behind the operator `before`; `end` is where it ends if it is started in the background.
    fn command(
        &mut self,
        mut words: Vec<Word>,
        before: Operator,
        end: Option<usize>,
        group: Option<&mut Vec<Started>>,
    ) {
        let bare = |words: &[Word]| words.first().and_then(Word::bare).unwrap_or_default().to_owned();
        while matches!(bare(&words).as_str(), "do" | "then" | "else" | "{" | "time") {
            words.remove(0);
        }
        if !matches!(before, Operator::And | Operator::Or | Operator::Pipe) {
            self.list = words.first().map_or(0, |word| word.span.start);
        }
        match bare(&words).as_str() {
            "if" | "case" => return self.blocks += 1,
            "fi" | "esac" => return self.blocks = self.blocks.saturating_sub(1),
            "for" => return self.open(&words),
            "while" | "until" | "select" => {
                return self.loops.push(Loop { blocks: self.blocks, ..Loop::unknown() });
            }
            "done" => return self.close(words.first().map_or(0, |word| word.span.start)),
            "wait" => return self.wait(before),
            _ => {}
        }
        let count = words.iter().take_while(|word| is_assignment(word)).count();
        if count == words.len() {
            return words.iter().for_each(|word| self.assign(word));
        }
        let Some(started) = Started::of(self.text, &words, count, self.loops.last()) else {
            // `cd $job` before the command that works there.
            if let Some(innermost) = self.loops.last_mut() {
                innermost.differs |= words.iter().any(|word| innermost.is_used(word, self.text));
            }
            return;
        };
        match (group, end) {
            (Some(group), _) => group.push(started),
            (None, Some(_)) => self.start(Some(started), end),
            (None, None) => {}
        }
    }

    fn start(&mut self, started: Option<Started>, end: Option<usize>) {
        let Some((started, end)) = started.zip(end) else { return };
        let started = Started { start: self.list.min(started.start), end, ..started };
        // Of several branches one runs.
        if self.blocks > self.loops.last().map_or(0, |innermost| innermost.blocks) {
            return;
        }
        match self.loops.last_mut() {
            Some(innermost) => innermost.started.push(started),
            None => self.started.push(started),
        }
    }

    fn open(&mut self, words: &[Word]) {
        let opened = Loop::open(self.text, words, &self.numbers, &self.lengths);
        self.loops.push(Loop { blocks: self.blocks, ..opened });
    }

    /// What a loop that ends at `end` starts, counted over its items.
    fn close(&mut self, end: usize) {
        let Some(closed) = self.loops.pop() else { return };
        let Some(started) = closed.started.first() else { return };
        // What a loop within a loop does cannot be told from its own items.
        let (Some(count), true) = (closed.repeats, self.loops.is_empty()) else { return };
        let body = self.text.get(closed.header.end..end).unwrap_or_default();
        let limit = loops::limit(body, closed.header.end);
        let devices = match started.spread {
            _ if closed.waits => return,
            Spread::One => 1,
            Spread::Over(devices) => devices.max(1),
            Spread::Unknown => return,
        };
        let rate = count.div_ceil(devices);
        let (count, way) = match limit {
            loops::Limit::None if started.spread != Spread::One => (rate, Way::Elsewhere),
            loops::Limit::None if started.differs || closed.differs || !closed.way.cuts() => {
                (rate, Way::Each(started.start))
            }
            loops::Limit::None => (rate, closed.way),
            // A limit of the script's holds for all devices together.
            loops::Limit::At(limit, place) if devices == 1 => (rate.min(limit), Way::Limit(place)),
            loops::Limit::At(limit, _) => (count.min(limit).div_ceil(devices), Way::Elsewhere),
            loops::Limit::Unknown => return,
        };
        self.found.push(Together { count, place: closed.header, way });
    }

    /// `wait` lets all end that was started; behind a test it may not run.
    fn wait(&mut self, before: Operator) {
        match self.loops.last_mut() {
            Some(innermost) => innermost.waits = true,
            None if !matches!(before, Operator::And | Operator::Or) => self.settle(),
            None => {}
        }
    }

    /// Counts what was started since the last time.
    fn settle(&mut self) {
        let mut alike: BTreeMap<String, Vec<Started>> = BTreeMap::new();
        for started in std::mem::take(&mut self.started) {
            alike.entry(started.key.clone()).or_default().push(started);
        }
        for same in alike.into_values() {
            let (count, start) = (same.len(), same.first().map_or(0, |started| started.start));
            let place = start..same.first().map_or(start, |started| started.end);
            let way = Way::Between(same.iter().map(|started| started.end).collect());
            if count > 1 {
                self.found.push(Together { count, place, way });
            }
        }
    }

    fn assign(&mut self, word: &Word) {
        let written = self.text.get(word.span.clone()).unwrap_or_default();
        let Some((name, value)) = written.split_once('=') else { return };
        let value = value.trim_matches(['"', '\'']);
        if let Some(elements) = &word.elements {
            self.lengths.insert(name.to_owned(), elements.len());
        } else if let Ok(number) = value.parse() {
            self.numbers.insert(name.to_owned(), number);
        } else {
            self.numbers.remove(name);
        }
        if let Some(innermost) = self.loops.last_mut().filter(|innermost| innermost.is_used(word, self.text)) {
            innermost.names.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// How the copies of a command lie on the devices.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Spread {
    /// All on the same.
    One,
    /// In turn over so many.
    Over(usize),
    /// Each on one of its own, or nobody can tell.
    Unknown,
}

fn is_assignment(word: &Word) -> bool {
    let Some(Part { content: Content::Literal(text), .. }) = word.parts.first() else { return false };
    let name = super::words::name_length(text);
    name > 0 && text[name..].starts_with('=')
}
