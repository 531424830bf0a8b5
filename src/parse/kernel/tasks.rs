//! The table of tasks in a report.
//!
//! Mirrors `mm/oom_kill.c:dump_tasks`. The columns differ between versions and are taken from the header:
//!
//! - 2.6.2x: `[ pid ]   uid  tgid total_vm      rss cpu oom_adj name`
//! - 2.6.36–3.2: `[ pid ]   uid  tgid total_vm      rss cpu oom_adj oom_score_adj name`
//! - 3.3–4.14: `[ pid ]   uid  tgid total_vm      rss nr_ptes [nr_pmds] swapents oom_score_adj name`
//! - 4.15–6.7: `[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name`
//! - since 6.8: `… rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name`
//!
//! All but `pgtables_bytes` are pages.

use nom::bytes::complete::tag;
use nom::character::complete::{char, space0, u32 as integer};
use nom::sequence::{delimited, terminated};
use nom::{IResult, Parser};

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskRow<'a> {
    /// The whole line.
    pub words: &'a str,
    pid: u32,
    /// The text after the pid: numbers and a name, which may contain blanks and digits.
    cells: &'a str,
}

/// A task and what it held, in pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    pub words: &'a str,
    pub pid: u32,
    pub name: &'a str,
    pub total_vm: u64,
    pub rss: u64,
    pub swapped: Option<(&'a str, u64)>,
    pub oom_score_adj: Option<(&'a str, i32)>,
}

impl Task<'_> {
    pub fn pages(&self) -> u64 {
        self.rss.saturating_add(self.swapped.map_or(0, |(_, pages)| pages))
    }
}

pub(super) fn row(line: &str) -> Option<TaskRow<'_>> {
    let words = line.trim();
    let (cells, pid) = pid(words).ok()?;
    // Uid, thread group, total_vm, rss and at least one more column.
    (numbers(cells).take(5).count() == 5).then_some(TaskRow { words, pid, cells })
}

fn pid(text: &str) -> IResult<&str, u32> {
    terminated(delimited((char('['), space0), integer, (space0, char(']'))), tag(" ")).parse(text)
}

/// Whether `line` names the columns, its end cut off or not: no other table of the kernel's has these.
pub(super) fn is_header(line: &str) -> bool {
    const NAMES: &str = "total_vm      rss ";
    // Wherever it was cut off, the third column has begun.
    let cut = |names: &str| names.len() >= 5 && NAMES.starts_with(names.trim_end_matches(['.', '…', '[', ']']));
    line.split_once(" uid  tgid ").is_some_and(|(_, names)| names.starts_with(NAMES) || cut(names.trim_end()))
}

/// The leading numbers of a row.
fn numbers(cells: &str) -> impl Iterator<Item = &str> {
    cells.split_ascii_whitespace().take_while(|cell| cell.parse::<i64>().is_ok())
}

/// The positions of the columns in a row.
#[derive(Debug, Clone, Copy)]
struct Columns {
    total_vm: usize,
    rss: usize,
    swapents: Option<usize>,
    oom_score_adj: Option<usize>,
    /// The number of columns before the name.
    count: usize,
}

impl Columns {
    fn of_header(header: &str) -> Option<Columns> {
        let (_, names) = header.split_once(']')?;
        let names: Vec<&str> = names.split_ascii_whitespace().collect();
        let place = |name: &str| names.iter().position(|known| *known == name);
        Some(Columns {
            total_vm: place("total_vm")?,
            rss: place("rss")?,
            swapents: place("swapents"),
            oom_score_adj: place("oom_score_adj").or_else(|| place("oom_adj")),
            count: place("name")?,
        })
    }

    /// Guesses the columns from the number of cells, if there is no header.
    fn of_row(cells: &str) -> Columns {
        let count = match numbers(cells).count() {
            10.. => 10,
            8.. => 8,
            count => count,
        };
        let from_end = |place| (count >= 7).then_some(count - place);
        Columns { total_vm: 2, rss: 3, swapents: from_end(2), oom_score_adj: from_end(1), count }
    }
}

