//! Maps processes to ranks by the messages that name both.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::Case;
use super::super::log_path::rank_of_path;
use super::super::sequence::mentions;
use crate::model::{Event, PROCESS_IN_USE, RANK_IN_USE, Victim, What};

/// The ranks of processes, by host and pid and by pid alone.
pub(super) struct Identity {
    of_host: HashMap<(Arc<str>, u32), u32>,
    /// By pid alone; `None` if processes of different ranks have that pid.
    anywhere: HashMap<u32, Option<u32>>,
}

impl Identity {
    /// Learns from the messages of `case` that name a process and its rank.
    pub fn of(case: &Case) -> Identity {
        let mut identity = Identity { of_host: HashMap::new(), anywhere: HashMap::new() };
        for event in &case.events {
            let origin = event.origin.process();
            let own = rank_of_path(&event.at.location.path);
            let speaker = Victim {
                pid: origin.pid.or_else(|| event.number(PROCESS_IN_USE)),
                rank: origin.rank.or_else(|| event.number(RANK_IN_USE)).or(own),
                ..origin
            };
            mentions(event).for_each(|mention| identity.learn(&mention.process));
            identity.learn(&speaker);
        }
        identity
    }

    fn learn(&mut self, process: &Victim) {
        let (Some(pid), Some(rank)) = (process.pid, process.rank) else { return };
        if let Some(host) = &process.host {
            self.of_host.entry((Arc::clone(host), pid)).or_insert(rank);
        }
        let known = self.anywhere.entry(pid).or_insert(Some(rank));
        *known = known.filter(|known| *known == rank);
    }

    /// The rank of `process`, which `event` is about.
    pub fn rank(&self, process: &Victim, event: &Event) -> Option<u32> {
        if process.rank.is_some() {
            return process.rank;
        }
        let by_pid = process.pid.and_then(|pid| self.by_pid(process.host.as_ref(), pid));
        // In a rank's own log a process without another pid is that rank.
        let is_own = process.pid.is_none() || process.pid == event.origin.pid;
        by_pid.or_else(|| rank_of_path(&event.at.location.path).filter(|_| is_own))
    }

    /// The rank that printed `event`.
    pub fn speaker(&self, event: &Event) -> Option<u32> {
        match event.what {
            What::Death(_) => event.origin.rank,
            _ => self.rank(&event.origin.process(), event),
        }
    }

    /// The rank of the process with this pid.
    pub fn by_pid(&self, host: Option<&Arc<str>>, pid: u32) -> Option<u32> {
        let of_host = host.and_then(|host| self.of_host.get(&(Arc::clone(host), pid)).copied());
        of_host.or_else(|| self.anywhere.get(&pid).copied().flatten())
    }
}
