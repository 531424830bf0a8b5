//! Reads one line of a record.

use nom::Parser;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, u32 as integer, u64 as long};
use nom::combinator::{consumed, opt, recognize};
use nom::sequence::{delimited, preceded, terminated};

use crate::model::{Exit, Kind};
use crate::parse::text::{self, Size};
use crate::source::record;

/// A line of a record.
pub(super) struct RecorderLine<'a> {
    /// The machine that it was written on.
    pub host: &'a str,
    /// The text after the host.
    pub words: &'a str,
    pub statement: RecorderStatement<'a>,
}

/// The kinds of lines.
pub(super) enum RecorderStatement<'a> {
    /// The kernel counted a kill.
    Kill(CountedKill<'a>),
    /// A process held this much memory just before a kill.
    Held(RecordedProcess<'a>, Size<'a>),
    /// A process ended, and how if that was seen.
    Ended(RecordedProcess<'a>, Option<Exit>),
    /// A process was killed, but not by the kernel's OOM killer.
    Stranger(RecordedProcess<'a>),
    /// A process died of SIGBUS, and `/dev/shm` was full.
    SharedMemoryFull(RecordedProcess<'a>),
    /// Anything else, such as memory at a moment.
    Moment,
}

/// `process 4711 python rank 3`
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedProcess<'a> {
    pub pid: u32,
    pub pid_words: &'a str,
    pub name: &'a str,
    pub rank: Option<u32>,
}

/// `oom_kill 0 to 1 in cgroup /a; limit reached: /b, used 64.0 MiB of 64.0 MiB`
pub(super) struct CountedKill<'a> {
    pub kind: Kind,
    /// The cgroup of the killed process.
    pub cgroup: &'a str,
    /// The cgroup whose limit was reached.
    pub level: Option<&'a str>,
    pub usage: Option<Size<'a>>,
    pub limit: Option<Size<'a>>,
    /// The machine's memory, if the whole machine ran out.
    pub total: Option<Size<'a>>,
}

type Result<'a, T> = nom::IResult<&'a str, T>;

/// Reads the first line of `text`, if it is one of a record.
pub(super) fn read(text: &str) -> Option<RecorderLine<'_>> {
    let line = text::line(text);
    let (words, host) = head(&line[line.find(record::NUMBER)?..]).ok()?;
    let statement = kill(words)
        .map(RecorderStatement::Kill)
        .or_else(|| held(words).ok().map(|(_, (process, size))| RecorderStatement::Held(process, size)))
        .or_else(|| ended(words))
        .unwrap_or(RecorderStatement::Moment);
    Some(RecorderLine { host, words, statement })
}

/// `oomdoc#12 node7: `
fn head(text: &str) -> Result<'_, &str> {
    preceded((tag(record::NUMBER), long, char(' ')), terminated(take_while1(|c| c != ' ' && c != ':'), tag(": ")))
        .parse(text)
}

/// `process 4711 python rank 3: `
pub(super) fn process(text: &str) -> Result<'_, RecordedProcess<'_>> {
    let name = preceded(char(' '), take_while1(|c: char| !c.is_whitespace() && c != ':'));
    let rank = opt(preceded(tag(" rank "), integer));
    let (rest, ((pid_words, pid), name, rank)) =
        delimited(tag("process "), (consumed(integer), name, rank), tag(": ")).parse(text)?;
    Ok((rest, RecordedProcess { pid, pid_words, name, rank }))
}

fn held(words: &str) -> Result<'_, (RecordedProcess<'_>, Size<'_>)> {
    preceded(tag("held before: "), (process, preceded(tag("rss "), text::size))).parse(words)
}

fn kill(words: &str) -> Option<CountedKill<'_>> {
    let count = preceded(tag("oom_kill "), recognize((long, tag(" to "), long)));
    let (rest, _) = (count, tag::<_, _, nom::error::Error<&str>>(" in ")).parse(words).ok()?;
    let (group, by) = rest.split_once("; ")?;
    let cgroup = group.strip_prefix("cgroup ").unwrap_or(group);
    let kill = CountedKill { kind: Kind::HostOomCgroup, cgroup, level: None, usage: None, limit: None, total: None };
    if let Some(rest) = by.strip_prefix("limit reached: ") {
        let (level, amounts) = rest.split_once(", ").unwrap_or((rest, ""));
        let (usage, limit) = used_of(amounts).ok().map(|(_, both)| both).unzip();
        return Some(CountedKill { level: Some(level), usage, limit: limit.flatten(), ..kill });
    }
    let machine =
        ["the machine had no more: ", "by no cgroup's limit: "].iter().find_map(|words| by.strip_prefix(words));
    match machine {
        Some(rest) => {
            let (_, total) = used_of(rest).ok().map(|(_, both)| both).unzip();
            Some(CountedKill { kind: Kind::HostOomKernel, total: total.flatten(), ..kill })
        }
        None => Some(kill),
    }
}

/// `used 3337.9 MiB of 24105.0 MiB`, `used 3337.9 MiB of no limit`
pub(super) fn used_of(text: &str) -> Result<'_, (Size<'_>, Option<Size<'_>>)> {
    let limit = preceded(tag(" of "), opt(text::size));
    (preceded(tag("used "), text::size), limit).parse(text)
}

fn ended(words: &str) -> Option<RecorderStatement<'_>> {
    let (rest, process) = preceded(tag("ended: "), process).parse(words).ok()?;
    if rest.starts_with("signal 9, but no kill for want of memory: ") {
        return Some(RecorderStatement::Stranger(process));
    }
    if rest.starts_with("signal 7, and /dev/shm was full: ") {
        return Some(RecorderStatement::SharedMemoryFull(process));
    }
    let of = |label, text| preceded(tag::<_, &str, nom::error::Error<&str>>(label), integer).parse(text).ok();
    let signal = of("signal ", rest).map(|(_, signal)| Exit::Signal(signal as i32));
    let exit = signal.or_else(|| of("status ", rest).map(|(_, status)| Exit::Code(status as i32)));
    Some(RecorderStatement::Ended(process, exit))
}
