//! Ray's messages about memory that report no failure: limits at its start, pressure, objects spilled to disk.
//!
//! Mirrors `src/ray/raylet/local_object_manager.cc`, `src/ray/common/{memory,file_system}_monitor.cc`, `threshold_memory_monitor.cc`,
//! `src/ray/object_manager/plasma/store_runner.cc`, `python/ray/_private/services.py` (1.0–2.60). The total that the memory monitor prints
//! is the smaller of the machine's memory and the container's limit.

use std::sync::Arc;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::combinator::{consumed, opt, recognize};
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Giga, Size, read};
use super::{Example, Grammar, Record};
use crate::model::{Bytes, Event, Figure, FigureName, Kind, Severity, Shortage, What};

/// See the module.
pub struct RayNotice;

impl Grammar for RayNotice {
    fn producer(&self) -> &'static str {
        "ray_notice"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "MemoryMonitor initialized with usage threshold at ",
            "MemoryMonitor disabled. ",
            "emory usage above threshold",
            "Worker killer did not select any workers",
            "System slice memory usage ",
            "The object store is using ",
            "Allowing the Plasma store to use up to ",
            "Object creation will fail if spilling is required",
            " objects, write throughput ",
            " objects, read throughput ",
        ]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let readings = [monitor, pressure, nobody, slice, shared_memory, store, disk, spilled];
        readings.iter().find_map(|reading| reading(record, record.text())).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `MemoryMonitor initialized with usage threshold at 6319127552 bytes (0.25 system memory), total system memory bytes:
/// 25276510208`
fn monitor(record: &Record, text: &str) -> Option<Event> {
    if let Some(at) = text.find("MemoryMonitor disabled. ") {
        let mut event = record.event("ray_notice", &text[at..], What::Notice);
        event
            .facts
            .push(record.fact("ray.monitor", &text[at + "MemoryMonitor ".len()..at + "MemoryMonitor disabled".len()]));
        return Some(event);
    }
    let label = (take_until("total system memory bytes: "), tag("total system memory bytes: "));
    let message = text::after(text, "MemoryMonitor initialized with usage threshold at ")?;
    let (threshold, total) = read((text::size, preceded(label, bytes)), message)?;
    let figures = [(FigureName::NodeThreshold, threshold), (FigureName::NodeTotal, total)];
    Some(event(record, message, What::Notice, &figures))
}

/// `Node memory usage above threshold, used: 5576757248, threshold_bytes: 5560832000, total bytes: 25276510208, …`; in 2.0, where the bound
/// was only a share, `used: 5576757248, total: 25276510208, …`.
fn pressure(record: &Record, text: &str) -> Option<Event> {
    let message = text::after(text, "emory usage above threshold, used: ")?;
    let behind = |label: &'static str| preceded(tag(label), bytes);
    let total = alt((behind(", total bytes: "), behind(", total: ")));
    let (used, threshold, total) = read((bytes, opt(behind(", threshold_bytes: ")), total), message)?;
    let mut figures = vec![(FigureName::NodeUsed, used), (FigureName::NodeTotal, total)];
    figures.extend(threshold.map(|threshold| (FigureName::NodeThreshold, threshold)));
    Some(event(record, message, shortage(), &figures))
}

/// The monitor wants to kill a worker and finds none.
fn nobody(record: &Record, text: &str) -> Option<Event> {
    const WORDS: [&str; 2] = [
        "Memory usage above threshold but no workers are available for killing",
        "Worker killer did not select any workers to kill even though memory usage is high",
    ];
    let message = WORDS.iter().find_map(|words| text.find(words).map(|at| &text[at..at + words.len()]))?;
    let before = &text[..text.find(message)?];
    (!before.trim_end().ends_with('"')).then(|| event(record, message, shortage(), &[]))
}

/// `System slice memory usage 5576757248 bytes has exceeded the reserved system memory of 5368709120 bytes.`
fn slice(record: &Record, text: &str) -> Option<Event> {
    let label = tag(" has exceeded the reserved system memory of ");
    let message = text::after(text, "System slice memory usage ")?;
    let (used, reserved) = read((terminated(text::size, label), text::size), message)?;
    Some(event(record, message, shortage(), &[(FigureName::Other, used), (FigureName::Other, reserved)]))
}

/// `The object store is using /tmp instead of /dev/shm because /dev/shm has only 67108864 bytes available.`
fn shared_memory(record: &Record, text: &str) -> Option<Event> {
    let reason = tag(" instead of /dev/shm because /dev/shm has only ");
    let folder = take_while1(|c: char| !c.is_whitespace());
    let message = text::after(text, "The object store is using ")?;
    let (folder, available) = read((terminated(folder, reason), text::size), message)?;
    let mut event = event(record, message, What::Notice, &[(FigureName::Other, available)]);
    event.facts.push(record.fact("ray.object_store_folder", folder));
    event
        .facts
        .extend(available.bytes.map(|bytes| record.number_fact("ray.shm_available", available.text, bytes.0 as f64)));
    let advice = text::after(message, "by passing '").map(|advice| text::token(advice, "'"));
    event.facts.extend(
        advice.filter(|advice| advice.starts_with("--shm-size=")).map(|advice| record.fact("ray.shm_advice", advice)),
    );
    Some(event)
}

