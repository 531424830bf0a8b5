//! A general reader for messages that no grammar knows: memory ran out, or a process was killed.
//!
//! The input is each line with a word of `rules/signs/`, with the line before it and those after it; signs of a failure are weighed
//! against signs of advice, a test or a setting. The output, at the end of the input, is the likely failures that no grammar has stated: a
//! grammar proves, the reader makes likely. Only those few lines are costly.

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

/// Literals that make a line worth reading and that no grammar searches for: few, long, rare.
pub(super) const ANCHORS: &[&str] = &["SIGKILL"];

/// How many lines after a candidate are judged with it, and how many are searched for its amounts.
const JUDGED: usize = 2;
const BEHIND: usize = 4;
/// How many rows of a list of amounts, `free: 1.2 GiB`, are read besides.
const MOST_ROWS: usize = 6;
/// Lines further apart than this do not belong together.
const APART: u64 = 3;
/// Only this many bytes of a long line, around the sign, are judged, and this many of its neighbours.
const LONGEST: usize = 4096;
const BESIDE: usize = 400;
/// How many of the first and of the last likely messages are kept.
const FIRST: usize = 64;
const LAST: usize = 192;
/// Most lines remembered as judged, so that a line printed at each step is judged only once.
const MOST_DISMISSED: usize = 4096;
/// The most dismissed lines that are kept as text, to compare a broken last line with.
const MOST_HARMLESS: usize = 64;
/// A broken line shorter than this could be the beginning of anything.
const SHORTEST_BEGINNING: usize = 24;
/// Lines this near to the end count as the last words of the input.
const NEAR_END: u64 = 3;
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

/// A line that may state a failure, with the lines around it.
struct Candidate {
    origin: usize,
    record: Record,
    /// Where the line begins in the record's text, and where, within the line, its first sign ends.
    start: usize,
    sign: usize,
    /// Where it ends in the record's text, and where what is judged with it ends.
    stop: usize,
    judged: usize,
    behind: usize,
    rows: usize,
    device_before: bool,
    likeness: u64,
}

