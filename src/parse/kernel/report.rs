//! A whole report: its lines combined, and the event that they state.

use super::cgroup::{CgroupUsage, Counter, Statistics};
use super::figures::Collector;
use super::line::{self, Caller, Detail, Helpless, KernelLine, KernelProcess, OomKill, Processor, Trigger};
use super::memory::{self, Buddies, HugePages, Swap, Zone};
use super::tasks::{self, Task, TaskRow};
use crate::model::{Bytes, Event, Kind, Severity, Shortage, Victim, What};
use crate::parse::Record;

/// The contents of a report's lines.
#[derive(Debug, Default)]
pub(super) struct Report<'a> {
    pub trigger: Option<Trigger<'a>>,
    pub processor: Option<Processor<'a>>,
    pub cpuset: Option<(&'a str, &'a str)>,
    pub callers: Vec<(Caller, &'a str)>,
    pub limit: Option<(Option<&'a str>, &'a str)>,
    pub usages: Vec<CgroupUsage<'a>>,
    pub statistics: Vec<Statistics<'a>>,
    pub counters: Vec<&'a str>,
    pub zones: Vec<Zone<'a>>,
    pub buddies: Vec<Buddies<'a>>,
    pub huge_pages: Vec<HugePages<'a>>,
    pub swap: Vec<Swap<'a>>,
    pub ram: Option<(&'a str, u64)>,
    pub columns: Option<&'a str>,
    pub rows: Vec<TaskRow<'a>>,
    pub kill: Option<OomKill<'a>>,
    pub intent: Option<KernelProcess<'a>>,
    pub victims: Vec<KernelProcess<'a>>,
    pub group: Option<&'a str>,
    pub helpless: Vec<(Helpless, &'a str)>,
    pub reaped: Vec<KernelProcess<'a>>,
}

impl<'a> Report<'a> {
    /// Combines the lines of `text`.
    pub fn read(text: &'a str) -> Report<'a> {
        let mut report = Report::default();
        for part in text.lines().filter_map(line::read) {
            match part {
                KernelLine::Trigger(trigger) => report.trigger = report.trigger.or(Some(trigger)),
                KernelLine::Kill(kill) => report.kill = report.kill.or(Some(kill)),
                KernelLine::Intent(process) => report.intent = report.intent.or(Some(process)),
                KernelLine::Victim(process) if report.victims.iter().any(|known| known.pid == process.pid) => {}
                KernelLine::Victim(process) => report.victims.push(process),
                KernelLine::Group(path) => report.group = Some(path),
                KernelLine::Helpless(why, words) => report.helpless.push((why, words)),
                KernelLine::Reaped(process) => report.reaped.push(process),
                KernelLine::Detail(detail) => report.add(detail),
            }
        }
        report
    }

    fn add(&mut self, detail: Detail<'a>) {
        match detail {
            Detail::Processor(processor) => self.processor = self.processor.or(Some(processor)),
            Detail::Cpuset(path, nodes) => self.cpuset = self.cpuset.or(Some((path, nodes))),
            Detail::Caller(caller, words) => self.callers.push((caller, words)),
            Detail::Limit(task, path) => self.limit = self.limit.or(Some((task, path))),
            Detail::Usage(usage) => self.usages.push(usage),
            Detail::Statistics(statistics) => self.statistics.push(statistics),
            Detail::Counters(line) => self.counters.push(line),
            Detail::Zone(zone) => self.zones.push(zone),
            Detail::Buddies(buddies) => self.buddies.push(buddies),
            Detail::HugePages(pages) => self.huge_pages.push(pages),
            Detail::Swap(swap) => self.swap.push(swap),
            Detail::Ram(words, pages) => self.ram = self.ram.or(Some((words, pages))),
            Detail::Columns(header) => self.columns = self.columns.or(Some(header)),
            Detail::Task(row) => self.rows.push(row),
            Detail::Heading => {}
        }
    }

    /// The event of the report, if it proves that the OOM killer ran.
    pub fn event(&self, record: &'a Record) -> Option<Event> {
        let proofs = self.proofs();
        let proof = *proofs.first()?;
        let tasks = tasks::tasks(self.columns, &self.rows);
        let told = Collector::new(record, self.page(&tasks));
        let (figures, facts, consumers) = told.all_of(self, &tasks);
        let kind = if self.is_in_cgroup() { Kind::HostOomCgroup } else { Kind::HostOomKernel };
        let shortage = Shortage { kind, severity: Severity::Fatal, victims: self.victims_of(record), consumers };
        let mut event = record.event("kernel", proof, What::Shortage(shortage));
        let evidence = [self.trigger.map(|trigger| trigger.words), self.memory_usage().map(|usage| usage.words)];
        let proofs = evidence.into_iter().flatten().chain(proofs.iter().skip(1).copied());
        for citation in proofs.map(|words| record.cite_line_of(words)) {
            if citation.location != event.at.location && !event.evidence.contains(&citation) {
                event.evidence.push(citation);
            }
        }
        event.figures = figures;
        event.facts = facts;
        Some(event)
    }

    /// The words that prove a kill or the need for one, strongest first.
    fn proofs(&self) -> Vec<&'a str> {
        // Any program may print `Killed process 7 (x)`.
        let is_alone = self.trigger.is_none() && self.kill.is_none() && self.intent.is_none() && self.limit.is_none();
        let is_sure = |victim: &&KernelProcess<'a>| !is_alone || victim.says_why() || victim.has_sizes();
        let mut proofs: Vec<&'a str> = self.victims.iter().filter(is_sure).map(|victim| victim.words).collect();
        proofs.extend(self.kill.map(|kill| kill.words));
        proofs.extend(self.intent.map(|intent| intent.words));
        proofs.extend(self.helpless.iter().map(|(_, words)| *words));
        proofs.extend(self.group);
        proofs.extend(self.limit.map(|(_, path)| path));
        proofs.extend(self.memory_usage().filter(|usage| usage.limit.is_some()).map(|usage| usage.words));
        proofs.extend(self.trigger.map(|trigger| trigger.words));
        // The reaper's line adds nothing to the others, so it counts only without them.
        if proofs.is_empty() {
            proofs.extend(self.reaped.first().map(|process| process.words));
        }
        // An excerpt from the middle of a report has nothing better.
        if proofs.is_empty() {
            proofs.extend(self.callers.iter().filter(|(caller, _)| *caller != Caller::SysRq).map(|(_, words)| *words));
            proofs.extend(self.columns);
            proofs.extend(self.statistics.iter().find_map(Statistics::heading));
        }
        proofs
    }

    fn is_in_cgroup(&self) -> bool {
        match self.kill.and_then(|kill| kill.constraint) {
            Some(constraint) => constraint == "CONSTRAINT_MEMCG",
            None => {
                self.victims.iter().chain(&self.intent).any(KernelProcess::is_in_cgroup)
                    || self.limit.is_some()
                    || self.group.is_some()
                    || self.memory_usage().is_some()
                    || self.callers.iter().any(|(caller, _)| *caller == Caller::Cgroup)
                    || self.statistics.iter().any(|statistics| statistics.heading().is_some())
                    || self.kill.is_some_and(|kill| kill.oom_memcg.is_some())
                    || self.helpless.iter().any(|(_, words)| words.contains("Memory cgroup"))
                    || self.is_helpless_without_panic()
            }
        }
    }

    /// Without a process to kill, the whole machine panics at once, but a cgroup goes on.
    fn is_helpless_without_panic(&self) -> bool {
        let why: Vec<Helpless> = self.helpless.iter().map(|(why, _)| *why).collect();
        let by_hand = self.callers.iter().any(|(caller, _)| *caller == Caller::SysRq);
        why.contains(&Helpless::NobodyKillable) && !why.contains(&Helpless::Panic) && !by_hand
    }

    pub fn memory_usage(&self) -> Option<&CgroupUsage<'a>> {
        self.usages.iter().find(|usage| usage.counter == Counter::Memory)
    }

    pub fn victim_pid(&self) -> Option<u32> {
        let chosen = self.kill.and_then(|kill| Some(kill.pid?.1));
        let killed = self.victims.first().map(|victim| victim.pid);
        killed.or(chosen).or(self.intent.map(|intent| intent.pid))
    }

    fn victims_of(&self, record: &Record) -> Vec<Victim> {
        let victim = |pid: u32, comm: Option<&str>| Victim {
            host: record.origin().host.clone(),
            pid: Some(pid),
            role: comm.map(Into::into),
            ..Victim::default()
        };
        let killed: Vec<Victim> = self.victims.iter().map(|process| victim(process.pid, process.comm)).collect();
        let chosen = || self.kill.and_then(|kill| Some(victim(kill.pid?.1, kill.comm)));
        let meant = || self.intent.map(|process| victim(process.pid, process.comm));
        let reaped = || self.own_reaped().map(|process| victim(process.pid, process.comm));
        match killed.is_empty() {
            true => chosen().or_else(meant).or_else(reaped).into_iter().collect(),
            false => killed,
        }
    }

    pub fn mems_allowed(&self) -> Option<&'a str> {
        self.kill.and_then(|kill| kill.mems_allowed).or(self.cpuset.map(|(_, nodes)| nodes))
    }

    /// The NUMA nodes that a memory policy allows.
    pub fn nodemask(&self) -> Option<&'a str> {
        let nodes = self.kill.and_then(|kill| kill.nodemask).or(self.trigger.and_then(|trigger| trigger.nodemask));
        nodes.filter(|nodes| *nodes != "(null)")
    }

    /// The process that the reaper names. If a report with a trigger names its victim, the reaper's line may be a late one about an earlier
    /// victim and does not count.
    pub fn own_reaped(&self) -> Option<&KernelProcess<'a>> {
        let says_who = !self.victims.is_empty() || self.kill.is_some() || self.intent.is_some();
        self.reaped.first().filter(|_| self.trigger.is_none() || !says_who)
    }

    /// The size of a page: from the victim, whose size is printed in pages and in kB, or from the smallest free block.
    fn page(&self, tasks: &[Task<'a>]) -> Bytes {
        let by_victim = self.victims.iter().find_map(|victim| {
            let pages = tasks.iter().find(|task| task.pid == victim.pid)?.total_vm;
            let size = line::labelled(victim.tail, "total-vm:")?.bytes?.0;
            [4, 16, 64]
                .map(|kib| Bytes(kib << 10))
                .into_iter()
                .find(|page| page.0.checked_mul(pages as i128) == Some(size))
        });
        by_victim.or_else(|| self.buddies.iter().find_map(Buddies::page)).unwrap_or(memory::USUAL_PAGE)
    }
}
