//! A recording from beginning to end.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::amount::Amount;
use super::cgroup::Cgroups;
use super::child::{self, ChildEvent, StartError};
use super::gpu::Gpus;
use super::kill;
use super::log_keeper::LogKeeper;
use super::machine::{Machine, Space};
use super::names::Names;
use super::pace::{self, Pace};
use super::processes::{self, Exit, Process};
use super::ring::Ring;
use super::sample::{Sample, Watcher};
use super::signals;
use super::streams::{Copying, Streams};
use super::terminal::Foreground;

/// What to record, and where.
pub struct Plan<'p> {
    /// The command or process.
    pub subject: Subject,
    /// The file of the record, and its largest size in bytes.
    pub record: (PathBuf, u64),
    /// The interval between samples.
    pub interval: Duration,
    /// The host, the rank and the names of files.
    pub names: Names,
    /// Masks secrets in command lines.
    pub mask: &'p dyn Fn(&str) -> String,
}

/// The command or process to record.
pub enum Subject {
    /// A command to start. Its output goes into a log file of at most this many bytes, if one is given.
    Command(Vec<OsString>, Option<(PathBuf, u64)>),
    /// A running process and its descendants.
    Process(u32),
}

/// The result of a recording.
#[derive(Debug)]
pub struct RecordingEnd {
    /// The command's exit status, 128 + n for signal n; `None` for a process that is not our child.
    pub status: Option<u8>,
    /// What could not be recorded, and why.
    pub problems: Vec<String>,
    /// The most memory used at one moment.
    pub peak: Peak,
    /// Whether a signal to the recorder asked it to end.
    pub is_told_to_end: bool,
    /// The process group of the command.
    pub group: u32,
}

/// The most memory that a job used, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// On the host, by all its processes together; shared memory is counted once where that is known.
    pub host: u64,
    /// On the GPU where its processes used most; `None` without a GPU.
    pub gpu: Option<u64>,
}

/// Ends what is left of a command's process group, by SIGTERM and then SIGKILL; returns whether nothing is left.
pub fn end_rest(group: u32) -> bool {
    let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) else { return false };
    for signal in [Signal::TERM, Signal::KILL] {
        let until = Instant::now() + PATIENCE;
        let _ = kill_process_group(group, signal);
        while Instant::now() < until {
            if !processes::is_any_in(group.as_raw_nonzero().get().cast_unsigned()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    false
}

/// How long processes are given to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// At most this many processes are listed as holding memory before a kill.
const MOST_HELD: usize = 12;

/// Records until the command or process has ended.
pub fn record(plan: Plan<'_>) -> Result<RecordingEnd, StartError> {
    // Read before anything can be killed.
    let (cgroups, first) = (Cgroups::here(), Machine::now());
    let mut problems = Vec::new();
    let job = match &plan.subject {
        Subject::Command(command, log) => Job::start(command, log.as_ref(), &mut problems)?,
        Subject::Process(pid) => Job::attach(*pid)?,
    };
    let pid = job.pid.as_raw_nonzero().get().cast_unsigned();
    let watcher = Watcher::new(pid, cgroups, Gpus::find(), first);
    let head = head(&plan, pid, &watcher);
    let (path, size) = &plan.record;
    let ring = Ring::create(path, *size, &plan.names.host, Timestamp::now(), &head);
    let ring = ring.inspect_err(|error| problems.push(format!("{} cannot be written: {error}", path.display()))).ok();
    let mut recorder = Recorder { mask: plan.mask, watcher, ring, problems, shared: None, is_ours: job.is_ours };
    let exit = recorder.run(&job, plan.interval);
    if let Some(foreground) = &job.foreground {
        foreground.take_back();
    }
    let (mut problems, peak) = (recorder.problems, recorder.watcher.peak);
    if let Some(copying) = job.copying
        && let Err(error) = copying.finish()
    {
        problems.push(format!("the log is not whole: {error}"));
    }
    let status = exit.map(|exit| match exit {
        Exit::Signal(signal) => 128 + signal,
        Exit::Status(status) => status,
    });
    Ok(RecordingEnd {
        status: status.map(|status| u8::try_from(status).unwrap_or(u8::MAX)),
        problems,
        peak,
        is_told_to_end: signals::is_told_to_end(),
        group: pid,
    })
}

/// The running command or process.
struct Job {
    pid: Pid,
    /// Whether it is our child, so that its exit is reported to us.
    is_ours: bool,
    events: Receiver<ChildEvent>,
    copying: Option<Copying>,
    foreground: Option<Foreground>,
}

impl Job {
    fn start(
        command: &[OsString],
        log: Option<&(PathBuf, u64)>,
        problems: &mut Vec<String>,
    ) -> Result<Job, StartError> {
        let keeper = log.and_then(|(path, size)| {
            let problem = |error: &io::Error| problems.push(format!("{} cannot be written: {error}", path.display()));
            LogKeeper::create(path, *size).inspect_err(problem).ok()
        });
        let (streams, ends) = keeper.map(Streams::open).transpose()?.unzip();
        let caught = signals::catch()?;
        let foreground = Foreground::ours();
        let held = signals::hold();
        let pid = child::start(command, ends)?;
        if let Some(foreground) = &foreground {
            foreground.give_to(pid);
            // It may have used the terminal too early and been stopped for that.
            signals::go_on(pid);
        }
        let mirror: Option<OwnedFd> = streams.as_ref().and_then(Streams::mirror);
        signals::pass_on(caught, held, pid, mirror)?;
        let (tell, events) = mpsc::channel();
        child::watch(pid, tell, |event| event)?;
        let copying = streams.map(Streams::copy).transpose()?;
        Ok(Job { pid, is_ours: true, events, copying, foreground })
    }

    fn attach(number: u32) -> Result<Job, StartError> {
        let none = || StartError::NoProcess(number);
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(none)?;
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| none())?;
        let (tell, events) = mpsc::channel();
        // The pidfd becomes readable when the process has ended.
        std::thread::Builder::new().name("wait".to_owned()).spawn(move || {
            let mut ended = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
            while rustix::event::poll(&mut ended, None) == Err(rustix::io::Errno::INTR) {}
            drop(tell);
        })?;
        Ok(Job { pid, is_ours: false, events, copying: None, foreground: None })
    }
}

struct Recorder<'p> {
    mask: &'p dyn Fn(&str) -> String,
    watcher: Watcher,
    ring: Option<Ring>,
    problems: Vec<String>,
    /// The state of `/dev/shm` at the previous sample.
    shared: Option<Space>,
    is_ours: bool,
}

