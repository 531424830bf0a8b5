//! Facts from a memory snapshot of the incident's device.

use super::known::{Facts, Value};
use crate::model::{Bytes, Incident, Kind, Snapshot, SnapshotMoment};

/// Adds the facts of the snapshot of the victim's device, or of the first snapshot if the victim's device is unknown.
pub fn state_snapshot(facts: &mut Facts, incident: &Incident, snapshots: &[Snapshot]) {
    let is_its = |snapshot: &&Snapshot| incident.victim.device.is_none_or(|device| device == snapshot.device);
    let mut its = snapshots.iter().filter(is_its);
    let of_refusal = its.clone().find(|snapshot| snapshot.moment == SnapshotMoment::Refusal);
    let Some(snapshot) = of_refusal.or_else(|| its.next()).filter(|_| incident.kind == Kind::GpuOom) else { return };
    let mut say = |name: &str, amount: Bytes| facts.say(&format!("snapshot.{name}"), Value::Number(amount.0 as f64));
    say("in_use", snapshot.in_use);
    say("reserved", snapshot.reserved);
    say("peak", snapshot.peak);
    // Unused memory explains a refusal only at its moment.
    if let Some(refused) = snapshot.refused.as_ref().filter(|_| snapshot.moment == SnapshotMoment::Refusal) {
        say("requested", refused.requested);
        say("unused", snapshot.unused.bytes);
        say("largest_unused", snapshot.unused.largest);
    }
    let whole = snapshot.in_use.0.max(1) as f64;
    for used in &snapshot.categories {
        let name = format!("snapshot.{}_share", used.name);
        facts.say(&name, Value::Number(used.bytes.0 as f64 / whole));
    }
}
