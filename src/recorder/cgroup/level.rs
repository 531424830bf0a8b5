//! One cgroup: its files, held open, and what they say.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::mounts::Version;
use crate::recorder::amount::{Amount, counted};
use crate::recorder::machine::Pressure;

/// Version 1 writes this, or a page less, where there is no limit.
const NO_LIMIT: u64 = 1 << 62;

/// The files of a cgroup, held open: they can be read when whoever was in it has ended, as long as nobody removes it.
pub(super) struct Files {
    current: Held,
    peak: Held,
    limit: Held,
    events: Held,
    local: Held,
    failures: Held,
    pressure: Held,
    version: Version,
}

/// A file of the kernel's that says something else whenever it is read.
struct Held(Option<File>);

impl Held {
    fn open(folder: &Path, name: &str) -> Held {
        Held(if name.is_empty() { None } else { File::open(folder.join(name)).ok() })
    }

    fn read(&self) -> Option<String> {
        let mut buffer = [0; 4096];
        let length = self.0.as_ref()?.read_at(&mut buffer, 0).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }

    fn amount(&self) -> Option<u64> {
        self.read()?.trim().parse().ok()
    }
}

/// What a cgroup's counters say. What could not be read is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::recorder) struct Counters {
    /// Processes of this cgroup, and of those below it in version 2, that the kernel killed for want of memory, whosever limit it was.
    pub oom_kill: Option<u64>,
    /// The same of this cgroup alone.
    pub local_oom_kill: Option<u64>,
    /// How often its limit, or one below it, was reached and nothing could be freed.
    pub oom: Option<u64>,
    /// The same of its own limit alone.
    pub local_oom: Option<u64>,
    /// How often its limit was reached; memory could often be freed then.
    pub reached: Option<u64>,
}

impl Counters {
    /// The kills in this cgroup itself, as far as the kernel tells them apart.
    pub fn own_kills(&self) -> Option<u64> {
        self.local_oom_kill.or(self.oom_kill)
    }
}

/// The limit of a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) enum Limit {
    None,
    At(Amount),
}

/// A cgroup at a moment.
#[derive(Debug, Clone, Default)]
pub(in crate::recorder) struct Reading {
    pub current: Option<Amount>,
    pub peak: Option<Amount>,
    pub limit: Option<Limit>,
    pub counters: Counters,
    pressure: Option<Pressure>,
}

impl Files {
    pub fn open(folder: &Path, version: Version) -> Files {
        let open = |v1: &str, v2: &str| match version {
            Version::V1 => Held::open(folder, v1),
            Version::V2 => Held::open(folder, v2),
        };
        Files {
            current: open("memory.usage_in_bytes", "memory.current"),
            peak: open("memory.max_usage_in_bytes", "memory.peak"),
            limit: open("memory.limit_in_bytes", "memory.max"),
            events: open("memory.oom_control", "memory.events"),
            local: open("", "memory.events.local"),
            failures: open("memory.failcnt", ""),
            pressure: open("", "memory.pressure"),
            version,
        }
    }

    /// Whether it is a cgroup with the memory controller at all.
    pub fn is_there(&self) -> bool {
        self.current.0.is_some() || self.events.0.is_some()
    }

    pub fn read(&self) -> Reading {
        let limit = self.limit.read().and_then(|text| match text.trim() {
            "max" => Some(Limit::None),
            number => {
                number.parse().ok().map(|bytes| if bytes >= NO_LIMIT { Limit::None } else { Limit::At(Amount(bytes)) })
            }
        });
        let events = self.events.read().unwrap_or_default();
        let local = self.local.read().unwrap_or_default();
        let counters = match self.version {
            Version::V1 => {
                let kills = counted(&events, "oom_kill");
                Counters {
                    oom_kill: kills,
                    local_oom_kill: kills,
                    oom: None,
                    local_oom: None,
                    reached: self.failures.amount(),
                }
            }
            Version::V2 => Counters {
                oom_kill: counted(&events, "oom_kill"),
                local_oom_kill: counted(&local, "oom_kill"),
                oom: counted(&events, "oom"),
                local_oom: counted(&local, "oom"),
                reached: counted(&local, "max").or_else(|| counted(&events, "max")),
            },
        };
        Reading {
            current: self.current.amount().map(Amount),
            peak: self.peak.amount().map(Amount),
            limit,
            counters,
            pressure: self.pressure.read().as_deref().and_then(Pressure::of),
        }
    }
}

impl Reading {
    /// The share of its limit that is in use, 0–1; `None` where there is no limit or it could not be read.
    pub fn fullness(&self) -> Option<f64> {
        match (self.current?, self.limit?) {
            (Amount(current), Limit::At(Amount(limit))) if limit > 0 => Some(current as f64 / limit as f64),
            _ => None,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::None => f.write_str("no limit"),
            Limit::At(amount) => write!(f, "{amount}"),
        }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reading { current, peak, limit, counters, pressure } = self;
        match (current, limit) {
            (Some(current), Some(limit)) => write!(f, "used {current} of {limit}")?,
            (Some(current), None) => write!(f, "used {current}, limit unavailable")?,
            (None, _) => f.write_str("unavailable")?,
        }
        peak.iter().try_for_each(|peak| write!(f, ", peak {peak}"))?;
        let Counters { oom_kill, local_oom_kill, oom, local_oom, reached } = counters;
        for (name, count) in [
            ("oom", oom),
            ("local oom", local_oom),
            ("local oom_kill", if oom.is_some() { local_oom_kill } else { &None }),
            ("limit reached", reached),
        ] {
            count.iter().try_for_each(|count| write!(f, ", {name} {count}"))?;
        }
        match oom_kill {
            Some(count) => write!(f, ", oom_kill {count}")?,
            None => f.write_str(", oom_kill unavailable")?,
        }
        pressure.iter().try_for_each(|pressure| write!(f, ", {pressure}"))
    }
}