impl Recorder<'_> {
    /// Takes samples until the end; returns how the command ended, if that is known.
    fn run(&mut self, job: &Job, interval: Duration) -> Option<Exit> {
        let mut pace = Pace::new(interval);
        let began = Instant::now();
        let exit = loop {
            let before = pace::used();
            self.sample(None);
            let wait = pace.next(self.watcher.rooms(), pace::used().saturating_sub(before));
            match self.wait(job, wait) {
                Next::Sample => {}
                Next::End(exit) => break exit,
            }
        };
        self.sample(Some((job.pid.as_raw_nonzero().get().cast_unsigned(), exit)));
        let how = exit.map_or_else(|| "how was not seen".to_owned(), |exit| exit.to_string());
        let seconds = began.elapsed().as_secs_f64();
        self.write(
            &[format!("the recording ended after {seconds:.1} s, with the process that it was of: {how}")],
            true,
        );
        exit
    }

    /// Waits until the next sample is due or the job has ended.
    fn wait(&self, job: &Job, wait: Duration) -> Next {
        let until = Instant::now() + wait;
        loop {
            match job.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => return Next::Sample,
                Err(RecvTimeoutError::Disconnected) => return Next::End(None),
                Ok(ChildEvent::Ended(exit)) => return Next::End(Some(exit)),
                Ok(ChildEvent::Stopped) => {
                    if let Some(foreground) = &job.foreground {
                        foreground.take_back();
                        signals::stop_here();
                        foreground.give_to(job.pid);
                        signals::go_on(job.pid);
                    }
                }
            }
        }
    }

    /// Takes a sample and writes it, with the events since the last. `ended` is set for the last sample: the recorded
    /// process and its exit.
    fn sample(&mut self, ended: Option<(u32, Option<Exit>)>) {
        let root = ended.and_then(|(pid, exit)| Some((self.watcher.processes.get(pid)?.clone(), exit)));
        let mut held: Vec<Process> =
            self.watcher.processes.living().into_iter().rev().take(MOST_HELD).cloned().collect();
        held.retain(|process| process.memory.resident > Amount(0));
        let Sample { mut lines, changes } = self.watcher.look();
        let mut dead = self.watcher.processes.newly_dead();
        if self.is_ours {
            // The exit of our own child comes from `waitpid`.
            dead.retain(|process| ended.is_none_or(|(pid, _)| process.pid != pid) && !self.is_root(process));
        }
        for process in changes.begun.iter().filter_map(|pid| self.watcher.processes.get(*pid)) {
            let command = processes::command(process.pid).join(" ");
            lines.push(format!("started: {process}: {}", (self.mask)(&command)));
            lines.extend(limits(process.pid).map(|limit| format!("limit of {process}: {limit}")));
        }
        let mut telling = kill::new_kills(&self.watcher.cgroups, &self.watcher.machine, self.watcher.least_available());
        if !telling.is_empty() {
            telling
                .extend(held.iter().map(|process| format!("held before: {process}: rss {}", process.memory.resident)));
        }
        let is_counted = !telling.is_empty();
        let root = root.and_then(|(process, exit)| Some(process.ended(exit?)));
        for process in dead.iter().chain(&root) {
            telling.push(self.ending(process, is_counted));
        }
        let known = |pid: u32| root.as_ref().is_some_and(|root| root.pid == pid);
        for process in changes.gone.iter().filter(|process| !process.is_told && !known(process.pid)) {
            // The end of our own child is reported once its exit is known.
            if !self.is_ours || !self.is_root(process) {
                telling.push(format!("gone: {process}: how it ended was not seen, last {}", process.memory));
            }
        }
        self.watcher.cgroups.settle();
        self.shared = self.watcher.machine.shared;
        self.write(&lines, false);
        self.write(&telling, true);
    }

    fn is_root(&self, process: &Process) -> bool {
        self.watcher.processes.is_root(process.pid)
    }

    /// The line that reports the end of `process` and what it proves.
    fn ending(&self, process: &Process, is_counted: bool) -> String {
        let Watcher { cgroups, machine, first, .. } = &self.watcher;
        let how = match process.exit {
            Some(exit) => exit.to_string(),
            None => "how cannot be read".to_owned(),
        };
        let last = format!("ended: {process}: {how}, last {}", process.memory);
        let open = || match (first.oom_kill, machine.oom_kill) {
            (Some(before), Some(after)) if after > before => {
                format!("{last}; the machine's oom_kill went from {before} to {after}, for whom was not seen")
            }
            _ => format!("{last}; nothing rules out that memory was wanting"),
        };
        match process.exit {
            Some(Exit::Signal(9)) if !is_counted => {
                match kill::ruled_out(cgroups, machine, first, self.watcher.least_available()) {
                    Some(proof) => format!("ended: {process}: signal 9, but no kill for want of memory: {proof}"),
                    None => open(),
                }
            }
            Some(Exit::Signal(7)) => {
                match [machine.shared, self.shared].into_iter().flatten().find(|space| space.is_full()) {
                    Some(Space { used, total }) => {
                        format!("ended: {process}: signal 7, and /dev/shm was full: {used} of {total}")
                    }
                    None => last,
                }
            }
            _ => last,
        }
    }

    fn write(&mut self, lines: &[String], is_telling: bool) {
        let Some(ring) = self.ring.as_mut().filter(|_| !lines.is_empty()) else { return };
        if let Err(error) = ring.write(Timestamp::now(), lines, is_telling) {
            // A full disk costs the record but does not disturb the job.
            self.problems.push(format!("the record ends early: {error}"));
            self.ring = None;
        }
    }
}

