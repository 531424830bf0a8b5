//! A general reader of messages that nobody's grammar knows: memory ran out, or a process was killed.
//!
//! In goes each line that has a word of `rules/signs/`, with the line before it and those behind it; what speaks for a failure is
//! weighed against what speaks for a hint, a test, a setting. Out comes, at the end of the input, what is believed and
//! no grammar has stated: a grammar proves, the reader makes likely. Everything costly happens on those few lines only.

mod amounts;
mod judge;
mod plain_text;

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

use super::line::Line;
use super::record::{Joint, Record, statement};
use crate::knowledge::{Meaning, MemoryOf, NumberOf, Signs};
use crate::model::{Basis, Event, Exit, Figure, FigureName, Kind, Severity, Victim, What};
use judge::{BELIEVED, Judgement, LAST_SAID, Message, judge};

const PRODUCER: &str = "reader";

/// What makes a line of gigabytes worth reading that no grammar searches for: few, long, rare.
pub(super) const ANCHORS: &[&str] = &["SIGKILL"];

/// So many lines behind the one in question are read with it.
const BEHIND: usize = 2;
/// Beside them so many rows of a list of amounts, `free: 1.2 GiB`.
const MOST_ROWS: usize = 6;
/// Lines that are further away belong to something else.
const APART: u64 = 3;
/// Of a longer line only so much around the sign is judged, and of its neighbours so much next to it.
const LONGEST: usize = 4096;
const BESIDE: usize = 400;
/// The first and the last messages that may turn out to be failures.
const FIRST: usize = 64;
const LAST: usize = 192;
/// Lines that say nothing are known by their words, so that what is printed at each step is judged once.
const MOST_DISMISSED: usize = 4096;
/// Lines this near to the end are the last thing that was said.
const NEAR_END: u64 = 3;
/// A device that was spoken of is what a message without a word of whose memory it was is about.
const DEVICE_FADES: u64 = 5_000;

