//! The terminal: which process group is in the foreground, and a pseudoterminal for the command's output.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::{SigSet, Signal};
use rustix::fs::OFlags;
use rustix::process::{Pid, getpgrp};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetpgrp, tcsetwinsize};

/// The terminal on standard input, if this process is in its foreground.
pub(super) struct Foreground {
    terminal: OwnedFd,
}

impl Foreground {
    /// `None` without a terminal or if another process group is in the foreground.
    pub fn ours() -> Option<Foreground> {
        let terminal = io::stdin().as_fd().try_clone_to_owned().ok()?;
        (tcgetpgrp(&terminal).ok()? == getpgrp()).then_some(Foreground { terminal })
    }

    /// Puts the command's group into the foreground.
    pub fn give_to(&self, group: Pid) {
        self.set(group);
    }

    /// Puts this process's group into the foreground again, so that its parent can read the terminal.
    pub fn take_back(&self) {
        self.set(getpgrp());
    }

    /// A background process that changes the foreground group is stopped by SIGTTOU unless that is blocked. An error
    /// means that the terminal is gone.
    fn set(&self, group: Pid) {
        let stop = SigSet::from(Signal::SIGTTOU);
        if stop.thread_block().is_ok() {
            let _ = tcsetpgrp(&self.terminal, group);
            let _ = stop.thread_unblock();
        }
    }
}

/// A pseudoterminal for the command's output.
pub(super) struct Mirror {
    pub ours: File,
    pub its: OwnedFd,
}

impl Mirror {
    /// Opens one with the size of the user's terminal. It is raw, because the user's terminal already does all
    /// processing.
    pub fn open() -> io::Result<Mirror> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let its = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, rustix::fs::Mode::empty())?;
        let mut attributes = tcgetattr(&its)?;
        attributes.make_raw();
        tcsetattr(&its, OptionalActions::Now, &attributes)?;
        resize(&ours);
        Ok(Mirror { ours: File::from(ours), its })
    }
}

/// Gives the pseudoterminal the size of the user's terminal.
pub(super) fn resize(ours: impl AsFd) {
    let (out, error) = (io::stdout(), io::stderr());
    let users = if out.is_terminal() { out.as_fd() } else { error.as_fd() };
    if let Ok(size) = tcgetwinsize(users) {
        let _ = tcsetwinsize(ours, size);
    }
}
