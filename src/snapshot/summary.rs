//! Summarises a recording: its most informative moment, and what was in use then, for what and by which lines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::categories::{Categories, frames_of};
use super::replay::{Change, LiveAllocation, Replay};
use super::segments::{Segments, bytes};
use super::structure::{Action, Device, Entry, Recording, Stack};
use crate::incident;
use crate::knowledge::Libraries;
use crate::model::{
    Allocation, CategoryUse, HistoryPoint, LineUse, RefusedAllocation, Snapshot, SnapshotMoment, TraceEvent,
};

/// The most lines of the program.
const LINES: usize = 24;
/// The most allocations.
const ALLOCATIONS: usize = 12;
/// The most segments.
const SEGMENTS: usize = 32;
/// The most last events.
const EVENTS: usize = 16;
/// The most moments of the trace; of adjacent ones, the one with the most in use is kept.
const MOMENTS: usize = 160;

/// The memory of `device`, which belongs to `recording`.
pub fn summary(recording: &Recording, device: &Device, categories: &Categories, libraries: &Libraries) -> Snapshot {
    let story = Story::of(device, categories);
    let (moment, played) = match &story.refused {
        Some((place, true)) => (SnapshotMoment::Refusal, *place),
        _ if device.trace.is_empty() => (SnapshotMoment::End, 0),
        _ => (SnapshotMoment::Peak, story.peak_at),
    };
    let mut replay = Replay::new(device);
    while replay.played < played && replay.step(|_| {}).is_some() {}
    let refused = story.refused.and_then(|(place, is_last)| Some((device.trace.get(place.checked_sub(1)?)?, is_last)));
    let asker = refused.map(|(entry, _)| entry.owner);
    let (mut segments, unused) = Segments::after(device, played).used(&replay, asker);
    let segments_count = segments.len() as u64;
    segments.truncate(SEGMENTS);
    let stack = |stack| incident::shortened(&frames_of(recording, stack), libraries);
    let refused = refused.map(|(entry, is_last)| RefusedAllocation {
        requested: bytes(entry.size),
        device_free: bytes(entry.address),
        is_last,
        stack: stack(entry.stack),
    });
    let live: Vec<&LiveAllocation> = replay.live.values().collect();
    // Among equal sizes, stacks that were recorded first come first.
    let mut largest: BTreeMap<(Reverse<u64>, u32), u64> = BTreeMap::new();
    live.iter().for_each(|live| *largest.entry((Reverse(live.size), live.stack.0)).or_default() += 1);
    let allocation = |((Reverse(size), of), count): (&(Reverse<u64>, u32), &u64)| Allocation {
        bytes: bytes(*size),
        count: *count,
        category: categories.name(Stack(*of)),
        stack: stack(Stack(*of)),
    };
    let (used, history) = by_category(&live, story.history, categories);
    Snapshot {
        path: recording.path.clone(),
        device: device.number,
        moment,
        in_use: bytes(replay.in_use),
        reserved: bytes(replay.reserved),
        peak: bytes(story.peak.max(replay.in_use)),
        refused,
        categories: used,
        lines: lines(recording, &live, categories, libraries),
        largest: largest.iter().take(ALLOCATIONS).map(allocation).collect(),
        unused,
        segments,
        segments_count,
        history,
        events_count: device.trace.len() as u64,
        last_events: last_events(recording, device, &|stack| categories.place(recording, stack, libraries)),
        settings: recording.settings.clone(),
    }
}

/// What one replay of the trace shows.
struct Story {
    peak: u64,
    /// The number of events after which the most was in use.
    peak_at: usize,
    /// The number of events up to the last refusal, and whether nothing was allocated after it.
    refused: Option<(usize, bool)>,
    history: Vec<Moment>,
}

/// A moment of the trace.
struct Moment {
    event: usize,
    time: Option<i64>,
    in_use: u64,
    reserved: u64,
    /// Memory in use by category number.
    categories: Vec<u64>,
}

impl Story {
    fn of(device: &Device, categories: &Categories) -> Story {
        let mut replay = Replay::new(device);
        let mut sums = vec![0_u64; categories.count()];
        for live in replay.live.values() {
            let sum = &mut sums[categories.number(live.stack)];
            *sum = sum.saturating_add(live.size);
        }
        let mut story = Story { peak: replay.in_use, peak_at: 0, refused: None, history: Vec::new() };
        let wide = device.trace.len().div_ceil(MOMENTS).max(1);
        while let Some(entry) = replay.step(|change| match change {
            Change::Taken(live) => {
                let sum = &mut sums[categories.number(live.stack)];
                *sum = sum.saturating_add(live.size);
            }
            Change::Given(live) => {
                let sum = &mut sums[categories.number(live.stack)];
                *sum = sum.saturating_sub(live.size);
            }
        }) {
            let Replay { played, in_use, reserved, .. } = replay;
            match entry.action {
                Action::Oom => story.refused = Some((played, true)),
                Action::Alloc => story.refused = story.refused.map(|(place, _)| (place, false)),
                _ => {}
            }
            if in_use > story.peak {
                (story.peak, story.peak_at) = (in_use, played);
            }
            let is_new = story.history.len() <= (played - 1) / wide;
            if is_new || story.history.last().is_some_and(|last| last.in_use < in_use) {
                let moment = Moment { event: played, time: entry.time, in_use, reserved, categories: sums.clone() };
                if !is_new {
                    story.history.pop();
                }
                story.history.push(moment);
            }
        }
        story
    }
}

