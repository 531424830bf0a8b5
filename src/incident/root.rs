//! Groups events into incidents, and decides which incident is the root.

use std::collections::BTreeSet;

use super::Case;
use super::attempts::Attempts;
use crate::knowledge::{Inputs, Knowledge};
use crate::model::{
    Basis, Clock, Death, Event, Exit, FigureName, Kind, LineNumber, NO_OOM_KILL, Phase, Severity, Victim, What,
};

/// Events that are one incident.
pub(super) struct Group {
    /// What ran out.
    pub kind: Kind,
    /// Whether the job went on.
    pub recovered: bool,
    /// Indices into the case's events; the root first, then in order.
    pub events: Vec<usize>,
}

/// This many signs of progress after a failure show that the job went on.
const ALIVE: u64 = 5;

/// So many training steps between a shortage and another failure show that the job outlived it: ranks that wait for one that is lost finish
/// no more than the step that they are in.
const TRAINED: u64 = 1;

/// The incidents of a case, root first.
pub(super) fn groups(case: &Case, knowledge: &Knowledge) -> Vec<Group> {
    let attempts = Attempts::of(case);
    let mut groups: Vec<Group> = Vec::new();
    let mut order: Vec<usize> = (0..case.events.len()).collect();
    if let Some(times) = comparable(case) {
        order.sort_by(|a, b| times(*a).total_cmp(&times(*b)));
    }
    // A grammar proves a shortage; the reader's are considered only if no grammar states one.
    for basis in [Basis::Grammar, Basis::Reader] {
        if groups.iter().all(|group| group.recovered) {
            let of_basis = order.iter().copied().filter(|index| case.events[*index].basis == basis);
            of_basis.for_each(|index| add(case, index, &attempts, &mut groups, knowledge));
        }
    }
    if groups.iter().all(|group| group.recovered) {
        let stated = bus_error(case).or_else(|| unexplained_kill(case)).or_else(|| refused_last(case));
        groups.extend(stated.or_else(|| broken_off(case)));
    }
    // Recovered incidents come last. If no clock decides, the job's own messages come before the kernel's, unless the job was killed: then
    // the kernel's message explains it.
    let killed = case.events.iter().any(|event| matches!(&event.what, What::Death(death) if is_kill(death)));
    if comparable(case).is_none() {
        groups.sort_by_key(|group| (group.recovered, killed && !group.kind.is_kill()));
    }
    groups.sort_by_key(|group| group.recovered);
    groups
}

/// Adds the event at `index`, if it is a shortage, to the group that it belongs to.
fn add(case: &Case, index: usize, attempts: &Attempts, groups: &mut Vec<Group>, knowledge: &Knowledge) {
    let event = &case.events[index];
    let What::Shortage(shortage) = &event.what else { return };
    let follows = shortage.kind == Kind::GpuOom && !says_size(event) && follows_assertion(case, event);
    if shortage.severity == Severity::Pressure || follows {
        return;
    }
    let kind = true_kind(case, event, shortage.kind, knowledge);
    let recovered = recovered(case, event, shortage.severity, attempts);
    match groups.iter_mut().find(|group| group.kind == kind && group.recovered == recovered) {
        Some(group) => group.events.push(index),
        None => groups.push(Group { kind, recovered, events: vec![index] }),
    }
}

/// Whether `event` says how much was asked for.
fn says_size(event: &Event) -> bool {
    event.figures.iter().any(|figure| figure.name == FigureName::Requested)
}

/// Whether an assertion in a kernel failed before `event`, in the same process as far as is known and with no progress between: every later
/// call of CUDA fails, whatever it says.
fn follows_assertion(case: &Case, event: &Event) -> bool {
    let assertion = case.index.assertion(&event.at.location).map(|index| &case.events[index]);
    assertion.is_some_and(|assertion| {
        let is_same = assertion.origin.is_anonymous() || assertion.origin == event.origin;
        is_same
            && assertion.at.location.is_before(&event.at.location)
            && assertion.context.progress == event.context.progress
    })
}

