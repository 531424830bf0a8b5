//! The Linux kernel's OOM killer: its report, from 2.6 to 6.18, of the whole machine or of a memory cgroup.
//!
//! Mirrors `mm/oom_kill.c` (`dump_header`, `dump_tasks`, `__oom_kill_process`, `oom_reap_task_mm`) and what these call in `mm/memcontrol.c`
//! and `lib/show_mem.c`. One report is one record: trigger, call trace, the cgroup's or the machine's memory, the table of tasks,
//! `oom-kill:`, the victim, the reaper. Logs show any part of it: the beginning may have left the ring buffer, somebody may have searched
//! for `Killed`, lines may be cut or mixed with others, or the newest may come first.

mod cgroup;
mod examples;
mod figures;
mod line;
mod memory;
mod report;
mod tasks;
#[cfg(test)]
mod tests;

use cgroup::Statistics;
use line::{Detail, KernelLine};
use report::Report;

use super::wrap::{self, Progress};
use super::{Example, Follow, Grammar, Joint, Line, Record};
use crate::model::{Event, What};

/// See the module.
pub struct Kernel;

/// Most physical lines between two lines of a report: call traces are long, and `dmesg --json` makes four lines of one.
const PATIENCE: u64 = 400;
/// The same for lines after the victim's.
const AFTERWARDS: u64 = 40;
/// The same within the statistics of a cgroup, whose lines any program might print.
const WITHIN: u64 = 8;

/// The rest of a wrapped line stands in the next line or in the one after a blank line.
const NEXT: u64 = 2;

