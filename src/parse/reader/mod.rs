//! A general reader for messages that no grammar knows: memory ran out, or a process was killed.
//!
//! The input is each line with a word of `rules/signs/`, with the line before it and those after it; signs of a failure are weighed
//! against signs of advice, a test or a setting. The output, at the end of the input, is the likely failures that no grammar has stated: a
//! grammar proves, the reader makes likely. Only those few lines are costly.

mod amounts;
mod candidate;
mod judge;
mod plain_text;
mod states;

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hasher;
use std::sync::Arc;

use super::line::Line;
use super::record::{Joint, Record};
use crate::knowledge::Signs;
use crate::model::{Death, Event, Exit, Figure, FigureName, Victim, What};
use candidate::{Candidate, Likely, without_digits};
use judge::{BELIEVED, LAST_SAID};
use states::{memory, said_of};

/// Literals that make a line worth reading and that no grammar searches for: few, long, rare.
pub(super) const ANCHORS: &[&str] = &["SIGKILL"];

/// How many lines after a candidate are judged with it, and how many are searched for its amounts.
const JUDGED: usize = 2;
const BEHIND: usize = 4;
/// How many rows of a list of amounts, `free: 1.2 GiB`, are read besides.
const MOST_ROWS: usize = 6;
/// Lines further apart than this do not belong together.
const APART: u64 = 3;
/// Only this many bytes of a long line, around the sign, are judged.
const LONGEST: usize = 4096;
/// How many of the first and of the last likely messages are kept.
const FIRST: usize = 64;
const LAST: usize = 192;
/// Most lines remembered as judged, so that a line printed at each step is judged only once.
const MOST_DISMISSED: usize = 4096;
/// The most dismissed lines that are kept as text, to compare a broken last line with.
const MOST_HARMLESS: usize = 64;
/// Lines this near to the end count as the last words of the input.
const NEAR_END: u64 = 3;
/// At most this many lines before the status of a program that ran it may a kill stand that explains the status.
const FAR_FROM_END: u64 = 300;
/// For this many lines after a device was mentioned, a message that does not say whose memory ran out is taken to be about a device.
const DEVICE_FADES: u64 = 5_000;

/// The reader of one input.
pub(super) struct Reader {
    signs: Arc<Signs>,
    /// The previous line and its origin.
    previous: Option<(usize, Line<'static>)>,
    open: Vec<Candidate>,
    first: Vec<Likely>,
    last: VecDeque<Late>,
    dismissed: HashSet<u64>,
    /// Some of the dismissed lines, without their digits.
    harmless: Vec<String>,
    /// Likenesses of likely messages: further alike ones are judged only if they are among the last.
    likely: HashSet<u64>,
    /// The line that last mentioned a device.
    device: Option<u64>,
    end: u64,
}

/// A candidate after the first messages, kept if it is among the last.
enum Late {
    Judged(Likely),
    Alike(Candidate),
}

/// A line and its signs, as [`Reader::read`] gets them.
pub(super) struct Asked<'l, 'a> {
    /// Index of the process that wrote it.
    pub origin: usize,
    /// Whether the line names no writer.
    pub anonymous: bool,
    /// The line.
    pub line: &'l Line<'a>,
    /// Where its first sign ends, if it has one.
    pub sign: Option<usize>,
    /// Whether it mentions a device.
    pub device: bool,
}

impl Reader {
    /// A reader at the beginning of an input.
    pub fn new(signs: Arc<Signs>) -> Reader {
        Reader {
            signs,
            previous: None,
            open: Vec::new(),
            first: Vec::new(),
            last: VecDeque::new(),
            dismissed: HashSet::new(),
            harmless: Vec::new(),
            likely: HashSet::new(),
            device: None,
            end: 0,
        }
    }