/// The time of each shortage, if all have one by the wall clock.
fn comparable(case: &Case) -> Option<impl Fn(usize) -> f64 + '_> {
    let shortages = || case.events.iter().filter(|event| matches!(event.what, What::Shortage(_)));
    let clocks: BTreeSet<Option<u8>> = shortages().map(|event| event.time.map(|time| time.clock as u8)).collect();
    let one_clock = clocks.len() == 1 && clocks.first().is_some_and(|clock| *clock == Some(Clock::Wall as u8));
    one_clock.then_some(|index: usize| case.events[index].time.map_or(0.0, |time| time.seconds))
}

/// The producer of systemd's notes about units, which do not say whose limit was hit.
const SYSTEMD: &str = "systemd";

/// "CUDA error: out of memory" from a call that allocates page-locked memory is a shortage of host memory. A kill that systemd counted
/// is the one of which the kernel says whose limit was hit.
fn true_kind(case: &Case, event: &Event, said: Kind, knowledge: &Knowledge) -> Kind {
    let is_of_limit = |other: &Event| {
        let is_limit = matches!(&other.what, What::Shortage(shortage) if shortage.kind == Kind::HostOomCgroup);
        is_limit && other.producer == super::KERNEL && other.at.location.path == event.at.location.path
    };
    if event.producer == SYSTEMD && said == Kind::HostOomKernel && case.events.iter().any(is_of_limit) {
        return Kind::HostOomCgroup;
    }
    let sizeless = event.figures.is_empty();
    let pins = || {
        case.stack_of(event).is_some_and(|(_, frames)| {
            let pins = |frame: &crate::model::Frame| {
                knowledge
                    .phases
                    .frame(&frame.file, &frame.function, &frame.code)
                    .is_some_and(|row| row.pins_host_memory)
            };
            frames.iter().rev().take(3).any(pins)
        })
    };
    if said == Kind::GpuOom && sizeless && pins() { Kind::HostAllocFailure } else { said }
}

/// Whether the job went on after `event`: the message says so, the job says that it is done, or progress follows and no end.
fn recovered(case: &Case, event: &Event, severity: Severity, attempts: &Attempts) -> bool {
    let here = &event.at.location;
    let went_on = case.index.progress(here) >= event.context.progress + ALIVE;
    let died = || case.index.ends_after(here);
    match severity {
        Severity::Swallowed => false,
        // What failed of something else after that did not fail of this.
        Severity::Retried => went_on || !died() || case.outlived(event, 0),
        Severity::Fatal | Severity::Pressure => {
            went_on && !died()
                || case.survived(event)
                || case.outlived(event, TRAINED)
                || attempts.outlived(case, event)
        }
    }
}

/// A process dies of SIGBUS when it touches a page that cannot be allocated, in a training job one of `/dev/shm`. It counts only if no
/// other failure is stated.
fn bus_error(case: &Case) -> Option<Group> {
    let stated = |event: &Event| matches!(&event.what, What::Failure(failure) if !failure.follows);
    if case.events.iter().any(stated) {
        return None;
    }
    let of_bus = |event: &Event| death(event).is_some_and(|death| death.exit == Exit::BUS);
    let events: Vec<usize> = (0..case.events.len()).filter(|index| of_bus(&case.events[*index])).collect();
    (!events.is_empty()).then_some(Group { kind: Kind::ShmExhausted, recovered: false, events })
}

/// A request that was refused on the last line of a log: nothing shows that the program then asked for less and got it. It counts only
/// if nothing else is stated.
fn refused_last(case: &Case) -> Option<Group> {
    let is_failure = |event: &Event| matches!(event.what, What::Failure(_) | What::Death(_) | What::Finished);
    if case.events.iter().any(is_failure) {
        return None;
    }
    let is_last = |event: &Event| is_last(case, event) && case.index.progress(&event.at.location) == 0;
    case.events.iter().enumerate().rev().find_map(|(index, event)| match &event.what {
        What::Shortage(shortage) => (shortage.severity == Severity::Pressure && says_size(event) && is_last(event))
            .then(|| Group { kind: shortage.kind, recovered: false, events: vec![index] }),
        _ => None,
    })
}

