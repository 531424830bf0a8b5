//! The sequence in which the job's processes ended.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Case;
use super::root::Group;
use super::victims::{is_device_only, is_nobody};
use crate::model::{
    Clock, End, Ending, Event, Exit, LineNumber, Mention, OtherFailureName, Severity, Timestamp, Victim, What,
};

/// Most entries of the sequence.
const MOST_ENDS: usize = 32;
/// Processes that ended alike within this many seconds are one entry.
const TOGETHER: f64 = 120.0;

/// How a process ended, by the message that tells most about it.
struct Ended<'a> {
    process: Victim,
    ending: Ending,
    event: &'a Event,
    line: LineNumber,
    time: Option<Timestamp>,
    /// Index of its first event.
    place: usize,
    /// Whether its message was printed some time after the end, so that its time is not that of the end.
    is_late: bool,
}

/// How each process of `case` ended, in order. Incidents from which the job recovered are no ends.
pub(super) fn of(case: &Case, groups: &[Group]) -> Vec<End> {
    let survived: HashSet<usize> =
        groups.iter().filter(|group| group.recovered).flat_map(|group| group.events.iter().copied()).collect();
    let root = groups.iter().find(|group| !group.recovered).and_then(|group| group.events.first().copied());
    let ranks = ranks(case);
    let mut ended: Vec<Ended> = Vec::new();
    let mut known: HashMap<Key, usize> = HashMap::new();
    for (place, event) in case.events.iter().enumerate().filter(|(place, _)| !survived.contains(place)) {
        let Some(ending) = ending(event) else { continue };
        for Mention { process, line, time } in mentions(event) {
            let rank = process.rank.or_else(|| ranks.get(&process.pid?).copied());
            let process = Victim { rank, ..process };
            let index = *known.entry(Key::of(&process, event)).or_insert_with(|| match ended.last() {
                // One line may name a process twice, by the device in the message and the pid in the prefix.
                Some(last) if last.line == line && last.is_of_line(event) => ended.len() - 1,
                _ => ended.len(),
            });
            let new = Ended { process, ending, event, line, time, place, is_late: false };
            match ended.get_mut(index) {
                Some(one) => one.learn(new),
                None => ended.push(new),
            }
        }
    }
    // If others are named, an unnamed message belongs to one of them.
    if ended.iter().any(|one| !is_nobody(&one.process)) {
        ended.retain(|one| !is_nobody(&one.process) || Some(one.place) == root);
    }
    // So does one that names no more than the host, if a process there is known that ended in the same way.
    let named: Vec<(Ending, Option<Arc<str>>)> = ended
        .iter()
        .filter(|one| !is_host_only(&one.process))
        .map(|one| (one.ending, one.process.host.clone()))
        .collect();
    let is_told = |one: &Ended| {
        let host = &one.process.host;
        let is_it =
            |(ending, other): &(Ending, Option<Arc<str>>)| *ending == one.ending && (host.is_none() || host == other);
        is_host_only(&one.process) && named.iter().any(is_it)
    };
    ended.retain(|one| !is_told(one));
    // So does one that names the device of a process that is known better, printed once more without its prefix.
    let known: Vec<(Ending, Victim)> = ended.iter().map(|one| (one.ending, one.process.clone())).collect();
    let is_repeated = |one: &Ended| {
        let is_it = |(ending, other): &&(Ending, Victim)| {
            *ending == one.ending && other.device == one.process.device && (other.rank.is_some() || other.pid.is_some())
        };
        is_device_only(&one.process) && known.iter().filter(is_it).count() == 1
    };
    ended.retain(|one| !is_repeated(one));
    // A launcher names by pid the processes that themselves printed rank or device and why they ended.
    let has_reason = |one: &Ended| vagueness(&one.ending) < vagueness(&Ending::Stopped);
    if ended.iter().any(|one| one.process.pid.is_none() && has_reason(one)) {
        let says_nothing = |one: &Ended| matches!(one.ending, Ending::Exited { .. } | Ending::Vanished);
        ended.retain(|one| !says_nothing(one) || one.process.rank.is_some());
    }
    let told = clock(&ended);
    noticed_late(&mut ended, told);
    let clock = clock(&ended);
    order(&mut ended, clock);
    together(ended, clock)
}

