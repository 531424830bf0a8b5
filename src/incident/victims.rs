//! Who was killed or refused, and who held the memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Case;
use super::log_path::node_and_path;
use super::named_rank::NamedRanks;
use super::root::Group;
use crate::model::{
    Consumer, DEVICE_IN_USE, Death, Event, Exit, FactValue, Kind, PROCESS_IN_USE, RANK_IN_USE, Victim, What,
};

/// More consumers than this are named by the largest.
const MOST_CONSUMERS: usize = 16;

/// Victims beyond this are as many as a reader can tell apart.
const MOST_VICTIMS: usize = 8192;

/// The first victim and all of them, each with what any message says of it. Who held memory of the host when it ran out is called as that
/// is told.
pub(super) fn of(case: &Case, group: &Group, consumers: &[Consumer]) -> (Victim, Vec<Victim>) {
    let mut crowd = Crowd::default();
    // Whoever is killed from outside is not who speaks.
    let speaks = matches!(group.kind, Kind::GpuOom | Kind::HostAllocFailure);
    let ranks = if speaks { NamedRanks::of(case.events.iter()) } else { NamedRanks::default() };
    for event in group.events.iter().map(|index| &case.events[*index]) {
        let stack = case.stack_of(event).map(|(stack, _)| stack.origin.process());
        for victim in named(event) {
            let victim = Victim { rank: victim.rank.or_else(|| ranks.of_event(event)), ..victim };
            let victim = Victim { host: victim.host.or_else(|| node_of_kernel(event)), ..victim };
            // Not so on a GPU: its driver counts processes as the host does, not as the container that failed.
            let is_named = victim.pid.is_some() && victim.pid != event.origin.pid && !is_of_gpu(event);
            let known = match &stack {
                _ if is_named => victim,
                // A driver prints what a remote process raised: the process that the traceback names is the victim.
                Some(remote) if remote.pid.is_some() && remote.pid != event.origin.pid => {
                    Victim { pid: remote.pid, ..victim.clone().or(remote) }
                }
                Some(remote) => victim.clone().or(remote),
                None => victim,
            };
            crowd.add(known);
        }
    }
    for death in case.events.iter().filter_map(|event| match &event.what {
        What::Death(death) if death.exit != Exit::Stopped => Some(death),
        _ => None,
    }) {
        crowd.enrich(death);
    }
    if let [anybody] = crowd.victims.as_slice()
        && (is_nobody(anybody) || is_device_only(anybody))
        && let Some(killed) = lone_death(case, group.kind)
        && may_use(case, anybody, &killed)
    {
        let killed = Victim {
            device: killed.device.or(anybody.device),
            host: killed.host.or_else(|| anybody.host.clone()),
            ..killed
        };
        crowd = Crowd::default();
        crowd.add(killed);
    }
    for event in &case.events {
        if let What::Notice = event.what {
            crowd.learn(event);
        }
    }
    let mut victims = crowd.victims;
    forget_counted(&mut victims, group.kind);
    if let ([victim], Kind::GpuOom) = (victims.as_mut_slice(), group.kind) {
        victim.device = victim.device.or_else(|| only_said(case, DEVICE_IN_USE));
    }
    if let ([victim], true) = (victims.as_mut_slice(), speaks) {
        victim.pid = victim.pid.or_else(|| only_said(case, PROCESS_IN_USE));
        victim.rank = victim.rank.or_else(|| only_said(case, RANK_IN_USE));
    }
    if group.kind.is_host() {
        for victim in victims.iter_mut().filter(|victim| victim.pid.is_some() && victim.role.is_none()) {
            let own = consumers.iter().find(|consumer| consumer.pid == victim.pid);
            victim.role = own.and_then(|consumer| consumer.role.as_deref()).map(Arc::from);
        }
    }
    let first = victims.first().cloned().unwrap_or_default();
    (first, victims)
}

/// The node whose kernel says what `event` states, where its log was read elsewhere: a job's own log may lie on a disk that nodes share, a
/// kernel's is of its node.
fn node_of_kernel(event: &Event) -> Option<Arc<str>> {
    const KERNEL: &str = "kernel";
    (event.producer == KERNEL).then(|| node_and_path(&event.at.location.path))?.map(|(node, _)| node.into())
}

/// A kill that was only counted is that of a process which is named beside it, unless that was on another host.
fn forget_counted(victims: &mut Vec<Victim>, kind: Kind) {
    let Some(counted) = victims.iter().position(is_nobody).filter(|_| kind.is_host()) else { return };
    let host = victims[counted].host.clone();
    let may_be = |victim: &Victim| victim.pid.is_some() && (victim.host.is_none() || victim.host == host);
    if victims.iter().any(may_be) {
        victims.remove(counted);
        for victim in victims.iter_mut().filter(|victim| may_be(victim)) {
            victim.host = host.clone();
        }
    }
}

