//! Converts a refused allocation to the events that a log would state.

use super::SnapshotFindings;
use super::categories::frames_of;
use super::structure::{Action, Device, Recording};
use crate::incident::InputFindings;
use crate::model::{
    Basis, Bytes, Citation, Derivation, Event, Figure, FigureName, Kind, LineContext, Location, Origin, Role, Severity,
    Shortage, Snapshot, SnapshotMoment, Traceback, Victim, What,
};
use crate::parse::Findings;

/// The producer of the events.
const PRODUCER: &str = "torch";

/// The refused allocations that `shown` proves, as readings of logs. None if `reads`, the job's logs, already state a
/// shortage on a device.
pub fn refusals(shown: &[SnapshotFindings], reads: &[InputFindings]) -> Vec<InputFindings> {
    let of_device = |event: &Event| matches!(&event.what, What::Shortage(shortage) if shortage.kind == Kind::GpuOom);
    if reads.iter().any(|read| read.findings.events.iter().any(of_device)) {
        return Vec::new();
    }
    let refusal = |shown: &SnapshotFindings| {
        let events = shown.refused.clone();
        let findings = Findings { events, producers: [PRODUCER].into(), ..Findings::default() };
        (!findings.events.is_empty()).then(|| InputFindings {
            path: shown.path.clone(),
            role: Role::Snapshot,
            findings,
        })
    };
    shown.iter().filter_map(refusal).collect()
}

/// The events for devices whose trace ends with a refusal; `shown` has the findings of each device.
pub(super) fn events(recording: &Recording, shown: &[Snapshot]) -> Vec<Event> {
    let is_refused = |(_, shown): &(&Device, &Snapshot)| shown.moment == SnapshotMoment::Refusal;
    let of_devices = recording.devices.iter().zip(shown).filter(is_refused);
    of_devices.filter_map(|(device, shown)| of_device(recording, device, shown)).flatten().collect()
}

/// The traceback and the shortage of the last refusal on `device`; `shown` is its state at that moment.
fn of_device(recording: &Recording, device: &Device, shown: &Snapshot) -> Option<[Event; 2]> {
    let place = device.trace.iter().rposition(|entry| entry.action == Action::Oom)?;
    let entry = device.trace.get(place)?;
    let location = Location::of_whole(&recording.path);
    let cite = |text: String| Citation::new(location.clone(), text);
    let (requested, free) = (entry.size, entry.address);
    let place = format!("device_traces[{}][{place}]", device.number);
    let at = cite(format!("{place}: {{'action': 'oom', 'size': {requested}, 'device_free': {free}}}"));
    let figure = |name, amount: u64, text: String| Figure {
        name,
        bytes: Some(Bytes(amount.into())),
        value: None,
        text,
        source: location.clone(),
        derived: None,
    };
    let sum = |name, amount: Bytes, formula: &str| Figure {
        name,
        bytes: Some(amount),
        value: None,
        text: amount.to_string(),
        source: location.clone(),
        derived: Some(Derivation { formula: formula.to_owned(), from: vec![at.clone()] }),
    };
    let figures = vec![
        figure(FigureName::Requested, requested, format!("{place}['size'] = {requested}")),
        figure(FigureName::GpuFree, free, format!("{place}['device_free'] = {free}")),
        sum(FigureName::TorchAllocated, shown.in_use, "allocations in use at this entry of the trace"),
        sum(FigureName::TorchReserved, shown.reserved, "segments at this entry of the trace"),
    ];
    let victim = Victim { device: Some(device.number), ..Victim::default() };
    let shortage =
        Shortage { kind: Kind::GpuOom, severity: Severity::Fatal, victims: vec![victim], consumers: Vec::new() };
    let event = |what, figures| Event {
        what,
        producer: PRODUCER,
        basis: Basis::Grammar,
        at: at.clone(),
        evidence: Vec::new(),
        figures,
        facts: Vec::new(),
        origin: Origin::default(),
        time: None,
        repeated: 0,
        unbroken: None,
        others: Vec::new(),
        context: LineContext::default(),
    };
    let frames = frames_of(recording, entry.stack);
    let stack = Traceback { frames, exception: Some(at.clone()), is_native: false };
    Some([event(What::Traceback(stack), Vec::new()), event(What::Shortage(shortage), figures)])
}