/// Whether nothing but the host, if even that, is known.
fn is_host_only(victim: &Victim) -> bool {
    *victim == Victim { host: victim.host.clone(), ..Victim::default() }
}

impl<'a> Ended<'a> {
    /// Adds what another event says about the same process.
    fn learn(&mut self, more: Ended<'a>) {
        let known = std::mem::take(&mut self.process);
        if vagueness(&more.ending) < vagueness(&self.ending) {
            (self.ending, self.event, self.line, self.time) = (more.ending, more.event, more.line, more.time);
        }
        self.process = known.or(&more.process);
    }

    /// Whether its message stands in the same input as `event`, which is about one process only.
    fn is_of_line(&self, event: &Event) -> bool {
        let of_path = self.event.at.location.path == event.at.location.path;
        of_path && !matches!(&event.what, What::Shortage(shortage) if shortage.victims.len() > 1)
    }
}

/// Every process that `event` is about, including those of equal events that were merged into it.
pub(super) fn mentions(event: &Event) -> impl Iterator<Item = Mention> {
    let (line, time) = (event.at.location.line, event.time);
    // The kept event may already name the victims of the merged ones.
    let merged: HashSet<&Victim> = event.others.iter().map(|other| &other.process).collect();
    let own = event.processes().into_iter().filter(move |process| !merged.contains(process));
    own.map(move |process| Mention { process, line, time }).chain(event.others.iter().cloned())
}

/// The key by which messages are attributed to one process.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Rank(u32),
    Process(u32),
    Device(Option<Arc<str>>, u32),
    Role(Arc<str>),
    Input(Arc<str>),
}

impl Key {
    fn of(process: &Victim, event: &Event) -> Key {
        match process {
            Victim { rank: Some(rank), .. } => Key::Rank(*rank),
            Victim { pid: Some(pid), .. } => Key::Process(*pid),
            Victim { host, device: Some(device), .. } => Key::Device(host.clone(), *device),
            Victim { role: Some(role), .. } => Key::Role(Arc::clone(role)),
            _ => Key::Input(Arc::clone(&event.at.location.path)),
        }
    }
}

/// The rank of each pid, as far as any message names both.
fn ranks(case: &Case) -> HashMap<u32, u32> {
    let both = |victim: &Victim| Some((victim.pid?, victim.rank?));
    let all = case.events.iter().flat_map(|event| event.processes().into_iter().chain([event.origin.process()]));
    all.filter_map(|victim| both(&victim)).collect()
}

/// How the process that `event` is about ended, if it says so.
pub(super) fn ending(event: &Event) -> Option<Ending> {
    match &event.what {
        What::Shortage(shortage) if shortage.severity != Severity::Pressure => {
            Some(Ending::OutOfMemory { kind: shortage.kind })
        }
        What::Failure(failure) => Some(Ending::Failed { failure: failure.name }),
        What::Traceback(stack) => {
            stack.exception.as_ref().map(|_| Ending::Failed { failure: OtherFailureName::PythonError })
        }
        What::Death(death) => match death.exit {
            Exit::Code(0) => None,
            Exit::Code(status) => Some(Ending::Exited { status }),
            Exit::Signal(signal) => Some(Ending::Signal { signal }),
            Exit::Vanished => Some(Ending::Vanished),
            Exit::Stopped => Some(Ending::Stopped),
        },
        What::Shortage(_) | What::Memory { .. } | What::Finished | What::Notice => None,
    }
}

/// How little an ending tells about its reason; lower tells more.
pub(super) fn vagueness(ending: &Ending) -> u8 {
    match ending {
        Ending::OutOfMemory { .. } => 0,
        Ending::Failed { failure } if !matches!(failure, OtherFailureName::PythonError | OtherFailureName::Unknown) => {
            1
        }
        Ending::Signal { .. } => 2,
        Ending::Failed { .. } => 3,
        Ending::Stopped => 4,
        Ending::Exited { .. } => 5,
        Ending::Vanished => 6,
    }
}

