//! The event of a row that proves something.

use super::super::record::value::SlotValue;
use super::super::record::{self, Record};
use super::pattern::{self, Found};
use super::spoken;
use crate::knowledge::{Message, MessageFile, SlotName, StatedExit, VictimPart, Who};
use crate::model::{Death, Event, Exit, Failure, FigureName, PhaseMark, Shortage, Victim, What};

/// The confidence of a phase that a message names.
const SURELY: f64 = 0.9;

/// The event that `row` of `file` states in `record`, if that is its message.
pub(super) fn read(row: &Message, file: &MessageFile, record: &Record) -> Option<Event> {
    let line = record.text();
    let words = spoken(row, line)?;
    let readings: Vec<_> = row.templates().iter().filter_map(|template| pattern::read(template, line)).collect();
    if row.exact && !readings.iter().any(|reading| reading.is_whole) {
        return None;
    }
    let begins = readings.iter().map(|reading| nom::Offset::offset(line, reading.words));
    let start = begins.chain([nom::Offset::offset(line, words)]).min().unwrap_or_default();
    let found: Vec<Found<'_>> = readings.into_iter().flat_map(|reading| reading.found).collect();
    let victim = victim(row, record, &found);
    let what = what(row, victim, &found)?;
    let mut event = record::statement::event(record, file.producer.as_str(), &line[start..], what);
    for (name, words, read) in found {
        match name {
            SlotName::Figure(name) if event.figures.iter().all(|known| known.name != name) => match read {
                SlotValue::Bytes(bytes) => {
                    event.figures.extend(record.figure(name, super::text::Size { text: words, bytes: Some(bytes) }))
                }
                SlotValue::Number(value) => event.figures.push(record.number(name, words, value)),
                SlotValue::Text => {}
            },
            // The victim's pid becomes a figure, too.
            SlotName::Victim(VictimPart::Pid)
                if event.figures.iter().all(|known| known.name != FigureName::VictimPid) =>
            {
                event.figures.extend(words.parse().ok().map(|pid| record.number(FigureName::VictimPid, words, pid)))
            }
            SlotName::Fact(key) if event.facts.iter().all(|known| known.key != key) => event.facts.push(match read {
                SlotValue::Bytes(bytes) => record.number_fact(key, words, bytes.0 as f64),
                SlotValue::Number(value) => record.number_fact(key, words, value),
                SlotValue::Text => record.fact(key, words),
            }),
            _ => {}
        }
    }
    if let Some(phase) = row.phase {
        let (site, at) = (file.producer.as_str().into(), event.at.clone());
        event.context.own = Some(PhaseMark { phase, site, ended: false, encloses: false, confidence: SURELY, at });
    }
    Some(event)
}

fn what(row: &Message, victim: Victim, found: &[Found<'_>]) -> Option<What> {
    let number = |wanted: SlotName| {
        found.iter().find_map(|(name, _, read)| match read {
            SlotValue::Number(number) if *name == wanted => Some(*number as i32),
            _ => None,
        })
    };
    if let Some(kind) = row.kind {
        let victims = Some(victim).filter(|victim| !victim.is_unknown()).into_iter().collect();
        return Some(What::Shortage(Shortage { kind, severity: row.severity, victims, consumers: Vec::new() }));
    }
    if let Some(exit) = row.exit {
        let exit = match exit {
            StatedExit::Killed => Exit::KILL,
            StatedExit::Signal => Exit::Signal(number(SlotName::Signal)?),
            StatedExit::Status => Exit::from_status(number(SlotName::Status)?),
            StatedExit::Vanished => Exit::Vanished,
            StatedExit::Stopped => Exit::Stopped,
        };
        return Some(match exit {
            Exit::Code(0) => What::Finished,
            _ => What::Death(Death { exit, victim, first: false }),
        });
    }
    row.failure.map(|name| What::Failure(Failure { name, follows: row.follows }))
}

/// The process that the message names, else the one that printed it.
fn victim(row: &Message, record: &Record, found: &[Found<'_>]) -> Victim {
    let named = |wanted: VictimPart| {
        found.iter().find(|(name, _, _)| *name == SlotName::Victim(wanted)).map(|(_, words, _)| *words)
    };
    let number = |wanted| named(wanted).and_then(|words| words.trim_end_matches('.').parse().ok());
    let names_another =
        [VictimPart::Pid, VictimPart::Role, VictimPart::Rank].into_iter().any(|part| named(part).is_some());
    let mut victim = match row.who == Who::Speaker && !names_another {
        true => record.origin().process(),
        false => record::statement::neighbour(record, None),
    };
    victim.host = named(VictimPart::Host).map(Into::into).or(victim.host);
    victim.rank = number(VictimPart::Rank).or(victim.rank);
    victim.pid = number(VictimPart::Pid).or(victim.pid);
    victim.role = named(VictimPart::Role).map(Into::into).or(victim.role);
    victim.device = number(VictimPart::Device).or_else(|| device(found));
    victim
}

/// The number of the device, if a figure states it.
fn device(found: &[Found<'_>]) -> Option<u32> {
    let of_figure = found.iter().find(|(name, _, _)| *name == SlotName::Figure(FigureName::GpuIndex));
    of_figure.and_then(|(_, words, _)| words.parse().ok())
}
