use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::line::Line;
use crate::model::Origin;

/// The key by which lines belong to one process: host and pid, else host, rank and role.
type OriginKey = (Option<Arc<str>>, Option<u32>, Option<u32>, Option<Arc<str>>);

/// The processes that write into an input. One that changes its title stays the same process.
#[derive(Default)]
pub(super) struct Origins {
    list: Vec<Origin>,
    by_key: HashMap<OriginKey, usize>,
    /// The process that wrote the previous line.
    last: usize,
}

/// Beyond this many processes, all further ones share the last index.
const MOST_ORIGINS: usize = 1 << 16;

impl Origins {
    /// Index of the process that wrote `line`.
    pub fn of(&mut self, line: &Line<'_>) -> usize {
        if !self.list.get(self.last).is_some_and(|last| is_origin_of(last, line)) {
            self.last = self.find(line);
        }
        self.last
    }

    fn find(&mut self, line: &Line<'_>) -> usize {
        let envelope = line.envelope();
        let words =
            |span: &Option<std::ops::Range<usize>>| span.as_ref().map(|span| Arc::<str>::from(line.words(span)));
        let (host, role) = (words(&envelope.host), words(&envelope.role));
        let rank = envelope.rank.or(envelope.local_rank);
        let key = match envelope.pid {
            Some(pid) => (host.clone(), Some(pid), None, None),
            None => (host.clone(), None, rank, role.clone()),
        };
        let origin = Origin { host, rank: envelope.rank, local_rank: envelope.local_rank, pid: envelope.pid, role };
        let index = match self.by_key.get(&key) {
            Some(index) => *index,
            None if self.list.len() >= MOST_ORIGINS => MOST_ORIGINS - 1,
            None => {
                self.list.push(origin);
                self.by_key.insert(key, self.list.len() - 1);
                return self.list.len() - 1;
            }
        };
        let known = &mut self.list[index];
        known.rank = known.rank.or(origin.rank);
        known.local_rank = known.local_rank.or(origin.local_rank);
        known.role = origin.role.or(known.role.take());
        index
    }

    /// What is known so far of the process with this index.
    pub fn origin(&self, index: usize) -> &Origin {
        &self.list[index]
    }

    /// The role that each process gives itself, by pid.
    pub fn named(&self) -> BTreeMap<u32, Arc<str>> {
        self.list.iter().filter_map(|origin| Some((origin.pid?, origin.role.clone()?))).collect()
    }

    /// Whether the lines of this process name no writer.
    pub fn is_anonymous(&self, origin: usize) -> bool {
        self.list[origin].is_anonymous()
    }
}

/// Whether the prefixes of `line` name exactly `origin`.
fn is_origin_of(origin: &Origin, line: &Line<'_>) -> bool {
    let envelope = line.envelope();
    let words = |span: &Option<std::ops::Range<usize>>| span.as_ref().map(|span| line.words(span));
    origin.pid == envelope.pid
        && origin.rank == envelope.rank
        && origin.local_rank == envelope.local_rank
        && origin.host.as_deref() == words(&envelope.host)
        && origin.role.as_deref() == words(&envelope.role)
}
