//! What the tools of a system print of its memory: `free -h`, `docker stats`, `sacct`. Moments, never a failure.
//!
//! Mirrors procps `src/free.c` (3.3–4.0), docker's `cli/command/container/formatter_stats.go` (20.10–28), Slurm's `src/sacct/print.c`
//! (20.02–25.05). Bare numbers of `free` are KiB, MiB or GiB by an option that is not printed: they count where only one of these makes a machine.

use std::sync::Arc;

use crate::model::FigureName::{HostUsed, MemcgLimit, MemcgUsage, NodeTotal};
use crate::model::{Bytes, Event, FigureName, What};
use crate::parse::host_memory::free;
use crate::parse::text::{self, Size};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record, granted, origin};

/// See the module.
pub struct SystemTables;

/// A word of each table's heading.
const FREE: &str = "buff/cache";
const STATS: &str = "MEM USAGE / LIMIT";
const ACCOUNTING: &str = "MaxRSS";

impl Grammar for SystemTables {
    fn producer(&self) -> &'static str {
        "prints"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[FREE, STATS, ACCOUNTING]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        /// More jobs or containers are no table about one job.
        const MOST: usize = 24;
        let heading = text::line(record.text());
        let next = next.body();
        let is_row = match () {
            () if heading.contains(FREE) => record.len() == 1 && next.trim_start().starts_with("Mem:"),
            () if heading.contains(STATS) => next.contains("iB / "),
            () => is_rule(next) || next.trim_start().starts_with(|c: char| c.is_ascii_digit()),
        };
        if is_row && record.len() < MOST { Follow::Join(Joint::Line) } else { Follow::End }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let mut lines = record.text().lines();
        let Some(heading) = lines.next() else { return Vec::new() };
        let rows = lines.filter(|line| !is_rule(line));
        match () {
            () if heading.contains(FREE) => rows.filter_map(|row| memory(record, row)).collect(),
            () if heading.contains(STATS) => rows.filter_map(|row| container(record, row)).collect(),
            () => {
                let columns = Columns::of(heading, record.text().lines().nth(1).filter(|line| is_rule(line)));
                rows.filter_map(|row| step(record, &columns, row)).collect()
            }
        }
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// The line of dashes below a heading.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| c == '-' || c == ' ')
}

fn moment(record: &Record, label: &str, row: &str, figures: &[(FigureName, Size<'_>)]) -> Option<Event> {
    let series: Arc<str> = origin::series(label, record.origin());
    let mut event = record.event("prints", row, What::Memory { series });
    event.figures = figures.iter().filter_map(|(name, size)| record.figure(*name, *size)).collect();
    (!event.figures.is_empty()).then_some(event)
}

/// `Mem:           251Gi       244Gi       1.5Gi       122Mi       5.9Gi       2.1Gi`
fn memory(record: &Record, row: &str) -> Option<Event> {
    let mut amounts = row.trim_start().strip_prefix("Mem:")?.split_whitespace();
    let (total, used) = (amounts.next()?, amounts.next()?);
    let unit = total.parse().ok().and_then(free::usual_unit);
    let bare = |words| Some(Size { text: words, bytes: Some(Bytes::of(str::parse(words).ok()?, unit?)?) });
    let amount = |words| unit_amount(words).or_else(|| bare(words));
    let (total, used) = (amount(total)?, amount(used)?);
    moment(record, "free", row, &[(NodeTotal, total), (HostUsed, used)])
}

/// `a1b2c3d4e5f6   trainer   99.12%    31.94GiB / 32GiB       99.81%    1.2MB / 3.4MB   0B / 0B     57`
fn container(record: &Record, row: &str) -> Option<Event> {
    let (before, rest) = row.split_once(" / ")?;
    let (name, used) = (before.split_whitespace().nth(1)?, before.split_whitespace().last()?);
    let (limit, rest) = rest.split_once(char::is_whitespace)?;
    let is_share = rest.split_whitespace().next().is_some_and(|share| share.ends_with('%'));
    let size = |words| text::size(words).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, size)| size);
    let figures = [(MemcgUsage, size(used)?), (MemcgLimit, size(limit)?)];
    if is_share { moment(record, name, row, &figures) } else { None }
}

/// A row of `sacct`: what a step used at most, and what the job asked for on each node.
fn step(record: &Record, columns: &Columns<'_>, row: &str) -> Option<Event> {
    let job = columns.cell("JobID", row)?;
    let used = columns.cell(ACCOUNTING, row).and_then(unit_amount).map(|size| (MemcgUsage, size));
    // `64Gn` was for each node; `4Gc` is for each CPU, whose number is not known.
    let asked = columns.cell("ReqMem", row).filter(|asked| !asked.ends_with('c'));
    let asked = asked.and_then(|asked| unit_amount(asked.trim_end_matches('n'))).map(|size| (MemcgLimit, size));
    let figures: Vec<_> = used.into_iter().chain(asked).collect();
    moment(record, job.split('.').next()?, row, &figures)
}