/// A message that may be a failure; how the input ends decides.
struct Likely {
    weight: f64,
    event: Event,
    /// Whether the line is the beginning of a harmless one.
    breaks_off: bool,
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
        let is_whole = |likely: &Likely| !(likely.breaks_off && likely.event.at.location.line.0 == end);
        for Likely { weight, event, .. } in self.first.into_iter().chain(late).filter(is_whole) {
            let weight = weight + if last_said(&event) { LAST_SAID } else { 0.0 };
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

impl Candidate {
    /// Judges the candidate; `None` if it cannot be a failure.
    fn judged(&self, signs: &Signs, harmless: &[String]) -> Option<Likely> {
        let message = self.message();
        let judgement = judge(&message, signs).filter(|judgement| judgement.weight + LAST_SAID >= BELIEVED)?;
        let breaks_off = is_beginning(self.line(), harmless);
        Some(Likely { weight: judgement.weight, event: event(self, &message, &judgement, signs), breaks_off })
    }

    /// The line in question, at most as much of it as is judged.
    fn line(&self) -> &str {
        let line = &self.record.text()[self.start..self.stop];
        &line[..amounts::floor(line, LONGEST)]
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
        let to = if line.end == self.stop { floor((self.stop + 2 * BESIDE).min(self.judged)) } else { line.end };
        Message { text, range: from..to, line, device_before: self.device_before }
    }
}

/// The event that the message states.
fn event(candidate: &Candidate, message: &Message<'_>, judgement: &Judgement, signs: &Signs) -> Event {
    let record = &candidate.record;
    let words = &message.text[judgement.words.clone()];
    let said = message.line.start.min(judgement.words.start)..message.line.end.max(judgement.words.end);
    let number = |wanted| amounts::number(message.text, said.clone(), wanted, signs);
    let rank = number(NumberOf::Rank).map(|(_, rank)| rank);
    let mut event = match judgement.means {
        Meaning::Kill => {
            let pid = number(NumberOf::Pid).filter(is_process);
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
            let said = amounts::with_rest(message.text, said, message.text.len());
            let (mut figures, mut named) = said_of(memory, record, said.clone(), signs);
            for (line, is_part) in beside(message.text, &said) {
                let tells_victim = is_part && line.start >= said.end;
                let (more, other) = said_of(memory, record, line, signs);
                for figure in more {
                    let is_new = figures.iter().all(|known| known.name != figure.name);
                    if is_new && may_stand_beside(figure.name, tells_victim) {
                        figures.push(figure);
                    }
                }
                if tells_victim {
                    named = named.or(&other);
                }
            }
            let speaker = record.origin().process();
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

/// Whether a figure counts on a line next to a message. What is free or there in all may be said of a disk, and other messages have figures of
/// their own.
fn may_stand_beside(name: FigureName, tells_victim: bool) -> bool {
    use FigureName::{
        AnonRss, FileRss, GpuIndex, MemcgLimit, MemcgUsage, Requested, ShmemRss, TotalVm, VictimPid, WorkerUsed,
    };
    match name {
        VictimPid | GpuIndex => tells_victim,
        name => {
            matches!(name, Requested | WorkerUsed | MemcgUsage | MemcgLimit | TotalVm | AnonRss | FileRss | ShmemRss)
        }
    }
}

/// The lines of `text` next to `said` in which a program may go on to state amounts, and whether each is a part of the message, so that it may
/// also name the process. Whoever comes next may speak of something else: a line counts if it is a part or tells of a failure, too.
fn beside(text: &str, said: &Range<usize>) -> Vec<(Range<usize>, bool)> {
    const KILLS: &[&str] = &["Killing process ", "Killed process "];
    const FAILURES: &[&str] =
        &["fail", "error", "errno", "unable", "cannot", "could not", "exceed", "out of memory", "exhausted"];
    let before = text[..said.start].trim_end_matches('\n').len();
    let start = text[..before].rfind('\n').map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    let mut add = |range: Range<usize>| {
        let line = &text[range.clone()];
        let is_part = amounts::is_part(line) || KILLS.iter().any(|words| line.trim_start().starts_with(words));
        let small = line.to_ascii_lowercase();
        if is_part || FAILURES.iter().any(|words| small.contains(words)) {
            lines.push((range, is_part));
        }
    };
    let mut at = said.end;
    for line in text[at..].split_inclusive('\n') {
        add(at..at + line.len());
        at += line.len();
    }
    add(start..before);
    lines
}

/// The figures in `range` of a message about a shortage of `memory`, and the victim that its words name.
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
            let pid = number(NumberOf::Pid).filter(is_process);
            victim.pid = pid.map(|(_, pid)| pid);
            figures.extend(victim_pid(record, pid));
        }
    }
    (figures, victim)
}

/// Whether it is the number of a process; 0 is that of none.
fn is_process(&(_, pid): &(&str, u32)) -> bool {
    pid > 0
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

/// The memory that a shortage of this kind is about; `None` if the kind is no shortage.
fn memory(of: Kind) -> Option<MemoryOf> {
    use MemoryOf::{Container, Daemon, Device, Host, Kernel, Ray, Shared};
    [Device, Host, Kernel, Container, Daemon, Ray, Shared].into_iter().find(|memory| kind(*memory) == of)
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

/// Whether `line` breaks off within a word that one of the `harmless` lines has whole: the words that make it harmless are missing. A line
/// that ends with its word may have been meant as it is.
fn is_beginning(line: &str, harmless: &[String]) -> bool {
    if harmless.is_empty() || line.len() < SHORTEST_BEGINNING || !line.ends_with(char::is_alphabetic) {
        return false;
    }
    let line: String = without_digits(line).collect();
    let goes_on = |known: &String| known.strip_prefix(&line).is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    harmless.iter().any(goes_on)
}

fn without_digits(line: &str) -> impl Iterator<Item = char> {
    line.chars().filter(|letter| !letter.is_ascii_digit())
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
