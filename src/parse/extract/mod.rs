//! Walks over the lines of one input, hands them to grammars, messages and the reader, and collects what these find.

mod ahead;
mod fold;
mod loop_lines;
mod open;
mod origins;
mod printed;
mod recent;
mod signs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use fold::{Folded, Series};
use loop_lines::LoopLines;
use open::{Open, OpenMessages};
use origins::Origins;
use printed::Printed;
use recent::Recent;
use signs::{SignSearch, Signs};

use super::line::Line;
use super::line::progress::{self, Bars};
use super::message::Messages;
use super::reader::{Asked, Reader};
use super::record::Record;
use super::{Follow, Grammar, reader};
use crate::knowledge::{self, Inputs, Knowledge, Mark, Phases};
use crate::model::word::Word;
use crate::model::{
    Clock, Event, Figure, FigureName, LineContext, LineNumber, Phase, PhaseMark, Severity, TimelinePoint, Timestamp,
    What,
};
use crate::scan::{Anchors, LineSink, RawLine, SearchError};

/// A series of the last-resort grammar, which knows no format, needs at least this many amounts.
const FEWEST_OF_ANYBODY: usize = 5;
/// Only this many failures keep the lines before them.
const MOST_SURROUNDED: usize = 16;

/// This many series of memory figures are kept as timelines; of further ones only the last figure is kept,
const MOST_SERIES: usize = 256;
/// and of at most this many series.
const MOST_LAST: usize = 1 << 14;

/// All grammars and messages, and the searches that find them.
pub struct Grammars {
    all: &'static [&'static dyn Grammar],
    messages: Messages,
    /// The set of grammars for which [`Grammar::yields`] holds.
    yielding: u128,
    anchors: Anchors,
    signs: SignSearch,
    phases: Arc<Phases>,
    general: Arc<knowledge::Signs>,
}

impl Grammars {
    /// Builds the searches for the messages of `all` and of `knowledge`, for signs of phases and for general words of a shortage.
    pub fn new(all: &'static [&'static dyn Grammar], knowledge: &Knowledge) -> Result<Grammars, SearchError> {
        let (messages, phases) = (Messages::new(&knowledge.messages), Arc::clone(&knowledge.phases));
        let general = Arc::clone(&knowledge.signs);
        let of_grammars = all.iter().flat_map(|grammar| grammar.anchors().iter().copied());
        let anchors = Anchors::new(of_grammars.chain(messages.anchors()).chain(reader::ANCHORS.iter().copied()))?;
        let signs = SignSearch::new(all, &messages, &phases, &general);
        let yielding = all.iter().enumerate().filter(|(_, grammar)| grammar.yields());
        let yielding = yielding.fold(0, |set, (index, _)| set | 1 << index);
        Ok(Grammars { all, messages, yielding, anchors, signs, phases, general })
    }

    /// The literals that make a line worth reading.
    pub fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    /// What can be said of each line by itself.
    fn prepared<'l>(&self, physical: &[RawLine<'l>]) -> Vec<(Line<'l>, Signs)> {
        let mut lines = Vec::with_capacity(physical.len());
        for physical in physical {
            Line::read(*physical, |line| {
                let signs = self.signs.read(line.body(), &self.phases);
                lines.push((line, signs));
            });
        }
        lines
    }
}

/// Everything found in one input.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Findings {
    /// The statements, in the order of the lines.
    pub events: Vec<Event>,
    /// Memory over time, bounded: the first [`Findings::SERIES`] series, then the last figure of each further one.
    pub timeline: Vec<TimelinePoint>,
    /// The producers whose messages were found.
    #[serde(with = "crate::model::word::set")]
    pub producers: BTreeSet<Word>,
    /// The roles that writing processes gave themselves, by pid.
    pub processes: BTreeMap<u32, Arc<str>>,
    /// The first time stamp.
    pub started: Option<Timestamp>,
    /// The last one.
    pub ended: Option<Timestamp>,
    /// The context of the last line.
    pub last: LineContext,
}

impl Findings {
    /// Only this many series have a timeline.
    pub const SERIES: usize = MOST_SERIES;
}

