//! Which rank a process is, by whatever names both, and what the paths of logs say.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::Case;
use super::super::sequence::said;
use crate::model::{Event, FactValue, PROCESS_IN_USE, RANK_IN_USE, Victim, What};

/// Of processes without a rank which one they are.
pub(super) struct Identity {
    of_host: HashMap<(Arc<str>, u32), u32>,
    /// Of each pid, whichever host it is on; none where several hosts have one of that number.
    anywhere: HashMap<u32, Option<u32>>,
}

impl Identity {
    /// By the messages of `case` that name a process and its rank.
    pub fn of(case: &Case) -> Identity {
        let mut identity = Identity { of_host: HashMap::new(), anywhere: HashMap::new() };
        for event in &case.events {
            let origin = event.origin.process();
            let own = rank_of_path(&event.at.location.path);
            let number = |key| number_of(event, key);
            let speaker = Victim {
                pid: origin.pid.or_else(|| number(PROCESS_IN_USE)),
                rank: origin.rank.or_else(|| number(RANK_IN_USE)).or(own),
                ..origin
            };
            said(event).for_each(|said| identity.learn(&said.process));
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

    /// The rank of `process`, of which `event` tells.
    pub fn rank(&self, process: &Victim, event: &Event) -> Option<u32> {
        if process.rank.is_some() {
            return process.rank;
        }
        let by_pid = process.pid.and_then(|pid| self.by_pid(process.host.as_ref(), pid));
        // In its own log whoever is not told from it is the rank itself.
        let is_own = process.pid.is_none() || process.pid == event.origin.pid;
        by_pid.or_else(|| rank_of_path(&event.at.location.path).filter(|_| is_own))
    }

    /// The rank that says what `event` states.
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

/// The number that `event` states as the fact `key`.
fn number_of(event: &Event, key: &str) -> Option<u32> {
    event.facts.iter().find(|fact| fact.key == key).and_then(|fact| match fact.value {
        FactValue::Number(value) if value >= 0.0 => Some(value as u32),
        _ => None,
    })
}

/// The rank whose log it is: `run/rank_17.log`, `rank-17/stdout.log`; not `local_rank_1.log`.
pub(super) fn rank_of_path(path: &str) -> Option<u32> {
    const WORD: &str = "rank";
    path.rsplit(['/', '\\', '!']).find_map(|part| {
        let part = part.to_ascii_lowercase();
        part.match_indices(WORD).find_map(|(at, _)| {
            let before = part[..at].trim_end_matches(['_', '-', '.']);
            let is_word = before.ends_with("global") || !part[..at].ends_with(|c: char| c.is_alphanumeric());
            let after = part[at + WORD.len()..].trim_start_matches(['_', '-', '.', '=']);
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let ends = !after[end..].starts_with(char::is_alphabetic);
            (is_word && ends && !before.ends_with("local")).then(|| after[..end].parse().ok())?
        })
    })
}

/// The node of a log: the name before the path of one that was read elsewhere (`gpu-17:/logs/job.log`), else a folder that is called
/// as one (`node-3/job.log`).
pub(super) fn node_of_path(path: &str) -> Option<Arc<str>> {
    node_and_path(path)
        .map(|(node, _)| node)
        .or_else(|| path.rsplit(['/', '!']).skip(1).find(|part| is_node(part)))
        .map(Arc::from)
}

/// The node on which a log was read, and its path there: a letter alone is a drive, and what two slashes follow an address.
fn node_and_path(path: &str) -> Option<(&str, &str)> {
    let (node, rest) = path.split_once(':')?;
    let is_name = node.len() > 1 && !node.contains(['/', '\\', '!']) && !rest.starts_with("//");
    is_name.then_some((node, rest))
}

fn is_node(part: &str) -> bool {
    let words = ["node", "host", "machine"];
    let number = words.iter().find_map(|word| part.strip_prefix(word));
    let number = number.map(|rest| rest.trim_start_matches(['_', '-']));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_ranks_and_nodes() {
        for (path, rank) in [
            ("run/rank_17.log", Some(17)),
            ("node-03:/logs/rank17.out", Some(17)),
            ("logs/train-rank3.log", Some(3)),
            ("logs/global_rank_5/stdout.log", Some(5)),
            ("run/attempt_0/rank=9/stderr.log", Some(9)),
            ("logs/local_rank_1.log", None),
            ("logs/ranking_3.log", None),
            ("frank_3.log", None),
            ("rank_3b.log", None),
            ("job.log", None),
        ] {
            assert_eq!(rank_of_path(path), rank, "{path}");
        }
        for (path, node) in [
            ("gpu-17:/var/log/job.log", Some("gpu-17")),
            ("run/node-3/rank_1.log", Some("node-3")),
            ("node7.log", None),
            ("s3://bucket/rank_1.log", None),
            (r"C:\logs\rank_1.log", None),
        ] {
            assert_eq!(node_of_path(path).as_deref(), node, "{path}");
        }
    }
}
