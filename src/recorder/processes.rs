//! The processes of the job: who they are, what they hold, how they end.
//!
//! A process is of the job if its parent is or was, or if it is in the command's process group. Once it is, it stays so, whoever becomes
//! its parent later.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::time::{Duration, Instant};

use super::amount::{Amount, counted};
use super::names;

/// More processes than this are counted, not named.
const MOST_NAMED: usize = 256;
/// As many are asked at once for what seldom changes.
const AT_ONCE: usize = 16;
/// Whose share of shared pages takes longer to count than this is not asked for it again.
const DEAR: Duration = Duration::from_millis(1);

/// See the module.
pub(super) struct Processes {
    root: u32,
    known: BTreeMap<u32, Process>,
    /// Those that are not of the job.
    strangers: HashSet<u32>,
    /// Whose share of shared pages was counted last.
    counted: u32,
    buffer: String,
}

/// A process of the job.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub pid: u32,
    /// As the kernel calls it, without blanks.
    pub name: String,
    pub rank: Option<u32>,
    /// A digest of what its command line and environment said at the last look.
    said: Option<u64>,
    /// Whether two looks in a row found the same there.
    is_settled: bool,
    pub memory: Memory,
    /// How much of its resident memory was its own when that was counted last, each shared page in part.
    own_share: Option<f64>,
    /// The signal or status with which it ended, where it was seen before its parent took note of it.
    pub exit: Option<Exit>,
    /// Whether its end was told.
    pub is_told: bool,
    /// Whether it is being torn down.
    is_leaving: bool,
    /// Whether it is dead and its parent has not taken note of it.
    is_zombie: bool,
    /// Whether its own share of shared pages takes too long to count.
    is_dear: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Signal(i32),
    Status(i32),
}

impl Exit {
    /// Of what `wait` says.
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

/// What a process holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub resident: Amount,
    /// The most that it ever had resident.
    peak: Amount,
    /// With its share of what several have.
    proportional: Option<Amount>,
    /// Of the resident: in `/dev/shm` and the like.
    shared: Amount,
    locked: Amount,
    swapped: Amount,
}

/// How a known process was found.
enum Found {
    Same,
    /// As another program than before.
    Renamed,
    Gone,
}

/// What changed since the last look.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Processes that were not there before, or became another program.
    pub begun: Vec<u32>,
    /// Those that are no more, as they were last seen.
    pub gone: Vec<Process>,
}

impl Processes {
    /// Those of the tree below `root`.
    pub fn of(root: u32) -> Processes {
        Processes { root, known: BTreeMap::new(), strangers: HashSet::new(), counted: 0, buffer: String::new() }
    }

    /// Looks at all of them.
    pub fn look(&mut self) -> Changes {
        let listed = listed();
        let mut changes = Changes { begun: self.find(&listed), gone: Vec::new() };
        let pids: Vec<u32> = self.known.keys().copied().collect();
        for pid in pids {
            match self.measure(pid) {
                Found::Same => {}
                Found::Renamed => changes.begun.push(pid),
                Found::Gone => changes.gone.extend(self.known.remove(&pid)),
            }
        }
        changes.begun.sort_unstable();
        changes.begun.dedup();
        self.count_shares();
        changes
    }

    /// Takes in which of `listed` are of the job and were not known.
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
        // A child may have a lower number than its parent.
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

