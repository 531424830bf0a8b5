//! What the ranks of a node hold together while each of them loads a model.

use crate::facts::{Facts, Value};

/// More ranks than one node has, where only their number in all is known.
const MOST: f64 = 16.0;
/// A rank that holds more than this share of the memory loads alone, or its copy is what does not fit.
const ALONE: f64 = 0.7;
/// Ranks that load side by side are about as far, and the largest of them is killed: all like that one, they would hold no more than this many
/// times the memory that ran out.
const ALIKE: f64 = 1.5;
/// In 32 bit a copy takes twice what it takes in 16, and the process something besides.
const COPY: f64 = 2.4;

/// Adds `host.copies`, a copy of the model in 16 bit for each rank of the node, and `host.ranks_sum`, what its ranks hold if each holds what the
/// one that was killed did.
pub(crate) fn state_ranks(facts: &mut Facts) {
    let Some((name, ranks)) = ranks_of_node(facts) else { return };
    let known = facts.cites(name);
    facts.cite("host.ranks", Value::Number(ranks), known.clone());
    if let Some(copy) = facts.number("model.in_16_bit") {
        facts.cite("host.copies", Value::Number(copy * ranks), known.clone());
    }
    let (held, room) = (facts.number("figures.anon_rss"), room(facts));
    // Others wait for the one that reads.
    let waits = facts.says_yes("config.efficient_loading");
    // What helps a rank, such as a worker that loads data, is not as many times there as ranks are.
    let helps = facts.text("victims.role").is_some_and(|role| role.contains("worker") && !role.contains("::"));
    let is_copy = facts.number("model.in_16_bit").is_none_or(|copy| held.is_none_or(|held| held < COPY * copy));
    if let Some((held, _)) = held.zip(room).filter(|(held, room)| *held < ALONE * room && held * ranks < ALIKE * room)
        && !waits
        && !helps
        && is_copy
    {
        let cites = facts.cites("figures.anon_rss").into_iter().chain(known).collect();
        facts.cite("host.ranks_sum", Value::Number(held * ranks), cites);
    }
}

/// How many ranks a node has, if it has several, and the fact that says so.
fn ranks_of_node(facts: &Facts) -> Option<(&'static str, f64)> {
    let per_node = facts.number("config.processes_per_node").map(|ranks| ("config.processes_per_node", ranks));
    let is_one_node = facts.number("config.nodes").or(facts.number("trainer.nodes")).is_none_or(|nodes| nodes < 2.0);
    let in_all = facts.number("job.world_size").filter(|ranks| is_one_node && *ranks <= MOST);
    per_node.or(in_all.map(|ranks| ("job.world_size", ranks))).filter(|(_, ranks)| *ranks > 1.0)
}

/// The memory that ran out.
fn room(facts: &Facts) -> Option<f64> {
    let is_machine = facts.text("kind") == Some("host_oom_kernel");
    let node = || facts.number("figures.node_total").filter(|_| is_machine);
    facts.number("figures.memcg_limit").or_else(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(ranks: f64, held: f64, limit: f64) -> Option<f64> {
        let mut facts = Facts::default();
        for (name, number) in
            [("config.processes_per_node", ranks), ("figures.anon_rss", held), ("figures.memcg_limit", limit)]
        {
            facts.say(name, Value::Number(number));
        }
        state_ranks(&mut facts);
        facts.number("host.ranks_sum")
    }

    #[test]
    fn ranks_that_hold_alike_are_summed_and_one_that_loads_alone_is_not() {
        assert_eq!(sum(8.0, 29.0, 240.0), Some(232.0));
        // Rank 0 holds nearly all of it: the others wait.
        assert_eq!(sum(8.0, 210.0, 240.0), None);
        assert_eq!(sum(8.0, 100.0, 240.0), None);
        assert_eq!(sum(1.0, 29.0, 240.0), None);
    }
}