/// Reads the lines of one input, in order.
pub struct Extractor<'g> {
    path: Arc<str>,
    grammars: &'g Grammars,
    /// Threads that prepare lines.
    threads: usize,
    origins: Origins,
    open: OpenMessages,
    marks: BTreeMap<usize, PhaseMark>,
    bars: BTreeMap<usize, Bars>,
    loop_lines: LoopLines,
    /// Whether anything showed that a step was done.
    has_stepped: bool,
    now: LineContext,
    printed: Printed,
    memory: BTreeMap<(Arc<str>, FigureName), Series>,
    /// Of further series the last figure.
    last: BTreeMap<(Arc<str>, FigureName), TimelinePoint>,
    folded: Folded,
    recent: Recent,
    /// How many failures know the lines before them.
    surrounded: usize,
    producers: BTreeSet<&'static str>,
    reader: Reader,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// The last line that was not blank.
    previous: LineNumber,
}

impl<'g> Extractor<'g> {
    /// An extractor at the beginning of the input at `path`.
    pub fn new(path: Arc<str>, grammars: &'g Grammars) -> Extractor<'g> {
        Extractor {
            path,
            grammars,
            threads: 1,
            origins: Origins::default(),
            open: OpenMessages::default(),
            marks: BTreeMap::new(),
            bars: BTreeMap::new(),
            loop_lines: LoopLines::default(),
            has_stepped: false,
            now: LineContext::default(),
            printed: Printed::default(),
            memory: BTreeMap::new(),
            last: BTreeMap::new(),
            folded: Folded::default(),
            recent: Recent::default(),
            surrounded: 0,
            producers: BTreeSet::new(),
            reader: Reader::new(Arc::clone(&grammars.general)),
            started: None,
            ended: None,
            previous: LineNumber::FIRST,
        }
    }

    /// Prepares lines on `threads` threads.
    pub fn on_threads(self, threads: usize) -> Extractor<'g> {
        Extractor { threads, ..self }
    }

    /// The number of shortages found so far.
    pub fn shortages(&self) -> usize {
        self.folded.shortages()
    }

    /// Ends the walk.
    pub fn finish(mut self) -> Findings {
        self.gap();
        self.now.recent = self.recent.cites(&self.path);
        let mut events = self.folded.finish();
        let believed = self.reader.finish(&mut events);
        // `incident` ignores the reader's shortages if a grammar states one, so the reader is no producer then.
        if !events
            .iter()
            .any(|event| matches!(&event.what, What::Shortage(shortage) if shortage.severity == Severity::Fatal))
        {
            self.producers.extend(believed.iter().map(|event| event.producer));
        }
        events.extend(believed);
        Findings {
            events,
            timeline: self.memory.into_values().flat_map(Series::finish).chain(self.last.into_values()).collect(),
            producers: self.producers,
            processes: self.origins.named(),
            started: self.started,
            ended: self.ended,
            last: LineContext { memory: self.printed.of(None), ..self.now },
        }
    }

    fn read(&mut self, line: Line<'_>, mut signs: Signs) {
        let origin = self.origins.of(&line);
        self.note_time(&line);
        // The phase comes first because the line of a failure may itself begin with the sign of its phase: `3/4 [00:08<00:02]Killed`.
        self.note_phase(origin, &line, &signs);
        let taken = self.offer(origin, &line);
        let stated = self.messages(origin, &line, &mut signs.rows, taken);
        let mut wanted = signs.messages & !taken;
        if stated.iter().any(proves) {
            wanted &= !self.grammars.yielding;
        }
        if !stated.is_empty() {
            wanted &= !self.grammars.signs.last_resorts;
        }
        self.recent.push(&line);
        for (index, grammar) in members(wanted).map(|index| (index, self.grammars.all[index])) {
            let record = self.record(origin, &line);
            if grammar.is_multiline() {
                for ended in self.open.begin(Open { grammar: index, origin, record }) {
                    self.close(ended.grammar, &ended.record);
                }
            } else {
                self.close(index, &record);
            }
        }
        let (anonymous, device) = (self.origins.is_anonymous(origin), signs.device);
        let sign = signs.shortage.filter(|_| !is_heard_in(line.body()));
        self.reader.read(&Asked { origin, anonymous, line: &line, sign, device }, |first| {
            let known = self.origins.origin(origin).clone();
            let context = context(&self.now, self.printed.of(known.rank), self.marks.get(&origin), &first);
            Record::new(self.path.clone(), known, context, first)
        });
        for event in stated {
            self.note(event, 1);
        }
        self.previous = line.number;
    }

    fn note_time(&mut self, line: &Line<'_>) {
        let Some(time) = line.envelope().time else { return };
        self.started = self.started.or(Some(time));
        self.ended = Some(time);
        self.now.stamps.before = Some(time);
        if time.clock == Clock::Wall {
            self.now.stamps.dated = Some(time);
        }
    }

