//! `NVRM: Xid (PCI:0000:5e:00): 79, GPU has fallen off the bus.`: NVIDIA's kernel driver reports a failing device.
//!
//! The numbers are those of NVIDIA's "Xid Errors" (r570).

use nom::Parser;
use nom::bytes::complete::{tag, take_until};
use nom::sequence::{delimited, preceded, terminated};

use super::PRODUCER;
use crate::model::{Event, OtherFailureName};
use crate::parse::{Record, statement, text};

/// Errors that the process itself causes: a bad address, an exception in a kernel, an assertion, the clean-up after one.
const OF_THE_APPLICATION: [u32; 4] = [13, 31, 43, 45];

/// The event of a line of the driver.
pub(super) fn event(record: &Record) -> Option<Event> {
    let text = record.text();
    let Some(words) = text::spoken(text, "NVRM: Xid ").next().map(text::line) else {
        let words = text::line(text::each(text, "NVRM: ").next()?);
        let lost = words.contains("fallen off the bus") || words.contains("GPU is lost");
        return lost.then(|| statement::failure(record, PRODUCER, words, OtherFailureName::GpuHardware));
    };
    let place = delimited(tag("("), take_until(")"), tag("): "));
    let (rest, (device, digits)) =
        preceded(tag("NVRM: Xid "), (place, terminated(text::digits, tag(",")))).parse(words).ok()?;
    let number: u32 = digits.parse().ok()?;
    let name = match OF_THE_APPLICATION.contains(&number) {
        true => OtherFailureName::IllegalMemoryAccess,
        false => OtherFailureName::GpuHardware,
    };
    let mut event = statement::failure(record, PRODUCER, words, name);
    event.facts.push(record.number_fact("cuda.xid", digits, f64::from(number)));
    event.facts.push(record.fact("cuda.bus", device));
    for (key, label) in [("cuda.pid", "pid="), ("cuda.process", "name=")] {
        let value = text::after(rest, label).map(|rest| text::token(rest, ",").trim_matches('\''));
        let known = value.filter(|value| !value.is_empty() && *value != "<unknown>");
        event.facts.extend(known.map(|value| record.fact(key, value)));
    }
    Some(event)
}