/// `Allowing the Plasma store to use up to 0.134218GB of memory.`
fn store(record: &Record, text: &str) -> Option<Event> {
    let message = text::after(text, "Allowing the Plasma store to use up to ")?;
    let limit = read(terminated(|text| text::sized(text, Giga::Decimal), tag(" of memory")), message)?;
    let mut event = event(record, message, What::Notice, &[(FigureName::Other, limit)]);
    event
        .facts
        .extend(limit.bytes.map(|bytes| record.number_fact("ray.object_store_limit", limit.text, bytes.0 as f64)));
    Some(event)
}

/// `/mnt/spill is over 95% full, available space: 0 GB; capacity: 0.0625 GB.`; up to 2.9 in bytes.
fn disk(record: &Record, text: &str) -> Option<Event> {
    let (before, message) = text.split_once(" is over ")?;
    let path = before.rsplit(' ').next().filter(|path| path.starts_with('/'))?;
    let space = |label: &'static str| consumed(preceded(tag(label), alt((text::size, bytes))));
    let full = (text::decimal, tag("% full, "));
    let spaces = (preceded(full, space("available space: ")), preceded(tag("; "), space("capacity: ")));
    let ((available, free), (capacity, all)) = read(spaces, message)?;
    let figures = [(available, free), (capacity, all)].map(|(text, size)| (FigureName::Other, Size { text, ..size }));
    let mut event = event(record, path, What::Notice, &figures);
    event.facts.push(record.fact("ray.spill_folder", path));
    Some(event)
}

/// `Spilled 65536 MiB, 812 objects, write throughput 912 MiB/s.`: totals since the start.
fn spilled(record: &Record, text: &str) -> Option<Event> {
    let count = (tag(", "), take_while1(|c: char| c.is_ascii_digit()), tag(" objects, "));
    let amount = terminated(text::size, (recognize(count), alt((tag("write throughput "), tag("read throughput ")))));
    let label = ["Spilled ", "Restored "].into_iter().find(|label| text.contains(label))?;
    let message = text::after(text, label)?;
    let amount = read(amount, message)?;
    let series = if label == "Spilled " { "object store spilled" } else { "object store restored" };
    Some(event(record, message, What::Memory { series: Arc::from(series) }, &[(FigureName::Other, amount)]))
}

/// Bytes without a unit.
fn bytes(text: &str) -> IResult<&str, Size<'_>> {
    let (rest, words) = take_while1(|c: char| c.is_ascii_digit()).parse(text)?;
    Ok((rest, Size { text: words, bytes: words.parse().ok().and_then(|amount| Bytes::of(amount, Bytes(1))) }))
}

/// The node is short of memory and no worker was killed yet.
fn shortage() -> What {
    let (kind, severity) = (Kind::HostOomRay, Severity::Pressure);
    What::Shortage(Shortage { kind, severity, victims: Vec::new(), consumers: Vec::new() })
}

