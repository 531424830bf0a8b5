//! Passes signals on to the command.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;

use super::streams::resized;

const PASSED_ON: [i32; 9] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT];

/// Signals whose default action ends a process.
const ENDS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// The receiver of signals: the current or last command.
static COMMAND: Mutex<Option<Target>> = Mutex::new(None);

pub(super) struct Target {
    group: Pid,
    mirror: Option<OwnedFd>,
}

/// Catches signals, once for all commands that run one after another. A signal that the recorder was started to ignore
/// (`nohup`) is left ignored, which the command inherits.
pub(super) fn catch() -> io::Result<Option<Signals>> {
    static IS_CAUGHT: AtomicBool = AtomicBool::new(false);
    if IS_CAUGHT.swap(true, Ordering::SeqCst) {
        return Ok(None);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    Signals::new(PASSED_ON.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0)).map(Some)
}

/// Delays caught signals until there is a command to pass them on to.
pub(super) fn hold() -> HeldSignals {
    HeldSignals(target())
}

/// The guard that [`hold`] returns.
pub(super) struct HeldSignals(MutexGuard<'static, Option<Target>>);

/// Whether a signal asked the command to end.
pub(super) fn is_told_to_end() -> bool {
    IS_TOLD_TO_END.load(Ordering::SeqCst)
}

static IS_TOLD_TO_END: AtomicBool = AtomicBool::new(false);

/// Passes all `caught` signals, including earlier ones, on to the command's group.
pub(super) fn pass_on(
    caught: Option<Signals>,
    held: HeldSignals,
    group: Pid,
    mirror: Option<OwnedFd>,
) -> io::Result<()> {
    let HeldSignals(mut target) = held;
    *target = Some(Target { group, mirror });
    drop(target);
    let Some(mut caught) = caught else { return Ok(()) };
    let pass = move || caught.forever().for_each(pass);
    thread::Builder::new().name("signals".to_owned()).spawn(pass).map(drop)
}

fn pass(signal: i32) {
    if ENDS.contains(&signal) {
        IS_TOLD_TO_END.store(true, Ordering::SeqCst);
    }
    let target = target();
    let Some(Target { group, mirror }) = &*target else { return };
    if signal == SIGWINCH {
        resized(mirror.as_ref());
    }
    if let Some(signal) = Signal::from_named_raw(signal) {
        let is_gone = kill_process_group(*group, signal).is_err();
        // The command is gone, so the signal is meant for the recorder itself.
        if is_gone && ENDS.contains(&signal.as_raw()) {
            let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
        }
    }
}

fn target() -> MutexGuard<'static, Option<Target>> {
    COMMAND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops this process, as the command was, until it is continued.
pub(super) fn stop_here() {
    let _ = kill_process(rustix::process::getpid(), Signal::STOP);
}

/// Continues the command.
pub(super) fn go_on(group: Pid) {
    let _ = kill_process_group(group, Signal::CONT);
}
