//! The machine's memory.

use std::fmt;
use std::fs;

use super::amount::{Amount, counted};

/// The machine's state at one moment; `None` where a value could not be read.
#[derive(Debug, Clone, Default)]
pub(super) struct Machine {
    pub available: Option<Amount>,
    pub total: Option<Amount>,
    swap_used: Option<Amount>,
    swap_total: Option<Amount>,
    pub shared: Option<Space>,
    /// Processes that the OOM killer killed anywhere on the machine since it booted.
    pub oom_kill: Option<u64>,
    pressure: Option<Pressure>,
}

/// A file system in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    pub used: Amount,
    pub total: Amount,
}

impl Space {
    /// Whether less than 1 % or less than 1 MiB is left.
    pub fn is_full(self) -> bool {
        let left = self.total.0.saturating_sub(self.used.0);
        self.total.0 > 0 && (left < self.total.0 / 100 || left < 1 << 20)
    }
}

/// The percentages of the last ten seconds in which some, or all, processes waited for memory (PSI).
#[derive(Debug, Clone)]
pub(super) struct Pressure {
    some: String,
    full: String,
}

impl Pressure {
    /// Parses a file such as `/proc/pressure/memory`.
    pub fn of(text: &str) -> Option<Pressure> {
        let of = |kind: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
            line.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg10=")).map(str::to_owned)
        };
        Some(Pressure { some: of("some ")?, full: of("full ").unwrap_or_else(|| "unavailable".to_owned()) })
    }
}

impl fmt::Display for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pressure some {} full {}", self.some, self.full)
    }
}

impl Machine {
    /// Reads the current state.
    pub fn now() -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let memory = read("/proc/meminfo");
        let of = |name: &str| counted(&memory, name).map(Amount::kib);
        let swap_total = of("SwapTotal");
        let swap_free = of("SwapFree");
        Machine {
            available: of("MemAvailable"),
            total: of("MemTotal"),
            swap_used: swap_total.zip(swap_free).map(|(total, free)| Amount(total.0.saturating_sub(free.0))),
            swap_total,
            shared: shared(),
            oom_kill: counted(&read("/proc/vmstat"), "oom_kill"),
            pressure: Pressure::of(&read("/proc/pressure/memory")),
        }
    }

    /// A machine with only these values known.
    #[cfg(test)]
    pub fn with(available: u64, total: u64, oom_kill: u64) -> Machine {
        let (available, total) = (Some(Amount(available)), Some(Amount(total)));
        Machine { available, total, oom_kill: Some(oom_kill), ..Machine::default() }
    }

    /// Memory that is in use and cannot be reclaimed.
    pub fn used(&self) -> Option<Amount> {
        self.total.zip(self.available).map(|(total, available)| Amount(total.0.saturating_sub(available.0)))
    }

    /// The fraction of memory that is available.
    pub fn available_share(&self) -> Option<f64> {
        let (available, total) = (self.available?, self.total?);
        (total.0 > 0).then_some(available.0 as f64 / total.0 as f64)
    }
}

fn shared() -> Option<Space> {
    let space = rustix::fs::statvfs("/dev/shm").ok()?;
    let total = space.f_blocks * space.f_frsize;
    Some(Space { used: Amount(total - space.f_bfree * space.f_frsize), total: Amount(total) })
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.used(), self.total, self.available) {
            (Some(used), Some(total), Some(available)) => {
                write!(f, "machine: used {used} of {total}, available {available}")?;
            }
            _ => f.write_str("machine: unavailable")?,
        }
        if let (Some(used), Some(total)) = (self.swap_used, self.swap_total) {
            write!(f, ", swap {used} of {total}")?;
        }
        if let Some(Space { used, total }) = self.shared {
            write!(f, ", /dev/shm {used} of {total}")?;
        }
        match self.oom_kill {
            Some(count) => write!(f, ", oom_kill {count}")?,
            None => f.write_str(", oom_kill unavailable")?,
        }
        self.pressure.iter().try_for_each(|pressure| write!(f, ", {pressure}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_says_what_it_has() {
        let machine = Machine::now();
        assert!(machine.total > machine.available && machine.available > Some(Amount(0)), "{machine:?}");
        assert!(machine.to_string().starts_with("machine: used "));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let machine = Machine::default();
        assert_eq!(machine.to_string(), "machine: unavailable, oom_kill unavailable");
        assert!(Space { used: Amount(64 << 20), total: Amount(64 << 20) }.is_full());
        assert!(!Space { used: Amount(0), total: Amount(0) }.is_full());
    }
}
