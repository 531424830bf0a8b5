//! Folds repeated events and figures while they arrive, so that a log of any length makes a bounded number of events.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::{Event, Figure, Mention, TimelinePoint, Timestamp, Victim, What};

/// This many alike events are kept whole; of further ones only the processes and the count.
const ALIKE: usize = 16;
/// Beyond this many events, all further events of one producer and sort count as alike.
const MOST_EVENTS: usize = 4096;
/// Most victims that folded events may add to a kept one.
const MOST_VICTIMS: usize = 4096;
/// This many characters of a line decide whether it is alike, digits aside.
const COMPARED: usize = 160;
/// Most points kept of a series.
const POINTS: usize = 256;

/// Events in order of arrival, with alike ones folded.
#[derive(Default)]
pub(super) struct Folded {
    events: Vec<Event>,
    alike: HashMap<(&'static str, String), Alike>,
    /// The number of processes kept from folded events.
    others: usize,
}

/// Events that are alike.
#[derive(Default)]
struct Alike {
    count: usize,
    /// Index of the last one kept.
    last: usize,
    /// The victims that it names.
    victims: HashSet<Victim>,
    /// The processes that the folded ones are about.
    others: HashSet<Victim>,
}

impl Folded {
    /// Adds an event, or counts it.
    pub fn add(&mut self, event: Event) {
        let likeness = if self.events.len() < MOST_EVENTS { likeness(&event) } else { sort(&event).to_owned() };
        let alike = self.alike.entry((event.producer, likeness)).or_default();
        alike.count += 1;
        if alike.count <= ALIKE {
            alike.last = self.events.len();
            self.events.push(event);
            return;
        }
        let kept = &mut self.events[alike.last];
        kept.repeated = kept.repeated.saturating_add(1 + event.repeated);
        for process in event.processes() {
            let is_told = process.rank.is_some() || process.pid.is_some();
            if is_told && self.others < Mention::MOST && alike.others.insert(process.clone()) {
                self.others += 1;
                kept.others.push(Mention { process, line: event.at.location.line, time: event.time });
            }
        }
        if let (What::Shortage(kept), What::Shortage(more)) = (&mut kept.what, event.what) {
            if alike.victims.is_empty() {
                alike.victims.extend(kept.victims.iter().cloned());
            }
            for victim in more.victims.into_iter().map(|victim| victim.on(&event.origin.host)) {
                if kept.victims.len() < MOST_VICTIMS && alike.victims.insert(victim.clone()) {
                    kept.victims.push(victim);
                }
            }
        }
    }

    /// How many of the kept events are shortages.
    pub fn shortages(&self) -> usize {
        self.events.iter().filter(|event| matches!(event.what, What::Shortage(_))).count()
    }

    /// The events, in order.
    pub fn finish(self) -> Vec<Event> {
        self.events
    }
}

/// The key of alike events: they state the same, and their lines differ only in numbers.
fn likeness(event: &Event) -> String {
    let mut state = match &event.what {
        What::Shortage(shortage) => format!("{}{:?}", shortage.kind, shortage.severity),
        What::Death(death) => format!("{:?}", death.exit),
        What::Failure(failure) => failure.name.to_string(),
        What::Traceback(traceback) => {
            format!("{:?}", traceback.frames.last().map(|frame| (&frame.file, &frame.function)))
        }
        What::Memory { series } => series.to_string(),
        What::Finished | What::Notice => String::new(),
    };
    let mut left = COMPARED;
    state.reserve(left);
    for part in event.at.text.split(|c: char| c.is_ascii_digit()) {
        let end = part.char_indices().nth(left).map_or(part.len(), |(end, _)| end);
        state.push_str(&part[..end]);
        left -= part[..end].chars().count();
    }
    state
}

/// The sort of an event.
fn sort(event: &Event) -> &'static str {
    match &event.what {
        What::Shortage(_) => "shortage",
        What::Death(_) => "death",
        What::Failure(_) => "failure",
        What::Traceback(_) => "traceback",
        What::Memory { .. } => "memory",
        What::Finished => "finished",
        What::Notice => "notice",
    }
}

/// The point that `figure` adds to `series`; `None` if it measures no memory.
pub(super) fn point(series: &Arc<str>, figure: &Figure, event: &Event) -> Option<TimelinePoint> {
    Some(Moment::of(series, figure, event)?.to_point())
}

/// A point whose time is not yet in words, since most points are dropped again.
#[derive(Debug, PartialEq)]
struct Moment {
    time: Option<Timestamp>,
    point: TimelinePoint,
}

impl Moment {
    fn of(series: &Arc<str>, figure: &Figure, event: &Event) -> Option<Moment> {
        let point = TimelinePoint {
            series: series.clone(),
            time: None,
            phase: event.context.own.as_ref().filter(|mark| !mark.ended).map(|mark| mark.phase),
            name: figure.name,
            bytes: figure.bytes?,
            source: figure.source.clone(),
            text: figure.text.clone(),
        };
        Some(Moment { time: event.time, point })
    }

    fn to_point(&self) -> TimelinePoint {
        TimelinePoint { time: self.time.map(|time| time.to_string()), ..self.point.clone() }
    }
}

/// One series of memory figures: first, last, peak and a bounded number between.
#[derive(Default)]
pub(super) struct Series {
    points: Vec<(usize, Arc<Moment>)>,
    /// Every n-th point is kept, and how many came since the last kept one.
    every: usize,
    since: usize,
    peak: Option<(usize, Arc<Moment>)>,
    last: Option<(usize, Arc<Moment>)>,
    /// The number of points that arrived.
    count: usize,
    /// With fewer points it is no series.
    fewest: usize,
}

impl Series {
    /// A series that counts from `fewest` points on.
    pub fn of_at_least(fewest: usize) -> Series {
        Series { fewest, ..Series::default() }
    }

    /// Adds a moment.
    pub fn add(&mut self, series: &Arc<str>, figure: &Figure, event: &Event) {
        let Some(moment) = Moment::of(series, figure, event) else { return };
        let bytes = moment.point.bytes;
        self.count += 1;
        let moment = (self.count, Arc::new(moment));
        if self.peak.as_ref().is_none_or(|(_, peak)| peak.point.bytes < bytes) {
            self.peak = Some(moment.clone());
        }
        self.last = Some(moment.clone());
        self.since += 1;
        if self.since >= self.every {
            self.since = 0;
            self.points.push(moment);
        }
        if self.points.len() >= POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every = 2 * self.every.max(1);
        }
    }

    /// Whether each of at least three moments lies far above the one before: whatever a program prints so is no accident.
    fn rises_far(&self) -> bool {
        let mut pairs = self.points.windows(2);
        let is_far = |pair: &[(usize, Arc<Moment>)]| match pair {
            [(_, before), (_, after)] => {
                after.point.bytes.0.saturating_sub(before.point.bytes.0) >= TimelinePoint::FAR.0
            }
            _ => false,
        };
        self.points.len() > 2 && pairs.all(is_far)
    }

    /// The moments kept, in order.
    pub fn finish(self) -> Vec<TimelinePoint> {
        if self.points.len() < self.fewest && !self.rises_far() {
            return Vec::new();
        }
        let mut points = self.points;
        for extra in self.peak.into_iter().chain(self.last) {
            if !points.contains(&extra) {
                points.push(extra);
            }
        }
        // Sorted by arrival, because the peak and the last point were appended.
        points.sort_by_key(|(arrival, _)| *arrival);
        points.iter().map(|(_, moment)| moment.to_point()).collect()
    }
}