/// The one process that died, where a log names but one: a scheduler that says "somebody" means it, and so does a message that
/// nobody signed. Of several deaths a kill is meant. Whom Ray's monitor killed, its workers' owners only miss.
fn lone_death(case: &Case, kind: Kind) -> Option<Victim> {
    let is_killed = |exit| exit == Exit::KILL || exit == Exit::Vanished && kind == Kind::HostOomRay;
    let is_failed = |exit| !kind.is_host() && exit != Exit::Stopped || kind == Kind::HostAllocFailure;
    let only = |is_meant: &dyn Fn(Exit) -> bool| {
        let dead = case.events.iter().filter_map(|event| match &event.what {
            What::Death(death) if is_meant(death.exit) => Some(&death.victim),
            _ => None,
        });
        let mut dead = dead.filter(|victim| victim.pid.is_some() || victim.rank.is_some());
        let first = dead.next()?;
        dead.all(|other| other.pid == first.pid && other.rank == first.rank).then(|| first.clone())
    };
    only(&is_killed).or_else(|| only(&is_failed))
}

/// Whether `killed` may be the process of which no more is known than its device: a launcher's processes each use the device of their
/// local rank.
fn may_use(case: &Case, known: &Victim, killed: &Victim) -> bool {
    let notices = case.events.iter().filter(|event| event.what == What::Notice);
    let local_rank = notices.filter_map(launched).find(|(pid, _)| Some(*pid) == killed.pid).map(|(_, rank)| rank);
    known.device.is_none() || local_rank.is_some() && local_rank == known.device
}

/// The pid and the local rank of a process, as its launcher says.
fn launched(event: &Event) -> Option<(u32, u32)> {
    number_of(event, "launcher.pid").zip(number_of(event, "launcher.local_rank"))
}

/// The number that `event` states as the fact `key`.
fn number_of(event: &Event, key: &str) -> Option<u32> {
    event.facts.iter().find(|fact| fact.key == key).and_then(|fact| match fact.value {
        FactValue::Number(value) if value >= 0.0 => Some(value as u32),
        _ => None,
    })
}

/// The device or process that a job says it uses or is, where it never speaks of another.
fn only_said(case: &Case, key: &str) -> Option<u32> {
    let notices = case.events.iter().filter(|event| event.what == What::Notice);
    let mut said = notices.flat_map(|event| &event.facts).filter(|fact| fact.key == key);
    let first = &said.next()?.value;
    match first {
        // A rank that is not known is -1.
        FactValue::Number(number) if *number >= 0.0 && said.all(|other| other.value == *first) => Some(*number as u32),
        _ => None,
    }
}

fn is_of_gpu(event: &Event) -> bool {
    matches!(&event.what, What::Shortage(shortage) if shortage.kind == Kind::GpuOom)
}

/// Whom `event` names, who is the speaker where it names nobody; a failure without a name is nobody's death.
fn named(event: &Event) -> Vec<Victim> {
    match &event.what {
        What::Shortage(shortage) if shortage.victims.is_empty() => vec![event.origin.process()],
        What::Shortage(_) | What::Death(_) => event.processes(),
        _ => Vec::new(),
    }
}

/// The victims, found by what is known of them.
#[derive(Default)]
struct Crowd {
    victims: Vec<Victim>,
    by_pid: HashMap<u32, Vec<usize>>,
    by_rank: HashMap<u32, Vec<usize>>,
    /// Those of whom nothing but the host is known, or not even that.
    somebody: HashMap<Option<Arc<str>>, Vec<usize>>,
    /// All of a host.
    by_host: HashMap<Option<Arc<str>>, Vec<usize>>,
}

impl Crowd {
    /// Whether no more is known of `victim` than a device, on which another one is known to be.
    fn is_on_known_device(&self, victim: &Victim) -> bool {
        let mut of_host = self.by_host.get(&victim.host).into_iter().flatten();
        is_device_only(victim) && of_host.any(|known| self.victims[*known].device == victim.device)
    }

    /// Adds what a message says of a victim to what others say of the same one.
    fn add(&mut self, victim: Victim) {
        if victim.is_unknown() && !self.victims.is_empty() || self.is_on_known_device(&victim) {
            return;
        }
        match self.same(&victim) {
            Some(known) => self.learn_of(known, &victim),
            None if self.victims.len() < MOST_VICTIMS => {
                self.victims.push(victim);
                self.note(self.victims.len() - 1);
            }
            None => {}
        }
    }

    /// The first one that may be `victim`: two descriptions are of one process if they share a pid, or a rank, or one of them
    /// names nothing but the host, and nothing speaks against it.
    fn same(&self, victim: &Victim) -> Option<usize> {
        let may_be = |at: &usize| {
            let known = &self.victims[*at];
            let shares = known.pid.is_some() && known.pid == victim.pid
                || known.rank.is_some() && known.rank == victim.rank
                || known.is_unknown()
                || known.host == victim.host && (is_nobody(victim) || is_nobody(known));
            shares && known.may_be(victim)
        };
        // Whoever is known by nothing may be anybody, whoever is known by the host anybody there.
        let lists = [
            victim.pid.and_then(|pid| self.by_pid.get(&pid)),
            victim.rank.and_then(|rank| self.by_rank.get(&rank)),
            self.somebody.get(&victim.host),
            self.somebody.get(&None),
            self.by_host.get(&victim.host).filter(|_| is_nobody(victim)),
        ];
        // Each list stands in the order of the victims.
        lists.into_iter().flatten().filter_map(|list| list.iter().copied().find(may_be)).min()
    }