impl Grammar for Kernel {
    fn producer(&self) -> &'static str {
        "kernel"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[
            "oom-kill",
            "Out of memory",
            "Killed process ",
            "oom_reaper",
            "oom_score_adj name",
            " uid  tgid total",
            "oom_kill_process+0x",
            "(out_of_memory) from ",
            "Memory cgroup stats for /",
        ]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "oom-killer: gfp_mask=",
            "oom-kill:constraint=",
            "ill process ",
            "Killed process ",
            "OOM victim ",
            "oom_reaper: ",
            " killed as a result of limit of ",
            "Memory limit reached of cgroup",
            "memory: usage ",
            " (max ",
            "Mem-Info:",
            "Tasks state (memory values in pages)",
            " total_vm ",
            " uid  tgid total",
            "Memory cgroup stats for /",
            "oom_kill_process+0x",
            "out_of_memory+0x",
            "(out_of_memory) from ",
            "due to memory.oom.group set",
            "Kernel panic - not syncing: ",
            "Out of memory and no killable processes",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let last = line::read(last_of(record));
        let distance = next.number.0.saturating_sub(record.last_number().0);
        let patience = match last {
            // The line only mentions a trigger.
            None => return Follow::End,
            Some(KernelLine::Victim(_) | KernelLine::Reaped(_) | KernelLine::Group(_) | KernelLine::Helpless(..)) => {
                AFTERWARDS
            }
            Some(_) => PATIENCE,
        };
        let Some(next_part) = line::read(next.body()) else {
            let rest = rest_of(last_of(record), next).filter(|_| distance <= NEXT);
            return rest.map_or_else(|| wait(distance, patience), Follow::Join);
        };
        let belongs = match next_part {
            KernelLine::Detail(Detail::Statistics(Statistics::Named(_)))
                if distance > WITHIN || !may_have_statistics(last) =>
            {
                return wait(distance, patience);
            }
            // Whoever cuts a report into an excerpt may put the machine's counters behind the victim.
            KernelLine::Detail(Detail::Counters(_)) if matches!(last, Some(KernelLine::Victim(_))) => {
                distance <= WITHIN
            }
            KernelLine::Detail(_) => detail_belongs(record, last),
            telling => Shape::of(record.text()).takes(telling, || is_earlier(record, next)),
        };
        match belongs && distance <= patience {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        Report::read(record.text()).event(record).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

/// The last line of `record` as the kernel wrote it, with wrapped pieces joined.
fn last_of(record: &Record) -> &str {
    record.text().rsplit('\n').next().unwrap_or_default()
}

/// How to join `next` to `last` if it is the rest of a wrapped line: it has no time stamp, and more of `last` can be parsed with it.
fn rest_of(last: &str, next: &Line<'_>) -> Option<Joint> {
    if next.envelope().time.is_some() || !matches!(line::read(last), Some(KernelLine::Victim(_) | KernelLine::Kill(_)))
    {
        return None;
    }
    wrap::joint(last, next.body(), |text| Progress::Open(line::told(text)))
}

fn wait(distance: u64, patience: u64) -> Follow {
    match distance <= patience {
        true => Follow::Pass,
        false => Follow::End,
    }
}

/// Whether a cgroup's statistics may follow the `last` line; if the newest lines come first, they follow the table of tasks.
fn may_have_statistics(last: Option<KernelLine<'_>>) -> bool {
    match last {
        Some(KernelLine::Detail(Detail::Usage(usage))) => usage.is_bare,
        Some(KernelLine::Detail(detail)) => {
            matches!(detail, Detail::Statistics(_) | Detail::Columns(_) | Detail::Heading)
        }
        _ => false,
    }
}

/// Whether a line from the middle of a report may follow the `last` line of `record`.
fn detail_belongs(record: &Record, last: Option<KernelLine<'_>>) -> bool {
    match last {
        Some(KernelLine::Detail(_)) => true,
        // If the newest lines come first, the trigger is the report's last line.
        Some(KernelLine::Trigger(_)) => record.len() == 1,
        // These are among the first lines if the newest come first, else among the last.
        Some(KernelLine::Kill(_) | KernelLine::Intent(_)) => Shape::of(record.text()).is_reversed != Some(false),
        _ => false,
    }
}

/// Whether `next` was written before the end of `record`, by the same clock: the newest lines come first.
fn is_earlier(record: &Record, next: &Line<'_>) -> bool {
    let last = record.event("kernel", last_of(record), What::Notice).time;
    let since = next.envelope().time.zip(last).and_then(|(next, last)| next.since(&last));
    since.is_some_and(|seconds| seconds < 0.0)
}

/// Which kinds of lines a record has so far; they decide which may follow.
#[derive(Debug, Default)]
struct Shape {
    has_trigger: bool,
    has_details: bool,
    has_group: bool,
    /// Whether there is an `oom-kill:` line, and its pid, which may be cut off.
    kill: Option<Option<u32>>,
    intent: Option<u32>,
    victims: Vec<u32>,
    reaped: Vec<u32>,
    /// Whether the newest line comes first; `None` while all lines are of one kind.
    is_reversed: Option<bool>,
}

impl Shape {
    fn of(text: &str) -> Shape {
        let mut shape = Shape::default();
        let mut last = None;
        for part in text.lines().filter_map(line::read) {
            let place = shape.add(part);
            if let (None, Some(before), Some(place)) = (shape.is_reversed, last, place)
                && before != place
            {
                shape.is_reversed = Some(place < before);
            }
            last = place.or(last);
        }
        shape
    }

    /// Adds a line; returns its position in the order of a report, if it has one.
    fn add(&mut self, part: KernelLine<'_>) -> Option<u8> {
        match part {
            KernelLine::Trigger(_) => self.has_trigger = true,
            KernelLine::Detail(_) => self.has_details = true,
            KernelLine::Kill(kill) => self.kill = Some(kill.pid.map(|(_, pid)| pid)),
            KernelLine::Intent(process) => self.intent = Some(process.pid),
            KernelLine::Victim(process) => self.victims.push(process.pid),
            KernelLine::Reaped(process) => self.reaped.push(process.pid),
            KernelLine::Group(_) => self.has_group = true,
            KernelLine::Helpless(..) => {}
        }
        match part {
            KernelLine::Trigger(_) => Some(0),
            KernelLine::Detail(_) => Some(1),
            KernelLine::Kill(_) => Some(2),
            KernelLine::Intent(_) => Some(3),
            KernelLine::Victim(_) => Some(4),
            // The reaper of an earlier victim may print late.
            KernelLine::Reaped(process) => (!self.has_trigger || self.victims.contains(&process.pid)).then_some(5),
            KernelLine::Group(_) | KernelLine::Helpless(..) => None,
        }
    }

    /// Whether `part` belongs to the same report. `is_earlier` tells whether its line is older than the last one.
    fn takes(&self, part: KernelLine<'_>, is_earlier: impl Fn() -> bool) -> bool {
        let is_begun = self.has_trigger || self.has_details;
        let is_killed = |pid| self.victims.contains(&pid);
        match part {
            KernelLine::Trigger(_) => !self.has_trigger && self.is_reversed.unwrap_or_else(is_earlier),
            KernelLine::Detail(_) => true,
            KernelLine::Kill(_) if self.kill.is_some() => false,
            KernelLine::Kill(kill) => {
                let known = self.victims.iter().chain(self.reaped.iter().filter(|_| !is_begun));
                let known: Vec<u32> = known.copied().collect();
                known.is_empty() || kill.pid.is_some_and(|(_, pid)| known.contains(&pid))
            }
            KernelLine::Intent(process) => {
                let is_chosen = self.kill.flatten().is_none_or(|pid| pid == process.pid);
                // The kernel may have killed a child in its place.
                let is_open = self.victims.is_empty() || is_killed(process.pid) || is_earlier();
                self.intent.is_none() && is_chosen && is_open
            }
            KernelLine::Victim(process) if !self.victims.is_empty() => self.has_group || is_killed(process.pid),
            KernelLine::Victim(process) => match (self.intent, self.kill) {
                (Some(_), _) => true,
                (None, Some(pid)) => pid.is_none_or(|pid| pid == process.pid),
                (None, None) if is_begun => !is_earlier(),
                (None, None) => self.reaped.contains(&process.pid),
            },
            // A late line about an earlier victim makes no event of its own.
            KernelLine::Reaped(process) => {
                let is_own = is_killed(process.pid) || self.reaped.contains(&process.pid);
                is_own || self.kill == Some(Some(process.pid)) || (is_begun && self.reaped.is_empty())
            }
            KernelLine::Group(_) => !self.has_group && (is_begun || self.kill.is_some() || !self.victims.is_empty()),
            KernelLine::Helpless(..) => self.victims.is_empty() && (is_begun || self.kill.is_some()),
        }
    }
}
