//! The terminal: whose group has it, and one of our own for what the command prints.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::{SigSet, Signal};
use rustix::fs::OFlags;
use rustix::process::{Pid, getpgrp};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetpgrp, tcsetwinsize};

/// The terminal that standard input is, where this process's group has it.
pub(super) struct Foreground {
    terminal: OwnedFd,
}

impl Foreground {
    /// `None` where there is no terminal, or another group has it.
    pub fn ours() -> Option<Foreground> {
        let terminal = io::stdin().as_fd().try_clone_to_owned().ok()?;
        (tcgetpgrp(&terminal).ok()? == getpgrp()).then_some(Foreground { terminal })
    }

    /// Gives it to the command's group.
    pub fn give_to(&self, group: Pid) {
        self.set(group);
    }

    /// Takes it back, so that whoever started the recorder can read from it.
    pub fn take_back(&self) {
        self.set(getpgrp());
    }

    /// Who does not have the terminal is stopped for taking it, unless that signal is blocked. A terminal that is gone is nobody's.
    fn set(&self, group: Pid) {
        let stop = SigSet::from(Signal::SIGTTOU);
        if stop.thread_block().is_ok() {
            let _ = tcsetpgrp(&self.terminal, group);
            let _ = stop.thread_unblock();
        }
    }
}

/// A terminal of our own, through which the command prints as if to the user's.
pub(super) struct Mirror {
    pub ours: File,
    pub its: OwnedFd,
}

impl Mirror {
    /// As large as the user's; it changes no byte, since the user's own does what is to be done.
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

/// Makes the terminal of our own as large as the user's.
pub(super) fn resize(ours: impl AsFd) {
    let (out, error) = (io::stdout(), io::stderr());
    let users = if out.is_terminal() { out.as_fd() } else { error.as_fd() };
    if let Ok(size) = tcgetwinsize(users) {
        let _ = tcsetwinsize(ours, size);
    }
}