    /// Takes the next line; `begin` makes the record of a message that begins with the given line.
    pub fn read(&mut self, asked: &Asked<'_, '_>, begin: impl FnOnce(Line<'static>) -> Record) {
        let Asked { origin, line, .. } = *asked;
        if !self.open.is_empty() {
            self.go_on(asked);
        }
        let near = |number: u64| line.number.0.saturating_sub(number) <= APART;
        if let Some(sign) = asked.sign {
            let likeness = likeness(line.body());
            if !self.dismissed.contains(&likeness) {
                let previous = self.previous.take().filter(|(of, previous)| {
                    near(previous.number.0) && previous.number != line.number && (*of == origin || asked.anonymous)
                });
                let device_before = self.device.is_some_and(|at| line.number.0.saturating_sub(at) <= DEVICE_FADES);
                self.begin(asked, sign, previous.map(|(_, line)| line), device_before, likeness, begin);
            }
        }
        if asked.device {
            self.device = Some(line.number.0);
        }
        self.end = line.number.0;
        keep(&mut self.previous, origin, line);
    }

    fn begin(
        &mut self,
        asked: &Asked<'_, '_>,
        sign: usize,
        previous: Option<Line<'static>>,
        device_before: bool,
        likeness: u64,
        begin: impl FnOnce(Line<'static>) -> Record,
    ) {
        let line = asked.line.clone().into_owned();
        let (record, start) = match previous {
            None => (begin(line), 0),
            Some(previous) => {
                let mut record = begin(previous);
                let start = record.text().len() + 1;
                record.push(Joint::Line, line);
                (record, start)
            }
        };
        let stop = record.text().len();
        let origin = asked.origin;
        self.open.push(Candidate {
            origin,
            record,
            start,
            sign,
            stop,
            judged: stop,
            behind: 0,
            rows: 0,
            device_before,
            likeness,
        });
    }

    /// Adds the line to the candidates that it follows.
    fn go_on(&mut self, asked: &Asked<'_, '_>) {
        let mut at = 0;
        while at < self.open.len() {
            let open = &mut self.open[at];
            let apart = asked.line.number.0.saturating_sub(open.record.last_number().0);
            let is_row = open.rows < MOST_ROWS && amounts::is_row(asked.line.body().trim());
            if apart > APART || open.behind >= BEHIND && !is_row {
                let done = self.open.remove(at);
                self.close(done);
                continue;
            }
            if open.origin == asked.origin || asked.anonymous {
                open.record.push(Joint::Line, asked.line.clone().into_owned());
                open.rows += usize::from(is_row);
                open.behind += usize::from(!is_row);
                if open.behind <= JUDGED {
                    open.judged = open.record.text().len();
                }
            }
            at += 1;
        }
    }

    /// Closes all candidates: lines were skipped, or the input has ended.
    pub fn gap(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.close(open);
        }
        self.previous = None;
    }

    fn close(&mut self, candidate: Candidate) {
        let is_full = self.first.len() >= FIRST;
        if is_full && self.likely.contains(&candidate.likeness) {
            self.keep_late(Late::Alike(candidate));
            return;
        }
        let Some(likely) = candidate.judged(&self.signs, &self.harmless) else {
            if self.dismissed.len() < MOST_DISMISSED {
                self.dismissed.insert(candidate.likeness);
            }
            if self.harmless.len() < MOST_HARMLESS {
                self.harmless.push(without_digits(candidate.line()).collect());
            }
            return;
        };
        if self.likely.len() < MOST_DISMISSED {
            self.likely.insert(candidate.likeness);
        }
        match is_full {
            false => self.first.push(likely),
            true => self.keep_late(Late::Judged(likely)),
        }
    }

    fn keep_late(&mut self, late: Late) {
        if self.last.len() >= LAST {
            self.last.pop_front();
        }
        self.last.push_back(late);
    }

    /// Fills in what `event`, stated by a row of `rules/messages/` in the line of `record`, leaves open.
    pub fn complete(&self, event: &mut Event, record: &Record) {
        let What::Shortage(shortage) = &event.what else { return };
        let Some(memory) = memory(shortage.kind) else { return };
        let range = 0..amounts::floor(record.text(), LONGEST);
        let (figures, victim) = said_of(memory, record, range, &self.signs);
        fill_in(event, figures, victim);
    }

    /// The failures that are believed beside the events `stated` by grammars; fills in what those leave open.
    pub fn finish(mut self, stated: &mut [Event]) -> Vec<Event> {
        self.gap();
        let end = self.end;
        let last_said = |event: &Event| event.at.location.line.0 + NEAR_END >= end;
        let mut by_line: HashMap<u64, usize> = HashMap::new();
        for (place, event) in stated.iter().enumerate() {
            if matches!(event.what, What::Shortage(_) | What::Death(_)) {
                let cites = std::iter::once(&event.at).chain(&event.evidence);
                cites.for_each(|cite| _ = by_line.entry(cite.location.line.0).or_insert(place));
            }
        }
        // If a launcher already states who was killed, its event is better.
        let killed = stated.iter().any(|event| matches!(&event.what, What::Death(death) if death.exit == Exit::KILL));
        let is_new_kind = |event: &Event| !(killed && matches!(event.what, What::Death(_)));
        let mut believed: Vec<Event> = Vec::new();
        let late = self.last.into_iter().filter_map(|late| match late {
            Late::Judged(likely) => Some(likely),
            Late::Alike(candidate) => candidate.judged(&self.signs, &self.harmless),
        });
        let unexplained = unexplained(stated);
        // Whoever ended so was killed a little before, if at all.
        let is_explained_by = |event: &Event| {
            let line = event.at.location.line.0;
            let next = unexplained.partition_point(|end| *end < line);
            unexplained.get(next).is_some_and(|end| end - line <= FAR_FROM_END)
        };
        let is_whole = |likely: &Likely| !(likely.breaks_off && likely.event.at.location.line.0 == end);
        for Likely { weight, event, .. } in self.first.into_iter().chain(late).filter(is_whole) {
            let is_the_end = last_said(&event) || matches!(event.what, What::Death(_)) && is_explained_by(&event);
            let weight = weight + if is_the_end { LAST_SAID } else { 0.0 };
            if let Some(place) = by_line.get(&event.at.location.line.0) {
                if let What::Shortage(shortage) = event.what {
                    // What was taken for a container's figures is none of a node's, and a host's number none of a device.
                    let is_alike = matches!(&stated[*place].what, What::Shortage(own) if own.kind == shortage.kind);
                    // The grammar knows rank and process better, so only the device is taken.
                    let device = shortage.victims.into_iter().next().and_then(|victim| victim.device);
                    let device = device.filter(|_| is_alike);
                    let is_of_its_kind = |figure: &Figure| {
                        use FigureName::{GpuIndex, MemcgLimit, MemcgUsage};
                        matches!(figure.name, MemcgUsage | MemcgLimit | GpuIndex)
                    };
                    let mut figures = event.figures;
                    figures.retain(|figure| is_alike || !is_of_its_kind(figure));
                    fill_in(&mut stated[*place], figures, Victim { device, ..Victim::default() });
                }
                continue;
            }
            let is_new = is_new_kind(&event) && believed.iter().all(|known| known.at.location != event.at.location);
            if weight >= BELIEVED && is_new {
                believed.push(event);
            }
        }
        believed
    }
}

/// The lines of the statuses with which programs ended that ran others, in order, if nothing else is stated: what these died of is not said.
fn unexplained(stated: &[Event]) -> Vec<u64> {
    let mut ends = Vec::new();
    for event in stated {
        match &event.what {
            What::Death(Death { exit: Exit::Code(code), .. }) if *code != 0 => ends.push(event.at.location.line.0),
            What::Memory { .. } | What::Notice | What::Finished => {}
            _ => return Vec::new(),
        }
    }
    ends.sort_unstable();
    ends
}

/// Adds to `stated` what it leaves open: a row that matches only the first words of a message does not read the amounts after them.
fn fill_in(stated: &mut Event, figures: Vec<Figure>, victim: Victim) {
    let What::Shortage(known) = &mut stated.what else { return };
    if !victim.is_unknown() && known.victims.len() < 2 {
        let own = known.victims.pop().unwrap_or_default();
        known.victims.push(own.or(&victim));
    }
    let is_new = |figure: &Figure| {
        let is_known = |known: &Figure| known.name == figure.name || known.source == figure.source;
        !stated.figures.iter().any(is_known)
    };
    let figures: Vec<Figure> = figures.into_iter().filter(is_new).collect();
    stated.figures.extend(figures);
}

/// Keeps `line` in `slot`, reusing the buffers of the previous one.
fn keep(slot: &mut Option<(usize, Line<'static>)>, origin: usize, line: &Line<'_>) {
    match slot {
        Some((of, kept)) => {
            *of = origin;
            line.copy_to(kept);
        }
        None => *slot = Some((origin, line.clone().into_owned())),
    }
}

/// A hash that is equal for lines which differ only in numbers.
fn likeness(body: &str) -> u64 {
    let words: Vec<u8> = body.bytes().take(LONGEST).filter(|byte| !byte.is_ascii_digit()).collect();
    let mut hasher = DefaultHasher::new();
    hasher.write(&words);
    hasher.finish()
}

#[cfg(test)]
mod tests;