/// The clock on which all times can be compared.
fn clock(ended: &[Ended<'_>]) -> Option<Clock> {
    Clock::common_to(ended.iter().filter_map(|one| one.time).map(|time| time.clock))
}

/// PyTorch's elastic agent stops the others as soon as one worker fails, and prints how that one ended only when they are gone
/// (torch/distributed/elastic/multiprocessing/api.py, `close` before the report, 1.9–2.9): its line tells no time.
fn noticed_late(ended: &mut [Ended<'_>], clock: Option<Clock>) {
    let is_of_agent = |one: &Ended| one.event.producer == "elastic";
    let stops = ended.iter().filter(|one| is_of_agent(one) && one.ending == Ending::Stopped);
    let first = stops.min_by(|a, b| seconds(a, clock).total_cmp(&seconds(b, clock)));
    let Some((stopped, time, place)) = first.map(|one| (seconds(one, clock), one.time, one.place)) else { return };
    for one in ended.iter_mut().filter(|one| is_of_agent(one) && one.ending != Ending::Stopped) {
        if seconds(one, clock) > stopped {
            (one.time, one.place, one.is_late) = (time, one.place.min(place), true);
        }
    }
}

/// Sorts by the clock if all have a time, else in printed order with those that ran out of memory first.
fn order(ended: &mut [Ended<'_>], clock: Option<Clock>) {
    let ran_out = |one: &Ended| matches!(one.ending, Ending::OutOfMemory { .. });
    let is_told = clock.is_some() && ended.iter().all(|one| one.time.is_some());
    match is_told {
        true => ended.sort_by(|a, b| {
            let by_time = seconds(a, clock).total_cmp(&seconds(b, clock));
            by_time.then((a.ending == Ending::Stopped).cmp(&(b.ending == Ending::Stopped)))
        }),
        false => ended.sort_by_key(|one| (!ran_out(one), one.place, one.ending == Ending::Stopped)),
    }
}

fn seconds(one: &Ended, clock: Option<Clock>) -> f64 {
    one.time.zip(clock).and_then(|(time, clock)| time.seconds_on(clock)).unwrap_or(0.0)
}

/// Merges processes that ended alike at about the same time.
fn together(ended: Vec<Ended>, clock: Option<Clock>) -> Vec<End> {
    let told = |time: Option<Timestamp>| time.zip(clock).and_then(|(time, clock)| time.seconds_on(clock));
    let first = ended.first().and_then(|first| told(first.time));
    let mut ends: Vec<(End, Option<f64>, bool)> = Vec::new();
    for one in ended {
        // Of a folded event only the line number is kept, so it cannot be cited.
        let is_cited = one.line == one.event.at.location.line;
        let time = one.time.filter(|_| !one.is_late);
        let seconds = told(time);
        let near = |other: &Option<f64>| seconds.zip(*other).is_none_or(|(this, that)| (this - that).abs() <= TOGETHER);
        match ends.iter().position(|(end, began, _)| end.ending == one.ending && near(began)) {
            Some(index) => {
                let (end, _, cites_first) = &mut ends[index];
                end.count += 1;
                if is_cited && !*cites_first {
                    (end.source, *cites_first) = (one.event.at.clone(), true);
                }
                if end.processes.len() < End::MOST_PROCESSES {
                    end.processes.push(one.process);
                }
            }
            None if ends.len() < MOST_ENDS => {
                // Rounded to milliseconds, the precision of time stamps.
                let seconds_after = seconds.zip(first).map(|(after, first)| ((after - first) * 1e3).round() / 1e3);
                let end = End {
                    ending: one.ending,
                    processes: vec![one.process],
                    count: 1,
                    time: time.map(|time| time.to_string()),
                    seconds_after: seconds_after.filter(|after| *after >= 0.0),
                    source: one.event.at.clone(),
                };
                ends.push((end, seconds, is_cited));
            }
            None => {}
        }
    }
    ends.into_iter().map(|(end, ..)| end).collect()
}