/// The memory of `live` by category, and that of each moment of `history`, for all categories that occur in either.
fn by_category(
    live: &[&LiveAllocation],
    history: Vec<Moment>,
    categories: &Categories,
) -> (Vec<CategoryUse>, Vec<HistoryPoint>) {
    let mut sums = vec![(0_u64, 0_u64); categories.count()];
    for live in live {
        let (size, count) = &mut sums[categories.number(live.stack)];
        (*size, *count) = (size.saturating_add(live.size), *count + 1);
    }
    let is_there = |number: &usize| sums[*number].1 > 0 || history.iter().any(|moment| moment.categories[*number] > 0);
    let mut numbers: Vec<usize> = (0..categories.count()).filter(is_there).collect();
    numbers.sort_by_key(|number| Reverse(sums[*number]));
    let of_number = |number: &usize| CategoryUse {
        name: categories.name_of(*number),
        bytes: bytes(sums[*number].0),
        count: sums[*number].1,
    };
    let start = history.iter().find_map(|moment| moment.time);
    let point = |moment: &Moment| HistoryPoint {
        event: moment.event as u64,
        seconds: seconds(start, moment.time),
        in_use: bytes(moment.in_use),
        reserved: bytes(moment.reserved),
        categories: numbers.iter().map(|number| bytes(moment.categories[*number])).collect(),
    };
    (numbers.iter().map(of_number).collect(), history.iter().map(point).collect())
}

/// The seconds between two times in microseconds.
fn seconds(from: Option<i64>, to: Option<i64>) -> Option<f64> {
    Some(to?.saturating_sub(from?) as f64 / 1e6)
}

/// The memory of `live` by the line of the program that allocated it.
fn lines(
    recording: &Recording,
    live: &[&LiveAllocation],
    categories: &Categories,
    libraries: &Libraries,
) -> Vec<LineUse> {
    #[derive(Default)]
    struct Sum {
        bytes: u64,
        count: u64,
        categories: BTreeMap<usize, u64>,
    }
    let mut line_of: HashMap<Stack, Option<u32>> = HashMap::new();
    let mut sums: BTreeMap<Option<u32>, Sum> = BTreeMap::new();
    for live in live {
        let line = *line_of.entry(live.stack).or_insert_with(|| categories.place(recording, live.stack, libraries));
        let sum = sums.entry(line).or_default();
        (sum.bytes, sum.count) = (sum.bytes.saturating_add(live.size), sum.count + 1);
        let category = sum.categories.entry(categories.number(live.stack)).or_default();
        *category = category.saturating_add(live.size);
    }
    let mut sums: Vec<(Option<u32>, Sum)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| Reverse(sum.bytes));
    let line = |(call, sum): (Option<u32>, Sum)| {
        let call = call.and_then(|call| recording.calls.get(call as usize));
        let most =
            sum.categories.iter().max_by_key(|(_, bytes)| **bytes).map_or(categories.unknown(), |(most, _)| *most);
        LineUse {
            file: call.map(|call| call.file.to_string()).unwrap_or_default(),
            file_line: call.map_or(0, |call| call.line),
            function: call.map(|call| call.function.to_string()).unwrap_or_default(),
            is_own: call.is_some_and(|call| libraries.is_own(&call.file)),
            category: categories.name_of(most),
            bytes: bytes(sum.bytes),
            count: sum.count,
        }
    };
    sums.into_iter().take(LINES).map(line).collect()
}

fn last_events(recording: &Recording, device: &Device, place: &dyn Fn(Stack) -> Option<u32>) -> Vec<TraceEvent> {
    let end = device.trace.last().and_then(|entry| entry.time);
    let event = |entry: &Entry| {
        let line = place(entry.stack).and_then(|call| recording.calls.get(call as usize));
        TraceEvent {
            action: entry.action.name().to_owned(),
            bytes: bytes(entry.size),
            seconds_before: seconds(entry.time, end),
            line: line.map(|call| format!("{}:{} {}", call.file, call.line, call.function)),
        }
    };
    device.trace[device.trace.len().saturating_sub(EVENTS)..].iter().map(event).collect()
}
