//! The processes that were killed or refused memory, and those that held it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Case;
use super::log_path::node_and_path;
use super::named_rank::NamedRanks;
use super::root::Group;
use super::smi;
use crate::model::{
    CONTAINER_NAME, Consumer, DEVICE_IN_USE, Death, Event, Exit, FactValue, Kind, PROCESS_IN_USE, RANK_IN_USE, Victim,
    What,
};

/// Most consumers; the largest are kept.
const MOST_CONSUMERS: usize = 16;

/// Most processes whose lines name them.
const MOST_WRITERS: usize = 1024;

/// Most victims.
const MOST_VICTIMS: usize = 8192;

/// Name of the fact which unit of systemd something was killed in.
const UNIT_NAME: &str = "systemd.unit";

/// The first victim and all victims, each with everything that messages say about it. For a shortage of host memory a missing role is taken
/// from the consumers.
pub(super) fn of(case: &Case, group: &Group, consumers: &[Consumer]) -> (Victim, Vec<Victim>) {
    let mut index = VictimIndex::default();
    // A process killed from outside does not print the message itself.
    let speaks = matches!(group.kind, Kind::GpuOom | Kind::HostAllocFailure);
    let ranks = if speaks { NamedRanks::of(case.events.iter()) } else { NamedRanks::default() };
    let events = || group.events.iter().map(|index| &case.events[*index]);
    // Whoever knows a process tells more than who knows its container.
    let knows_process = events().any(|event| event.processes().iter().any(|victim| victim.pid.is_some()));
    for event in events() {
        let is_whole = event.facts.iter().any(|fact| [CONTAINER_NAME, UNIT_NAME].contains(&fact.key));
        if knows_process && is_whole {
            continue;
        }
        let stack = case.stack_of(event).map(|(stack, _)| stack.origin.process());
        for victim in named(event) {
            let victim = Victim { rank: victim.rank.or_else(|| ranks.of_event(event)), ..victim };
            let victim = Victim { host: victim.host.or_else(|| node_of_kernel(event)), ..victim };
            // On a GPU the message's pid is not used: the driver numbers processes as the host does, not as the failing container does.
            let is_named = victim.pid.is_some() && victim.pid != event.origin.pid && !is_of_gpu(event);
            let known = match &stack {
                _ if is_named => victim,
                // A Ray driver prints a remote process's exception: the victim is the process that the traceback names.
                Some(remote) if remote.pid.is_some() && remote.pid != event.origin.pid => {
                    Victim { pid: remote.pid, ..victim.clone().or(remote) }
                }
                Some(remote) => victim.clone().or(remote),
                None => victim,
            };
            index.add(known);
        }
    }
    for death in case.events.iter().filter_map(|event| match &event.what {
        What::Death(death) if death.exit != Exit::Stopped => Some(death),
        _ => None,
    }) {
        index.enrich(death);
    }
    if let [anybody] = index.victims.as_slice()
        && let Some(killed) = lone_death(case, group.kind)
        && (is_nobody(anybody) || is_device_only(anybody) || is_of_step(anybody, &killed, group.kind))
        && may_use(case, anybody, &killed)
    {
        let killed = killed.or(anybody);
        index = VictimIndex::default();
        index.add(killed);
    }
    let hosts: HashSet<&str> = case.events.iter().filter_map(|event| event.origin.host.as_deref()).collect();
    for event in &case.events {
        if let What::Notice = event.what {
            index.learn(event, hosts.len() < 2);
        }
    }
    if hosts.len() < 2 {
        index.learn_dead(&launched_dead(case), speaks);
        if speaks {
            index.learn_writers(case);
        }
    }
    let mut victims = index.victims;
    forget_counted(&mut victims, group.kind);
    forget_repeated(&mut victims);
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

/// The node whose kernel printed `event`, if its log was read on another machine. A job's own log may lie on a disk that nodes share, but a
/// kernel's log belongs to its node.
fn node_of_kernel(event: &Event) -> Option<Arc<str>> {
    (event.producer == super::KERNEL).then(|| node_and_path(&event.at.location.path))?.map(|(node, _)| node.into())
}

/// A kill that was only counted is that of a named victim, unless that one is on another host.
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

/// A message is printed once as it is and once behind its process' prefix, or several times in other words: whoever is known by less, and
/// fits only one who is known better, is that one.
fn forget_repeated(victims: &mut Vec<Victim>) {
    /// More would be compared for too long; so many are ranks or pids, as a rule.
    const MOST_VAGUE: usize = 64;
    let is_vague = |victim: &Victim| victim.rank.is_none() && victim.pid.is_none() && !is_nobody(victim);
    let mut seen: HashSet<Victim> = HashSet::new();
    victims.retain(|victim| !is_vague(victim) || seen.insert(victim.clone()));
    if seen.len() > MOST_VAGUE {
        return;
    }
    let all = victims.clone();
    let fits = |victim: &Victim, other: &Victim| {
        victim != other
            && (victim.host.is_none() || victim.host == other.host)
            && (victim.device.is_none() || victim.device == other.device)
            && (victim.role.is_none() || victim.role == other.role)
    };
    victims.retain(|victim| !is_vague(victim) || all.iter().filter(|other| fits(victim, other)).count() != 1);
    // One line names the device alone, another the writer alone: an allocator's, and that of the program above it.
    let is_writer_only = |victim: &Victim| victim.device.is_none() && victim.rank.is_none() && victim.pid.is_some();
    if let [one, other] = victims.as_slice()
        && (is_device_only(one) && is_writer_only(other) || is_writer_only(one) && is_device_only(other))
        && (one.host.is_none() || other.host.is_none() || one.host == other.host)
    {
        *victims = vec![one.clone().or(other)];
    }
}

/// The only dead process that the logs name: a scheduler's message without a name and an anonymous message mean that one. Of several deaths
/// a kill is meant. A worker killed by Ray's monitor appears to its owner only as vanished.
fn lone_death(case: &Case, kind: Kind) -> Option<Victim> {
    let vanishes = matches!(kind, Kind::HostOomRay | Kind::HostOomCgroup);
    let is_killed = |exit| exit == Exit::KILL || exit == Exit::Vanished && vanishes;
    let may_fail = !kind.is_host() || kind == Kind::HostAllocFailure;
    let is_failed = |exit| may_fail && exit != Exit::Stopped;
    let is_dead = |_| kind == Kind::HostAllocFailure;
    let only = |is_meant: &dyn Fn(Exit) -> bool| {
        let dead = case.events.iter().filter_map(|event| match &event.what {
            What::Death(death) if is_meant(death.exit) => Some(&death.victim),
            _ => None,
        });
        let mut dead = dead.filter(|victim| victim.pid.is_some() || victim.rank.is_some());
        let first = dead.next()?;
        dead.all(|other| other.pid == first.pid && other.rank == first.rank).then(|| first.clone())
    };
    // A scheduler that measures by itself asks its job to end first.
    let is_asked = |exit| kind == Kind::HostOomUserspace && exit == Exit::Signal(15);
    only(&is_killed).or_else(|| only(&is_asked)).or_else(|| only(&is_failed)).or_else(|| only(&is_dead))
}

/// Whether `killed`, of which only the pid is known, is the process of the scheduler's task `known`, of which only its rank and node are: a
/// limit ends one of a task's processes.
fn is_of_step(known: &Victim, killed: &Victim, kind: Kind) -> bool {
    let is_task = known.pid.is_none() && known.device.is_none() && known.role.is_none();
    kind == Kind::HostOomCgroup && is_task && killed.pid.is_some() && killed.rank.is_none()
}

/// Whether `killed` may be the victim `known`, of which only a device is known: each process of a launcher uses the device of its local
/// rank, which on the first node is its rank.
fn may_use(case: &Case, known: &Victim, killed: &Victim) -> bool {
    let notices = case.events.iter().filter(|event| event.what == What::Notice);
    let local_rank = notices.filter_map(launched).find(|(pid, _)| Some(*pid) == killed.pid).map(|(_, rank)| rank);
    let own_rank = local_rank.or(killed.rank);
    // A job without ranks has one process.
    let is_only_process = || own_rank.is_none() && case.events.iter().all(|event| event.origin.rank.is_none());
    known.device.is_none() || own_rank.is_some() && own_rank == known.device || is_only_process()
}

/// The pid and the local rank of a process, as its launcher states them.
fn launched(event: &Event) -> Option<(u32, u32)> {
    event.number("launcher.pid").zip(event.number("launcher.local_rank"))
}

/// The processes of which a launcher says both their place and how they ended: pid, local rank and end.
fn launched_dead(case: &Case) -> Vec<(u32, u32, Exit)> {
    let places: Vec<(u32, u32)> = case.events.iter().filter_map(launched).collect();
    let dead = case.events.iter().filter_map(|event| match &event.what {
        What::Death(death) if death.exit != Exit::Stopped => Some((death.victim.pid?, death.exit)),
        _ => None,
    });
    let mut found: Vec<(u32, u32, Exit)> = Vec::new();
    for (pid, exit) in dead {
        let place = places.iter().find(|(own, _)| *own == pid);
        if let Some((_, rank)) = place.filter(|_| found.iter().all(|(known, ..)| *known != pid)) {
            found.push((pid, *rank, exit));
        }
    }
    found
}

/// The number that the job's notices state as the fact `key`, if all state the same.
fn only_said(case: &Case, key: &str) -> Option<u32> {
    let notices = case.events.iter().filter(|event| event.what == What::Notice);
    let mut said = notices.flat_map(|event| &event.facts).filter(|fact| fact.key == key);
    let first = &said.next()?.value;
    match first {
        // An unknown rank is printed as -1.
        FactValue::Number(number) if *number >= 0.0 && said.all(|other| other.value == *first) => Some(*number as u32),
        _ => None,
    }
}

fn is_of_gpu(event: &Event) -> bool {
    matches!(&event.what, What::Shortage(shortage) if shortage.kind == Kind::GpuOom)
}

/// The victims of `event`, or its writer if a shortage names none; other failures have no victim.
fn named(event: &Event) -> Vec<Victim> {
    match &event.what {
        What::Shortage(shortage) if shortage.victims.is_empty() => vec![event.origin.process()],
        What::Shortage(_) | What::Death(_) => event.processes(),
        _ => Vec::new(),
    }
}

/// The victims, indexed by what is known about them.
#[derive(Default)]
struct VictimIndex {
    victims: Vec<Victim>,
    by_pid: HashMap<u32, Vec<usize>>,
    by_rank: HashMap<u32, Vec<usize>>,
    /// Those of which nothing but perhaps the host is known, by host.
    somebody: HashMap<Option<Arc<str>>, Vec<usize>>,
    /// All victims, by host.
    by_host: HashMap<Option<Arc<str>>, Vec<usize>>,
}

impl VictimIndex {
    /// Whether only the device of `victim` is known, and another victim is on that device.
    fn is_on_known_device(&self, victim: &Victim) -> bool {
        let mut of_host = self.by_host.get(&victim.host).into_iter().flatten();
        is_device_only(victim) && of_host.any(|known| self.victims[*known].device == victim.device)
    }

    /// Adds a message's description of a victim, merged with earlier descriptions of the same one.
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

    /// The first known victim that may be the same: two descriptions are of one process if they share a pid or a rank, or one of them names
    /// only the host, and nothing contradicts it.
    fn same(&self, victim: &Victim) -> Option<usize> {
        let may_be = |at: &usize| {
            let known = &self.victims[*at];
            let shares = known.pid.is_some() && known.pid == victim.pid
                || known.rank.is_some() && known.rank == victim.rank
                || known.is_unknown()
                || known.host == victim.host && (is_nobody(victim) || is_nobody(known));
            shares && known.may_be(victim)
        };
        // A victim without any description may be any process, one with only a host any process there.
        let lists = [
            victim.pid.and_then(|pid| self.by_pid.get(&pid)),
            victim.rank.and_then(|rank| self.by_rank.get(&rank)),
            self.somebody.get(&victim.host),
            self.somebody.get(&None),
            self.by_host.get(&victim.host).filter(|_| is_nobody(victim)),
        ];
        // Each list is in the order of the victims.
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

    /// Updates the indices for the victim at this position.
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

    /// A launcher's report of a death adds rank and host; a single victim and a single kill are taken to be the same process.
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

    /// On the only node a launcher's local rank is the rank. Who spoke of its own shortage learns its pid, if one process of its rank ended; the
    /// kernel numbers processes otherwise than a container does, so its one victim is the one that the launcher saw killed.
    fn learn_dead(&mut self, dead: &[(u32, u32, Exit)], speaks: bool) {
        if speaks {
            for victim in self.victims.iter_mut().filter(|victim| victim.pid.is_none()) {
                let mut own = dead.iter().filter(|(_, rank, _)| Some(*rank) == victim.rank);
                if let (Some((pid, ..)), None) = (own.next(), own.next()) {
                    victim.pid = Some(*pid);
                }
            }
        } else if let [victim] = self.victims.as_mut_slice() {
            let mut killed = dead.iter().filter(|(.., exit)| *exit == Exit::KILL);
            if let (Some((_, rank, _)), None, true) = (killed.next(), killed.next(), victim.pid.is_some()) {
                victim.rank = victim.rank.or(Some(*rank));
            }
        }
    }

    /// Prefixes of other lines tell the pid of a rank. Who failed without a prefix is the only process that the log names, unless that one uses
    /// another device.
    fn learn_writers(&mut self, case: &Case) {
        let mut known: BTreeSet<(u32, u32)> = BTreeSet::new();
        for named in case.events.iter().filter_map(|event| event.origin.rank.zip(event.origin.pid)) {
            if known.len() < MOST_WRITERS {
                known.insert(named);
            }
        }
        // Of several ranks one may be the only that writes with a prefix.
        let has_others =
            case.events.iter().flat_map(|event| &event.facts).any(|fact| {
                fact.key == "job.world_size" && matches!(fact.value, FactValue::Number(ranks) if ranks > 1.0)
            });
        let only = known.first().copied().filter(|_| known.len() == 1 && !has_others);
        let is_alone = self.victims.len() == 1;
        for victim in self.victims.iter_mut().filter(|victim| victim.pid.is_none()) {
            let Some(rank) = victim.rank else {
                let fits = |(rank, _): &(u32, u32)| victim.device.is_none_or(|device| device == *rank);
                if let Some((rank, pid)) = only.filter(|only| is_alone && victim.role.is_none() && fits(only)) {
                    (victim.rank, victim.pid) = (Some(rank), Some(pid));
                }
                continue;
            };
            let mut own = known.range((rank, 0)..=(rank, u32::MAX));
            if let (Some((_, pid)), None) = (own.next(), own.next()) {
                victim.pid = Some(*pid);
            }
        }
    }

    /// A notice of a launcher or of the process itself tells the rank of a pid. A launcher counts the ranks of its node, so on one of several
    /// nodes it does not know them.
    fn learn(&mut self, event: &Event, is_one_node: bool) {
        let own = || event.origin.pid.zip(event.number(RANK_IN_USE));
        if let Some((pid, rank)) = launched(event).filter(|_| is_one_node).or_else(own) {
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
pub(super) fn is_device_only(victim: &Victim) -> bool {
    victim.device.is_some()
        && *victim == Victim { host: victim.host.clone(), device: victim.device, ..Victim::default() }
}

/// The processes that held the memory, largest first. If a message has only pids, the roles are taken from the job's own processes.
pub(super) fn consumers(case: &Case, events: &[&Event]) -> Vec<Consumer> {
    let mut consumers: Vec<Consumer> = Vec::new();
    let (mut of_path, mut of_size) = (HashSet::new(), HashSet::new());
    // Only one device's table counts: holders of another device did not take memory here, and many processes call their own device 0.
    let has_device = |event: &&&Event| matches!(&event.what, What::Shortage(shortage) if shortage.kind == Kind::GpuOom && !shortage.consumers.is_empty());
    let of_device = events.iter().position(|event| has_device(&event));
    for (place, event) in events.iter().enumerate() {
        if let What::Shortage(shortage) = &event.what
            && (shortage.kind != Kind::GpuOom || of_device == Some(place))
        {
            for consumer in &shortage.consumers {
                // Several files may contain the same table; on another node the same pid holds another amount.
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
    if consumers.is_empty() && events.iter().any(|event| is_of_gpu(event)) {
        consumers = smi::consumers(case, events);
    }
    consumers.sort_by_key(|consumer| std::cmp::Reverse(consumer.bytes));
    consumers.truncate(MOST_CONSUMERS);
    let ranks = ranks_of_launcher(case, &consumers);
    for consumer in consumers.iter_mut().filter(|consumer| consumer.role.is_none()) {
        let named = consumer.pid.and_then(|pid| case.processes.get(&pid)).map(|role| role.to_string());
        consumer.role =
            named.or_else(|| consumer.pid.filter(|pid| ranks.contains(pid)).map(|_| Consumer::RANK.to_owned()));
    }
    consumers
}

/// The processes of `consumers` that the job's launcher started: those whose end it reports, and all whose numbers continue theirs without a
/// gap, since it starts its ranks one directly behind the other.
fn ranks_of_launcher(case: &Case, consumers: &[Consumer]) -> BTreeSet<u32> {
    let of_launcher = case.events.iter().filter(|event| event.producer == "elastic");
    let reported: BTreeSet<u32> = of_launcher
        .filter_map(|event| match &event.what {
            What::Death(death) => death.victim.pid,
            _ => None,
        })
        .collect();
    let pids: BTreeSet<u32> =
        consumers.iter().filter_map(|consumer| consumer.pid).chain(reported.iter().copied()).collect();
    let pids: Vec<u32> = pids.into_iter().collect();
    let runs = pids.chunk_by(|pid, next| pid.checked_add(1) == Some(*next));
    runs.filter(|run| run.iter().any(|pid| reported.contains(pid))).flatten().copied().collect()
}