/// An amount with a unit of one or two letters, all binary: `251Gi`, `67108864K`, `1.5G`.
fn unit_amount(words: &str) -> Option<Size<'_>> {
    let unit = words.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_short = matches!(unit, "Ki" | "Mi" | "Gi" | "Ti" | "K" | "M" | "G" | "T");
    is_short.then(|| Size { text: words, bytes: granted(words) }).filter(|size| size.bytes.is_some())
}

/// The columns of a table.
struct Columns<'t> {
    names: Vec<&'t str>,
    /// The range of each, if a rule of dashes shows them; else bars divide them.
    ranges: Vec<std::ops::Range<usize>>,
}

impl<'t> Columns<'t> {
    fn of(heading: &'t str, rule: Option<&str>) -> Columns<'t> {
        let Some(rule) = rule else {
            return Columns { names: heading.split('|').map(str::trim).collect(), ranges: Vec::new() };
        };
        let mut ranges = Vec::new();
        let mut start = None;
        for (at, letter) in rule.char_indices().chain([(rule.len(), ' ')]) {
            match (letter, start) {
                ('-', None) => start = Some(at),
                (' ', Some(from)) => {
                    ranges.push(from..at);
                    start = None;
                }
                _ => {}
            }
        }
        // A heading that somebody typed anew may not stand right above its rule.
        let words: Vec<&str> = heading.split_whitespace().collect();
        let names = match words.len() == ranges.len() {
            true => words,
            false => ranges.iter().map(|range| slice(heading, range)).collect(),
        };
        Columns { names, ranges }
    }

    fn cell<'r>(&self, name: &str, row: &'r str) -> Option<&'r str> {
        let place = self.names.iter().position(|known| *known == name)?;
        let cell = match self.ranges.get(place) {
            Some(range) => slice(row, range),
            None => row.split('|').nth(place)?.trim(),
        };
        Some(cell).filter(|cell| !cell.is_empty())
    }
}

fn slice<'t>(text: &'t str, range: &std::ops::Range<usize>) -> &'t str {
    text.get(range.start..range.end.min(text.len())).unwrap_or_default().trim()
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "procps 3.3–4.0, free -h",
        text: "               total        used        free      shared  buff/cache   available\nMem:           251Gi       244Gi       1.5Gi       122Mi       5.9Gi       2.1Gi",
        states: &[("node_total", "251Gi"), ("host_used", "244Gi")],
    },
    Example {
        version: "procps 3.3–4.0, free -m",
        text: "               total        used        free      shared  buff/cache   available\nMem:          128811      119407        1201         310        8203        7905",
        states: &[("node_total", "128811"), ("host_used", "119407")],
    },
    Example {
        version: "docker 20.10–28, docker stats",
        text: "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O         BLOCK I/O   PIDS\na1b2c3d4e5f6   trainer   99.12%    31.94GiB / 32GiB      99.81%    1.2MB / 3.4MB   0B / 0B     57",
        states: &[("memcg_usage", "31.94GiB"), ("memcg_limit", "32GiB"), ("series", "trainer")],
    },
    Example {
        version: "Slurm 20.02–25.05, sacct",
        text: "JobID           JobName     MaxRSS     ReqMem      State ExitCode\n------------ ---------- ---------- ---------- ---------- --------\n123456         train.sh                   64G OUT_OF_ME+    0:125\n123456.batch      batch  67108864K            OUT_OF_ME+    0:125",
        states: &[("memcg_limit", "64G"), ("memcg_usage", "67108864K")],
    },
    Example {
        version: "Slurm 20.02–25.05, sacct -P",
        text: "JobID|MaxRSS|ReqMem|State\n123456||64Gn|OUT_OF_MEMORY\n123456.batch|67108864K||OUT_OF_MEMORY",
        states: &[("memcg_limit", "64G"), ("memcg_usage", "67108864K")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn numbers_of_any_unit_and_shares_of_cpus_state_nothing() {
        for text in [
            "              total        used        free      shared  buff/cache   available\nMem:         1257652     1250112        1544         122        5995        2110",
            "JobID|MaxRSS|ReqMem|State\n123456||4Gc|COMPLETED",
            "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %\na1b2c3d4e5f6   trainer   --        -- / --      --",
        ] {
            assert!(testing::parse(&SystemTables, text).is_empty(), "{text}");
        }
    }
}
