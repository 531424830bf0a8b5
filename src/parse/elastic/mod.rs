//! torch elastic (torchrun, accelerate launch): which worker failed first, and which ones the launcher stopped because of it.
//!
//! Mirrors `torch/distributed/elastic/multiprocessing/api.py` and `agent/server/api.py` (1.9–2.15), accelerate's `utils/memory.py`; the
//! closing table is read by [`summary`]. If the launcher stopped every worker, only the first failure says anything.

use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::u32 as integer;
use nom::combinator::consumed;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::{Example, Follow, Grammar, Line, Record, signals, statement, text};
use crate::model::{Death, Event, Exit, FigureName, Kind, OtherFailureName, What};

mod examples;
mod summary;

const PRODUCER: &str = "elastic";

/// See the module.
pub struct Elastic;

impl Grammar for Elastic {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["failed (exitcode", "ChildFailedError"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "Sending process ",
            "Unable to shutdown process ",
            "failed (exitcode: ",
            "SignalException: Process ",
            "death signal, shutting down workers",
            "No executable batch size found",
            "Decreasing batch size to: ",
            summary::HEAD,
            summary::ROOT,
            "host      : ",
            "rank      : ",
            "exitcode  : ",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        match summary::begins(record.text()) {
            true => summary::follows(record, next),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        if summary::begins(record.text()) {
            return summary::deaths(record);
        }
        let other = || stopped(record).or_else(|| signalled(record)).or_else(|| batch_size(record));
        failed(record).unwrap_or_else(|| other().into_iter().collect())
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

/// `failed (exitcode: -9) local_rank: 3 (pid: 23456) of binary: /usr/bin/python3`: the first failure that this agent
/// saw.
fn failed(record: &Record) -> Option<Vec<Event>> {
    let words = text::line(text::spoken(record.text(), "failed (exitcode: ").next()?);
    let (_, (status, rank, words_of_pid)) = first_failure(words).ok()?;
    let pid = words_of_pid.strip_prefix("pid: ")?;
    let number: u32 = pid.parse().ok()?;
    let victim = statement::neighbour(record, Some(number));
    let what = What::Death(Death { exit: Exit::from_status(status), victim, first: true });
    let mut death = statement::event(record, PRODUCER, words, what);
    death.figures.push(record.number(FigureName::VictimPid, words_of_pid, f64::from(number)));
    Some(vec![death, statement::launched(record, PRODUCER, pid, rank)?])
}

fn first_failure(words: &str) -> IResult<&str, (i32, &str, &str)> {
    let status = delimited(tag("failed (exitcode: "), signals::status, tag(") "));
    let rank = delimited(tag("local_rank: "), text::digits, tag(" ("));
    let pid = terminated(nom::combinator::recognize((tag("pid: "), text::digits)), tag(")"));
    let (rest, ((_, status), rank, pid)) = (status, rank, pid).parse(words)?;
    Ok((rest, (status, rank, pid)))
}

/// `Sending process 4711 closing signal SIGTERM`: another worker had died, or the agent itself was told to stop. The agent passes on the
/// signal that it got; on its own it sends only SIGTERM.
fn stopped(record: &Record) -> Option<Event> {
    let words = text::spoken(record.text(), "Sending process ").next().map(text::line)?;
    let (_, (pid, signal)) = stop(words).ok()?;
    if signal.is_some_and(is_of_terminal) {
        return Some(statement::failure(record, PRODUCER, words, OtherFailureName::Cancelled));
    }
    Some(statement::death(record, PRODUCER, words, Exit::Stopped, statement::neighbour(record, Some(pid))))
}

fn stop(words: &str) -> IResult<&str, (u32, Option<i32>)> {
    let pid = delimited(tag("Sending process "), integer, tag(" closing signal "));
    (pid, alt((signals::signal.map(Some), tag("SIG").map(|_| None)))).parse(words)
}

/// Whether `signal` comes from somebody's keyboard, or from a terminal that was closed: SIGHUP, SIGINT.
fn is_of_terminal(signal: i32) -> bool {
    [1, 2].contains(&signal)
}

/// The agent itself was told to stop, by a scheduler, a person or a closed terminal.
fn signalled(record: &Record) -> Option<Event> {
    let text = record.text();
    if let Some(words) = text::each(text, "SignalException: Process ").next().map(text::line) {
        let (_, (pid, signal)) = exception(words).ok()?;
        let victim = statement::neighbour(record, Some(pid));
        return Some(match is_of_terminal(signal) {
            true => statement::failure(record, PRODUCER, words, OtherFailureName::Cancelled),
            false => statement::death(record, PRODUCER, words, Exit::Signal(signal), victim),
        });
    }
    let words = text::spoken(text, "Received ").map(text::line).find(|words| words.contains(" death signal, "))?;
    let (_, (said, signal)) = consumed(received).parse(words).ok()?;
    let mut event = match is_of_terminal(signal) {
        true => statement::failure(record, PRODUCER, words, OtherFailureName::Cancelled),
        // This is the agent's end; its workers end because of it.
        false => statement::death(record, PRODUCER, words, Exit::Signal(signal), record.origin().process()),
    };
    event.facts.push(record.fact("elastic.signal", said.trim_start_matches("Received ")));
    Some(event)
}

/// `SignalException: Process 4711 got signal: 15`
fn exception(words: &str) -> IResult<&str, (u32, i32)> {
    let pid = delimited(tag("SignalException: Process "), integer, tag(" got signal: "));
    (pid, signals::signal).parse(words)
}

/// `Received Signals.SIGTERM death signal`, `Received 15 death signal`
fn received(words: &str) -> IResult<&str, i32> {
    preceded(tag("Received "), signals::signal).parse(words)
}

/// accelerate's `find_executable_batch_size`, which tries a smaller batch each time the device runs out of memory.
fn batch_size(record: &Record) -> Option<Event> {
    let text = record.text();
    if let Some(words) = text::spoken(text, "No executable batch size found, reached zero").next().map(text::line) {
        let victim = record.origin().process();
        let mut event = statement::shortage(record, PRODUCER, words, Kind::GpuOom, victim);
        event.facts.push(record.fact("elastic.retry", words));
        return Some(event);
    }
    let words = text::spoken(text, "Decreasing batch size to: ").next().map(text::line)?;
    let size = text::after(words, "to: ").and_then(|rest| text::digits(rest).ok()).map(|(_, size)| size)?;
    let mut event = statement::notice(record, PRODUCER, words);
    event.facts.push(record.number_fact("elastic.retry", size, size.parse().ok()?));
    event.facts.push(record.number_fact("elastic.smaller_batch", size, size.parse().ok()?));
    Some(event)
}
