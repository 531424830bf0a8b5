//! Who was killed or refused, and who held the memory.

use super::Case;
use super::root::Group;
use crate::model::{Consumer, DEVICE_IN_USE, Death, Event, Exit, FactValue, Kind, Origin, Victim, What};

/// More consumers than this are named by the largest.
const MOST_CONSUMERS: usize = 16;

/// The first victim and all of them, each with what any message says of it.
pub(super) fn of(case: &Case, group: &Group) -> (Victim, Vec<Victim>) {
    let mut victims: Vec<Victim> = Vec::new();
    for event in group.events.iter().map(|index| &case.events[*index]) {
        let stack = case.stack_of(event).map(|(stack, _)| of_origin(&stack.origin));
        for victim in named(event) {
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
            add(&mut victims, known);
        }
    }
    for death in case.events.iter().filter_map(|event| match &event.what {
        What::Death(death) if death.exit != Exit::Stopped => Some(death),
        _ => None,
    }) {
        enrich(&mut victims, death);
    }
    if let [nobody] = victims.as_mut_slice()
        && (Victim { host: None, ..nobody.clone() }).is_unknown()
        && let Some(killed) = lone_death(case, group.kind)
    {
        *nobody = killed;
    }
    for event in &case.events {
        if let What::Notice = event.what {
            learn(&mut victims, event);
        }
    }
    if let ([victim], Kind::GpuOom) = (victims.as_mut_slice(), group.kind) {
        victim.device = victim.device.or_else(|| only_device(case));
    }
    let first = victims.first().cloned().unwrap_or_default();
    (first, victims)
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

/// The device that a job says it uses, where it never speaks of another.
fn only_device(case: &Case) -> Option<u32> {
    let notices = case.events.iter().filter(|event| event.what == What::Notice);
    let mut said = notices.flat_map(|event| &event.facts).filter(|fact| fact.key == DEVICE_IN_USE);
    let first = &said.next()?.value;
    match first {
        FactValue::Number(number) if said.all(|other| other.value == *first) => Some(*number as u32),
        _ => None,
    }
}

fn is_of_gpu(event: &Event) -> bool {
    matches!(&event.what, What::Shortage(shortage) if shortage.kind == Kind::GpuOom)
}

fn named(event: &Event) -> Vec<Victim> {
    let origin = of_origin(&event.origin);
    match &event.what {
        What::Shortage(shortage) if !shortage.victims.is_empty() => {
            shortage.victims.iter().map(|victim| with_host(victim.clone(), &origin)).collect()
        }
        What::Shortage(_) => vec![origin],
        What::Death(death) => vec![with_host(death.victim.clone(), &origin)],
        _ => Vec::new(),
    }
}

/// The reporter of a death is not the dead; only the machine is the same.
fn with_host(victim: Victim, origin: &Victim) -> Victim {
    Victim { host: victim.host.clone().or_else(|| origin.host.clone()), ..victim }
}

fn of_origin(origin: &Origin) -> Victim {
    Victim { host: origin.host.clone(), rank: origin.rank, device: None, pid: origin.pid, role: origin.role.clone() }
}

fn add(victims: &mut Vec<Victim>, victim: Victim) {
    if victim.is_unknown() && !victims.is_empty() {
        return;
    }
    match victims.iter_mut().find(|known| is_same(known, &victim)) {
        Some(known) => *known = known.clone().or(&victim),
        None => victims.push(victim),
    }
}

/// Whether two descriptions are of one process: they share a pid, or a rank, or one of them names nothing but the host,
/// and nothing speaks against it.
fn is_same(a: &Victim, b: &Victim) -> bool {
    let somebody = |victim: &Victim| Victim { host: None, ..victim.clone() }.is_unknown();
    let shares = (a.pid.is_some() && a.pid == b.pid) || (a.rank.is_some() && a.rank == b.rank);
    let vague = a.is_unknown() || (a.host == b.host && (somebody(a) || somebody(b)));
    (shares || vague) && a.may_be(b)
}

/// A launcher's word on how a process ended tells its rank and host; with one victim and one kill they are the same.
fn enrich(victims: &mut [Victim], death: &Death) {
    let kill = matches!(death.exit, Exit::KILL | Exit::Vanished);
    let lone = victims.len() == 1;
    for victim in victims.iter_mut() {
        let same_pid = victim.pid.is_some() && victim.pid == death.victim.pid;
        let same_rank = death.first && victim.rank.is_some() && victim.rank == death.victim.rank;
        let only_one = lone && kill && death.first && victim.pid.is_some() && death.victim.pid.is_none();
        if same_pid || ((same_rank || only_one) && victim.may_be(&death.victim)) {
            *victim = victim.clone().or(&death.victim);
        }
    }
}

/// A launcher's notice of which process is which rank.
fn learn(victims: &mut [Victim], event: &Event) {
    let number = |key: &str| {
        event.facts.iter().find(|fact| fact.key == key).and_then(|fact| match fact.value {
            FactValue::Number(value) => Some(value as u32),
            FactValue::Text(_) => None,
        })
    };
    if let (Some(pid), Some(rank)) = (number("launcher.pid"), number("launcher.local_rank")) {
        for victim in victims.iter_mut().filter(|victim| victim.pid == Some(pid)) {
            victim.rank = victim.rank.or(Some(rank));
        }
    }
}

/// Who held the memory, largest first. A message that knows only pids is told what the job's own processes call themselves.
pub(super) fn consumers(case: &Case, events: &[&Event]) -> Vec<Consumer> {
    let mut consumers: Vec<Consumer> = Vec::new();
    for event in events {
        if let What::Shortage(shortage) = &event.what {
            for consumer in &shortage.consumers {
                // Several files may hold the same table; on another node the same pid holds another amount.
                let known = |other: &Consumer| {
                    other.pid == consumer.pid
                        && other.role == consumer.role
                        && (other.source.path == consumer.source.path || other.bytes == consumer.bytes)
                };
                if !consumers.iter().any(known) {
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
