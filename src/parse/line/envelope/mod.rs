//! The prefixes and suffixes around a line: time stamps of log shippers and kernels, ranks, Ray actors, loggers.
//!
//! Each prefix is a small grammar; they are peeled one after the other, in any order, until none matches. Their contents become the line's
//! [`Envelope`]. Sources: ray `_private/worker.py:print_worker_logs` (2.60), torch `distributed/elastic/multiprocessing/tail_log.py`, vllm
//! `v1/utils.py` and `logger.py` (0.8–0.33), deepspeed `utils/logging.py`, util-linux `dmesg.c`, systemd `logs-show.c`, the CRI and docker
//! json-file log formats.

mod logger;
mod process;
mod system;
#[cfg(test)]
mod tests;
mod wrapped;

use std::ops::Range;

use logger::{
    ascend_module, bracketed_time, cri, dated_level, explorer, glog, klog, labelled_level, level, logger_name,
    logger_place, plain_time, rocclr,
};
use memchr::memchr2;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{char, one_of, satisfy, u32 as integer};
use nom::combinator::{opt, peek, recognize, rest, verify};
use nom::sequence::preceded;
use nom::{IResult, Offset, Parser};
use process::{
    bare_rank, host_and_rank, in_parentheses, launcher_rank, mpi_task, nccl, nccl_device, petsc, pid_before_level,
    rank, redis, slurm_task, torchrun_label, ucx, watched,
};
use system::{
    address, compose, daemon, dmesg_level, host_label, human_stamp, kernel_level, kernel_program, kernel_stamp, logcat,
    numbered, slurm_daemon, syslog_5424, syslog_time,
};
pub(super) use wrapped::{Writer, has_escaped_traceback, wrapped_texts};

use crate::model::Timestamp;

/// The contents of a line's prefixes and suffixes. Spans are offsets into the line's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Envelope {
    /// Node name or address.
    pub host: Option<Range<usize>>,
    /// Actor class, engine process, daemon.
    pub role: Option<Range<usize>>,
    /// Global rank.
    pub rank: Option<u32>,
    /// Rank within the node.
    pub local_rank: Option<u32>,
    /// Process id.
    pub pid: Option<u32>,
    /// The source file and line that its logger names: `core.py:330`.
    pub place: Option<Range<usize>>,
    /// When the line was written, by the innermost of several stamps, which is the writer's own.
    pub time: Option<Timestamp>,
    /// How many more times Ray saw the line (`[repeated 6x across cluster]`).
    pub repeated: u64,
    /// The rest of the line.
    pub body: Range<usize>,
}

impl Envelope {
    /// Takes from the JSON around a line what the line itself does not say.
    pub(super) fn complete(&mut self, writer: &Writer) {
        self.rank = self.rank.or(writer.rank);
        self.local_rank = self.local_rank.or(writer.local_rank);
        self.pid = self.pid.or(writer.pid);
        self.time = self.time.or(writer.time);
    }
}

/// The contents of one prefix.
#[derive(Debug, Clone, Copy, Default)]
struct Facts<'a> {
    host: Option<&'a str>,
    role: Option<&'a str>,
    rank: Option<u32>,
    local_rank: Option<u32>,
    pid: Option<u32>,
    place: Option<&'a str>,
    time: Option<Timestamp>,
}

/// Most prefixes on one line.
const DEEPEST: usize = 10;

/// Peels the prefixes and suffixes of a line.
pub(super) fn peel(text: &str) -> Envelope {
    let mut envelope = Envelope::default();
    let (mut body, mut after_prefix) = (text, false);
    for _ in 0..DEEPEST {
        // Blanks between two prefixes mean nothing; before the first one they are the writer's indentation.
        let candidate = if after_prefix { body.trim_start() } else { body };
        let found = prefix(candidate).ok().or_else(|| if after_prefix { None } else { decorated(candidate) });
        let Some((remaining, facts)) = found else { break };
        let span = |word: &str| {
            let start = text.offset(word);
            start..start + word.len()
        };
        envelope.host = facts.host.map(span).or(envelope.host);
        envelope.role = facts.role.map(span).or(envelope.role);
        envelope.place = facts.place.map(span).or(envelope.place);
        envelope.rank = facts.rank.or(envelope.rank);
        envelope.local_rank = facts.local_rank.or(envelope.local_rank);
        envelope.pid = facts.pid.or(envelope.pid);
        envelope.time = facts.time.or(envelope.time);
        body = remaining;
        after_prefix = true;
    }
    let (body, repeated) = without_suffix(body);
    envelope.repeated = repeated;
    let start = text.offset(body);
    envelope.body = start..start + body.len();
    envelope
}

