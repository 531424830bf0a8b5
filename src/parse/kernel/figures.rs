//! Turns a report into figures and facts.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::cgroup::{self, Counter};
use super::line::{Caller, Helpless, counted, labelled};
use super::memory::{self, Zone};
use super::report::Report;
use super::tasks::Task;
use crate::model::{Bytes, Consumer, Fact, FactValue, Figure, FigureName};
use crate::parse::Record;
use crate::parse::text::Size;

/// Most tasks listed as consumers.
const MOST_CONSUMERS: usize = 16;
/// Most names for which the sum of their tasks is stated.
const MOST_SUMS: usize = 4;

/// The kernel's names for the parts of a process's memory.
const SIZES: [(&str, FigureName); 5] = [
    ("total-vm:", FigureName::TotalVm),
    ("vsz:", FigureName::TotalVm),
    ("anon-rss:", FigureName::AnonRss),
    ("file-rss:", FigureName::FileRss),
    ("shmem-rss:", FigureName::ShmemRss),
];

/// Collects the figures and facts of a record.
pub(super) struct Collector<'a> {
    record: &'a Record,
    page: Bytes,
    figures: Vec<Figure>,
    facts: Vec<Fact>,
}

impl<'a> Collector<'a> {
    pub fn new(record: &'a Record, page: Bytes) -> Collector<'a> {
        Collector { record, page, figures: Vec::new(), facts: Vec::new() }
    }

    /// Everything that `report` states, and the largest of its `tasks`.
    pub fn all_of(mut self, report: &Report<'a>, tasks: &[Task<'a>]) -> (Vec<Figure>, Vec<Fact>, Vec<Consumer>) {
        let own = report.victim_pid().and_then(|pid| tasks.iter().find(|task| task.pid == pid));
        self.victim(report, own);
        self.call(report);
        self.choice(report);
        self.cgroup(report);
        self.machine(report);
        let consumers = self.tasks(tasks, own);
        (self.figures, self.facts, consumers)
    }

    /// The process that the kernel killed and what it held.
    fn victim(&mut self, report: &Report<'a>, own: Option<&Task<'a>>) {
        let killed = report.victims.first();
        let named = killed.map(|process| (process.words, process.pid));
        let named = named.or(report.kill.and_then(|kill| kill.pid));
        let named =
            named.or(report.intent.or(report.own_reaped().copied()).map(|process| (process.words, process.pid)));
        if let Some((words, pid)) = named {
            self.value(FigureName::VictimPid, words, f64::from(pid));
        }
        let tail = killed.map_or("", |process| process.tail);
        for (label, name) in SIZES {
            self.size(name, labelled(tail, label));
        }
        // Behind the victim's that of the task that asked for memory, which is all there is in many an excerpt.
        let own_adjustment = adjustment(tail).or(own.and_then(|task| task.oom_score_adj));
        let asked = report.trigger.and_then(|trigger| adjustment(trigger.words));
        for (words, value) in own_adjustment.into_iter().chain(asked) {
            self.value(FigureName::OomScoreAdj, words, f64::from(value));
        }
        if let Some((words, value)) = report.intent.and_then(|process| score(process.tail)) {
            self.value(FigureName::Other, words, value);
        }
        if let Some((words, pages)) = own.and_then(|task| task.swapped).filter(|(_, pages)| *pages > 0) {
            self.size(FigureName::Other, Some(Size { text: words, bytes: self.bytes(pages) }));
        }
        // Up to 5.0 the kernel may kill a child in the place of the process with the highest score.
        if let (Some(meant), Some(killed)) = (report.intent, killed)
            && meant.pid != killed.pid
        {
            self.number("kernel.chosen_pid", meant.words, f64::from(meant.pid));
        }
        let resident: Vec<Size<'a>> = SIZES.iter().skip(2).filter_map(|(label, _)| labelled(tail, label)).collect();
        let footprint = match own {
            Some(task) => self.bytes(task.pages()).map(|bytes| (task.words, bytes)),
            None => resident.first().map(|size| (size.text, resident.iter().filter_map(|size| size.bytes).sum())),
        };
        self.amount("kernel.victim_footprint", footprint);
    }

