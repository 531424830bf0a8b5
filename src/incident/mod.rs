//! From events to incidents.
//!
//! The input is the findings of every input of a job; the output is incidents: which process ran out of memory first and what proves it,
//! which failures only followed, with ranks merged, signs of the phase and figures. Or another failure, if it was not memory. Nothing here
//! reads a log, and only what events state is used; why it happened is decided in `diagnosis`.

mod attempts;
mod figures;
mod fingerprint;
mod grid;
mod index;
mod job;
mod launched;
mod log_path;
mod named_rank;
mod other_failure;
mod own_stack;
mod phase;
mod root;
mod sequence;
mod smi;
mod stack;
mod timeline;
mod victims;
mod watched;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

pub use fingerprint::fingerprint;
pub use grid::Grid;
use index::{Index, is_shortage};
pub(crate) use job::framework;
pub(crate) use log_path::node_and_path;
pub use phase::{PhaseSign, Route, phase_of};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
pub use stack::shortened;
pub(crate) use watched::{LAUNCHER, speaks as is_watched};

use crate::hexadecimal::hexadecimal;
use crate::knowledge::{Inputs, Knowledge};
use crate::model::{
    Citation, Clock, End, Event, Exit, Fact, FactValue, Fingerprint, Frame, Incident, Job, Kind, LineContext,
    LineNumber, Memory, OtherFailure, Phase, PhaseFinding, Role, Seen, Stamps, TimelinePoint, Timestamp, Victim, What,
};
use crate::parse::{Findings, is_own_exception};

/// One input and what was found in it.
#[derive(Serialize, Deserialize)]
pub struct InputFindings {
    /// As the user named it.
    pub path: Arc<str>,
    /// What it is.
    pub role: Role,
    /// What was found in it.
    pub findings: Findings,
}

/// A message that proves an incident.
pub struct Message {
    /// The line that states it.
    pub at: Citation,
    /// What it says, in one piece also where it was broken over several lines.
    pub words: Arc<str>,
}

/// An incident, and everything else that rules and signals may use about it.
pub struct FoundIncident {
    /// The incident.
    pub incident: Incident,
    /// The signs of the phase.
    pub signs: Vec<PhaseSign>,
    /// The stack of the failing process, outermost call first.
    pub frames: Vec<Frame>,
    /// The messages that prove it.
    pub messages: Vec<Message>,
    /// Source files named by the loggers of these messages, each with its message.
    pub places: Vec<(Arc<str>, Citation)>,
    /// The last lines before the failure, and those at the log's end.
    pub around: Vec<Citation>,
    /// The phases of which the log had shown signs before.
    pub seen: BTreeSet<Phase>,
    /// How many signs of progress the log had shown before.
    pub progress: u64,
    /// How far the last progress bar was: done, and in all.
    pub bar: Option<(u64, u64)>,
    /// How many of these were steps of training.
    pub steps: u64,
    /// Whether it failed in the first step of a bar.
    pub is_first: bool,
    /// Facts of its messages and of the job's notices; the incident's own first.
    pub facts: Vec<Fact>,
    /// The time stamps around it.
    pub stamps: Stamps,
}

impl FoundIncident {
    /// The text of the first fact `key` of its messages.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.facts.iter().filter(|fact| fact.key == key).find_map(|fact| match &fact.value {
            FactValue::Text(text) => Some(&**text),
            FactValue::Number(_) => None,
        })
    }
}

/// What happened to a job.
pub struct JobIncidents {
    /// What is known of the job.
    pub job: Job,
    /// Root first.
    pub found: Vec<FoundIncident>,
    /// The other failure, if it was not memory.
    pub other_failure: Option<OtherFailure>,
    /// The stack of the process that failed first, outermost call first.
    pub frames: Vec<Frame>,
    /// How the job's processes ended.
    pub sequence: Vec<End>,
    /// Its ranks, if there are many.
    pub grid: Option<Grid>,
}

impl JobIncidents {
    /// The verdict: the kind of the first incident that the job did not recover from.
    pub fn verdict(&self) -> Kind {
        let incidents = self.found.iter().map(|found| &found.incident);
        incidents.into_iter().find(|incident| !incident.recovered).map_or(Kind::None, |incident| incident.kind)
    }
}

/// The producer of a kernel's messages.
const KERNEL: &str = "kernel";
/// Most incidents of a job; the first ones are kept.
const MOST_INCIDENTS: usize = 32;
/// Most lines of evidence.
const MOST_EVIDENCE: usize = 24;

