//! Builds events that a few words state, for the grammars of launchers, shells and drivers.
//!
//! The input is the record, the producer, the words (a slice of the record's text) and what they state; the output is the event, which
//! cites those words.

use super::Record;
use super::text;
use crate::model::{Death, Event, Exit, Failure, Kind, OtherFailureName, Severity, Shortage, Victim, What};

/// With more than this many bytes before the words on their line, they are glued to other output, and only the words are cited.
const LONGEST_LABEL: usize = 256;

/// `victim`, if known, was refused memory or killed by a shortage of `kind`.
pub(in crate::parse) fn shortage(
    record: &Record,
    producer: &'static str,
    words: &str,
    kind: Kind,
    victim: Victim,
) -> Event {
    let victims = Some(victim).filter(|victim| !victim.is_unknown()).into_iter().collect();
    let shortage = Shortage { kind, severity: Severity::Fatal, victims, consumers: Vec::new() };
    event(record, producer, words, What::Shortage(shortage))
}

/// `victim` ended.
pub(in crate::parse) fn death(
    record: &Record,
    producer: &'static str,
    words: &str,
    exit: Exit,
    victim: Victim,
) -> Event {
    event(record, producer, words, What::Death(Death { exit, victim, first: false }))
}

/// A failure other than memory.
pub(in crate::parse) fn failure(record: &Record, producer: &'static str, words: &str, name: OtherFailureName) -> Event {
    event(record, producer, words, What::Failure(Failure { name, follows: false }))
}

/// A failure that tends to follow the death of another process.
pub(in crate::parse) fn consequence(
    record: &Record,
    producer: &'static str,
    words: &str,
    name: OtherFailureName,
) -> Event {
    event(record, producer, words, What::Failure(Failure { name, follows: true }))
}

/// Something worth knowing.
pub(in crate::parse) fn notice(record: &Record, producer: &'static str, words: &str) -> Event {
    event(record, producer, words, What::Notice)
}

/// A launcher's statement which process has which local rank.
pub(in crate::parse) fn launched(
    record: &Record,
    producer: &'static str,
    pid: &str,
    local_rank: &str,
) -> Option<Event> {
    let mut event = notice(record, producer, pid);
    event.facts.push(record.number_fact("launcher.pid", pid, pid.parse().ok()?));
    event.facts.push(record.number_fact("launcher.local_rank", local_rank, local_rank.parse().ok()?));
    Some(event)
}

/// `'--local_rank=7'` in the command of a launcher's child.
pub(in crate::parse) fn local_rank(command: &str) -> Option<&str> {
    let rest = text::after(command, "--local_rank=").or_else(|| text::after(command, "--local-rank="))?;
    text::digits(rest).ok().map(|(_, rank)| rank)
}

/// The rank of the child that failed, if its launcher had no other: the command that launchers print is that of the last child that they
/// started, so with local rank 0 it is the only one.
pub(in crate::parse) fn only_rank(command: &str) -> Option<u32> {
    local_rank(command).filter(|rank| *rank == "0").map(|_| 0)
}

/// `victim` ended, with status 0 as it should.
pub(in crate::parse) fn ended(
    record: &Record,
    producer: &'static str,
    words: &str,
    exit: Exit,
    victim: Victim,
) -> Event {
    match exit {
        Exit::Code(0) => event(record, producer, words, What::Finished),
        _ => death(record, producer, words, exit, victim),
    }
}

/// An event that `words` state; further lines of the words become evidence.
pub(in crate::parse) fn event(record: &Record, producer: &'static str, words: &str, what: What) -> Event {
    let mut event = record.event(producer, words, what);
    let mut cites = record.cites(words);
    event.evidence = cites.split_off(cites.len().min(1));
    if text::before(record.text(), words).len() > LONGEST_LABEL {
        event.at = cites.pop().unwrap_or(event.at);
    }
    event
}

/// The process that wrote an NCCL message, whose prefix names the GPU's index in brackets.
pub(in crate::parse) fn speaker_through_nccl(record: &Record) -> Victim {
    Victim { device: record.origin().local_rank, ..record.origin().process() }
}

/// Another process on the machine of the record's writer.
pub(in crate::parse) fn neighbour(record: &Record, pid: Option<u32>) -> Victim {
    Victim { host: record.origin().host.clone(), pid, ..Victim::default() }
}

/// A data loader's worker, started by the record's writer.
pub(in crate::parse) fn worker(record: &Record, pid: Option<u32>) -> Victim {
    Victim { rank: record.origin().rank, ..neighbour(record, pid) }
}