/// Removes Ray's `[repeated 7x across cluster]` with the advice after it, and the right side of a box.
fn without_suffix(body: &str) -> (&str, u64) {
    let mut body = body.trim_end();
    let mut repeated = 0;
    if body.ends_with([')', ']'])
        && let Some((before, behind)) = last_repeated(body)
        && let Some(count) = behind.split_once("x across cluster]").and_then(|(count, _)| count.parse().ok())
    {
        (body, repeated) = (before, count);
    }
    if let Some(boxed) = body.strip_suffix('│') {
        body = boxed.trim_end();
    }
    (body, repeated)
}

/// What stands before and behind the last ` [repeated `; nearly every line that ends so has brackets, and hardly one this word in them.
fn last_repeated(body: &str) -> Option<(&str, &str)> {
    let split = |at: usize| Some((body[..at].strip_suffix(' ')?, body[at..].strip_prefix("[repeated ")?));
    memchr::memrchr_iter(b'[', body.as_bytes()).find_map(split)
}

fn prefix(text: &str) -> IResult<&str, Facts<'_>> {
    match text.as_bytes().first() {
        Some(b'[') => bracketed(text),
        Some(b'(') => in_parentheses(text),
        Some(b'<') => alt((kernel_level, syslog_5424)).parse(text),
        // `10月 19 22:21:15` of a Chinese or Japanese journal.
        Some(b'0'..=b'9') if is_month_number(text.as_bytes()) => syslog_time(text),
        Some(b'0'..=b'9') => {
            alt((cri, klog, logcat, plain_time, mpi_task, slurm_task, redis, address, numbered)).parse(text)
        }
        Some(b'A'..=b'Z') if may_end_label(text.as_bytes()) => {
            alt((level, klog, explorer, syslog_time, bare_rank, ascend_module)).parse(text)
        }
        Some(b':') => rocclr(text),
        Some(b'a'..=b'z') if may_end_label(text.as_bytes()) => {
            let process = alt((slurm_daemon, nccl, daemon, compose, host_label, torchrun_label, bare_rank));
            alt((dmesg_level, kernel_program, process, syslog_time)).parse(text)
        }
        // Cyrillic months.
        Some(0xd0 | 0xd1) => syslog_time(text),
        Some(b'-') => preceded(tag("-- "), success).parse(text),
        // A line of a mail or of Markdown that quotes.
        Some(b'>') => preceded(char('>'), blank).map(|()| Facts::default()).parse(text),
        // The sides of boxes, and the bars that mark a quotation.
        Some(0xe2) => one_of("│┃║▎▏▌┆┊╎").map(|_| Facts::default()).parse(text),
        _ => Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::NoneOf))),
    }
}

/// [`any_bracketed`], of which only those are tried that may begin with the character behind the bracket: nearly every line of some logs has
/// several of them.
fn bracketed(text: &str) -> IResult<&str, Facts<'_>> {
    match text.as_bytes() {
        // A year decides; no other prefix has a date and a time in its bracket.
        [_, b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-' | b'/', ..]
            if let Ok(found) = bracketed_time(text) =>
        {
            Ok(found)
        }
        [_, b'0'..=b'9', ..] => alt((
            host_and_rank,
            mpi_task,
            ucx,
            kernel_stamp,
            bracketed_time,
            nccl_device,
            pid_before_level,
            petsc,
            logger_place,
            labelled_level,
        ))
        .parse(text),
        [_, b' ', ..] => alt((kernel_stamp, human_stamp)).parse(text),
        // One word: no date, which has blanks.
        [_, b'a'..=b'z', rest @ ..] if let Some(end) = end_of_word(rest) => {
            // Nearly every word is a place in the source; ranks have a colon behind the bracket or one of two words in it.
            let is_of_place = !matches!(text.as_bytes()[1], b'p' | b'r') && rest.get(end + 1) != Some(&b':');
            match is_of_place {
                true => alt((logger_place, logger_name, labelled_level)).parse(text),
                false => {
                    alt((rank, host_and_rank, launcher_rank, logger_name, logger_place, labelled_level)).parse(text)
                }
            }
        }
        // One word of capital letters is a level, or stands for a date that was taken out.
        [_, b'A'..=b'Z', rest @ ..]
            if end_of_word(rest).is_some_and(|end| rest[..end].iter().all(u8::is_ascii_uppercase)) =>
        {
            alt((dated_level, bracketed_time, labelled_level)).parse(text)
        }
        [_, b'A'..=b'Z', ..] => alt((
            rank,
            host_and_rank,
            human_stamp,
            dated_level,
            bracketed_time,
            glog,
            logger_name,
            logger_place,
            labelled_level,
        ))
        .parse(text),
        [_, b'a'..=b'z', ..] => alt((
            rank,
            host_and_rank,
            human_stamp,
            bracketed_time,
            launcher_rank,
            watched,
            logger_name,
            logger_place,
            labelled_level,
        ))
        .parse(text),
        _ => any_bracketed(text),
    }
}

