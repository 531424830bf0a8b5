//! The lines about a memory cgroup: usage, limit, statistics.
//!
//! Mirrors `mm/memcontrol.c:mem_cgroup_print_oom_meminfo` (2.6.30–6.18) and the form of a patch for 4.20 in bytes.

use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::combinator::{consumed, opt};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use super::line::labelled;
use crate::model::Bytes;
use crate::parse::text::{self, Size};

/// `memory: usage 5kB, limit 5kB, failcnt 3`
#[derive(Debug, Clone, Copy)]
pub(super) struct CgroupUsage<'a> {
    pub counter: Counter,
    /// The words, up to the limit if there is one.
    pub words: &'a str,
    pub usage: Size<'a>,
    /// `None` if there is no limit.
    pub limit: Option<Size<'a>>,
    /// `memory 5 (max 5)`: the statistics follow without a heading.
    pub is_bare: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Memory,
    /// Cgroup version 1 only.
    MemoryAndSwap,
    /// Cgroup version 2 only.
    Swap,
    Kernel,
}

/// A line of statistics. Rsyslog writes several of them as one, separated by `#012`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Statistics<'a> {
    /// `anon 498216206336`, since 5.3: one name a line, in bytes.
    Named(&'a str),
    /// `Memory cgroup stats for /docker/9f2e:`; up to 5.2 followed by `cache:1032KB rss:33553400KB …`, with one line for each cgroup below
    /// the limited one, which counts only that cgroup's own pages.
    Inline(&'a str),
}

pub(super) fn usage(line: &str) -> Option<CgroupUsage<'_>> {
    let text = line.trim_start();
    counted(text).or_else(|_| bare(text)).ok().map(|(_, usage)| usage).or_else(|| quoted(text))
}

/// The whole of what the kernel prints about a limit, behind whatever people and programs put before a line that they quote.
fn quoted(text: &str) -> Option<CgroupUsage<'_>> {
    let at = text.find("memory: usage ")?;
    let (rest, usage) = counted(&text[at..]).ok()?;
    (usage.limit.is_some() && rest.starts_with(", failcnt ")).then_some(usage)
}

fn counted(text: &str) -> IResult<&str, CgroupUsage<'_>> {
    let counter = alt((
        tag("memory+swap").map(|_| Counter::MemoryAndSwap),
        tag("memory").map(|_| Counter::Memory),
        tag("swap").map(|_| Counter::Swap),
        tag("kmem").map(|_| Counter::Kernel),
    ));
    let amount = |label| consumed(preceded(tag(label), text::size)).map(|(text, size)| Size { text, ..size });
    let (end, (counter, _, usage)) = (counter, tag(": "), amount("usage ")).parse(text)?;
    let (rest, limit) = opt(preceded(tag(", "), amount("limit "))).parse(end)?;
    let limit = limit.filter(|limit| limit.bytes.is_some_and(|bytes| bytes < Bytes::EIB));
    let end = if limit.is_some() { rest } else { end };
    Ok((rest, CgroupUsage { counter, words: &text[..text.len() - end.len()], usage, limit, is_bare: false }))
}

/// `memory 33554432 (max 33554432)`, in bytes.
fn bare(text: &str) -> IResult<&str, CgroupUsage<'_>> {
    let amount = |label| consumed(preceded(tag(label), text::plain_bytes)).map(|(text, size)| Size { text, ..size });
    let (rest, (words, (usage, limit))) =
        consumed((amount("memory "), delimited(tag(" ("), amount("max "), char(')')))).parse(text)?;
    Ok((rest, CgroupUsage { counter: Counter::Memory, words, usage, limit: Some(limit), is_bare: true }))
}

pub(super) fn statistics(line: &str) -> Option<Statistics<'_>> {
    if let Some(at) = line.find("Memory cgroup stats for /").or_else(|| line.find("Memory cgroup stats:")) {
        return Some(Statistics::Inline(&line[at..]));
    }
    let line = line.trim();
    let first = line.split("#012").next()?;
    let (name, amount) = first.split_once(' ')?;
    (is_statistic(name) && amount.bytes().all(|byte| byte.is_ascii_digit())).then_some(Statistics::Named(line))
}

/// Whether `name` is one that `memory.stat` has.
fn is_statistic(name: &str) -> bool {
    const STEMS: [&str; 28] = [
        "anon",
        "file",
        "kernel",
        "pagetables",
        "sec_pagetables",
        "percpu",
        "sock",
        "vmalloc",
        "shmem",
        "zsw",
        "swap",
        "inactive_",
        "active_",
        "unevictable",
        "slab",
        "workingset_",
        "pg",
        "psw",
        "thp_",
        "cache",
        "rss",
        "mapped_file",
        "dirty",
        "writeback",
        "hierarchical_",
        "total_",
        "numa_",
        "hugetlb",
    ];
    STEMS.iter().any(|stem| name.starts_with(stem))
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The amount of the first of `names` that any line has. For lines of several cgroups it is the sum, with the words of the largest.
pub(super) fn total<'a>(lines: &[Statistics<'a>], names: &[&str]) -> Option<(&'a str, Bytes)> {
    names.iter().find_map(|name| {
        let named = lines.iter().filter(|line| matches!(line, Statistics::Named(_)));
        if let Some(size) = named.filter_map(|line| line.amount(name)).next() {
            return Some((size.text, size.bytes?));
        }
        let amounts: Vec<Size<'a>> = lines.iter().filter_map(|line| line.amount(name)).collect();
        let largest = amounts.iter().max_by_key(|size| size.bytes)?;
        Some((largest.text, amounts.iter().filter_map(|size| size.bytes).sum()))
    })
}

impl<'a> Statistics<'a> {
    /// The line that names the cgroup.
    pub fn heading(&self) -> Option<&'a str> {
        match self {
            Statistics::Inline(line) => Some(line),
            Statistics::Named(_) => None,
        }
    }

    fn amount(self, name: &str) -> Option<Size<'a>> {
        match self {
            // Since 5.3 in bytes, which a log may have joined to one line.
            Statistics::Inline(line) => labelled(line, &format!("{name}:")).or_else(|| {
                let at = line.find(&format!(" {name} "))? + 1;
                let digits = line[at + name.len() + 1..].split(' ').next()?;
                let text = &line[at..at + name.len() + 1 + digits.len()];
                Some(Size { text, bytes: Bytes::of(digits.parse().ok()?, Bytes(1)) })
            }),
            Statistics::Named(line) => line.split("#012").find_map(|words| {
                let words = words.trim();
                let amount = words.strip_prefix(name)?.strip_prefix(' ')?;
                Some(Size { text: words, bytes: Bytes::of(amount.parse().ok()?, Bytes(1)) })
            }),
        }
    }
}
