//! The processes of the job: which they are, what memory they use, how they end.
//!
//! A process belongs to the job if its parent does or if it is in the command's process group. It keeps belonging to
//! it, even when another process becomes its parent.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::time::{Duration, Instant};

use super::amount::{Amount, counted};
use super::names;

/// Beyond this number processes are summed up instead of listed.
const MOST_NAMED: usize = 256;
/// How many processes are asked at once for something that seldom changes.
const AT_ONCE: usize = 16;
/// A process whose proportional share (PSS) takes longer than this to read is not asked for it again.
const COSTLY: Duration = Duration::from_millis(1);

/// The processes of the job.
pub(super) struct Processes {
    root: u32,
    known: BTreeMap<u32, Process>,
    /// Processes that do not belong to the job.
    strangers: HashSet<u32>,
    /// The process whose PSS was read last.
    counted: u32,
    buffer: String,
}

/// A process of the job.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub pid: u32,
    /// The kernel's name for it, without blanks.
    pub name: String,
    pub rank: Option<u32>,
    /// A digest of its command line and environment at the last look.
    said: Option<u64>,
    /// Whether the last two looks found the same digest.
    is_settled: bool,
    pub memory: Memory,
    /// PSS as a fraction of the resident memory, when it was last read.
    own_share: Option<f64>,
    /// How it ended, if it was seen as a zombie.
    pub exit: Option<Exit>,
    /// Whether its end was reported.
    pub is_told: bool,
    /// Whether it is exiting.
    is_leaving: bool,
    /// Whether it is a zombie.
    is_zombie: bool,
    /// Whether reading its PSS takes too long.
    is_costly: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Signal(i32),
    Status(i32),
}

impl Exit {
    /// Decodes the status of `wait`.
    pub fn of(status: i32) -> Exit {
        match status & 0x7f {
            0 => Exit::Status(status >> 8 & 0xff),
            signal => Exit::Signal(signal),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::Status(status) => write!(f, "status {status}"),
        }
    }
}

/// The memory of a process.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub resident: Amount,
    /// The most resident memory that it ever had.
    peak: Amount,
    /// PSS: resident memory with shared pages divided among their users.
    proportional: Option<Amount>,
    /// The resident memory in `/dev/shm` and other shared memory.
    shared: Amount,
    locked: Amount,
    swapped: Amount,
}

/// What a look at a known process found.
enum LookResult {
    Same,
    /// It has executed another program.
    Renamed,
    Gone,
}

/// The changes since the last look.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// New processes, and those that executed another program.
    pub begun: Vec<u32>,
    /// Processes that are gone, as they were last seen.
    pub gone: Vec<Process>,
}

impl Processes {
    /// The process tree below `root`.
    pub fn of(root: u32) -> Processes {
        Processes { root, known: BTreeMap::new(), strangers: HashSet::new(), counted: 0, buffer: String::new() }
    }

    /// Looks at all processes.
    pub fn look(&mut self) -> Changes {
        let listed = listed();
        let mut changes = Changes { begun: self.find(&listed), gone: Vec::new() };
        let pids: Vec<u32> = self.known.keys().copied().collect();
        for pid in pids {
            match self.measure(pid) {
                LookResult::Same => {}
                LookResult::Renamed => changes.begun.push(pid),
                LookResult::Gone => changes.gone.extend(self.known.remove(&pid)),
            }
        }
        changes.begun.sort_unstable();
        changes.begun.dedup();
        self.count_shares();
        changes
    }

    /// Finds the new processes of the job among `listed`.
    fn find(&mut self, listed: &[u32]) -> Vec<u32> {
        self.strangers.retain(|pid| listed.binary_search(pid).is_ok());
        let unknown: Vec<u32> = listed
            .iter()
            .copied()
            .filter(|pid| !self.known.contains_key(pid) && !self.strangers.contains(pid))
            .collect();
        let stats: Vec<(u32, Stat)> =
            unknown.iter().filter_map(|pid| Some((*pid, Stat::of(*pid, &mut self.buffer)?))).collect();
        let mut new = Vec::new();
        // Repeated because a child's pid may be lower than its parent's.
        loop {
            let before = new.len();
            for (pid, stat) in &stats {
                let is_own = *pid == self.root || stat.group == self.root || self.known.contains_key(&stat.parent);
                if is_own && !self.known.contains_key(pid) {
                    self.known.insert(*pid, Process::new(*pid));
                    new.push(*pid);
                }
            }
            if new.len() == before {
                break;
            }
        }
        let strangers = stats.iter().map(|(pid, _)| *pid).filter(|pid| !self.known.contains_key(pid));
        self.strangers.extend(strangers);
        new
    }

