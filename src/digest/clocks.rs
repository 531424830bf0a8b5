//! Estimates the skew between the clocks of nodes: ranks that wait for the same collective operation give it up after
//! the same time.

use std::collections::BTreeMap;

use crate::incident::{InputFindings, node_and_path};
use crate::model::{Clock, ClockSkew, Event, FactValue};

/// The fewest nodes that can show whose clock is wrong.
const FEWEST: usize = 3;
/// The least skew: ranks begin to wait some seconds apart.
const LEAST_SECONDS: f64 = 10.0;

/// Identifies a collective operation: its name, sequence number and timeout in milliseconds.
type Operation = (String, u64, u64);

/// The nodes whose clocks differ from the majority, in order of their names. The node is the prefix of a path.
pub(super) fn skews(reads: &[InputFindings]) -> Vec<ClockSkew> {
    let mut given_up: BTreeMap<Operation, BTreeMap<&str, (Clock, f64)>> = BTreeMap::new();
    for read in reads {
        let Some((node, _)) = node_and_path(&read.path) else { continue };
        for event in &read.findings.events {
            let (Some(operation), Some(time)) = (operation(event), event.time) else { continue };
            let first = given_up.entry(operation).or_default().entry(node).or_insert((time.clock, time.seconds));
            if first.0 == time.clock {
                first.1 = first.1.min(time.seconds);
            }
        }
    }
    let mut ahead: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for nodes in given_up.into_values().filter(|nodes| nodes.len() >= FEWEST) {
        let mut times: Vec<f64> = nodes.values().map(|(_, seconds)| *seconds).collect();
        let usual = median(&mut times);
        let is_one_clock = nodes.values().all(|(clock, _)| nodes.values().all(|(other, _)| other == clock));
        for (node, (_, seconds)) in nodes.into_iter().filter(|_| is_one_clock) {
            ahead.entry(node).or_default().push(seconds - usual);
        }
    }
    let skew =
        |(node, mut seconds): (&str, Vec<f64>)| ClockSkew { node: node.to_owned(), seconds: median(&mut seconds) };
    ahead.into_iter().map(skew).filter(|skew| skew.seconds.abs() >= LEAST_SECONDS).collect()
}

/// The collective operation that timed out according to an event.
fn operation(event: &Event) -> Option<Operation> {
    let number = |key| {
        event.facts.iter().find(|fact| fact.key == key).and_then(|fact| match fact.value {
            FactValue::Number(number) if number >= 0.0 => Some(number as u64),
            _ => None,
        })
    };
    let name = event.facts.iter().find(|fact| fact.key == "nccl.operation").and_then(|fact| match &fact.value {
        FactValue::Text(name) => Some(name.clone()),
        FactValue::Number(_) => None,
    })?;
    Some((name, number("nccl.sequence")?, number("nccl.timeout_ms")?))
}

/// The median; 0 for no values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