/// Where the bracket behind the one word at the beginning of `text` stands.
fn end_of_word(text: &[u8]) -> Option<usize> {
    memchr2(b' ', b']', text).filter(|end| text[*end] == b']')
}

/// Any prefix in brackets, of those that may fit the first.
fn any_bracketed(text: &str) -> IResult<&str, Facts<'_>> {
    alt((
        rank,
        host_and_rank,
        mpi_task,
        ucx,
        kernel_stamp,
        human_stamp,
        dated_level,
        bracketed_time,
        launcher_rank,
        glog,
        watched,
        nccl_device,
        pid_before_level,
        petsc,
        logger_name,
        logger_place,
        labelled_level,
    ))
    .parse(text)
}

/// Whether what follows the first word of `text` may be the rest of a prefix: a colon or bracket, or after blanks a number or a bar. It rules
/// out nearly every line that begins with a letter.
fn may_end_label(text: &[u8]) -> bool {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_./".contains(byte);
    let word = text.iter().position(|byte| !is_of_word(byte)).unwrap_or(text.len());
    match text.get(word) {
        Some(b':' | b'[' | b'(' | b'=' | b']') => true,
        Some(b' ' | b'\t') => matches!(text[word..].trim_ascii_start().first(), Some(b'|' | b':' | b'0'..=b'9')),
        _ => false,
    }
}

/// Whether `text` begins with `9月` or `10月`. Asked of every line that begins with a digit.
fn is_month_number(text: &[u8]) -> bool {
    let digits = text.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
    text[digits..].starts_with("月".as_bytes())
}

/// A prefix that names a process, after characters with which people quote, comment out or list lines.
fn decorated(text: &str) -> Option<(&str, Facts<'_>)> {
    let bare = text.trim_start_matches(['#', '>', '|', '*', '-', '`', ' ']);
    // Most lines have no such decoration, and were already tried for a prefix.
    if bare.len() == text.len() {
        return None;
    }
    let (mut below, mut facts) = prefix(bare).ok()?;
    // A time or a logger's name may precede the prefix that names the process.
    for _ in 0..DEEPEST {
        if facts.rank.is_some() || facts.pid.is_some() {
            return prefix(bare).ok();
        }
        (below, facts) = prefix(below.trim_start()).ok()?;
    }
    None
}

fn success(text: &str) -> IResult<&str, Facts<'_>> {
    Ok((text, Facts::default()))
}

/// The blank that separates a prefix from the line; or the line's end.
fn blank(text: &str) -> IResult<&str, ()> {
    alt((one_of(" \t").map(|_| ()), peek(verify(rest, str::is_empty)).map(|_| ()))).parse(text)
}

/// `file.py:12`, `file.cpp:12:function`
fn source_place(text: &str) -> IResult<&str, &str> {
    let path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    let function =
        preceded(char(':'), take_while1(|c: char| c.is_alphanumeric() || matches!(c, '_' | '<' | '>' | '.')));
    recognize((verify(take_while1(path), |path: &str| path.contains('.')), char(':'), integer, opt(function)))
        .parse(text)
}

fn host_name(text: &str) -> IResult<&str, &str> {
    recognize((
        satisfy(char::is_alphanumeric),
        take_while(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')),
    ))
    .parse(text)
}
