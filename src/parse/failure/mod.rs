//! Failures other than memory, in the words of the C library, Python and `df`.
//!
//! It reads the exception at the end of a Python traceback ([`exceptions`]), libstdc++'s message when it terminates, and a full disk in the
//! table of `df`. Messages that name a failure by fixed words are data: `rules/messages/failures.toml`. What another grammar or message
//! reads in more depth is left to it.

use super::{Example, Follow, Grammar, Joint, Line, Record, statement, text};
use crate::model::{Event, OtherFailureName};

mod examples;
mod exceptions;

pub(crate) use exceptions::is_own as is_own_exception;

const PRODUCER: &str = "failure";

/// See the module.
pub struct Failures;

impl Grammar for Failures {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn triggers(&self) -> &'static [&'static str] {
        TRIGGERS
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn yields(&self) -> bool {
        true
    }

    /// libstdc++ gives the reason in a second line.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let terminates = record.len() == 1 && record.text().contains(TERMINATE);
        match terminates && next.body().trim_start().starts_with("what():") {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let event = terminated(record).or_else(|| full_disk(record)).or_else(|| exception(record));
        event.into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

/// The failure `name`; `follows` says that it tends to follow the end of another process.
fn failure(record: &Record, words: &str, name: OtherFailureName, follows: bool) -> Event {
    match follows {
        true => statement::consequence(record, PRODUCER, words, name),
        false => statement::failure(record, PRODUCER, words, name),
    }
}

/// The literals of this file, and the endings of Python's exception classes.
const TRIGGERS: &[&str] = &[TERMINATE, FULL, "Error", "Exception", "KeyboardInterrupt", "Timeout", "Expired"];

/// Part of a row of `df`.
const FULL: &str = " 100% /";

const TERMINATE: &str = "terminate called ";

/// `terminate called after throwing an instance of 'std::runtime_error'`, `terminate called without an active exception`: the latter is
/// printed if a thread outlives its process.
fn terminated(record: &Record) -> Option<Event> {
    let text = record.text();
    let words = text::each(text, TERMINATE).next()?;
    let known = ["bad_alloc", "CUDA", "NCCL", "nccl", "c10::", "out of memory"].iter().any(|of| words.contains(of));
    let follows = words.contains("without an active exception") || words.contains("recursively");
    (!known).then(|| failure(record, words, OtherFailureName::Abort, follows))
}

/// A row of `df` that shows a full disk: worth knowing, but not a failure by itself.
fn full_disk(record: &Record) -> Option<Event> {
    let line = text::line(record.text());
    if !line.contains(FULL) {
        return None;
    }
    let cells: Vec<&str> = line.split_whitespace().collect();
    let [device, .., share, mount] = cells.as_slice() else { return None };
    // Images that are mounted read-only are always full.
    let is_image = device.starts_with("/dev/loop") || mount.starts_with("/snap") || *device == "squashfs";
    let is_disk = *share == "100%" && mount.starts_with('/') && *mount != "/dev/shm" && cells.len() >= 6;
    let mut event = (is_disk && !is_image).then(|| statement::notice(record, PRODUCER, line))?;
    event.facts.push(record.fact("disk.full", mount));
    Some(event)
}

fn exception(record: &Record) -> Option<Event> {
    let line = text::line(record.text());
    let (words, name, follows) = exceptions::find(line)?;
    Some(failure(record, words, name, follows))
}