/// What to do after waiting.
enum Next {
    Sample,
    End(Option<Exit>),
}

/// The memory limits (rlimits) of a process, if it has any.
fn limits(pid: u32) -> impl Iterator<Item = String> {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let limit = move |(name, label): (&str, &str)| {
        let soft = text.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next());
        Some(format!("{label} {}", Amount(soft?.parse().ok()?)))
    };
    [("Max address space", "address space"), ("Max data size", "data"), ("Max resident set", "resident")]
        .into_iter()
        .filter_map(limit)
}

/// The head of a record: the command, and what can be observed.
fn head(plan: &Plan<'_>, pid: u32, watcher: &Watcher) -> Vec<String> {
    let command = match &plan.subject {
        Subject::Command(words, _) => {
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<String>>().join(" ")
        }
        Subject::Process(pid) => processes::command(*pid).join(" "),
    };
    let rank = plan.names.rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
    let mut head = vec![format!("of process {pid}{rank}: {}", (plan.mask)(&command))];
    let mut own = watcher.cgroups.own().peekable();
    if own.peek().is_none() {
        head.push("cgroups: unavailable, no memory controller can be read".to_owned());
    }
    for level in own {
        let is_counted = level.first.counters.own_kills().is_some();
        let state = if is_counted { "observed" } else { "unavailable" };
        head.push(format!("oom_kill is {state} in cgroup {}", level.path));
    }
    if !watcher.cgroups.is_whole() {
        head.push("cgroups above these: unavailable".to_owned());
    }
    head.extend(watcher.cgroups.lines());
    head
}