    /// Reads the memory of a process.
    fn measure(&mut self, pid: u32) -> LookResult {
        let Processes { known, buffer, .. } = self;
        let Some(process) = known.get_mut(&pid) else { return LookResult::Gone };
        if !read(&format!("/proc/{pid}/status"), buffer) {
            return LookResult::Gone;
        }
        let of = |name: &str| counted(buffer, name).map(Amount::kib);
        let field = |name: &str| buffer.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        process.is_zombie = field("State:").is_some_and(|state| state.starts_with(['Z', 'X']));
        let name = plain(field("Name:").unwrap_or_default());
        if process.is_zombie {
            // A zombie's memory is freed already; its last values are kept.
            process.exit = Stat::of(pid, buffer).and_then(|stat| stat.exit).map(Exit::of);
            return LookResult::Same;
        }
        let proportional = process.memory.proportional;
        // An exiting process frees its memory gradually; the values before that are kept.
        let (resident, before) = (of("VmRSS"), process.memory.resident);
        let fell = resident.is_none_or(|resident| resident.0 < before.0 / 10 * 9);
        let now = Memory {
            resident: resident.unwrap_or_default(),
            peak: of("VmHWM").unwrap_or_default(),
            proportional,
            shared: of("RssShmem").unwrap_or_default(),
            locked: Amount(of("VmLck").unwrap_or_default().0 + of("VmPin").unwrap_or_default().0),
            swapped: of("VmSwap").unwrap_or_default(),
        };
        process.is_leaving = fell && Stat::of(pid, buffer).is_some_and(|stat| stat.is_leaving);
        if process.is_leaving {
            return LookResult::Same;
        }
        process.memory = now;
        let is_renamed = process.name != name;
        process.name = name;
        if process.is_settled && !is_renamed {
            return LookResult::Same;
        }
        let before = process.rank;
        process.identify();
        if is_renamed || process.rank != before { LookResult::Renamed } else { LookResult::Same }
    }

    /// Reads the PSS of one more process per round, because this is expensive for a large one.
    fn count_shares(&mut self) {
        let Processes { known, counted: last, buffer, .. } = self;
        let next =
            known.range(*last + 1..).chain(known.range(..=*last)).find(|(_, one)| !one.is_costly && !one.is_zombie);
        let Some(pid) = next.map(|(pid, _)| *pid) else { return };
        let began = Instant::now();
        *last = pid;
        let is_read = read(&format!("/proc/{pid}/smaps_rollup"), buffer);
        let Some(process) = known.get_mut(&pid) else { return };
        process.is_costly = began.elapsed() > COSTLY;
        // A value that is not renewed would become misleading.
        let is_kept = is_read && !process.is_costly;
        process.memory.proportional = counted(buffer, "Pss").filter(|_| is_kept).map(Amount::kib);
        let (share, resident) = (process.memory.proportional, process.memory.resident);
        process.own_share = share.filter(|_| resident.0 > 0).map(|share| share.0 as f64 / resident.0 as f64);
    }

    /// Some of the processes, in turn, whose cgroups are looked up in this round, so that the cost does not depend on
    /// their number.
    pub fn some(&self, round: usize) -> impl Iterator<Item = u32> {
        let rounds = self.known.len().div_ceil(AT_ONCE).max(1);
        self.known.keys().copied().skip(round % rounds * AT_ONCE).take(AT_ONCE)
    }

    /// The living processes, those with the least memory first.
    pub fn living(&self) -> Vec<&Process> {
        let mut living: Vec<&Process> =
            self.known.values().filter(|process| !process.is_zombie && !process.is_leaving).collect();
        living.sort_by_key(|process| process.memory.resident);
        living
    }

    /// The memory of all living processes, with shared pages counted once where the PSS is known.
    pub fn held(&self) -> Amount {
        let living = self.known.values().filter(|process| !process.is_zombie && !process.is_leaving);
        let held = |process: &Process| process.memory.resident.0 as f64 * process.own_share.unwrap_or(1.0).min(1.0);
        Amount(living.map(held).sum::<f64>() as u64)
    }

    /// Whether `pid` is the process that is recorded.
    pub fn is_root(&self, pid: u32) -> bool {
        self.root == pid
    }

    /// The process `pid`, if it belongs to the job.
    pub fn get(&self, pid: u32) -> Option<&Process> {
        self.known.get(&pid)
    }

    /// Zombies whose ends were not reported yet; marks them as reported.
    pub fn newly_dead(&mut self) -> Vec<Process> {
        let dead = self.known.values_mut().filter(|process| process.is_zombie && !process.is_told);
        dead.map(|process| {
            process.is_told = true;
            process.clone()
        })
        .collect()
    }

    /// The lines of a record, one per process.
    pub fn lines(&self) -> Vec<String> {
        let living = self.living();
        let (unnamed, named) = living.split_at(living.len().saturating_sub(MOST_NAMED));
        let rest = Amount(unnamed.iter().map(|process| process.memory.resident.0).sum());
        let more = (!unnamed.is_empty()).then(|| format!("{} more processes: rss {rest}", unnamed.len()));
        more.into_iter().chain(named.iter().map(|process| format!("{process}: {}", process.memory))).collect()
    }
}

impl Process {
    fn new(pid: u32) -> Process {
        let (name, memory) = (String::new(), Memory::default());
        Process {
            pid,
            name,
            rank: None,
            said: None,
            is_settled: false,
            memory,
            own_share: None,
            exit: None,
            is_told: false,
            is_leaving: false,
            is_zombie: false,
            is_costly: false,
        }
    }

