//! What repeats is folded as it comes, so that a log of any length makes a bounded number of events.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::{Event, Figure, Other, TimelinePoint, Victim, What};

/// Alike events kept whole; of further ones only who and how often.
const ALIKE: usize = 16;
/// Of as many different events, what comes then is alike as soon as it is of one sort.
const MOST_EVENTS: usize = 4096;
/// Victims named by folded events.
const MOST_VICTIMS: usize = 4096;
/// Points kept of a series.
const POINTS: usize = 256;

/// Events, alike ones folded.
#[derive(Default)]
pub(super) struct Folded {
    events: Vec<Event>,
    alike: HashMap<(&'static str, String), Alike>,
    /// How many processes are kept of folded events.
    others: usize,
}

/// Events that are alike.
#[derive(Default)]
struct Alike {
    count: usize,
    /// Where the last one kept stands.
    last: usize,
    /// Whom that one names.
    victims: HashSet<Victim>,
    /// Of whom the folded ones speak.
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
            if is_told && self.others < Other::MOST && alike.others.insert(process.clone()) {
                self.others += 1;
                kept.others.push(Other { process, line: event.at.location.line, time: event.time });
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

    /// How many of the kept ones are shortages.
    pub fn shortages(&self) -> usize {
        self.events.iter().filter(|event| matches!(event.what, What::Shortage(_))).count()
    }

    /// The events, in order.
    pub fn finish(self) -> Vec<Event> {
        self.events
    }
}

/// Two events are alike when they state the same and their lines differ in numbers alone.
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
    state.reserve(160);
    state.extend(event.at.text.chars().filter(|c| !c.is_ascii_digit()).take(160));
    state
}

/// What an event is, whatever it says.
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

/// A moment of `series`, where `figure` is one of memory.
pub(super) fn point(series: &Arc<str>, figure: &Figure, event: &Event) -> Option<TimelinePoint> {
    Some(TimelinePoint {
        series: series.clone(),
        time: event.time.map(|time| time.to_string()),
        phase: event.setting.own.as_ref().filter(|mark| !mark.ended).map(|mark| mark.phase),
        name: figure.name,
        bytes: figure.bytes?,
        source: figure.source.clone(),
        text: figure.text.clone(),
    })
}

/// One series of memory figures: first, last, peak and a bounded number between.
#[derive(Default)]
pub(super) struct Series {
    points: Vec<(usize, TimelinePoint)>,
    /// Every so manyeth is kept, and how many came since.
    every: usize,
    since: usize,
    peak: Option<(usize, TimelinePoint)>,
    last: Option<(usize, TimelinePoint)>,
    /// How many came in all.
    count: usize,
    /// Fewer points than this are no series.
    fewest: usize,
}

impl Series {
    /// One that counts from so many points on.
    pub fn of_at_least(fewest: usize) -> Series {
        Series { fewest, ..Series::default() }
    }

    /// Adds a moment.
    pub fn add(&mut self, series: &Arc<str>, figure: &Figure, event: &Event) {
        let Some(point) = point(series, figure, event) else { return };
        let bytes = point.bytes;
        self.count += 1;
        let point = (self.count, point);
        if self.peak.as_ref().is_none_or(|(_, peak)| peak.bytes < bytes) {
            self.peak = Some(point.clone());
        }
        self.last = Some(point.clone());
        self.since += 1;
        if self.since >= self.every {
            self.since = 0;
            self.points.push(point);
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

    /// The moments kept, in order.
    pub fn finish(self) -> Vec<TimelinePoint> {
        if self.points.len() < self.fewest {
            return Vec::new();
        }
        let mut points = self.points;
        for extra in self.peak.into_iter().chain(self.last) {
            if !points.contains(&extra) {
                points.push(extra);
            }
        }
        // The lines of a record stand in another order than that in which they were written.
        points.sort_by_key(|(arrival, _)| *arrival);
        points.into_iter().map(|(_, point)| point).collect()
    }
}