    /// The allocation that triggered the OOM killer.
    fn call(&mut self, report: &Report<'a>) {
        let comm = match (report.processor, report.trigger) {
            // The allocating task is the one running on the processor.
            (Some(processor), Some(trigger)) if trigger.before.ends_with(processor.comm) => Some(processor.comm),
            (_, Some(trigger)) => own_name(trigger.before),
            (processor, None) => processor.map(|processor| processor.comm),
        };
        self.text("kernel.trigger", comm);
        if let Some((words, pid)) = report.processor.and_then(|processor| processor.pid) {
            self.number("kernel.trigger_pid", words, f64::from(pid));
        }
        self.text("kernel.release", report.processor.and_then(|processor| processor.release));
        self.text("kernel.gfp_mask", report.trigger.map(|trigger| trigger.gfp_mask));
        let order = report.trigger.and_then(|trigger| trigger.order);
        if let Some((words, order)) = order {
            self.number("kernel.order", words, f64::from(order));
        }
        let by_hand = report.callers.iter().find(|(caller, _)| *caller == Caller::SysRq).map(|(_, words)| *words);
        self.text("kernel.sysrq", by_hand.or(order.filter(|(_, order)| *order < 0).map(|(words, _)| words)));
    }

    /// Whose limit was hit, among which tasks the kernel chose, and how that ended.
    fn choice(&mut self, report: &Report<'a>) {
        let (kill, limit) = (report.kill, report.limit);
        self.text("kernel.constraint", kill.and_then(|kill| kill.constraint));
        self.text("kernel.oom_memcg", kill.and_then(|kill| kill.oom_memcg).or(limit.map(|(_, path)| path)));
        self.text("kernel.task_memcg", kill.and_then(|kill| kill.task_memcg).or(limit.and_then(|(task, _)| task)));
        self.text("kernel.cpuset", kill.and_then(|kill| kill.cpuset).or(report.cpuset.map(|(path, _)| path)));
        self.text("kernel.mems_allowed", report.mems_allowed());
        self.text("kernel.nodemask", report.nodemask());
        self.text("kernel.oom_group", report.group);
        for (why, words) in &report.helpless {
            let key = match why {
                Helpless::Panic => "kernel.panic",
                Helpless::NobodyKillable => "kernel.no_killable",
            };
            self.text(key, Some(*words));
        }
        let reaped = report.reaped.iter().find(|process| Some(process.pid) == report.victim_pid());
        self.text("kernel.reaped", reaped.or(report.own_reaped()).map(|process| process.words));
    }

    /// The cgroup whose limit was hit.
    fn cgroup(&mut self, report: &Report<'a>) {
        const NAMES: [(&str, &[&str]); 6] = [
            ("memcg.anon", &["anon", "total_rss", "rss"]),
            ("memcg.file", &["file", "total_cache", "cache"]),
            ("memcg.shmem", &["total_shmem", "shmem"]),
            ("memcg.dirty", &["file_dirty", "total_dirty", "dirty"]),
            ("memcg.writeback", &["file_writeback", "total_writeback", "writeback"]),
            ("memcg.slab", &["slab"]),
        ];
        let of = |counter| report.usages.iter().find(|usage| usage.counter == counter);
        if let Some(memory) = of(Counter::Memory) {
            self.size(FigureName::MemcgUsage, Some(memory.usage));
            self.size(FigureName::MemcgLimit, memory.limit);
        }
        if let Some(swap) = of(Counter::Swap) {
            self.size(FigureName::Other, Some(Size { text: swap.words, ..swap.usage }));
            self.amount("memcg.swap_limit", swap.limit.and_then(stated));
        }
        let both = of(Counter::MemoryAndSwap).and_then(|both| both.limit);
        self.amount("memcg.memory_and_swap_limit", both.and_then(stated));
        for (key, names) in NAMES {
            self.amount(key, cgroup::total(&report.statistics, names));
        }
        let counted = |counter| of(counter).and_then(|usage| stated(usage.usage));
        let kernel = cgroup::total(&report.statistics, &["kernel"]).or_else(|| counted(Counter::Kernel));
        self.amount("memcg.kernel", kernel);
        let swap = cgroup::total(&report.statistics, &["total_swap", "swap"]).or_else(|| counted(Counter::Swap));
        self.amount("memcg.swap", swap);
    }

