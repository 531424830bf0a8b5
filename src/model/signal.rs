//! Signals of Linux as Python and the C library name them.

/// A signal of Linux.
#[derive(Debug, Clone, Copy)]
pub struct Signal {
    /// As Python and the kernel name it.
    pub name: &'static str,
    /// As glibc's `strsignal` and shells describe it.
    pub description: &'static str,
    /// Its number.
    pub number: i32,
}

const fn signal(number: i32, name: &'static str, description: &'static str) -> Signal {
    Signal { name, description, number }
}

impl Signal {
    /// Those by which processes end.
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

    /// What the signal of this number is called: `SIGTERM`, or `signal 34` where it has no name here.
    pub fn name_of(number: i32) -> String {
        let known = Signal::ALL.iter().find(|signal| signal.number == number);
        known.map_or_else(|| format!("signal {number}"), |signal| signal.name.to_owned())
    }
}