/// Builds the incidents of a job from the findings in its inputs.
pub fn build(reads: Vec<InputFindings>, knowledge: &Knowledge) -> JobIncidents {
    let case = Case::new(reads);
    let mut job = job::of(&case, knowledge);
    let mut groups = root::groups(&case, knowledge);
    groups.truncate(MOST_INCIDENTS);
    let sequence = sequence::of(&case, &groups);
    let root = groups.iter().find(|group| !group.recovered).and_then(|group| group.events.first());
    let other_failure = if root.is_none() { other_failure::failure(&case) } else { None };
    let root =
        root.map(|root| &case.events[*root]).or_else(|| event_at(&case, other_failure.as_ref()?.evidence.first()?));
    job.model = root.and_then(|root| job::model_of(&case, root)).or(job.model);
    let grid = grid::of(&case, &groups, root, &job);
    let mut found: Vec<FoundIncident> = groups.into_iter().map(|group| incident(&case, group, knowledge)).collect();
    found.sort_by_key(|found| found.incident.recovered);
    let failed = other_failure.as_ref().map(|failure| frames_ending(&case, &failure.evidence));
    let frames = failed.or_else(|| found.first().map(|root| root.frames.clone())).unwrap_or_default();
    JobIncidents { job, found, other_failure, frames, sequence, grid }
}

/// Everything found in a job's inputs, in one order.
#[derive(Default)]
struct Case {
    events: Vec<Event>,
    timeline: Vec<TimelinePoint>,
    /// The last figures of series beyond those that the timeline shows.
    last_figures: Vec<TimelinePoint>,
    /// The roles that the job's own processes give themselves, by pid.
    processes: BTreeMap<u32, Arc<str>>,
    /// The context at the end of each of the job's own logs, by path.
    endings: Vec<(Arc<str>, LineContext)>,
    started: Option<Timestamp>,
    /// The index of its events.
    index: Index,
}

impl Case {
    /// The context at the end of the job's own log at `path`.
    fn ending(&self, path: &str) -> Option<&LineContext> {
        self.endings.iter().find(|(known, _)| **known == *path).map(|(_, ending)| ending)
    }

    fn new(reads: Vec<InputFindings>) -> Case {
        let mut case = Case::default();
        // The job's own logs before the kernel's: if no clock decides, the job's events count as earlier.
        let (jobs, kernels): (Vec<_>, Vec<_>) = reads.into_iter().partition(|read| read.role != Role::Kernel);
        for read in jobs.into_iter().chain(kernels) {
            let Findings { mut events, mut timeline, processes, started, last, .. } = read.findings;
            events.sort_by(|a, b| a.at.location.cmp(&b.at.location));
            case.events.extend(events);
            case.last_figures.extend(timeline.split_off(timeline::plotted(&timeline)));
            case.timeline.extend(timeline);
            if read.role != Role::Kernel {
                case.processes.extend(processes);
                case.started = case.started.or(started);
                case.endings.push((read.path, last));
            }
        }
        watched::join(&mut case.events, &case.endings);
        launched::forget_tasks(&mut case.events);
        case.index = Index::of(&case.events, &case.endings);
        case
    }

    /// Whether signs of progress follow `event`.
    fn went_on(&self, event: &Event) -> bool {
        self.index.progress(&event.at.location) > event.context.progress
    }

    /// Whether the job went on after `event` until it said that it was done.
    fn survived(&self, event: &Event) -> bool {
        self.went_on(event) && self.index.finished_after(&event.at.location)
            || self.is_caught(event) && self.index.finished_after(&event.at.location)
            || self.finished_since(event)
            || self.killed_beside(event)
    }

    /// Whether `event` is the program's own word of a request that was refused, in a line that also says what it did about it, with no stack
    /// that it ended in. Native programs never print one, so that alone shows nothing.
    fn is_caught(&self, event: &Event) -> bool {
        let is_answered = Inputs::shipped().text.is_answered(&event.at.text);
        let refuses =
            |shortage: &crate::model::Shortage| matches!(shortage.kind, Kind::GpuOom | Kind::HostAllocFailure);
        is_answered
            && matches!(&event.what, What::Shortage(shortage) if refuses(shortage))
            && self.stack_of(event).is_none()
    }

    /// Whether the job trained for `steps` more steps after `event`, until it failed of something else.
    fn outlived(&self, event: &Event, steps: u64) -> bool {
        let next = self.index.fails_otherwise_after(&event.at.location, &self.events);
        next.is_some_and(|next| {
            let next = &self.events[next];
            let is_same = event.origin.is_anonymous() || next.origin.is_anonymous() || event.origin == next.origin;
            is_same && next.context.steps >= event.context.steps + steps
        })
    }

