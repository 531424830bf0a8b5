//! Every rank of a large job: how it ended, what it held, and which rank failed first.

mod identity;
mod memory;
mod nodes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::Case;
use super::log_path::{node_of_path, rank_of_path};
use super::root::Group;
use super::sequence::{ending, mentions, vagueness};
use crate::model::{
    Clock, Ending, Event, Exit, InputSummary, Job, LineNumber, Mention, RankRow, RankState, Ranks, StateCount,
    Timestamp, What,
};
use identity::Identity;
use memory::RankMemory;
use nodes::Nodes;

/// The ranks, and the inputs that tell how they ended.
pub struct Grid {
    ranks: Ranks,
    /// The path for each row.
    paths: Vec<Option<Arc<str>>>,
}

impl Grid {
    /// The ranks for a report that lists `inputs`.
    pub fn of_inputs(self, inputs: &[InputSummary]) -> Ranks {
        let place: HashMap<&str, usize> =
            inputs.iter().enumerate().rev().map(|(place, input)| (&*input.path, place)).collect();
        let mut ranks = self.ranks;
        for (row, path) in ranks.rows.iter_mut().zip(self.paths) {
            row.input = path.and_then(|path| place.get(&*path).copied());
        }
        ranks
    }
}

/// What is known about one rank.
#[derive(Default)]
struct KnownRank {
    /// Its host, from its messages.
    host: Option<Arc<str>>,
    /// Whether several hosts have a rank of this number.
    is_several: bool,
    /// The node in the path of its log.
    node: Option<Arc<str>>,
    end: Option<Moment<(u8, RankState)>>,
    last: Option<Moment<()>>,
    held: RankMemory,
}

/// A statement with its place and time.
struct Moment<T> {
    what: T,
    path: Arc<str>,
    line: LineNumber,
    time: Option<Timestamp>,
}

impl KnownRank {
    fn on(&mut self, host: Option<&Arc<str>>) {
        let differs = |known: &Arc<str>| host.is_some_and(|host| host != known);
        self.is_several |= self.host.as_ref().is_some_and(differs);
        self.host = self.host.take().or_else(|| host.cloned());
    }

    /// Adds another statement of how it ended, if that tells more.
    fn ended(&mut self, end: Moment<(u8, RankState)>) {
        if self.end.as_ref().is_none_or(|known| end.what.0 < known.what.0) {
            self.end = Some(end);
        }
    }

    fn state(&self) -> RankState {
        self.end.as_ref().map_or(RankState::Silent, |end| end.what.1)
    }
}

/// The grid of `case`, if it has enough ranks; `root` is the event with which it began.
pub(super) fn of(case: &Case, groups: &[Group], root: Option<&Event>, job: &Job) -> Option<Grid> {
    let identity = Identity::of(case);
    let mut known: BTreeMap<u32, KnownRank> = BTreeMap::new();
    logs(case, &mut known);
    memory::of_timeline(case, &identity, &mut known);
    events(case, groups, &identity, &mut known);
    match crowded(case) {
        crowded if crowded.is_empty() => fill(&mut known, job.world_size),
        // In a crowded input the statement of a rank's end may not have been kept, so such ranks are not shown as silent.
        crowded => known
            .retain(|_, one| !(one.end.is_none() && one.last.as_ref().is_none_or(|last| crowded.contains(&last.path)))),
    }
    let torn = known.values().filter(|one| one.is_several).count();
    if known.len() < Ranks::FEWEST || torn * 2 > known.len() {
        return None;
    }
    let first = root.and_then(|root| mentions(root).find_map(|mention| identity.rank(&mention.process, root)));
    let first = first.filter(|first| known.get(first).is_some_and(|one| one.state() != RankState::Followed));
    let first = first.or_else(|| first_of(&known));
    let is_host = groups.iter().find(|group| !group.recovered).is_some_and(|group| group.kind.is_host());
    Some(grid(known, first, is_host))
}