fn event(record: &Record, part: &str, what: What, figures: &[(FigureName, Size<'_>)]) -> Event {
    let figures: Vec<Figure> = figures.iter().filter_map(|(name, size)| record.figure(*name, *size)).collect();
    Event { figures, ..record.event("ray_notice", part, what) }
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "ray 2.0–2.55, raylet.out",
        text: "[2026-03-01 10:39:49,644 I 69 69] (raylet) memory_monitor.cc:47: MemoryMonitor initialized with usage threshold at 61203283968 bytes (0.95 system memory), total system memory bytes: 64424509440",
        states: &[("node_threshold", "61203283968 bytes"), ("node_total", "64424509440")],
    },
    Example {
        version: "ray 2.56–2.60, raylet.out",
        text: "[2026-03-01 10:37:22,750 I 82 82] (raylet) threshold_memory_monitor.cc:53: ThresholdMemoryMonitor initialized with usage threshold at 61203283968 bytes (95.000000% of system memory), total system memory bytes: 64424509440, monitor interval: 250ms",
        states: &[("node_threshold", "61203283968 bytes"), ("node_total", "64424509440")],
    },
    Example {
        version: "ray 2.0–2.60, raylet.out, without a monitor",
        text: "[2026-03-01 10:37:22,750 I 82 82] (raylet) memory_monitor.cc:68: MemoryMonitor disabled. Specify `memory_monitor_refresh_ms` > 0 to enable the monitor.",
        states: &[("ray.monitor", "disabled")],
    },
    Example {
        version: "ray 2.0–2.60, raylet.out, over the threshold",
        text: "[2026-03-01 10:37:32,534 I 82 102] (raylet) threshold_memory_monitor.cc:128: Node memory usage above threshold, used: 61576757248, threshold_bytes: 61203283968, total bytes: 64424509440, threshold fraction: 0.950000",
        states: &[
            ("pressure", "host_oom_ray"),
            ("node_used", "61576757248"),
            ("node_threshold", "61203283968"),
            ("node_total", "64424509440"),
        ],
    },
    Example {
        version: "ray 2.56–2.60, raylet.out, nobody to kill",
        text: "[2026-03-01 10:37:32,534 W 82 82] (raylet) node_manager.cc:3140: Memory usage above threshold but no workers are available for killing. This could be due to worker memory leak and idle worker are occupying most of the memory.",
        states: &[("pressure", "host_oom_ray")],
    },
    Example {
        version: "ray 2.60, raylet.out, nobody chosen",
        text: "[2026-03-01 10:37:32,534 W 82 82] (raylet) node_manager.cc:3152: Worker killer did not select any workers to kill even though memory usage is high. Other Ray processes (e.g. driver, raylet) or other non-ray processes may be occupying most of the memory.",
        states: &[("pressure", "host_oom_ray")],
    },
    Example {
        version: "ray 2.60, raylet.out, resource isolation",
        text: "[2026-03-01 10:37:32,534 W 82 82] (raylet) node_manager.cc:3170: System slice memory usage 5576757248 bytes has exceeded the reserved system memory of 5368709120 bytes.",
        states: &[("pressure", "host_oom_ray"), ("other", "5576757248 bytes"), ("other", "5368709120 bytes")],
    },
    Example {
        version: "ray 1.0–2.60, the driver's start",
        text: "2026-03-01 10:39:16,283\tWARNING services.py:1996 -- WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only 67108864 bytes available. This will harm performance! You may be able to free up space by deleting files in /dev/shm. If you are inside a Docker container, you can increase /dev/shm size by passing '--shm-size=10.24gb' to 'docker run' (or add it to the run_options list in a Ray cluster config). Make sure to set this to more than 30% of available RAM.",
        states: &[
            ("other", "67108864 bytes"),
            ("ray.object_store_folder", "/tmp"),
            ("ray.shm_available", "67108864 bytes"),
            ("ray.shm_advice", "--shm-size=10.24gb"),
        ],
    },
    Example {
        version: "ray 1.0–2.60, raylet.out",
        text: "[2026-03-01 10:37:22,746 I 82 82] (raylet) store_runner.cc:50: Allowing the Plasma store to use up to 19.3274GB of memory.",
        states: &[("other", "19.3274GB"), ("ray.object_store_limit", "19.3274GB")],
    },
    Example {
        version: "ray 2.10–2.60, the disk for spilling",
        text: "(raylet) [2026-03-01 10:33:59,719 E 83 93] (raylet) file_system_monitor.cc:116: /mnt/spill is over 95% full, available space: 1.5 GB; capacity: 64.25 GB. Object creation will fail if spilling is required.",
        states: &[
            ("other", "available space: 1.5 GB"),
            ("other", "capacity: 64.25 GB"),
            ("ray.spill_folder", "/mnt/spill"),
        ],
    },
    Example {
        version: "ray 1.9–2.9, the disk for spilling",
        text: "(raylet, ip=10.0.0.7) [2026-03-01 10:12:38,595 E 1113478 1113510] (raylet) file_system_monitor.cc:111: /tmp/ray/session_1 is over 95% full, available space: 2376220672; capacity: 1888426192896. Object creation will fail if spilling is required.",
        states: &[("other", "available space: 2376220672"), ("other", "capacity: 1888426192896")],
    },
    Example {
        version: "ray 1.3–2.60, objects spilled",
        text: "(raylet) Spilled 65536 MiB, 812 objects, write throughput 912 MiB/s. Set RAY_verbose_spill_logs=0 to disable this message.",
        states: &[("series", "object store spilled"), ("other", "65536 MiB")],
    },
    Example {
        version: "ray 1.3–2.60, raylet.out, objects restored",
        text: "[2026-03-01 10:33:59,518 I 83 83] (raylet) local_object_manager.cc:490: Restored 1360 MiB, 170 objects, read throughput 1842 MiB/s",
        states: &[("series", "object store restored"), ("other", "1360 MiB")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn a_disk_in_bytes_and_one_in_gigabytes_are_read_alike() {
        let figures = |text: &str| {
            testing::read(text.as_bytes())[0].figures.iter().filter_map(|figure| figure.bytes).collect::<Vec<_>>()
        };
        assert_eq!(figures(EXAMPLES[9].text), [Bytes(3 << 29), Bytes(257 << 28)]);
        assert_eq!(figures(EXAMPLES[10].text), [Bytes(2_376_220_672), Bytes(1_888_426_192_896)]);
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        for line in [
            "MemoryMonitor initialized with usage threshold at 61203283968 by",
            "Node memory usage above threshold, used: 61576757248, threshold_bytes: ",
            "/mnt/spill is over 95% full, available space: 1.5 GB; cap",
            "(raylet) Spilled 65536 MiB, 812 objects, wri",
            "Spilled 200 MiB, 4 objects, avg write throughput 570 MiB/s",
            "    \"Memory usage above threshold but no workers are available for killing.\"",
        ] {
            let found = testing::find(line.as_bytes());
            assert!(found.events.is_empty() && found.timeline.is_empty(), "{line}");
        }
    }
}