    /// A record that begins with `line`.
    fn record(&self, origin: usize, line: &Line<'_>) -> Record {
        let known = self.origins.origin(origin).clone();
        let context = context(&self.now, self.printed.of(known.rank), self.marks.get(&origin), line);
        Record::new(self.path.clone(), known, context, line.clone().into_owned())
    }

    /// The events that the messages of `rows` state in `line`. A line that continues a longer message of the same producer proves nothing
    /// by itself.
    fn messages(&self, origin: usize, line: &Line<'_>, rows: &mut Vec<u16>, taken: u128) -> Vec<Event> {
        if rows.is_empty() {
            return Vec::new();
        }
        let longer: Vec<&str> = members(taken).map(|index| self.grammars.all[index].producer()).collect();
        let record = self.record(origin, line);
        let mut events = self.grammars.messages.read(&record, rows);
        events.retain(|event| !proves(event) || !longer.contains(&event.producer) && !is_heard(event, &record));
        events.iter_mut().for_each(|event| self.reader.complete(event, &record));
        events
    }

    /// Offers `line` to the open messages; returns the set of grammars that took it.
    fn offer(&mut self, origin: usize, line: &Line<'_>) -> u128 {
        let mut taken = 0;
        for number in self.open.of(origin, self.origins.is_anonymous(origin), self.previous) {
            let Some(open) = self.open.get(number) else { continue };
            let index = open.grammar;
            match self.grammars.all[index].follows(&open.record, line) {
                Follow::Join(joint) if open.has_room(joint) => {
                    self.open.push(number, joint, line.clone().into_owned());
                    taken |= 1 << index;
                }
                Follow::Pass => {}
                Follow::Join(_) | Follow::End => {
                    if let Some(ended) = self.open.end(number) {
                        self.close(ended.grammar, &ended.record);
                    }
                }
            }
        }
        taken
    }

    fn close(&mut self, grammar: usize, record: &Record) {
        let grammar = self.grammars.all[grammar];
        let fewest = if grammar.is_last_resort() { FEWEST_OF_ANYBODY } else { 1 };
        for event in grammar.parse(record).into_iter().filter(|event| !is_heard(event, record)) {
            self.note(event, fewest);
        }
    }

    /// Keeps an event; a series of memory figures counts only from `fewest` figures on.
    fn note(&mut self, mut event: Event, fewest: usize) {
        self.producers.insert(event.producer);
        match &event.what {
            What::Memory { series } => self.note_memory(series.clone(), &event, fewest),
            What::Shortage(_) | What::Death(_) if self.surrounded < MOST_SURROUNDED => {
                self.surrounded += 1;
                event.context.recent = self.recent.cites(&self.path);
                self.folded.add(event);
            }
            _ => self.folded.add(event),
        }
    }

    fn note_memory(&mut self, series: Arc<str>, event: &Event, fewest: usize) {
        for figure in &event.figures {
            let key = (series.clone(), figure.name);
            if self.memory.len() < MOST_SERIES || self.memory.contains_key(&key) {
                let known = self.memory.entry(key).or_insert_with(|| Series::of_at_least(fewest));
                known.add(&series, figure, event);
            } else if let Some(point) = fold::point(&series, figure, event)
                && (self.last.len() < MOST_LAST || self.last.contains_key(&key))
                && fewest == 1
            {
                self.last.insert(key, point);
            }
        }
        self.printed.add(&event.figures, event.origin.rank);
    }

    /// Whether `body`, which has a figure that loops report, is of a loop that trains.
    fn is_of_loop(&mut self, origin: usize, body: &str) -> bool {
        let is_apart = |mark: &PhaseMark| {
            !mark.ended
                && matches!(mark.phase, Phase::Evaluation | Phase::Rollout | Phase::Inference | Phase::Experience)
        };
        let may_begin = !self.marks.get(&origin).or(self.now.any.as_ref()).is_some_and(is_apart);
        self.loop_lines.is_of_loop(body, may_begin)
    }