/// The inputs with more folded processes than are kept.
fn crowded(case: &Case) -> HashSet<&Arc<str>> {
    let mut counts: HashMap<&Arc<str>, usize> = HashMap::new();
    case.events.iter().for_each(|event| *counts.entry(&event.at.location.path).or_default() += event.others.len());
    counts.into_iter().filter(|(_, count)| *count >= Mention::MOST).map(|(path, _)| path).collect()
}

/// Adds the ranks that have a log of their own.
fn logs(case: &Case, known: &mut BTreeMap<u32, KnownRank>) {
    for (path, ending) in &case.endings {
        let Some(rank) = rank_of_path(path) else { continue };
        let one = known.entry(rank).or_default();
        one.node = one.node.take().or_else(|| node_of_path(path));
        ending.memory.iter().for_each(|figure| one.held.print(figure.name, figure.bytes));
        let line = ending.recent.last().map(|cite| cite.location.line);
        let time = ending.stamps.before;
        one.last = line.map(|line| Moment { what: (), path: Arc::clone(path), line, time }).or(one.last.take());
    }
}

fn events(case: &Case, groups: &[Group], identity: &Identity, known: &mut BTreeMap<u32, KnownRank>) {
    let indices = |recovered: bool| {
        let groups = groups.iter().filter(move |group| group.recovered == recovered);
        groups.flat_map(|group| group.events.iter().copied()).collect::<HashSet<usize>>()
    };
    let (survived, proven) = (indices(true), indices(false));
    for (index, event) in case.events.iter().enumerate() {
        let path = &event.at.location.path;
        if let Some(rank) = identity.speaker(event) {
            let one = known.entry(rank).or_default();
            one.on(event.origin.host.as_ref());
            one.node = one.node.take().or_else(|| node_of_path(path));
            if one.last.as_ref().is_none_or(|last| last.path == *path && last.line < event.at.location.line) {
                let (line, time) = (event.at.location.line, event.time);
                one.last = Some(Moment { what: (), path: Arc::clone(path), line, time });
            }
        }
        if survived.contains(&index) {
            continue;
        }
        let state = state(event, proven.contains(&index));
        // Tracebacks rarely have a time; in a rank's own log the line before them has one.
        let before = rank_of_path(path).and(event.context.stamps.before);
        let is_alone = event.processes().len() == 1;
        for Mention { process, line, time } in mentions(event) {
            let Some(rank) = identity.rank(&process, event) else { continue };
            let one = known.entry(rank).or_default();
            one.on(process.host.as_ref());
            if is_alone && line == event.at.location.line {
                one.held.state(&event.figures);
            }
            let time = time.or(before);
            if let Some(what) = state {
                one.ended(Moment { what, path: Arc::clone(path), line, time });
            }
        }
    }
}

/// How the process that `event` is about ended, and how little that tells; a shortage counts only if it `is_proven`.
fn state(event: &Event, is_proven: bool) -> Option<(u8, RankState)> {
    const FINISHED: u8 = u8::MAX;
    let ending = match &event.what {
        What::Finished => return Some((FINISHED, RankState::Finished)),
        What::Death(death) if death.exit == Exit::Code(0) => return Some((FINISHED, RankState::Finished)),
        _ => ending(event)?,
    };
    const TERMINATED: [i32; 2] = [2, 15];
    let follows = matches!(&event.what, What::Failure(failure) if failure.follows);
    let state = match ending {
        Ending::OutOfMemory { .. } if !is_proven => return None,
        Ending::OutOfMemory { .. } => RankState::RanOut,
        Ending::Signal { signal: 9 } | Ending::Vanished => RankState::Killed,
        Ending::Signal { signal } if TERMINATED.contains(&signal) => RankState::Followed,
        Ending::Stopped => RankState::Followed,
        Ending::Failed { .. } if follows => RankState::Followed,
        Ending::Failed { .. } | Ending::Signal { .. } | Ending::Exited { .. } => RankState::Failed,
    };
    Some((vagueness(&ending), state))
}

/// Adds the ranks about which nothing was read, if most of the job's ranks are known.
fn fill(known: &mut BTreeMap<u32, KnownRank>, world_size: Option<u32>) {
    let Some(world) = world_size.filter(|world| known.len() * 2 >= *world as usize) else { return };
    (0..world).for_each(|rank| {
        known.entry(rank).or_default();
    });
}

