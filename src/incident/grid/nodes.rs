//! The node on which each rank ran.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::KnownRank;

/// The nodes, in the order of their first ranks.
pub(super) struct Nodes {
    /// Their names.
    pub names: Vec<Arc<str>>,
    places: HashMap<Arc<str>, usize>,
    /// For each node in a path the host that its ranks name; `None` if they name different ones, because they share the folder.
    hosts: HashMap<Arc<str>, Option<Arc<str>>>,
}

impl Nodes {
    /// The nodes of these ranks.
    pub fn of(known: &BTreeMap<u32, KnownRank>) -> Nodes {
        let mut said: HashMap<&Arc<str>, HashSet<&Arc<str>>> = HashMap::new();
        for one in known.values() {
            if let Some(node) = &one.node {
                said.entry(node).or_default().extend(&one.host);
            }
        }
        let only = |node: &Arc<str>, hosts: &HashSet<&Arc<str>>| match hosts.len() {
            0 => Some(Arc::clone(node)),
            1 => hosts.iter().next().map(|host| Arc::clone(host)),
            _ => None,
        };
        let hosts = said.iter().map(|(node, hosts)| (Arc::clone(node), only(node, hosts))).collect();
        let mut nodes = Nodes { names: Vec::new(), places: HashMap::new(), hosts };
        for one in known.values() {
            if let Some(name) = nodes.name(one)
                && !nodes.places.contains_key(&name)
            {
                nodes.places.insert(Arc::clone(&name), nodes.names.len());
                nodes.names.push(name);
            }
        }
        nodes
    }

    /// The host that a rank names, else that of the other ranks with logs in the same place.
    fn name(&self, one: &KnownRank) -> Option<Arc<str>> {
        let of_path = || self.hosts.get(one.node.as_ref()?).cloned().flatten();
        one.host.clone().or_else(of_path)
    }

    /// The index of its node in `names`.
    pub fn place(&self, one: &KnownRank) -> Option<usize> {
        self.places.get(&self.name(one)?).copied()
    }
}