    /// Whether the job's own log says that it was done at a time after that of `event`, which another log tells: a kernel that killed a
    /// process beside the job.
    fn finished_since(&self, event: &Event) -> bool {
        let is_later = |done: &Event| {
            let since = done.time.zip(event.time).and_then(|(done, failed)| done.since(&failed));
            done.at.location.path != event.at.location.path && since.is_some_and(|seconds| seconds > 0.0)
        };
        event.producer == KERNEL
            && self.index.finishes().iter().any(|done| is_later(&self.events[*done]))
            && !self.names_process_of_job(event)
    }

    /// Whether the kernel killed a process of which the job knows nothing: by its own logs none of its processes was killed, and it failed of
    /// something else.
    fn killed_beside(&self, event: &Event) -> bool {
        let of_job = || self.events.iter().filter(|other| other.producer != KERNEL);
        let is_killed =
            |other: &Event| root::death(other).is_some_and(|death| root::is_kill(death) || death.exit == Exit::Stopped);
        event.producer == KERNEL
            && is_shortage(event)
            && !of_job().any(|other| is_killed(other) || is_shortage(other))
            && !self.names_process_of_job(event)
            && of_job().any(is_own_failure)
    }

    /// Whether `event` names a process that the job's own logs name as well.
    fn names_process_of_job(&self, event: &Event) -> bool {
        let is_of_job = |pid: u32| {
            let speaks_or_died = |other: &Event| match &other.what {
                What::Death(death) => death.victim.pid == Some(pid),
                _ => other.producer != KERNEL && other.origin.pid == Some(pid),
            };
            self.processes.contains_key(&pid) || self.events.iter().any(speaks_or_died)
        };
        event.processes().iter().filter_map(|victim| victim.pid).any(is_of_job)
    }

    /// The tracebacks, each as event and frames.
    fn stacks(&self) -> impl Iterator<Item = (&Event, &[Frame])> {
        self.events.iter().filter_map(|event| match &event.what {
            What::Traceback(stack) => Some((event, stack.frames.as_slice())),
            _ => None,
        })
    }
}

/// Whether `event` is a failure that does not come of another process that is gone.
fn is_own_failure(event: &Event) -> bool {
    match &event.what {
        What::Failure(failure) => !failure.follows,
        What::Traceback(stack) => stack.exception.as_ref().is_some_and(|exception| is_own_exception(&exception.text)),
        _ => false,
    }
}

/// The event at `cite`.
fn event_at<'c>(case: &'c Case, cite: &Citation) -> Option<&'c Event> {
    case.events.iter().find(|event| event.at == *cite)
}

/// The stack that ends at the first of `cites` at which one ends.
fn frames_ending(case: &Case, cites: &[Citation]) -> Vec<Frame> {
    let stack = |event: &Event| match &event.what {
        What::Traceback(stack) => Some(stack.frames.clone()),
        _ => case.stack_of(event).map(|(_, frames)| frames.to_vec()),
    };
    cites.iter().filter_map(|cite| event_at(case, cite)).find_map(stack).unwrap_or_default()
}