    fn learn_of(&mut self, at: usize, more: &Victim) {
        let known = &self.victims[at];
        let fuller = known.clone().or(more);
        if fuller != *known {
            self.victims[at] = fuller;
            self.note(at);
        }
    }

    /// Lets the one at this place be found by what is known of it now.
    fn note(&mut self, at: usize) {
        let victim = &self.victims[at];
        let note = |list: &mut Vec<usize>| {
            if let Err(place) = list.binary_search(&at) {
                list.insert(place, at);
            }
        };
        if let Some(pid) = victim.pid {
            note(self.by_pid.entry(pid).or_default());
        }
        if let Some(rank) = victim.rank {
            note(self.by_rank.entry(rank).or_default());
        }
        if is_nobody(victim) {
            note(self.somebody.entry(victim.host.clone()).or_default());
        }
        note(self.by_host.entry(victim.host.clone()).or_default());
    }

    /// A launcher's word on how a process ended tells its rank and host; with one victim and one kill they are the same.
    fn enrich(&mut self, death: &Death) {
        let kill = matches!(death.exit, Exit::KILL | Exit::Vanished);
        let lone = self.victims.len() == 1 && kill && death.first && death.victim.pid.is_none();
        let same_pid = death.victim.pid.and_then(|pid| self.by_pid.get(&pid)).cloned().unwrap_or_default();
        let same_rank = death.victim.rank.filter(|_| death.first).and_then(|rank| self.by_rank.get(&rank)).cloned();
        let only_one = self.victims.first().filter(|victim| lone && victim.pid.is_some()).map(|_| 0);
        for at in same_rank.unwrap_or_default().into_iter().chain(only_one) {
            if self.victims[at].may_be(&death.victim) {
                self.learn_of(at, &death.victim);
            }
        }
        for at in same_pid {
            self.learn_of(at, &death.victim);
        }
    }

    /// A launcher's notice of which process is which rank, or a process' own.
    fn learn(&mut self, event: &Event) {
        let own = || event.origin.pid.zip(number_of(event, RANK_IN_USE));
        if let Some((pid, rank)) = launched(event).or_else(own) {
            for at in self.by_pid.get(&pid).into_iter().flatten() {
                let victim = &mut self.victims[*at];
                victim.rank = victim.rank.or(Some(rank));
            }
        }
    }
}

/// Whether nothing but the host is known.
pub(super) fn is_nobody(victim: &Victim) -> bool {
    let Victim { host: _, rank, device, pid, role } = victim;
    rank.is_none() && device.is_none() && pid.is_none() && role.is_none()
}

/// Whether nothing but the device, and perhaps the host, is known.
fn is_device_only(victim: &Victim) -> bool {
    victim.device.is_some()
        && *victim == Victim { host: victim.host.clone(), device: victim.device, ..Victim::default() }
}

/// Who held the memory, largest first. A message that knows only pids is told what the job's own processes call themselves.
pub(super) fn consumers(case: &Case, events: &[&Event]) -> Vec<Consumer> {
    let mut consumers: Vec<Consumer> = Vec::new();
    let (mut of_path, mut of_size) = (HashSet::new(), HashSet::new());
    // Whoever holds another device took nothing that was missing here, and many a process calls its own device 0.
    let has_device = |event: &&&Event| matches!(&event.what, What::Shortage(shortage) if shortage.kind == Kind::GpuOom && !shortage.consumers.is_empty());
    let of_device = events.iter().position(|event| has_device(&event));
    for (place, event) in events.iter().enumerate() {
        if let What::Shortage(shortage) = &event.what
            && (shortage.kind != Kind::GpuOom || of_device == Some(place))
        {
            for consumer in &shortage.consumers {
                // Several files may hold the same table; on another node the same pid holds another amount.
                let Consumer { pid, role, source, bytes, .. } = consumer;
                let (here, so_large) = ((pid, role, &source.path), (pid, role, bytes));
                if !of_path.contains(&here) && !of_size.contains(&so_large) {
                    of_path.insert(here);
                    of_size.insert(so_large);
                    consumers.push(consumer.clone());
                }
            }
        }
    }
    consumers.sort_by_key(|consumer| std::cmp::Reverse(consumer.bytes));
    consumers.truncate(MOST_CONSUMERS);
    for consumer in consumers.iter_mut().filter(|consumer| consumer.role.is_none()) {
        let own = consumer.pid.and_then(|pid| case.processes.get(&pid));
        consumer.role = own.map(|role| role.to_string());
    }
    consumers
}