/// Whether nothing but blank lines follows `event` in its input.
fn is_last(case: &Case, event: &Event) -> bool {
    let here = &event.at.location;
    let last =
        case.ending(&here.path).and_then(|ending| ending.recent.iter().rfind(|cite| !cite.text.trim().is_empty()));
    last.is_some_and(|last| last.location.line <= here.line)
}

/// What a terminal shows behind a progress bar and what a batch file says once a program is gone, and that somebody ended or watched it.
const BEHIND_BAR: &str = "ended.behind_bar";
const WINDOW: &str = "ended.window";
const BY_HAND: &str = "ended.by_hand";

/// A program that ended in the middle of its work and said nothing, as one that is killed does: the `^C` of a notebook's terminal behind a
/// bar, where Python would have answered a key with an exception, or a batch file's last words while the weights were on their way. It
/// counts only if nothing else is stated and nothing follows.
fn broken_off(case: &Case) -> Option<Group> {
    let states = |event: &Event, key: &str| event.facts.iter().any(|fact| fact.key == key);
    let says_more = |event: &Event| !matches!(event.what, What::Memory { .. } | What::Notice) || states(event, BY_HAND);
    if case.events.iter().any(says_more) || !case.index.finishes().is_empty() {
        return None;
    }
    let loads = |event: &Event| {
        let mark = event.context.any.as_ref().filter(|mark| !mark.ended && mark.phase == Phase::ModelLoad);
        mark.is_some_and(|mark| is_silent_between(case, mark.at.location.line, event))
    };
    let index = case.events.iter().rposition(|event| {
        let is_silent =
            states(event, BEHIND_BAR) && is_notebook_bar(&event.at.text) || states(event, WINDOW) && loads(event);
        is_silent && is_last(case, event)
    })?;
    Some(Group { kind: Kind::SigkillUnattributed, recovered: false, events: vec![index] })
}

/// Whether a bar is one of a notebook's terminal, which draws none of its blocks, in the middle of its work, with one `^C` behind
/// it: `  2% 7/291 [00:51<31:40,  6.69s/it]^C`.
fn is_notebook_bar(text: &str) -> bool {
    let text = text.trim();
    let share = text
        .split_once('%')
        .and_then(|(before, _)| before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok());
    text.matches("^C").count() == 1
        && text.ends_with("^C")
        && !text.contains('|')
        && share.is_some_and(|share| share < 100)
}

/// Whether nothing but blank lines and a prompt (`D:\ComfyUI>pause`) stands between the line `from` and `event`, its own excluded.
fn is_silent_between(case: &Case, from: LineNumber, event: &Event) -> bool {
    let here = &event.at.location;
    let Some(ending) = case.ending(&here.path) else { return false };
    let between = ending.recent.iter().filter(|cite| from < cite.location.line && cite.location.line < here.line);
    // All lines between are among those that were kept, or nobody knows what they say.
    let is_kept = ending.recent.first().is_some_and(|first| first.location.line <= from);
    is_kept && between.map(|cite| cite.text.trim()).all(|text| text.is_empty() || text.ends_with(">pause"))
}

/// The producer of what orchestrators list of containers.
pub(super) const CONTAINERS: &str = "container";