    fn note_phase(&mut self, origin: usize, line: &Line<'_>, signs: &Signs) {
        let body = line.body();
        let bar = if signs.has_bar { progress::bar(body) } else { None };
        let is_step = signs.is_step(body) || signs.may_be_step() && self.is_of_loop(origin, body);
        if is_step || bar.as_ref().is_some_and(|bar| bar.done > 0) {
            self.now.progress += 1;
            self.now.steps += u64::from(is_step);
        }
        if is_step || bar.is_some() {
            // A bar that fills at once counts files, one without a label or half full steps.
            self.has_stepped |=
                is_step || bar.as_ref().is_some_and(|bar| bar.done > 0 && (bar.label.is_empty() || !bar.is_full()));
            self.now.is_first_step =
                !self.has_stepped && bar.as_ref().is_some_and(|bar| bar.done == 0 && bar.total > 1);
        }
        self.now.bar = bar.as_ref().map(|bar| (bar.done, bar.total)).or(self.now.bar);
        let has_bar = bar.is_some();
        let nested = bar.as_ref().is_some_and(|bar| self.bars.entry(origin).or_default().is_nested(bar));
        let of_bar = bar.and_then(|bar| {
            let mark = self.grammars.phases.bar(bar.label, nested)?;
            Some(Mark { ends: bar.is_full(), ..mark.clone() })
        });
        let phases = &self.grammars.phases;
        let announced = || signs.announces.then(|| phases.announced(body))?.cloned();
        let told = of_bar.or_else(|| signs.phase.map(|word| phases.mark(word).clone())).or_else(announced);
        let known = || self.marks.get(&origin).or(self.now.any.as_ref());
        let before = known().map(|mark| mark.phase);
        let told = told.filter(|told| !known().is_some_and(|mark| mark.stands_against(told.phase, told.confidence)));
        if let Some(mark) = told {
            let Mark { phase, site, ends, encloses, confidence } = mark;
            // A bar of the phase before does not say how far this one is.
            if !has_bar && before != Some(phase) {
                self.now.bar = None;
            }
            let mark = PhaseMark { phase, site, ended: ends, encloses, confidence, at: line.cite(&self.path) };
            self.now.seen.insert(mark.phase);
            self.marks.insert(origin, mark.clone());
            self.now.any = Some(mark);
        } else if is_step {
            // A training step shows that setup, checkpoints and evaluation before it are over.
            for mark in self.marks.get_mut(&origin).into_iter().chain(&mut self.now.any) {
                mark.ended |= mark.phase.is_outside_steps();
            }
        }
    }
}

/// The indices in a set of grammars.
fn members(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = set.trailing_zeros() as usize;
        set &= set.checked_sub(1)?;
        Some(index)
    })
}

/// Whether `event` states an end, a shortage or a failure, and not only figures or a notice.
fn proves(event: &Event) -> bool {
    !matches!(event.what, What::Notice | What::Memory { .. })
}

/// Whether `event` is only in what a server repeats of its users' words.
fn is_heard(event: &Event, record: &Record) -> bool {
    if !proves(event) {
        return false;
    }
    let Some(at) = record.text().find(&event.at.text) else { return false };
    let before = &record.text()[..at];
    let before = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    // The cited words may be the whole line: then the users' words begin before those that prove anything.
    Inputs::shipped().text.heard.iter().any(|words| before.contains(words.as_str())) || is_heard_in(&event.at.text)
}

/// Whether what `line` says of memory or a kill stands behind the beginning of users' words.
fn is_heard_in(line: &str) -> bool {
    let small = line.to_ascii_lowercase();
    let Some(proof) = ["memory", "kill"].iter().filter_map(|word| small.find(word)).min() else { return false };
    let heard = &Inputs::shipped().text.heard;
    heard.iter().any(|words| line.find(words.as_str()).is_some_and(|heard| heard < proof))
}

impl LineSink for Extractor<'_> {
    fn line(&mut self, line: RawLine<'_>) {
        self.lines(&[line]);
    }

    fn lines(&mut self, lines: &[RawLine<'_>]) {
        let grammars = self.grammars;
        ahead::in_order(
            lines,
            self.threads,
            |lines| grammars.prepared(lines),
            |lines| {
                lines.into_iter().for_each(|(line, signs)| self.read(line, signs));
            },
        );
    }

    fn gap(&mut self) {
        for ended in self.open.end_all() {
            self.close(ended.grammar, &ended.record);
        }
        self.reader.gap();
    }
}

/// The context of `line`: the state `now` of its input, the `memory` that was printed, and the last phase mark of its `own` origin.
fn context(now: &LineContext, memory: Arc<[Figure]>, own: Option<&PhaseMark>, line: &Line<'_>) -> LineContext {
    LineContext { own: own.cloned(), memory, place: place(line), ..now.clone() }
}

/// The source file that the logger of `line` names.
fn place(line: &Line<'_>) -> Option<Arc<str>> {
    let words = line.words(line.envelope().place.as_ref()?);
    let file = words.split(':').next().unwrap_or(words);
    Some(Arc::from(file.rsplit('/').next().unwrap_or(file)))
}
