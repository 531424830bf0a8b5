//! Reads one line of a report by itself.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::character::complete::{char, digit1, hex_digit1, i32 as signed, space0, u32 as integer};
use nom::combinator::{consumed, opt, recognize};
use nom::sequence::{delimited, pair, preceded};
use nom::{IResult, Parser};

use super::cgroup::{self, CgroupUsage, Statistics};
use super::memory::{self, Buddies, HugePages, Swap, Zone};
use super::tasks::{self, TaskRow};
use crate::parse::text::Size;

/// The kinds of lines of a report.
#[derive(Debug, Clone, Copy)]
pub(super) enum KernelLine<'a> {
    /// An allocation failed; the first line of a report.
    Trigger(Trigger<'a>),
    /// A line between the beginning and the end.
    Detail(Detail<'a>),
    /// The chosen process, and the cgroup whose limit was hit; since 5.0.
    Kill(OomKill<'a>),
    /// The process that the kernel is about to kill; before 5.1.
    Intent(KernelProcess<'a>),
    /// The process that it killed.
    Victim(KernelProcess<'a>),
    /// The whole cgroup is killed: its path.
    Group(&'a str),
    /// The kernel panics, or finds no process to kill: the words.
    Helpless(Helpless, &'a str),
    /// The memory of a killed process was reclaimed.
    Reaped(KernelProcess<'a>),
}

/// The lines in the middle of a report.
#[derive(Debug, Clone, Copy)]
pub(super) enum Detail<'a> {
    /// `CPU: 3 PID: 473 Comm: python3 Not tainted 6.1.1 #1`
    Processor(Processor<'a>),
    /// `sed cpuset=/ mems_allowed=0-1`: the two values.
    Cpuset(&'a str, &'a str),
    /// `mem_cgroup_out_of_memory+0x145/0x160`: a frame of the call trace that tells why the OOM killer ran.
    Caller(Caller, &'a str),
    /// `Task in /a killed as a result of limit of /b`: the two paths.
    Limit(Option<&'a str>, &'a str),
    Usage(CgroupUsage<'a>),
    Statistics(Statistics<'a>),
    /// Counters of the whole machine, in pages.
    Counters(&'a str),
    Zone(Zone<'a>),
    Buddies(Buddies<'a>),
    HugePages(HugePages<'a>),
    Swap(Swap<'a>),
    /// `4115400 pages RAM`: the words and the number.
    Ram(&'a str, u64),
    /// The task table's header.
    Columns(&'a str),
    Task(TaskRow<'a>),
    /// A heading without a figure.
    Heading,
}

/// What a call trace tells about the OOM killer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// A memory cgroup at its limit called it.
    Cgroup,
    /// A person or program called it with SysRq-f.
    SysRq,
    /// It ran, for whatever reason.
    Killer,
}

/// Why no process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Helpless {
    Panic,
    NobodyKillable,
}

/// `python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0`
#[derive(Debug, Clone, Copy)]
pub(super) struct Trigger<'a> {
    pub words: &'a str,
    /// The task that asked for memory, which need not be the culprit; everything before the words if that is not a name.
    pub before: &'a str,
    pub gfp_mask: &'a str,
    pub nodemask: Option<&'a str>,
    pub order: Option<(&'a str, i32)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Processor<'a> {
    pub pid: Option<(&'a str, u32)>,
    pub comm: &'a str,
    pub release: Option<&'a str>,
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,…,task=python3,pid=123,uid=0`
#[derive(Debug, Clone, Copy)]
pub(super) struct OomKill<'a> {
    pub words: &'a str,
    pub constraint: Option<&'a str>,
    pub nodemask: Option<&'a str>,
    pub cpuset: Option<&'a str>,
    pub mems_allowed: Option<&'a str>,
    pub oom_memcg: Option<&'a str>,
    pub task_memcg: Option<&'a str>,
    pub comm: Option<&'a str>,
    pub pid: Option<(&'a str, u32)>,
}

/// `Killed process 123 (python3) total-vm:…`, `Kill process 123 (python3) score 9 …`, `reaped process 123 (python3), …`
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelProcess<'a> {
    /// The words up to the pid.
    pub words: &'a str,
    pub pid: u32,
    pub comm: Option<&'a str>,
    /// The text before the words.
    pub head: &'a str,
    /// The text after the name.
    pub tail: &'a str,
}

impl KernelProcess<'_> {
    /// Whether the words before it name a memory cgroup's limit.
    pub fn is_in_cgroup(&self) -> bool {
        self.head.contains("emory cgroup out of memory")
    }

    /// Whether the words before it say that memory ran out.
    pub fn says_why(&self) -> bool {
        ["ut of memory", "ut of Memory", "No available memory"].iter().any(|words| self.head.contains(words))
    }

    /// Whether the process's sizes follow.
    pub fn has_sizes(&self) -> bool {
        self.tail.contains("-rss:")
    }
}

/// Reads `line`; `None` if it is no line of a report or only mentions one.
pub(super) fn read(line: &str) -> Option<KernelLine<'_>> {
    // Rows of the task table first, because a report has thousands of them.
    if let Some(row) = tasks::row(line) {
        return Some(KernelLine::Detail(Detail::Task(row)));
    }
    let telling = trigger(line)
        .map(KernelLine::Trigger)
        .or_else(|| kill(line).map(KernelLine::Kill))
        .or_else(|| victim(line).map(KernelLine::Victim))
        .or_else(|| intent(line).map(KernelLine::Intent))
        .or_else(|| reaped(line).map(KernelLine::Reaped))
        .or_else(|| group(line).map(KernelLine::Group))
        .or_else(|| helpless(line).map(|(why, words)| KernelLine::Helpless(why, words)));
    telling.or_else(|| detail(line).map(KernelLine::Detail))
}

/// How many of the values that the kernel prints about a killed process can be read from `line`.
pub(super) fn told(line: &str) -> usize {
    const SIZES: [&str; 6] = ["total-vm:", "vsz:", "anon-rss:", "file-rss:", "shmem-rss:", "pgtables:"];
    match read(line) {
        Some(KernelLine::Victim(_)) => {
            let sizes = SIZES.iter().filter(|label| labelled(line, label).is_some()).count();
            sizes + usize::from(line.contains(" oom_score_adj:"))
        }
        Some(KernelLine::Kill(kill)) => {
            let OomKill { constraint, nodemask, cpuset, mems_allowed, oom_memcg, task_memcg, comm, .. } = kill;
            let fields = [constraint, nodemask, cpuset, mems_allowed, oom_memcg, task_memcg, comm];
            fields.iter().flatten().count() + usize::from(kill.pid.is_some())
        }
        _ => 0,
    }
}

fn detail(line: &str) -> Option<Detail<'_>> {
    processor(line)
        .map(Detail::Processor)
        .or_else(|| caller(line).map(|(who, words)| Detail::Caller(who, words)))
        .or_else(|| cpuset(line).map(|(path, nodes)| Detail::Cpuset(path, nodes)))
        .or_else(|| limit(line).map(|(task, path)| Detail::Limit(task, path)))
        .or_else(|| cgroup::usage(line).map(Detail::Usage))
        .or_else(|| cgroup::statistics(line).map(Detail::Statistics))
        .or_else(|| memory::read(line))
        .or_else(|| tasks::is_header(line).then_some(Detail::Columns(line)))
        .or_else(|| heading(line).then_some(Detail::Heading))
}

/// `{comm} invoked oom-killer: gfp_mask=…`; before 2.6.2x without a name.
fn trigger(line: &str) -> Option<Trigger<'_>> {
    let at = line.find("oom-killer: gfp_mask=0x")?;
    let before = line[..at].strip_suffix(" invoked ").unwrap_or(&line[..at]);
    let (rest, gfp_mask) = preceded(tag("oom-killer: gfp_mask="), flags).parse(&line[at..]).ok()?;
    let (rest, nodemask) = opt(preceded((char(','), space0, tag("nodemask=")), nodes)).parse(rest).ok()?;
    let order = order(rest).ok().map(|(_, order)| order);
    Some(Trigger { words: &line[at..], before, gfp_mask, nodemask, order })
}

/// `, order=0`: the words and the number; an allocation of order n has 2^n pages.
fn order(text: &str) -> IResult<&str, (&str, i32)> {
    preceded((char(','), space0), consumed(preceded(tag("order="), signed))).parse(text)
}

/// `0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP)`, before 4.6 `0x201da`.
fn flags(text: &str) -> IResult<&str, &str> {
    let names = delimited(char('('), take_until(")"), char(')'));
    recognize((tag("0x"), hex_digit1, opt(names))).parse(text)
}

/// `0-1,3`, `(null)`
fn nodes(text: &str) -> IResult<&str, &str> {
    let list = recognize((digit1, more_numbers));
    alt((tag("(null)"), list)).parse(text)
}

/// The rest of a list of numbers; a comma or dash belongs to it if a number follows.
fn more_numbers(text: &str) -> IResult<&str, &str> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let belongs = |at: &usize| is_digit(*at) || matches!(bytes.get(*at), Some(b',' | b'-')) && is_digit(at + 1);
    let end = (0..bytes.len()).take_while(belongs).count();
    Ok((&text[end..], &text[..end]))
}

/// `CPU: 0 UID: 0 PID: 22 Comm: python3 Not tainted 6.18.44 #1`, in 2.6 `Pid: 22, comm: python3 Not tainted 2.6.32 #1`.
fn processor(line: &str) -> Option<Processor<'_>> {
    let (at, label) = ["Comm: ", "comm: "].iter().find_map(|label| Some((line.find(label)?, label)))?;
    let (before, rest) = (&line[..at], &line[at + label.len()..]);
    let at = [" Not tainted", " Tainted: "].iter().find_map(|word| rest.find(word))?;
    let pid = ["PID: ", "Pid: "].iter().find_map(|label| Some(before.find(label)? + label.len()));
    let pid = pid.and_then(|at| number(&before[at..]).ok()).map(|(_, pid)| pid);
    let is_release =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.bytes().any(|byte| byte == b'.');
    Some(Processor { pid, comm: &rest[..at], release: rest[at..].split_whitespace().find(is_release) })
}

fn caller(line: &str) -> Option<(Caller, &str)> {
    [
        (Caller::Cgroup, "mem_cgroup_out_of_memory"),
        (Caller::Cgroup, "mem_cgroup_oom_synchronize"),
        (Caller::SysRq, "moom_callback"),
        (Caller::Killer, "oom_kill_process+0x"),
        (Caller::Killer, "out_of_memory+0x"),
        // 32-bit ARM names the function, and then whoever called it (arch/arm/kernel/traps.c).
        (Caller::Killer, "(out_of_memory) from "),
    ]
    .into_iter()
    .find_map(|(who, function)| line.find(function).map(|at| (who, &line[at..at + function.len()])))
}

/// `{comm} cpuset={path} mems_allowed={nodes}` on a line of its own, before 5.0.
fn cpuset(line: &str) -> Option<(&str, &str)> {
    let at = line.find(" cpuset=")?;
    cpuset_and_nodes(&line[at..]).ok().map(|(_, both)| both)
}

fn cpuset_and_nodes(text: &str) -> IResult<&str, (&str, &str)> {
    let path = take_while1(|c: char| !c.is_whitespace() && c != ',');
    pair(preceded(tag(" cpuset="), path), preceded(tag(" mems_allowed="), nodes)).parse(text)
}

/// `Task in {path} killed as a result of limit of {path}`, before 5.0; without a task `Memory limit reached of cgroup {path}`.
fn limit(line: &str) -> Option<(Option<&str>, &str)> {
    const OF: &str = " killed as a result of limit of ";
    const ALONE: &str = "Memory limit reached of cgroup ";
    let (task, path) = match line.find(ALONE) {
        Some(at) => (None, &line[at + ALONE.len()..]),
        None => {
            let (task, path) = line[line.find("Task in /")? + "Task in ".len()..].split_once(OF)?;
            (Some(task), path)
        }
    };
    path.starts_with('/').then_some((task, path.trim_end()))
}

/// `oom-kill:constraint=…,nodemask=…,…`. A value at the end of the line may be cut off, so it counts only if another field follows.
fn kill(line: &str) -> Option<OomKill<'_>> {
    const KEYS: [&str; 9] = [
        ",nodemask=",
        ",cpuset=",
        ",mems_allowed=",
        ",oom_memcg=",
        ",global_oom",
        ",task_memcg=",
        ",task=",
        ",pid=",
        ",uid=",
    ];
    let words = &line[line.find("oom-kill:constraint=CONSTRAINT_")?..];
    let field = |key: &str| {
        let value = &words[words.find(key)? + key.len()..];
        let end = KEYS.iter().filter_map(|next| value.find(next)).min()?;
        Some(&value[..end])
    };
    let pid = field(",pid=").and_then(|digits| {
        let at = words.find(",pid=")? + 1;
        Some((&words[at..at + "pid=".len() + digits.len()], digits.parse().ok()?))
    });
    Some(OomKill {
        words,
        constraint: field("constraint="),
        nodemask: field(",nodemask="),
        cpuset: field(",cpuset="),
        mems_allowed: field(",mems_allowed="),
        oom_memcg: field(",oom_memcg="),
        task_memcg: field(",task_memcg="),
        comm: field(",task="),
        pid,
    })
}

/// `Killed process 123 (python3) total-vm:…`; in RHEL 6 `Killed process 123, UID 500, (python3) …`.
fn victim(line: &str) -> Option<KernelProcess<'_>> {
    named(line, "Killed process ").or_else(|| named(line, "OOM victim "))
}

/// `Kill process 123 (python3) score 9 or sacrifice child`; in 2.6 `kill process 123 (python3) score 9 or a child`.
fn intent(line: &str) -> Option<KernelProcess<'_>> {
    let process = named(line, "Kill process ").or_else(|| named(line, "kill process "))?;
    (process.says_why() && !process.tail.contains("sharing same memory")).then_some(process)
}

/// `oom_reaper: reaped process 123 (python3), now anon-rss:0kB, …`, `oom_reaper: unable to reap pid:123 (python3)`
fn reaped(line: &str) -> Option<KernelProcess<'_>> {
    let line = &line[line.find("oom_reaper: ")?..];
    named(line, "reaped process ").or_else(|| named(line, "unable to reap pid:"))
}

fn named<'a>(line: &'a str, label: &'static str) -> Option<KernelProcess<'a>> {
    let at = line.find(label)?;
    let (rest, (digits, pid)) = number(&line[at + label.len()..]).ok()?;
    let words = &line[at..at + label.len() + digits.len()];
    let rest = user(rest).map_or(rest, |(rest, _)| rest);
    // Without the bracket the number may be cut off.
    let name = rest.strip_prefix(" (")?;
    let end = [") total-vm:", ") vsz:", ") score ", "), now "].iter().find_map(|end| name.find(end));
    let end = end.or_else(|| name.char_indices().take(20).filter(|(_, c)| *c == ')').last().map(|(at, _)| at));
    let (comm, tail) = end.map_or((None, ""), |end| (Some(&name[..end]), &name[end + 1..]));
    Some(KernelProcess { words, pid, comm, head: &line[..at], tail })
}

fn number(text: &str) -> IResult<&str, (&str, u32)> {
    consumed(integer).parse(text)
}

/// `, UID 500,` of RHEL 6.
fn user(text: &str) -> IResult<&str, &str> {
    delimited(tag(", UID "), digit1, char(',')).parse(text)
}

fn group(line: &str) -> Option<&str> {
    let path = &line[line.find("Tasks in /")? + "Tasks in ".len()..];
    path.find(" are going to be killed due to memory.oom.group set").map(|end| &path[..end])
}

fn helpless(line: &str) -> Option<(Helpless, &str)> {
    const WORDS: [(Helpless, &str); 5] = [
        (Helpless::Panic, "Kernel panic - not syncing: Out of memory"),
        (Helpless::Panic, "Kernel panic - not syncing: System is deadlocked on memory"),
        (Helpless::Panic, "Kernel panic - not syncing: out of memory. panic_on_oom is selected"),
        (Helpless::Panic, "Kernel panic - not syncing: Memory cgroup out of memory"),
        (Helpless::NobodyKillable, "Out of memory and no killable processes..."),
    ];
    let line = line.trim();
    WORDS.into_iter().find(|(_, words)| line.starts_with(words)).map(|(why, _)| (why, line))
}

fn heading(line: &str) -> bool {
    ["Mem-Info:", "Tasks state (memory values in pages):"].contains(&line.trim())
}

/// `Node 0 Normal`; without NUMA only `Normal`.
pub(super) fn zone_name(text: &str) -> IResult<&str, (Option<u32>, &str)> {
    let name = take_while1(|c: char| c.is_ascii_alphanumeric());
    (opt(delimited(tag("Node "), integer, char(' '))), name).parse(text)
}

/// `min:61948kB` within a line: the words and the amount.
pub(super) fn labelled<'a>(line: &'a str, label: &str) -> Option<Size<'a>> {
    let words = value_of(line, label)?;
    let (rest, size) = crate::parse::text::size(&words[label.len()..]).ok()?;
    Some(Size { text: &words[..words.len() - rest.len()], ..size })
}

/// `free:34629` within a line: the words and the number.
pub(super) fn counted<'a>(line: &'a str, label: &str) -> Option<(&'a str, u64)> {
    let words = value_of(line, label)?;
    let digits = words[label.len()..].split(|c: char| !c.is_ascii_digit()).next()?;
    let end = label.len() + digits.len();
    // `kB` after it would make it something else.
    let is_whole = words[end..].is_empty() || words[end..].starts_with([' ', '\t', '#']);
    is_whole.then(|| Some((&words[..end], digits.parse().ok()?)))?
}

/// The line from `label` on, where that begins a word. rsyslog writes the line feeds within a message as `#012`.
fn value_of<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let begins =
        |at: &usize| line[..*at].is_empty() || line[..*at].ends_with([' ', '\t', ',']) || line[..*at].ends_with("#012");
    line.match_indices(label).map(|(at, _)| at).find(begins).map(|at| &line[at..])
}