/// Processes that were killed or vanished, with nothing that says by whom or why.
fn unexplained_kill(case: &Case) -> Option<Group> {
    let deaths: Vec<(usize, &Death)> =
        case.events.iter().enumerate().filter_map(|(index, event)| death(event).map(|death| (index, death))).collect();
    let where_exit = |test: fn(&Death) -> bool| {
        deaths.iter().filter(move |(_, death)| test(death)).map(|(index, _)| *index).collect::<Vec<usize>>()
    };
    let another_failed = case.events.iter().any(|event| match &event.what {
        What::Failure(failure) => !failure.follows,
        What::Death(death) => {
            death.first && matches!(death.exit, Exit::Signal(signal) if ![2, 9, 15].contains(&signal))
        }
        _ => false,
    });
    // A kill that only the reader believes does not outweigh a stated failure.
    let surely_killed =
        deaths.iter().any(|(index, death)| death.exit == Exit::KILL && case.events[*index].basis == Basis::Grammar);
    if another_failed && !surely_killed {
        return None;
    }
    let of_host = |event: &Event| event.origin.host.clone();
    // Hosts on which the recorder saw that the kernel's OOM killer killed nothing.
    let watched: Vec<_> = case
        .events
        .iter()
        .filter(|event| event.facts.iter().any(|fact| fact.key == NO_OOM_KILL))
        .map(of_host)
        .collect();
    let kills = where_exit(is_kill);
    let explained = |kill: usize| {
        // A scheduler kills what does not end in time, and a clean-up after another failure kills the rest.
        let event = &case.events[kill];
        let Event { at, basis, .. } = event;
        let host = death(event).and_then(|death| death.victim.host.clone()).or_else(|| of_host(event));
        if !watched.is_empty() && (host.is_none() || watched.contains(&host)) {
            return true;
        }
        let vanished = death(event).filter(|death| death.exit == Exit::Vanished);
        let rank =
            vanished.and_then(|death| death.victim.rank.or(event.origin.rank).or_else(|| numbered(&death.victim)));
        if vanished.is_some() && case.index.timed_out_before(rank, &at.location) {
            return true;
        }
        // A worker that nobody names ended with the exception above, if there is one.
        let is_nameless = vanished
            .is_some_and(|Death { victim, .. }| victim.pid.is_none() && victim.rank.is_none() && victim.role.is_none());
        let is_listed = event.producer == CONTAINERS && case.index.scheduler_beside(&at.location);
        // A part that was started again, in a job that was done later.
        let starts_again = Inputs::shipped().text.is_started_again(&at.text) && case.index.finished_after(&at.location);
        is_listed
            || starts_again
            || case.index.scheduler_before(&at.location)
            || (*basis == Basis::Reader || is_nameless) && case.index.failed_before(&at.location)
            || cleared_away(case, event)
    };
    let mut events: Vec<usize> = kills.iter().copied().filter(|kill| !explained(*kill)).collect();
    if events.is_empty() && !kills.is_empty() {
        return None;
    }
    if events.is_empty() {
        // The launcher stops the others because one process is gone. A failing program would have printed something; a killed one does not.
        let left_word = case.events.iter().any(|event| match &event.what {
            What::Death(death) => death.exit != Exit::Stopped,
            What::Failure(_) | What::Traceback(_) | What::Finished => true,
            _ => false,
        });
        events = if left_word { Vec::new() } else { where_exit(|death| death.exit == Exit::Stopped) };
    }
    // The kill that the launcher saw first is the root.
    events
        .sort_by_key(|index| !death(&case.events[*index]).is_some_and(|death| death.first && death.exit == Exit::KILL));
    (!events.is_empty()).then_some(Group { kind: Kind::SigkillUnattributed, recovered: false, events })
}

/// Whether a bare word of a kill follows at once the exception of a fault that the program made itself: servers kill what is left of their
/// own processes when one of them fails (SGLang 0.3–0.5 `srt/utils.py` kill_process_tree).
fn cleared_away(case: &Case, kill: &Event) -> bool {
    /// Between the exception and the shell's word stand the launcher's own lines.
    const LINES: u64 = 16;
    let is_bare = death(kill).is_some_and(|death| death.victim.pid.is_none() && death.victim.rank.is_none());
    is_bare && case.index.raised_fault_before(&kill.at.location, LINES)
}

/// The rank of a worker that is called by it: `VllmWorker-1`.
fn numbered(victim: &Victim) -> Option<u32> {
    victim.role.as_deref()?.rsplit_once('-')?.1.parse().ok()
}

pub(super) fn death(event: &Event) -> Option<&Death> {
    match &event.what {
        What::Death(death) => Some(death),
        _ => None,
    }
}

pub(super) fn is_kill(death: &Death) -> bool {
    matches!(death.exit, Exit::KILL | Exit::Vanished)
}
