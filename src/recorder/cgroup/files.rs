//! The files of one cgroup, held open, and how they are read.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::mounts::Version;
use crate::recorder::amount::{Amount, counted};
use crate::recorder::machine::Pressure;

/// Without a limit version 1 shows this value, or a page less.
const NO_LIMIT: u64 = 1 << 62;

/// The open files of a cgroup. They can be read after its processes have ended, until the cgroup is removed.
pub(super) struct Files {
    current: KernelFile,
    peak: KernelFile,
    limit: KernelFile,
    events: KernelFile,
    local: KernelFile,
    failures: KernelFile,
    pressure: KernelFile,
    version: Version,
}

/// A kernel file that is generated anew on each read; `None` where it does not exist.
struct KernelFile(Option<File>);

impl KernelFile {
    fn open(folder: &Path, name: &str) -> KernelFile {
        KernelFile(if name.is_empty() { None } else { File::open(folder.join(name)).ok() })
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

/// The counters of a cgroup; `None` where one could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::recorder) struct Counters {
    /// Processes that the OOM killer killed in this cgroup (in version 2 also below it), no matter whose limit was
    /// reached.
    pub oom_kill: Option<u64>,
    /// The same for this cgroup alone.
    pub local_oom_kill: Option<u64>,
    /// How often the limit of this cgroup, or of one below, was reached and nothing could be reclaimed.
    pub oom: Option<u64>,
    /// The same for this cgroup's limit alone.
    pub local_oom: Option<u64>,
    /// How often the limit was reached; often memory could be reclaimed then.
    pub reached: Option<u64>,
}

impl Counters {
    /// The kills in this cgroup itself, where the kernel counts them separately; otherwise including those below.
    pub fn own_kills(&self) -> Option<u64> {
        self.local_oom_kill.or(self.oom_kill)
    }
}

/// The memory limit of a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) enum Limit {
    None,
    At(Amount),
}

/// The state of a cgroup at one moment.
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
            Version::V1 => KernelFile::open(folder, v1),
            Version::V2 => KernelFile::open(folder, v2),
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

    /// Whether this is a cgroup with the memory controller.
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
    /// The fraction of the limit that is in use; `None` without a limit or where it cannot be read.
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