fn incident(case: &Case, mut group: root::Group, knowledge: &Knowledge) -> FoundIncident {
    forget_reprints(case, &mut group.events);
    let events: Vec<&Event> = group.events.iter().map(|index| &case.events[*index]).collect();
    let signs = phase::signs(case, &group, knowledge);
    let consumers = victims::consumers(case, &events);
    let (victim, victims) = victims::of(case, &group, &consumers);
    let root = events[0];
    let frames = case.frames_of(&events).next().unwrap_or_default();
    let mut evidence: Vec<Citation> = Vec::new();
    let proof = events.iter().flat_map(|event| std::iter::once(&event.at).chain(&event.evidence));
    for cite in proof.chain(deaths_of(case, &victims)) {
        if evidence.len() < MOST_EVIDENCE && !evidence.contains(cite) {
            evidence.push(cite.clone());
        }
    }
    let mut notices: Vec<&Event> = case.events.iter().filter(|event| event.what == What::Notice).collect();
    // Of the facts that each process states about itself the victim's own come first.
    notices.sort_by_key(|event| !(is_watched(event) && event.origin.pid == victim.pid));
    // Which container ended tells where the incident happened, whoever stated it.
    let containers =
        case.events.iter().filter(|event| matches!(event.what, What::Death(_)) && event.producer == "compose");
    let stating = events.iter().copied().chain(notices).chain(containers);
    let stated = stating.flat_map(|event| event.facts.iter().cloned());
    let facts = stated.chain(smi::strays(case, &events)).collect();
    let messages = events.iter().map(|event| Message { at: event.at.clone(), words: event.message() }).collect();
    // The logger of a process that reports another one's death tells nothing about the dead one's phase.
    let speaks_of_itself = |event: &&&Event| match &event.what {
        What::Shortage(shortage) => shortage.kind == Kind::GpuOom || shortage.victims.is_empty(),
        what => !matches!(what, What::Death(_)),
    };
    let place = |event: &&Event| Some((event.context.place.clone()?, event.at.clone()));
    let places = events.iter().filter(speaks_of_itself).filter_map(place).collect();
    let incident = Incident {
        id: id(root, &victim, case.started),
        fingerprint: Fingerprint::default(),
        kind: group.kind,
        basis: root.basis,
        recovered: group.recovered,
        started: case.started.map(|time| time.to_string()),
        failed_at: root.time.map(|time| time.to_string()),
        when: None,
        figures: figures::of(case, group.kind, &events, &victims),
        consumers,
        timeline: timeline::of(case, &events),
        memory: Memory::default(),
        evidence,
        diagnoses: Vec::new(),
        not_checked: Vec::new(),
        capture_next: Vec::new(),
        seen: Seen::default(),
        ignored: None,
        phase: PhaseFinding::default(),
        victim,
        victims,
    };
    let ending = case.ending(&root.at.location.path).or(case.endings.last().map(|(_, ending)| ending));
    let mut around: Vec<Citation> = root.context.recent.to_vec();
    for cite in ending.iter().flat_map(|ending| ending.recent.iter()) {
        if !around.contains(cite) {
            around.push(cite.clone());
        }
    }
    let mut seen = root.context.seen.clone();
    if seen.is_empty() {
        seen.extend(case.endings.iter().flat_map(|(_, ending)| ending.seen.iter().copied()));
    }
    let Stamps { before, dated, .. } = root.context.stamps;
    let dated = dated.or(case.started.filter(|time| time.clock == Clock::Wall));
    let stamps = Stamps { own: root.time, before, dated };
    // A kernel's log shows no progress: the job's own says how far it was.
    let at_the_end = case.endings.iter().map(|(_, ending)| ending).max_by_key(|ending| ending.progress);
    let later = at_the_end.filter(|ending| root.context.progress == 0 && ending.progress > 0);
    let is_own = |(path, ending): &(Arc<str>, LineContext)| *path == root.at.location.path && ending.progress > 0;
    let progress = later.map_or(root.context.progress, |ending| ending.progress);
    // Another attempt in the same log has a bar and steps of its own.
    let shows = later.filter(|_| !case.endings.iter().any(is_own)).unwrap_or(&root.context);
    let (bar, steps, is_first, frames) = (shows.bar, shows.steps, root.context.is_first_step, frames.into_owned());
    FoundIncident {
        incident,
        signs,
        frames,
        messages,
        places,
        around,
        seen,
        progress,
        bar,
        steps,
        is_first,
        facts,
        stamps,
    }
}

/// Removes events that repeat an earlier line exactly, including its numbers, unless a prefix names the process: job managers reprint lines
/// at the end.
fn forget_reprints(case: &Case, events: &mut Vec<usize>) {
    // For each text the line of its first occurrence, and whether it occurred on another line, too.
    let mut printed: HashMap<&str, (LineNumber, bool)> = HashMap::new();
    events.retain(|index| {
        let event = &case.events[*index];
        let Citation { text, location, .. } = &event.at;
        let (first, elsewhere) = printed.entry(text.as_str()).or_insert((location.line, false));
        let is_reprint = *elsewhere || *first != location.line;
        *elsewhere = is_reprint;
        !(is_reprint && event.origin.is_anonymous() && !event.figures.is_empty())
    });
}

/// The lines in which launchers and shells report the ends of `victims`: the job's own view of the kill.
fn deaths_of<'a>(case: &'a Case, victims: &'a [Victim]) -> impl Iterator<Item = &'a Citation> {
    let pids: HashSet<u32> = victims.iter().filter_map(|victim| victim.pid).collect();
    case.events.iter().filter_map(move |event| match &event.what {
        What::Death(death) => {
            let named = death.victim.pid.is_some_and(|pid| pids.contains(&pid));
            let lone_kill = death.exit == Exit::KILL && death.victim.pid.is_none();
            (named || lone_kill).then_some(&event.at)
        }
        _ => None,
    })
}

/// Digest of the root's words, host, pid and time, which identifies this occurrence. Tracebacks rarely have a time; then the time at which
/// the job `started` is used.
fn id(root: &Event, victim: &Victim, started: Option<Timestamp>) -> String {
    let host = victim.host.as_deref().unwrap_or_default();
    let time = root.time.or(started).map(|time| time.to_string()).unwrap_or_default();
    digest(&[root.at.text.as_str(), host, &victim.pid.map(|pid| pid.to_string()).unwrap_or_default(), &time])
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hexadecimal(&hash.finalize()[..8])
}