/// The first rank that was killed or failed while others only followed: the only one, or the first by the clock.
fn first_of(known: &BTreeMap<u32, KnownRank>) -> Option<u32> {
    let clock = clock(known);
    let is_root = |one: &&Moment<(u8, RankState)>| matches!(one.what.1, RankState::Killed | RankState::Failed);
    let roots = known.iter().filter_map(|(rank, one)| Some((*rank, one.end.as_ref().filter(is_root)?.time)));
    let seconds = |time: Option<Timestamp>| time.zip(clock).and_then(|(time, clock)| time.seconds_on(clock));
    let roots: Vec<(u32, Option<f64>)> = roots.map(|(rank, time)| (rank, seconds(time))).collect();
    match roots.as_slice() {
        [(only, _)] => Some(*only),
        roots => {
            let roots: Option<Vec<(u32, f64)>> =
                roots.iter().map(|(rank, seconds)| Some((*rank, (*seconds)?))).collect();
            roots?.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(rank, _)| rank)
        }
    }
}

fn grid(mut known: BTreeMap<u32, KnownRank>, first: Option<u32>, is_host: bool) -> Grid {
    let count = known.len();
    let counted = |state| StateCount { state, count: known.values().filter(|one| one.state() == state).count() };
    let states = RankState::ALL.map(counted).into_iter().filter(|counted| counted.count > 0).collect();
    let nodes = Nodes::of(&known);
    let figure = memory::figure(known.values().map(|one| &one.held), is_host);
    let outliers = memory::outliers(&known, &nodes);
    let clock = clock(&known);
    let seconds = |time: Option<Timestamp>| time.zip(clock).and_then(|(time, clock)| time.seconds_on(clock));
    let ends = known.values().filter_map(|one| one.end.as_ref()?.time);
    let began = ends.min_by(|a, b| seconds(Some(*a)).unwrap_or(0.0).total_cmp(&seconds(Some(*b)).unwrap_or(0.0)));
    narrow(&mut known, first);
    let (mut rows, mut paths) = (Vec::new(), Vec::new());
    for (rank, one) in known {
        let place = one.end.as_ref().map(|end| (&end.path, end.line, end.time));
        let place = place.or(one.last.as_ref().map(|last| (&last.path, last.line, last.time)));
        let held = one.held.shown(figure, is_host);
        let time = place.and_then(|(_, _, time)| time);
        // Rounded to milliseconds, the precision of time stamps.
        let after = seconds(time).zip(seconds(began)).map(|(own, began)| ((own - began) * 1e3).round() / 1e3);
        rows.push(RankRow {
            rank,
            node: nodes.place(&one),
            state: one.state(),
            bytes: held.map(|(_, bytes)| bytes),
            figure: held.map(|(name, _)| name).filter(|name| Some(*name) != figure),
            seconds_after: after,
            input: None,
            line: place.map(|(_, line, _)| line),
        });
        paths.push(place.map(|(path, ..)| Arc::clone(path)));
    }
    let began = began.filter(|_| clock.is_some()).map(|time| time.to_string());
    let ranks = Ranks { count, first, began, states, figure, nodes: nodes.names, rows, outliers };
    Grid { ranks, paths }
}

/// The clock on which the times of all ends can be compared.
fn clock(known: &BTreeMap<u32, KnownRank>) -> Option<Clock> {
    Clock::common_to(known.values().filter_map(|one| one.end.as_ref()?.time).map(|time| time.clock))
}

/// Keeps at most [`Ranks::MOST`] ranks, the most telling ones.
fn narrow(known: &mut BTreeMap<u32, KnownRank>, first: Option<u32>) {
    if known.len() <= Ranks::MOST {
        return;
    }
    let mut order: Vec<(bool, RankState, u32)> =
        known.iter().map(|(rank, one)| (first != Some(*rank), one.state(), *rank)).collect();
    order.sort_unstable();
    order.iter().skip(Ranks::MOST).for_each(|(.., rank)| drop(known.remove(rank)));
}