    /// The memory of the machine.
    fn machine(&mut self, report: &Report<'a>) {
        const COUNTERS: [(&str, &[&str]); 7] = [
            ("kernel.free_total", &["free:"]),
            ("kernel.anon", &["active_anon:", "inactive_anon:"]),
            ("kernel.file", &["active_file:", "inactive_file:"]),
            ("kernel.shmem", &["shmem:"]),
            ("kernel.slab", &["slab_reclaimable:", "slab_unreclaimable:"]),
            ("kernel.unevictable", &["unevictable:"]),
            ("kernel.dirty", &["dirty:", "writeback:"]),
        ];
        for swap in &report.swap {
            self.size(FigureName::Other, Some(swap.size));
            self.amount(if swap.is_total { "kernel.swap_total" } else { "kernel.swap_free" }, stated(swap.size));
        }
        if let Some((words, pages)) = report.ram {
            let size = Size { text: words, bytes: self.bytes(pages) };
            self.size(FigureName::NodeTotal, Some(size));
            self.amount("kernel.ram", stated(size));
        }
        for (key, labels) in COUNTERS {
            let find = |label: &&str| report.counters.iter().find_map(|line| counted(line, label));
            let counts: Vec<(&str, u64)> = labels.iter().filter_map(find).collect();
            if let (Some((words, _)), true) = (counts.first(), counts.len() == labels.len()) {
                let pages = counts.iter().fold(0, |sum: u64, (_, pages)| sum.saturating_add(*pages));
                self.amount(key, self.bytes(pages).map(|bytes| (*words, bytes)));
            }
        }
        let largest = report.huge_pages.iter().max_by_key(|pages| pages.reserved);
        let reserved = report.huge_pages.iter().map(|pages| pages.reserved).sum();
        let unused = report.huge_pages.iter().map(|pages| pages.unused).sum();
        self.amount("kernel.hugepages_reserved", largest.map(|pages| (pages.words, reserved)));
        self.amount("kernel.hugepages_unused", largest.map(|pages| (pages.words, unused)));
        if let Some(zone) = failed_zone(report) {
            self.text("kernel.zone", Some(zone.title));
            self.amount("kernel.free", stated(zone.free));
            self.amount("kernel.min", zone.min.and_then(stated));
            self.blocks(report, zone);
        }
    }

    /// An allocation of several pages fails if no free block is large enough, however much is free in smaller ones.
    fn blocks(&mut self, report: &Report<'a>, zone: &Zone<'a>) {
        let order = report.trigger.and_then(|trigger| trigger.order).map_or(0, |(_, order)| order);
        let buddies = report.buddies.iter().find(|buddies| (buddies.node, buddies.name) == (zone.node, zone.name));
        if let (1..=20, Some(buddies)) = (order, buddies) {
            self.number("kernel.free_blocks", buddies.title, buddies.count_from(1 << order) as f64);
        }
    }

    /// The tasks that held the memory, largest first.
    fn tasks(&mut self, tasks: &[Task<'a>], own: Option<&Task<'a>>) -> Vec<Consumer> {
        let mut by_size: Vec<&Task<'a>> = tasks.iter().filter(|task| task.pages() > 0).collect();
        by_size.sort_by_key(|task| Reverse(task.pages()));
        if let Some(own) = own
            && let Some(rank) = by_size.iter().position(|task| task.pid == own.pid)
        {
            self.number("kernel.victim_rank_in_table", own.words, (rank + 1) as f64);
        }
        for (task, count, pages) in sums(&by_size) {
            if let Some(bytes) = self.bytes(pages) {
                let text = format!("{} × {count} = {}", task.name, bytes.0);
                let at = self.record.cite(task.words);
                self.facts.push(Fact { key: "kernel.group_sum", value: FactValue::Text(text), at });
            }
        }
        let consumer = |task: &&Task<'a>| {
            let cited = self.record.cite(task.words);
            let (role, bytes) = (Some(task.name.to_owned()), self.bytes(task.pages())?);
            Some(Consumer { pid: Some(task.pid), role, bytes, source: cited.location, text: cited.text })
        };
        by_size.iter().take(MOST_CONSUMERS).filter_map(consumer).collect()
    }

