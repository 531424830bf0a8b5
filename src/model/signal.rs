//! Signals of Linux and their names in Python and the C library.

/// A signal of Linux.
#[derive(Debug, Clone, Copy)]
pub struct Signal {
    /// Its name in Python and the kernel.
    pub name: &'static str,
    /// Its description by glibc's `strsignal` and by shells.
    pub description: &'static str,
    /// Its number.
    pub number: i32,
}

const fn signal(number: i32, name: &'static str, description: &'static str) -> Signal {
    Signal { name, description, number }
}

impl Signal {
    /// The signals that end processes.
    pub const ALL: [Signal; 14] = [
        signal(1, "SIGHUP", "Hangup"),
        signal(2, "SIGINT", "Interrupt"),
        signal(3, "SIGQUIT", "Quit"),
        signal(4, "SIGILL", "Illegal instruction"),
        signal(5, "SIGTRAP", "Trace/breakpoint trap"),
        signal(6, "SIGABRT", "Aborted"),
        signal(7, "SIGBUS", "Bus error"),
        signal(8, "SIGFPE", "Floating point exception"),
        signal(9, "SIGKILL", "Killed"),
        signal(10, "SIGUSR1", "User defined signal 1"),
        signal(11, "SIGSEGV", "Segmentation fault"),
        signal(12, "SIGUSR2", "User defined signal 2"),
        signal(13, "SIGPIPE", "Broken pipe"),
        signal(15, "SIGTERM", "Terminated"),
    ];

    /// The name of the signal with this number: `SIGTERM`, or `signal 34` if this list has no name for it.
    pub fn name_of(number: i32) -> String {
        let known = Signal::ALL.iter().find(|signal| signal.number == number);
        known.map_or_else(|| format!("signal {number}"), |signal| signal.name.to_owned())
    }
}
