//! Collects what a log shows about the job that wrote it.

use std::collections::BTreeSet;

use super::name::LogPath;
use crate::incident::{self, InputFindings};
use crate::knowledge::{Knowledge, installed};
use crate::model::{Clock, FactValue, Role, Severity, What};

/// Smallest pid that is distinctive: containers count from 1.
const OWN_PID: u32 = 1000;

/// Who tells how containers ended.
const CONTAINERS: [&str; 3] = ["container", "cloud", "docker"];

/// What one log, or several with the same name, shows about its job.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    /// Its path.
    pub path: LogPath,
    /// Whether a kernel wrote it.
    pub is_kernel: bool,
    /// Whether it only shows how containers ended, as their orchestrator lists it.
    pub is_of_containers: bool,
    /// Its first and last time, in seconds since 1970.
    pub span: Option<(f64, f64)>,
    /// The processes that it names.
    pub pids: BTreeSet<u32>,
    /// The machines that it names.
    pub hosts: BTreeSet<String>,
    /// The script that was started.
    pub scripts: BTreeSet<String>,
    /// The frameworks it shows.
    pub frameworks: BTreeSet<String>,
    /// Whether other frameworks build or run on one of these.
    pub is_beneath_others: bool,
    /// The models it names.
    pub models: BTreeSet<String>,
    /// Whether something ended or failed.
    pub has_end: bool,
    /// Whether something ran out of memory.
    pub ran_out: bool,
    /// The messages that say so.
    pub refusals: BTreeSet<String>,
    /// Whether it is a file of `oomdoc.watch`, which repeats messages of a process's log.
    pub is_watched: bool,
    /// The parents of its processes, as host and pid.
    pub launchers: BTreeSet<String>,
}

impl Trace {
    /// The trace of one log; `named` are the paths that the user gave, and `common` folders hold all logs.
    pub fn of(read: &InputFindings, named: &[String], common: usize, knowledge: &Knowledge) -> Trace {
        let is_named = named.iter().any(|path| **path == *read.path);
        let path = LogPath::of(&read.path, is_named, common);
        let mut trace = Trace { path, is_kernel: read.role == Role::Kernel, ..Trace::default() };
        trace.hosts.extend(trace.path.node.clone());
        let findings = &read.findings;
        let wall = |time: &crate::model::Timestamp| (time.clock == Clock::Wall).then_some(time.seconds);
        let times = findings.events.iter().filter_map(|event| event.time);
        for seconds in findings.started.into_iter().chain(findings.ended).chain(times).filter_map(|time| wall(&time)) {
            let (from, to) = trace.span.unwrap_or((seconds, seconds));
            trace.span = Some((from.min(seconds), to.max(seconds)));
        }
        trace.pids.extend(findings.processes.keys().copied());
        for event in &findings.events {
            trace.is_watched |= incident::is_watched(event);
            trace.pids.extend(event.origin.pid);
            trace.hosts.extend(event.origin.host.as_deref().map(str::to_owned));
            for fact in &event.facts {
                match (fact.key, &fact.value) {
                    ("slurm.job", FactValue::Text(id)) => drop(trace.path.ids.insert(id.clone())),
                    ("slurm.job", FactValue::Number(id)) => drop(trace.path.ids.insert(format!("{id:.0}"))),
                    (incident::LAUNCHER, FactValue::Number(pid)) => {
                        let host = event.origin.host.as_deref().unwrap_or_default();
                        trace.launchers.insert(format!("{host} {pid:.0}"));
                    }
                    ("job.model", FactValue::Text(model)) => drop(trace.models.insert(model.to_lowercase())),
                    _ => {}
                }
            }
            match &event.what {
                What::Shortage(shortage) if shortage.severity != Severity::Pressure => {
                    trace.pids.extend(shortage.victims.iter().filter_map(|victim| victim.pid));
                    (trace.has_end, trace.ran_out) = (true, true);
                    trace.refusals.insert(event.at.text.trim().to_owned());
                }
                What::Death(death) => {
                    trace.pids.extend(death.victim.pid);
                    trace.has_end = true;
                }
                What::Traceback(stack) => {
                    let main = stack.frames.first().filter(|frame| frame.function == "<module>");
                    let own = main.filter(|frame| installed(&frame.file).is_none());
                    trace.scripts.extend(own.map(|frame| frame.file.rsplit('/').next().unwrap_or_default().to_owned()));
                    trace.has_end = true;
                }
                What::Failure(_) | What::Finished => trace.has_end = true,
                What::Shortage(_) | What::Memory { .. } | What::Notice => {}
            }
        }
        let mut ends = findings.events.iter().filter(|event| {
            matches!(event.what, What::Shortage(_) | What::Death(_) | What::Failure(_) | What::Traceback(_))
        });
        trace.is_of_containers = trace.has_end && ends.all(|event| CONTAINERS.contains(&event.producer));
        trace.frameworks.extend(incident::framework(&findings.events, knowledge));
        trace.is_beneath_others = trace.frameworks.iter().any(|name| knowledge.is_beneath_others(name));
        trace.pids.retain(|pid| *pid >= OWN_PID);
        trace
    }

    /// Adds the trace of another log of the same job.
    pub fn join(&mut self, other: Trace) {
        self.span = match (self.span, other.span) {
            (Some((from, to)), Some((other_from, other_to))) => Some((from.min(other_from), to.max(other_to))),
            (own, other) => own.or(other),
        };
        self.path.ids.extend(other.path.ids);
        self.pids.extend(other.pids);
        self.hosts.extend(other.hosts);
        self.scripts.extend(other.scripts);
        self.frameworks.extend(other.frameworks);
        self.is_beneath_others |= other.is_beneath_others;
        self.models.extend(other.models);
        self.has_end |= other.has_end;
        self.ran_out |= other.ran_out;
        self.refusals.extend(other.refusals);
        self.is_watched |= other.is_watched;
        self.is_of_containers &= other.is_of_containers;
        self.launchers.extend(other.launchers);
    }

    /// Whether a node's kernel or the orchestrator wrote it, not the job.
    pub fn is_of_node(&self) -> bool {
        self.is_kernel || self.is_of_containers
    }

    /// Whether it cannot belong to one job with `other`, even if both have the same name.
    pub fn contradicts(&self, other: &Trace) -> bool {
        let ids = (&self.path.ids, &other.path.ids);
        let other_ids = !ids.0.is_empty() && !ids.1.is_empty() && ids.0.is_disjoint(ids.1);
        self.is_kernel != other.is_kernel
            || other_ids
            || self.has_other_launcher(other)
            || self.gap(other).is_some_and(|gap| gap > super::kin::FAR)
    }

    /// Whether the processes of both have different parents on a common host.
    pub fn has_other_launcher(&self, other: &Trace) -> bool {
        let (known, shares_host) =
            (!self.launchers.is_empty() && !other.launchers.is_empty(), !self.hosts.is_disjoint(&other.hosts));
        known && shares_host && self.launchers.is_disjoint(&other.launchers)
    }

    /// The seconds between the end of one and the beginning of the other; 0 if they overlap.
    pub fn gap(&self, other: &Trace) -> Option<f64> {
        let ((from, to), (other_from, other_to)) = (self.span?, other.span?);
        Some((other_from - to).max(from - other_to).max(0.0))
    }
}
