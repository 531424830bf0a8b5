use std::collections::{BTreeMap, HashMap};

use super::super::line::Line;
use super::super::record::{Joint, Record};
use crate::model::LineNumber;

/// Most open messages; beyond that the oldest one ends. It leaves room for thousands of ranks that print at once.
const MOST: usize = 8192;
/// Most text of all open messages together; beyond that the oldest one ends, too.
const MOST_BYTES: usize = 8 << 20;
/// Most open messages of one process.
const MOST_OF_ONE: usize = 64;
/// Most lines of a message.
const LONGEST: usize = 20_000;
/// Most pieces into which a terminal's width may have cut a message, and the most text of such a message: no terminal is so narrow.
const MOST_PIECES: usize = 256;
const LONGEST_CUT: usize = 32 << 10;

/// A message that may go on.
pub(super) struct Open {
    /// Index of its grammar.
    pub grammar: usize,
    /// Index of the process that writes it.
    pub origin: usize,
    pub record: Record,
}

impl Open {
    /// Whether another line, joined by `joint`, may still belong to it.
    pub fn has_room(&self, joint: Joint) -> bool {
        let is_cut = joint != Joint::Line;
        self.record.len() < LONGEST
            && !(is_cut && (self.record.len() > MOST_PIECES || self.record.text().len() > LONGEST_CUT))
    }
}

/// The messages that may go on, indexed by the writing process, so that a line costs the same however many there are.
#[derive(Default)]
pub(super) struct OpenMessages {
    /// By their number, which counts up in the order in which they began.
    all: BTreeMap<u64, Open>,
    by_origin: HashMap<usize, Vec<u64>>,
    /// The last line that any of them took, and the numbers of those that took it.
    latest: (Option<LineNumber>, Vec<u64>),
    next: u64,
    bytes: usize,
}

impl OpenMessages {
    /// Adds one; returns those that end because there are too many.
    pub fn begin(&mut self, open: Open) -> Vec<Open> {
        let number = self.next;
        self.next += 1;
        self.bytes += open.record.text().len();
        self.took(number, open.record.last_number());
        let of_one = self.by_origin.entry(open.origin).or_default();
        of_one.push(number);
        let crowd = (of_one.len() > MOST_OF_ONE).then(|| of_one[0]);
        self.all.insert(number, open);
        let mut ended: Vec<Open> = crowd.and_then(|oldest| self.end(oldest)).into_iter().collect();
        while self.all.len() > MOST || self.bytes > MOST_BYTES {
            let Some(oldest) = self.all.keys().next().copied().and_then(|oldest| self.end(oldest)) else { break };
            ended.push(oldest);
        }
        ended
    }

    /// The messages that a line of `origin` may belong to, in the order in which they began. An anonymous line may belong to any message
    /// that took the line `before` it.
    pub fn of(&self, origin: usize, is_anonymous: bool, before: LineNumber) -> Vec<u64> {
        let mut numbers = self.by_origin.get(&origin).cloned().unwrap_or_default();
        if is_anonymous && self.latest.0.is_some_and(|latest| latest >= before) {
            numbers.extend(&self.latest.1);
            numbers.sort_unstable();
            numbers.dedup();
        }
        numbers
    }

    pub fn get(&self, number: u64) -> Option<&Open> {
        self.all.get(&number)
    }

    /// Appends the next line to a message.
    pub fn push(&mut self, number: u64, joint: Joint, line: Line<'static>) {
        let Some(open) = self.all.get_mut(&number) else { return };
        let (before, at) = (open.record.text().len(), line.number);
        open.record.push(joint, line);
        self.bytes += open.record.text().len() - before;
        self.took(number, at);
    }

    /// Removes a message.
    pub fn end(&mut self, number: u64) -> Option<Open> {
        let open = self.all.remove(&number)?;
        self.bytes -= open.record.text().len();
        if let Some(of_one) = self.by_origin.get_mut(&open.origin) {
            of_one.retain(|other| *other != number);
            if of_one.is_empty() {
                self.by_origin.remove(&open.origin);
            }
        }
        Some(open)
    }

    /// Removes all of them, in the order in which they began.
    pub fn end_all(&mut self) -> impl Iterator<Item = Open> + use<> {
        std::mem::take(self).all.into_values()
    }

    fn took(&mut self, number: u64, at: LineNumber) {
        let (latest, which) = &mut self.latest;
        if *latest != Some(at) {
            *latest = Some(at);
            which.clear();
        }
        if which.len() < MOST_OF_ONE && !which.contains(&number) {
            which.push(number);
        }
    }
}