/// The tasks in `rows`, with the columns of `header`.
pub(super) fn tasks<'a>(header: Option<&str>, rows: &[TaskRow<'a>]) -> Vec<Task<'a>> {
    let columns = header.and_then(Columns::of_header);
    rows.iter().filter_map(|row| task(columns.unwrap_or_else(|| Columns::of_row(row.cells)), *row)).collect()
}

fn task<'a>(columns: Columns, row: TaskRow<'a>) -> Option<Task<'a>> {
    let cells: Vec<&str> = numbers(row.cells).take(columns.count).collect();
    let name = name(row.cells, columns.count);
    // The row is cut off: its last number may be incomplete.
    if cells.len() < columns.count || name.is_empty() {
        return None;
    }
    let cell = |place: Option<usize>| place.and_then(|place| cells.get(place).copied());
    let pages = |place| cell(place).and_then(|cell| Some((cell, cell.parse().ok()?)));
    Some(Task {
        words: row.words,
        pid: row.pid,
        name,
        total_vm: pages(Some(columns.total_vm))?.1,
        rss: pages(Some(columns.rss))?.1,
        swapped: pages(columns.swapents),
        oom_score_adj: cell(columns.oom_score_adj).and_then(|cell| Some((cell, cell.parse().ok()?))),
    })
}

/// The text after the first `count` cells.
fn name(cells: &str, count: usize) -> &str {
    let mut rest = cells.trim_start();
    for _ in 0..count {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim_start();
    }
    rest.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pid, name, resident and swapped pages, oom_score_adj.
    type Cells = (u32, String, u64, Option<u64>, Option<i32>);

    fn read(header: Option<&str>, line: &str) -> Option<Cells> {
        let task = *tasks(header, &[row(line)?]).first()?;
        let swapped = task.swapped.map(|(_, pages)| pages);
        Some((task.pid, task.name.to_owned(), task.rss, swapped, task.oom_score_adj.map(|(_, value)| value)))
    }

    #[test]
    fn reads_the_columns_of_each_version() {
        let full = Some(
            "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name",
        );
        let row = "[  77120]     0 77120 41230551  9120443  9100000    20443         0 88064000       12           985 pt_main_thread";
        let found = Some((77120, "pt_main_thread".to_owned(), 9_120_443, Some(12), Some(985)));
        assert_eq!(read(full, row), found);
        assert_eq!(read(None, row), found);
        let older = Some("[ pid ]   uid  tgid total_vm      rss nr_ptes nr_pmds swapents oom_score_adj name");
        let row = "[ 4711] 10003  4711   823455   120331     611       5     4024             0 CPU 3/KVM";
        let found = Some((4711, "CPU 3/KVM".to_owned(), 120_331, Some(4024), Some(0)));
        assert_eq!(read(older, row), found);
        assert_eq!(read(None, row), found);
        let oldest = Some("[ pid ]   uid  tgid total_vm      rss cpu oom_adj name");
        assert_eq!(
            read(oldest, "[ 2211]    48  2211    92431     1200   3     -17 httpd"),
            Some((2211, "httpd".to_owned(), 1200, None, Some(-17)))
        );
        let usual = Some("[ pid ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name");
        assert_eq!(
            read(usual, "[   93]     0    93      400       77    57344        0             0 7 zip"),
            Some((93, "7 zip".to_owned(), 77, Some(0), Some(0)))
        );
    }

    #[test]
    fn a_header_may_be_cut_off() {
        let header = "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name";
        assert!((25..header.len()).all(|cut| is_header(&header[..cut])), "{header}");
        assert!(is_header("[ pid ]   uid  tgid total[...]"));
        assert!(!is_header("[ pid ]   uid  tgid t") && !is_header("uid  tgid totals"));
    }

    #[test]
    fn what_is_no_row_is_none() {
        for line in
            ["[ pid ]   uid  tgid total_vm", "[12:00] 1 2 3 4 5", "[ 12] a 1 2 3 4", "[ 12] 1 2 3", "CPU 0", "[3, 4]"]
        {
            assert!(row(line).is_none(), "{line}");
        }
    }
}
