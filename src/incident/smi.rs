//! What `nvidia-smi`'s table of processes shows of the device that ran out.

use std::collections::{HashMap, HashSet};

use super::Case;
use crate::model::{Bytes, Consumer, Event, Fact, FactValue, Kind, SMI_COMMAND, SMI_DEVICE, SMI_HELD, SMI_PID, What};

/// A row of the table.
struct Row<'e> {
    device: u32,
    pid: Option<u32>,
    held: Bytes,
    /// The fact that holds the amount.
    amount: &'e Fact,
    event: &'e Event,
}

impl Row<'_> {
    fn command(&self) -> Option<&str> {
        self.event.text(SMI_COMMAND)
    }
}

/// The rows of all tables, each process of each device once: of a table that was printed more than once the last row counts.
fn rows(case: &Case) -> Vec<Row<'_>> {
    fn row(event: &Event) -> Option<Row<'_>> {
        let amount = event.facts.iter().find(|fact| fact.key == SMI_HELD)?;
        let FactValue::Number(held) = amount.value else { return None };
        let (device, pid) = (event.number(SMI_DEVICE)?, event.number(SMI_PID));
        Some(Row { device, pid, held: Bytes(held as i128), amount, event })
    }
    let mut seen = HashSet::new();
    let last = case.events.iter().rev().filter_map(row).filter(|row| seen.insert((row.device, row.pid)));
    last.collect()
}

/// The device on which `events` say that memory ran out.
fn said(events: &[&Event]) -> Option<u32> {
    events.iter().flat_map(|event| event.processes()).find_map(|victim| victim.device)
}

/// The processes that nvidia-smi shows on the device that ran out; on an unknown one, if it shows processes of one device only.
pub(super) fn consumers(case: &Case, events: &[&Event]) -> Vec<Consumer> {
    let rows = rows(case);
    let device = said(events).or_else(|| {
        let first = rows.first()?.device;
        rows.iter().all(|row| row.device == first).then_some(first)
    });
    let of_device = rows.iter().filter(|row| Some(row.device) == device);
    let consumers = of_device.map(|row| {
        let role = row.command().map(str::to_owned);
        let (source, text) = (row.amount.at.location.clone(), row.amount.at.text.clone());
        Consumer { pid: row.pid, role, bytes: row.held, source, text }
    });
    consumers.collect()
}

/// How many processes hold memory of the device that ran out and compute on another one, and how much they hold there: ranks that opened a
/// context on the first device before they chose their own. A process of the same command computes on that device itself; one process alone
/// has spread its model over several.
pub(super) fn strays(case: &Case, events: &[&Event]) -> Vec<Fact> {
    /// A part of a model that is spread over devices is as large as the others.
    const LEAST_ELSEWHERE: i128 = 3;
    if !events.iter().any(|event| matches!(&event.what, What::Shortage(shortage) if shortage.kind == Kind::GpuOom)) {
        return Vec::new();
    }
    let rows = rows(case);
    let mut of_pid: HashMap<u32, Vec<&Row>> = HashMap::new();
    for (pid, row) in rows.iter().filter_map(|row| row.pid.zip(Some(row))) {
        of_pid.entry(pid).or_default().push(row);
    }
    let computes_elsewhere = |row: &&Row| {
        let is_elsewhere = |other: &&Row| other.device != row.device && other.held.0 > LEAST_ELSEWHERE * row.held.0;
        row.pid.and_then(|pid| of_pid.get(&pid)).is_some_and(|same| same.iter().any(is_elsewhere))
    };
    let device = said(events).or_else(|| rows.iter().find(computes_elsewhere).map(|row| row.device));
    let of_device = || rows.iter().filter(|row| Some(row.device) == device);
    let own: HashSet<_> = of_device().filter(|row| !computes_elsewhere(row)).map(Row::command).collect();
    let strays = of_device().filter(computes_elsewhere).filter(|row| own.contains(&row.command()));
    let strays: Vec<&Row> = strays.collect();
    let Some(first) = strays.first() else { return Vec::new() };
    let held: i128 = strays.iter().map(|row| row.held.0).sum();
    let fact = |key, number| Fact { key, value: FactValue::Number(number), at: first.amount.at.clone() };
    vec![fact("smi.strays_count", strays.len() as f64), fact("smi.strays_held", held as f64)]
}