    /// The process with the given exit.
    pub fn ended(self, exit: Exit) -> Process {
        Process { exit: Some(exit), ..self }
    }

    /// Looks up the rank, which may be new after the process executed another program.
    ///
    /// Linux changes the name on exec before the arguments and environment (`begin_new_exec`, then
    /// `create_elf_tables`), and until its own exec a child shows its parent's. So both are read until they stay the
    /// same.
    fn identify(&mut self) {
        let of = |file: &str| fs::read(format!("/proc/{}/{file}", self.pid)).unwrap_or_default();
        let (environment, line) = (of("environ"), of("cmdline"));
        let mut digest = DefaultHasher::new();
        (&environment, &line).hash(&mut digest);
        let said = Some(digest.finish());
        self.is_settled = !line.is_empty() && self.said == said;
        self.said = said;
        self.rank = names::rank(|name| names::variable(&environment, name)).or_else(|| {
            let words = words(&line);
            names::rank_of_arguments(&words.iter().map(String::as_str).collect::<Vec<&str>>())
        });
    }
}

/// The command line of a process.
pub(super) fn command(pid: u32) -> Vec<String> {
    words(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
}

/// The words in the contents of `/proc/PID/cmdline`.
fn words(line: &[u8]) -> Vec<String> {
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} {}", self.pid, if self.name.is_empty() { "?" } else { &self.name })?;
        self.rank.iter().try_for_each(|rank| write!(f, " rank {rank}"))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rss {}, peak {}", self.resident, self.peak)?;
        self.proportional.iter().try_for_each(|amount| write!(f, ", pss {amount}"))?;
        for (name, amount) in [("shared", self.shared), ("locked", self.locked), ("swap", self.swapped)] {
            if amount > Amount(0) {
                write!(f, ", {name} {amount}")?;
            }
        }
        Ok(())
    }
}

/// `PF_EXITING`: the process is exiting.
const EXITING: u32 = 0x4;

/// Fields of `/proc/PID/stat`.
struct Stat {
    parent: u32,
    group: u32,
    is_leaving: bool,
    is_dead: bool,
    /// The exit status of a zombie.
    exit: Option<i32>,
}

impl Stat {
    fn of(pid: u32, buffer: &mut String) -> Option<Stat> {
        if !read(&format!("/proc/{pid}/stat"), buffer) {
            return None;
        }
        // The name may contain anything, even parentheses and blanks.
        let (_, fields) = buffer.rsplit_once(") ")?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        // After the session and two fields about the terminal.
        let flags: u32 = fields.nth(3)?.parse().ok()?;
        let is_leaving = flags & EXITING != 0;
        let exit = fields.last().and_then(|status| status.parse().ok()).filter(|_| state == "Z");
        let is_dead = matches!(state, "Z" | "X");
        Some(Stat { parent, group, is_leaving, is_dead, exit })
    }
}

/// Whether a process of this group is alive.
pub(super) fn is_any_in(group: u32) -> bool {
    let mut buffer = String::new();
    let mut of_group =
        listed().into_iter().filter_map(|pid| Stat::of(pid, &mut buffer)).filter(|stat| stat.group == group);
    of_group.any(|stat| !stat.is_dead)
}

/// All process ids in ascending order.
fn listed() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Reads a file into `buffer`; returns whether that succeeded.
fn read(path: &str, buffer: &mut String) -> bool {
    buffer.clear();
    File::open(path).and_then(|mut file| file.read_to_string(buffer)).is_ok()
}

/// A name without the separators of a record.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_whitespace() || c.is_control() || c == ':' { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_a_child_and_how_it_ended() -> Result<(), Box<dyn std::error::Error>> {
        let mut child = std::process::Command::new("sleep").arg("600").env("RANK", "3").spawn()?;
        let pid = child.id();
        let mut processes = Processes::of(std::process::id());
        let changes = processes.look();
        assert!(changes.begun.contains(&pid) && changes.begun.contains(&std::process::id()));
        let known = |processes: &Processes| processes.known.get(&pid).cloned().ok_or("it is not known");
        // It may not have executed `sleep` yet, or not show its environment yet.
        while !known(&processes)?.is_settled || known(&processes)?.name != "sleep" {
            processes.look();
        }
        assert_eq!(known(&processes)?.to_string(), format!("process {pid} sleep rank 3"));
        assert!(known(&processes)?.memory.resident > Amount(0));
        child.kill()?;
        while !known(&processes)?.is_zombie {
            processes.look();
        }
        assert_eq!(known(&processes)?.exit, Some(Exit::Signal(9)));
        child.wait()?;
        assert!(processes.look().gone.iter().any(|gone| gone.pid == pid && gone.memory.resident > Amount(0)));
        Ok(())
    }

    #[test]
    fn names_hold_nothing_that_parts_words() {
        assert_eq!(plain("pt main: 0\t"), "pt_main__0_");
        assert_eq!(
            (Exit::of(9), Exit::of(3 << 8), Exit::of(139)),
            (Exit::Signal(9), Exit::Status(3), Exit::Signal(11))
        );
    }
}