    /// Reads what the process holds, if it is still there.
    fn measure(&mut self, pid: u32) -> Found {
        let Processes { known, buffer, .. } = self;
        let Some(process) = known.get_mut(&pid) else { return Found::Gone };
        if !read(&format!("/proc/{pid}/status"), buffer) {
            return Found::Gone;
        }
        let of = |name: &str| counted(buffer, name).map(Amount::kib);
        let field = |name: &str| buffer.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        process.is_zombie = field("State:").is_some_and(|state| state.starts_with(['Z', 'X']));
        let name = plain(field("Name:").unwrap_or_default());
        if process.is_zombie {
            // Its memory is gone; what it held last stays known.
            process.exit = Stat::of(pid, buffer).and_then(|stat| stat.exit).map(Exit::of);
            return Found::Same;
        }
        let proportional = process.memory.proportional;
        // Who is being torn down gives its memory back bit by bit: what it held before is what counts.
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
            return Found::Same;
        }
        process.memory = now;
        let is_renamed = process.name != name;
        process.name = name;
        if process.is_settled && !is_renamed {
            return Found::Same;
        }
        let before = process.rank;
        process.identify();
        if is_renamed || process.rank != before { Found::Renamed } else { Found::Same }
    }

    /// Counts the share of shared pages of one process more than last time: that is dear for a large one.
    fn count_shares(&mut self) {
        let Processes { known, counted: last, buffer, .. } = self;
        let next =
            known.range(*last + 1..).chain(known.range(..=*last)).find(|(_, one)| !one.is_dear && !one.is_zombie);
        let Some(pid) = next.map(|(pid, _)| *pid) else { return };
        let began = Instant::now();
        *last = pid;
        let is_read = read(&format!("/proc/{pid}/smaps_rollup"), buffer);
        let Some(process) = known.get_mut(&pid) else { return };
        process.is_dear = began.elapsed() > DEAR;
        // What is not counted again would be told of another time.
        let is_kept = is_read && !process.is_dear;
        process.memory.proportional = counted(buffer, "Pss").filter(|_| is_kept).map(Amount::kib);
        let (share, resident) = (process.memory.proportional, process.memory.resident);
        process.own_share = share.filter(|_| resident.0 > 0).map(|share| share.0 as f64 / resident.0 as f64);
    }

    /// Those that are asked for their cgroup now: some each time, all in turn, so that it costs the same however many there are.
    pub fn some(&self, round: usize) -> impl Iterator<Item = u32> {
        let rounds = self.known.len().div_ceil(AT_ONCE).max(1);
        self.known.keys().copied().skip(round % rounds * AT_ONCE).take(AT_ONCE)
    }

    /// The living, least memory first.
    pub fn living(&self) -> Vec<&Process> {
        let mut living: Vec<&Process> =
            self.known.values().filter(|process| !process.is_zombie && !process.is_leaving).collect();
        living.sort_by_key(|process| process.memory.resident);
        living
    }

    /// What all the living hold, each with its own share of what several have where that is known.
    pub fn held(&self) -> Amount {
        let living = self.known.values().filter(|process| !process.is_zombie && !process.is_leaving);
        let held = |process: &Process| process.memory.resident.0 as f64 * process.own_share.unwrap_or(1.0).min(1.0);
        Amount(living.map(held).sum::<f64>() as u64)
    }

    /// Whether it is the one that the recording is of.
    pub fn is_root(&self, pid: u32) -> bool {
        self.root == pid
    }

    /// The one with this number, if it is of the job.
    pub fn get(&self, pid: u32) -> Option<&Process> {
        self.known.get(&pid)
    }

    /// The dead whose parents have not taken note of them and whose ends were not told; now they are.
    pub fn newly_dead(&mut self) -> Vec<Process> {
        let dead = self.known.values_mut().filter(|process| process.is_zombie && !process.is_told);
        dead.map(|process| {
            process.is_told = true;
            process.clone()
        })
        .collect()
    }

    /// A line for each, as a record has it.
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
            is_dear: false,
        }
    }

    /// The same, as it ended.
    pub fn ended(self, exit: Exit) -> Process {
        Process { exit: Some(exit), ..self }
    }

    /// Asks for its rank, which it may have been given when it became another program.
    ///
    /// The kernel names a new program before it shows its arguments and environment (`begin_new_exec` and `create_elf_tables` of
    /// Linux), and a child has its parent's until it is another program: so they are asked until they stay.
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

/// The command line of a process, word for word.
pub(super) fn command(pid: u32) -> Vec<String> {
    words(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
}

/// The words of a command line as the kernel shows it.
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

/// The flag of a process that is being torn down.
const EXITING: u32 = 0x4;

/// What `/proc/PID/stat` says.
struct Stat {
    parent: u32,
    group: u32,
    is_leaving: bool,
    is_dead: bool,
    /// Of one that is dead.
    exit: Option<i32>,
}

impl Stat {
    fn of(pid: u32, buffer: &mut String) -> Option<Stat> {
        if !read(&format!("/proc/{pid}/stat"), buffer) {
            return None;
        }
        // The name may hold anything, brackets and blanks too.
        let (_, fields) = buffer.rsplit_once(") ")?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        // Behind the session and two fields of the terminal.
        let flags: u32 = fields.nth(3)?.parse().ok()?;
        let is_leaving = flags & EXITING != 0;
        let exit = fields.last().and_then(|status| status.parse().ok()).filter(|_| state == "Z");
        let is_dead = matches!(state, "Z" | "X");
        Some(Stat { parent, group, is_leaving, is_dead, exit })
    }
}

/// Whether a process of this group lives.
pub(super) fn is_any_in(group: u32) -> bool {
    let mut buffer = String::new();
    let mut of_group =
        listed().into_iter().filter_map(|pid| Stat::of(pid, &mut buffer)).filter(|stat| stat.group == group);
    of_group.any(|stat| !stat.is_dead)
}

/// The numbers of all processes, in order.
fn listed() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Reads the file into `buffer`; whether that could be done.
fn read(path: &str, buffer: &mut String) -> bool {
    buffer.clear();
    File::open(path).and_then(|mut file| file.read_to_string(buffer)).is_ok()
}

/// A name without what would part the words of a record.
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
        // It may not have become `sleep` yet, or not show its environment.
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
