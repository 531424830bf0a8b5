use std::fmt;

/// An amount of memory as a record writes it: `12055.3 MiB`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Amount(pub u64);

impl Amount {
    /// The kernel's `12 kB`, which means KiB.
    pub fn kib(kib: u64) -> Amount {
        Amount(kib << 10)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MiB", self.0 as f64 / f64::from(1 << 20))
    }
}

/// The number after `name` in a text with lines such as `name 12` or `name: 12 kB`.
pub(super) fn counted(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix([' ', ':', '\t'])?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    })
}
