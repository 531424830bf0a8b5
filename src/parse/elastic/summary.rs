//! The table that torch elastic raises as `ChildFailedError`: one block a failed worker, the first one last.
//!
//! Mirrors `torch/distributed/elastic/multiprocessing/errors/__init__.py:ChildFailedError.format_msg` (1.9–2.15). The workers' own
//! tracebacks may stand within it; they are skipped here and read by the grammar for tracebacks.

use std::sync::Arc;

use nom::bytes::complete::tag;
use nom::sequence::{delimited, terminated};
use nom::{IResult, Parser};

use super::PRODUCER;
use crate::model::{Death, Event, Exit, FigureName, Timestamp, Victim, What};
use crate::parse::{Follow, Joint, Line, Record, clock, signals, statement, text};

/// The beginning of the table.
pub(super) const HEAD: &str = "ChildFailedError:";
/// The heading above the first failure.
pub(super) const ROOT: &str = "Root Cause (first observed failure)";

/// A table was cut off if its next line does not follow within this many lines.
const LONGEST_PAUSE: u64 = 400;

/// Whether a record is a table or the rest of one.
pub(super) fn begins(text: &str) -> bool {
    let first = text::line(text);
    first.contains(HEAD) || sort(first) != SummaryLine::Other
}

pub(super) fn follows(record: &Record, next: &Line<'_>) -> Follow {
    let closed = is_border(record.last_line(), '=') && record.text().contains("exitcode  : ");
    let late = next.number.0 > record.last_number().0 + LONGEST_PAUSE;
    if closed || late || next.body().contains(HEAD) {
        return Follow::End;
    }
    match sort(next.body()) != SummaryLine::Other || is_border(next.body(), '=') {
        true => Follow::Join(Joint::Line),
        false => Follow::Pass,
    }
}

fn is_border(line: &str, of: char) -> bool {
    let line = line.trim();
    line.len() >= 4 && line.chars().all(|c| c == of)
}

/// What a line of the table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummaryLine<'a> {
    /// `Root Cause (first observed failure):`
    Root,
    /// `[3]:`
    Index,
    /// ` host : node3`: a label and its value.
    Label(&'static str, &'a str),
    /// No line of the table, or one without a value of interest.
    Other,
}

fn sort(line: &str) -> SummaryLine<'_> {
    const LABELS: [&str; 5] = ["time      : ", "host      : ", "rank      : ", "exitcode  : ", "traceback : "];
    let line = line.trim();
    if line.starts_with(ROOT) {
        return SummaryLine::Root;
    }
    if index(line).is_ok_and(|(rest, _)| rest.is_empty()) {
        return SummaryLine::Index;
    }
    let labelled = LABELS.iter().find_map(|label| Some(SummaryLine::Label(label, line.strip_prefix(label)?)));
    labelled.unwrap_or(SummaryLine::Other)
}

fn index(line: &str) -> IResult<&str, &str> {
    delimited(tag("["), text::digits, tag("]:")).parse(line)
}

/// One worker.
#[derive(Default)]
struct Block<'a> {
    is_root: bool,
    time: Option<Timestamp>,
    host: Option<&'a str>,
    /// Global, local.
    rank: Option<(u32, &'a str)>,
    /// The words, the status, the pid.
    exit: Option<(&'a str, i32, &'a str)>,
}

/// The workers that the table names.
pub(super) fn deaths(record: &Record) -> Vec<Event> {
    let (mut blocks, mut block, mut is_root) = (Vec::new(), Block::default(), false);
    for line in record.text().lines() {
        let row = sort(line);
        if matches!(row, SummaryLine::Index | SummaryLine::Root | SummaryLine::Label("time      : ", _)) {
            blocks.push(std::mem::take(&mut block));
        }
        is_root |= row == SummaryLine::Root;
        block.is_root = is_root;
        if let SummaryLine::Label(label, words) = row {
            match label {
                "time      : " => block.time = clock::iso(words).ok().map(|(_, time)| time),
                "host      : " => block.host = Some(words),
                "rank      : " => block.rank = rank(words).ok().map(|(_, rank)| rank),
                "exitcode  : " => block.exit = exit(words).ok().map(|(_, (status, pid))| (words, status, pid)),
                _ => {}
            }
        }
    }
    blocks.push(block);
    blocks.iter().filter_map(|block| death(record, block)).collect()
}

/// `5 (local_rank: 1)`
fn rank(words: &str) -> IResult<&str, (u32, &str)> {
    (nom::character::complete::u32, delimited(tag(" (local_rank: "), text::digits, tag(")"))).parse(words)
}

/// `-9 (pid: 23456)`, from 2.10 on with `  (SIGKILL)` after it.
fn exit(words: &str) -> IResult<&str, (i32, &str)> {
    let status = terminated(signals::status, tag(" (pid: ")).map(|(_, status)| status);
    (status, terminated(text::digits, tag(")"))).parse(words)
}

fn death(record: &Record, block: &Block<'_>) -> Option<Event> {
    let (words, status, pid) = block.exit?;
    let number: u32 = pid.parse().ok()?;
    let victim = Victim {
        host: block.host.map(Arc::from).or_else(|| record.origin().host.clone()),
        rank: block.rank.map(|(rank, _)| rank),
        pid: Some(number),
        ..Victim::default()
    };
    // The launcher stops the other workers with SIGTERM; if the first one died of it, the signal came from elsewhere.
    let exit = match Exit::from_status(status) {
        Exit::Signal(15) if !block.is_root => Exit::Stopped,
        exit => exit,
    };
    let what = What::Death(Death { exit, victim, first: block.is_root });
    let mut event = statement::event(record, PRODUCER, words, what);
    event.time = block.time.or(event.time);
    if block.is_root {
        event.figures.push(record.number(FigureName::VictimPid, pid, f64::from(number)));
    }
    let local = block.rank.and_then(|(_, local)| Some((local, local.parse().ok()?)));
    event.facts.extend(local.map(|(words, number)| record.number_fact("elastic.local_rank", words, number)));
    Some(event)
}