/// Reads one input.
pub(super) struct Reader {
    signs: Arc<Signs>,
    /// The line before.
    previous: Option<(usize, Line<'static>)>,
    open: Vec<Candidate>,
    first: Vec<Likely>,
    last: VecDeque<Late>,
    dismissed: HashSet<u64>,
    /// Lines that said something: what is alike is judged if it is among the last ones.
    likely: HashSet<u64>,
    /// Where a device was last spoken of.
    device: Option<u64>,
    end: u64,
}

/// A line in question, and those around it.
struct Candidate {
    origin: usize,
    record: Record,
    /// Where the line begins in the record's text, and where its first sign ends in it.
    start: usize,
    sign: usize,
    /// Where it ends in the record's text.
    stop: usize,
    behind: usize,
    rows: usize,
    device_before: bool,
    likeness: u64,
}

/// What may be a failure, once it is known how the input ends.
struct Likely {
    weight: f64,
    event: Event,
}

/// What came when the first messages had been kept.
enum Late {
    Judged(Likely),
    Alike(Candidate),
}

/// Of a line that may be in question.
pub(super) struct Asked<'l, 'a> {
    /// Who wrote it.
    pub origin: usize,
    /// Whether the line says nothing of that.
    pub anonymous: bool,
    /// The line.
    pub line: &'l Line<'a>,
    /// Where its first sign ends, if it has one.
    pub sign: Option<usize>,
    /// Whether it speaks of a device.
    pub device: bool,
}

impl Reader {
    /// At the beginning of an input.
    pub fn new(signs: Arc<Signs>) -> Reader {
        Reader {
            signs,
            previous: None,
            open: Vec::new(),
            first: Vec::new(),
            last: VecDeque::new(),
            dismissed: HashSet::new(),
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
        self.open.push(Candidate { origin, record, start, sign, stop, behind: 0, rows: 0, device_before, likeness });
    }

    /// Gives the line to the messages that it stands behind.
    fn go_on(&mut self, asked: &Asked<'_, '_>) {
        let mut at = 0;
        while at < self.open.len() {
            let open = &mut self.open[at];
            let apart = asked.line.number.0.saturating_sub(open.record.last_number().0);
            if apart > APART || open.behind >= BEHIND {
                let done = self.open.remove(at);
                self.close(done);
                continue;
            }
            if open.origin == asked.origin || asked.anonymous {
                open.record.push(Joint::Line, asked.line.clone().into_owned());
                let is_row = open.rows < MOST_ROWS && amounts::is_row(asked.line.body().trim());
                open.rows += usize::from(is_row);
                open.behind += usize::from(!is_row);
            }
            at += 1;
        }
    }

    /// Lines were passed over, or it is the end.
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
        let Some(likely) = candidate.judged(&self.signs) else {
            if self.dismissed.len() < MOST_DISMISSED {
                self.dismissed.insert(candidate.likeness);
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

    /// Finds in the line of `record` what `event`, which a row of `rules/messages/` states there, leaves open.
    pub fn complete(&self, event: &mut Event, record: &Record) {
        let What::Shortage(shortage) = &event.what else { return };
        let Some(memory) = memory(shortage.kind) else { return };
        let range = 0..amounts::floor(record.text(), LONGEST);
        let (figures, victim) = said_of(memory, record, range, &self.signs);
        fill_in(event, figures, victim);
    }

    /// What is believed beside the `stated` events of grammars; what one of these leaves open is filled in.
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
        // A launcher that says who was killed says it better.
        let killed = stated.iter().any(|event| matches!(&event.what, What::Death(death) if death.exit == Exit::KILL));
        let is_new_kind = |event: &Event| !(killed && matches!(event.what, What::Death(_)));
        let mut believed: Vec<Event> = Vec::new();
        let late = self.last.into_iter().filter_map(|late| match late {
            Late::Judged(likely) => Some(likely),
            Late::Alike(candidate) => candidate.judged(&self.signs),
        });
        for Likely { weight, event } in self.first.into_iter().chain(late) {
            let weight = weight + if last_said(&event) { LAST_SAID } else { 0.0 };
            if let Some(place) = by_line.get(&event.at.location.line.0) {
                if let What::Shortage(shortage) = event.what {
                    // Whose rank and process these are, the grammar knows better.
                    let device = shortage.victims.into_iter().next().and_then(|victim| victim.device);
                    fill_in(&mut stated[*place], event.figures, Victim { device, ..Victim::default() });
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

/// Gives `stated` what it leaves open: a message that is known by its first words says no more than these, what else stands there
/// is the reader's to find.
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

impl Candidate {
    /// What it says, if it may be a failure.
    fn judged(&self, signs: &Signs) -> Option<Likely> {
        let message = self.message();
        let judgement = judge(&message, signs).filter(|judgement| judgement.weight + LAST_SAID >= BELIEVED)?;
        Some(Likely { weight: judgement.weight, event: event(self, &message, &judgement, signs) })
    }

    fn message(&self) -> Message<'_> {
        let text = self.record.text();
        let floor = |at| amounts::floor(text, at);
        let line = match self.stop - self.start > LONGEST {
            false => self.start..self.stop,
            true => {
                let sign = self.start + self.sign;
                floor(sign.saturating_sub(LONGEST / 4).max(self.start))..floor((sign + LONGEST / 2).min(self.stop))
            }
        };
        let from = if line.start == self.start { floor(self.start.saturating_sub(BESIDE)) } else { line.start };
        let to = if line.end == self.stop { floor(self.stop + 2 * BESIDE) } else { line.end };
        Message { text, range: from..to, line, device_before: self.device_before }
    }
}

/// What the message states.
fn event(candidate: &Candidate, message: &Message<'_>, judgement: &Judgement, signs: &Signs) -> Event {
    let record = &candidate.record;
    let words = &message.text[judgement.words.clone()];
    let said = message.line.start.min(judgement.words.start)..message.line.end.max(judgement.words.end);
    let number = |wanted| amounts::number(message.text, said.clone(), wanted, signs);
    let rank = number(NumberOf::Rank).map(|(_, rank)| rank);
    let mut event = match judgement.means {
        Meaning::Kill => {
            let pid = number(NumberOf::Pid);
            let victim = Victim { rank, ..statement::neighbour(record, pid.map(|(_, pid)| pid)) };
            let mut death = statement::death(record, PRODUCER, words, Exit::KILL, victim);
            death.figures = victim_pid(record, pid).into_iter().collect();
            death
        }
        _ => {
            let memory = match judgement.memory {
                MemoryOf::Host if judgement.killed => MemoryOf::Kernel,
                memory => memory,
            };
            let said = amounts::with_rest(message.text, said, message.range.end);
            let (figures, named) = said_of(memory, record, said, signs);
            let speaker = statement::speaker(record);
            let victim =
                Victim { pid: named.pid.or(speaker.pid), rank: speaker.rank.or(named.rank), ..named }.or(&speaker);
            let mut event = statement::shortage(record, PRODUCER, words, kind(memory), victim);
            if let What::Shortage(shortage) = &mut event.what
                && judgement.retries
            {
                shortage.severity = Severity::Retried;
            }
            event.figures = figures;
            if memory == MemoryOf::Job {
                event.facts.push(record.fact("limit.exceeded", words));
            }
            event
        }
    };
    event.basis = Basis::Reader;
    event
}

/// The figures in `range` of a message that `memory` ran out, and whom its words name.
fn said_of(memory: MemoryOf, record: &Record, range: Range<usize>, signs: &Signs) -> (Vec<Figure>, Victim) {
    let number = |wanted| amounts::number(record.text(), range.clone(), wanted, signs);
    let mut figures = amounts::figures(record, range.clone(), memory, signs);
    let mut victim = Victim { rank: number(NumberOf::Rank).map(|(_, rank)| rank), ..Victim::default() };
    match memory {
        MemoryOf::Device => {
            let device = number(NumberOf::Device);
            victim.device = device.map(|(_, device)| device);
            let index = device.map(|(words, device)| record.number(FigureName::GpuIndex, words, f64::from(device)));
            figures.extend(index);
        }
        _ => {
            let pid = number(NumberOf::Pid);
            victim.pid = pid.map(|(_, pid)| pid);
            figures.extend(victim_pid(record, pid));
        }
    }
    (figures, victim)
}

fn victim_pid(record: &Record, pid: Option<(&str, u32)>) -> Option<Figure> {
    pid.map(|(words, pid)| record.number(FigureName::VictimPid, words, f64::from(pid)))
}

fn kind(memory: MemoryOf) -> Kind {
    match memory {
        MemoryOf::Device => Kind::GpuOom,
        MemoryOf::Host => Kind::HostAllocFailure,
        MemoryOf::Kernel => Kind::HostOomKernel,
        MemoryOf::Container => Kind::HostOomCgroup,
        MemoryOf::Daemon | MemoryOf::Job => Kind::HostOomUserspace,
        MemoryOf::Ray => Kind::HostOomRay,
        MemoryOf::Shared => Kind::ShmExhausted,
    }
}

/// Whose memory `kind` is of; nothing where it is no shortage of memory.
fn memory(of: Kind) -> Option<MemoryOf> {
    use MemoryOf::{Container, Daemon, Device, Host, Kernel, Ray, Shared};
    [Device, Host, Kernel, Container, Daemon, Ray, Shared].into_iter().find(|memory| kind(*memory) == of)
}

/// Remembers `line` in the room that the one before it took.
fn keep(slot: &mut Option<(usize, Line<'static>)>, origin: usize, line: &Line<'_>) {
    match slot {
        Some((of, kept)) => {
            *of = origin;
            line.copy_to(kept);
        }
        None => *slot = Some((origin, line.clone().into_owned())),
    }
}

/// Two lines are alike when they differ in numbers alone.
fn likeness(body: &str) -> u64 {
    let words: Vec<u8> = body.bytes().take(LONGEST).filter(|byte| !byte.is_ascii_digit()).collect();
    let mut hasher = DefaultHasher::new();
    hasher.write(&words);
    hasher.finish()
}

#[cfg(test)]
mod tests;