    fn bytes(&self, pages: u64) -> Option<Bytes> {
        Bytes::of(pages as f64, self.page)
    }

    fn size(&mut self, name: FigureName, size: Option<Size<'a>>) {
        self.figures.extend(size.and_then(|size| self.record.figure(name, size)));
    }

    fn value(&mut self, name: FigureName, words: &'a str, value: f64) {
        self.figures.push(self.record.number(name, words, value));
    }

    fn text(&mut self, key: &'static str, words: Option<&'a str>) {
        self.facts.extend(words.filter(|words| !words.is_empty()).map(|words| self.record.fact(key, words)));
    }

    fn number(&mut self, key: &'static str, words: &'a str, value: f64) {
        self.facts.push(self.record.number_fact(key, words, value));
    }

    fn amount(&mut self, key: &'static str, amount: Option<(&'a str, Bytes)>) {
        if let Some((words, bytes)) = amount {
            self.number(key, words, bytes.0 as f64);
        }
    }
}

fn stated(size: Size<'_>) -> Option<(&str, Bytes)> {
    Some((size.text, size.bytes?))
}

/// The zone that could not serve the allocation: of the usable zones the largest one below its minimum, else the largest.
fn failed_zone<'r, 'a>(report: &'r Report<'a>) -> Option<&'r Zone<'a>> {
    let nodes = [report.mems_allowed(), report.nodemask()];
    let is_near =
        |zone: &&Zone<'a>| zone.node.is_none_or(|node| nodes.iter().flatten().all(|nodes| memory::is_in(nodes, node)));
    let gfp_mask = report.trigger.map_or("", |trigger| trigger.gfp_mask);
    let usable = report.zones.iter().filter(is_near).filter(|zone| memory::may_come_from(zone.name, gfp_mask));
    usable.max_by_key(|zone| (zone.is_below_minimum(), zone.managed))
}

/// For each name that several of `tasks` share: the largest task, the number of tasks and their total pages. Only the largest sums.
fn sums<'t, 'a>(tasks: &[&'t Task<'a>]) -> Vec<(&'t Task<'a>, u32, u64)> {
    let mut sums: Vec<(&'t Task<'a>, u32, u64)> = Vec::new();
    let mut places = HashMap::new();
    for task in tasks {
        match places.get(task.name).and_then(|place: &usize| sums.get_mut(*place)) {
            Some((_, count, pages)) => (*count, *pages) = (*count + 1, pages.saturating_add(task.pages())),
            None => {
                places.insert(task.name, sums.len());
                sums.push((task, 1, task.pages()));
            }
        }
    }
    sums.retain(|(_, count, _)| *count > 1);
    sums.sort_by_key(|(_, _, pages)| Reverse(*pages));
    sums.truncate(MOST_SUMS);
    sums
}

/// ` oom_score_adj:893`, where memory was asked for `oom_score_adj=893`
fn adjustment(tail: &str) -> Option<(&str, i32)> {
    const LABELS: [&str; 2] = ["oom_score_adj:", "oom_score_adj="];
    let (label, at) = LABELS.iter().find_map(|label| Some((label, tail.find(label)?)))?;
    let words = &tail[at..];
    let value = words[label.len()..].split(|c: char| c != '-' && !c.is_ascii_digit()).next()?;
    Some((&words[..label.len() + value.len()], value.parse().ok()?))
}

/// ` score 919 or sacrifice child`
fn score(tail: &str) -> Option<(&str, f64)> {
    const LABEL: &str = "score ";
    let words = tail.strip_prefix(' ').filter(|words| words.starts_with(LABEL))?;
    let (value, _) = words[LABEL.len()..].split_once(' ')?;
    Some((&words[..LABEL.len() + value.len()], value.parse().ok()?))
}

/// The name at the end of `before`. The kernel's names have at most 15 bytes; of longer text only the last word surely belongs to the name.
fn own_name(before: &str) -> Option<&str> {
    let before = before.trim();
    let name = if before.len() <= 15 { before } else { before.rsplit(char::is_whitespace).next()? };
    (!name.is_empty() && name.len() <= 15).then_some(name)
}
