//! What the kernel's counters prove about an OOM kill.
//!
//! `oom_kill` is counted in the cgroup of the killed process, no matter whose limit was reached. `oom` is counted at
//! the level whose limit was reached (version 2), and so is `failcnt`, but also when memory could be reclaimed (version
//! 1). The counters prove that a process of the cgroup was killed; which one, only an exit by signal shows.

use super::cgroup::{Cgroups, Level, Limit, short};
use super::machine::Machine;

/// A limit counts as reached if at least this fraction of it is or was in use.
const FULL: f64 = 0.97;
/// With less than this fraction available the machine was out of memory.
const SCARCE: f64 = 0.1;
/// With at least this fraction available, and every limit used by less than [`AMPLE`], there was plenty of memory.
const PLENTY: f64 = 0.1;
/// See [`PLENTY`].
const AMPLE: f64 = 0.9;

/// One line per cgroup with kills since the last report. `least_available` is the smallest fraction of the machine's
/// memory that was available lately.
pub(super) fn new_kills(cgroups: &Cgroups, machine: &Machine, least_available: Option<f64>) -> Vec<String> {
    let rose = |level: &&Level| {
        level.last.counters.own_kills() > level.reported.own_kills() && level.reported.own_kills().is_some()
    };
    cgroups.own().filter(rose).map(|level| line(cgroups, level, machine, least_available)).collect()
}

fn line(cgroups: &Cgroups, level: &Level, machine: &Machine, least_available: Option<f64>) -> String {
    let (before, after) =
        (level.reported.own_kills().unwrap_or_default(), level.last.counters.own_kills().unwrap_or_default());
    let what = format!("oom_kill {before} to {after} in cgroup {}", short(&level.path));
    let is_scarce = least_available.is_some_and(|share| share < SCARCE);
    if let Some((at_limit, sign)) = cgroups.above(&level.path).find_map(|level| Some((level, reached(level)?))) {
        let most = at_limit.last.peak.max(at_limit.last.current).map(|most| match at_limit.last.limit {
            // The peak may be from a time with a higher limit.
            Some(Limit::At(limit)) => most.min(limit),
            _ => most,
        });
        let used = most.map_or_else(String::new, |used| format!(", used {used}"));
        let limit = at_limit.last.limit.map_or_else(String::new, |limit| format!(" of {limit}"));
        return format!("{what}; limit reached: {}{used}{limit}, {sign}", short(&at_limit.path));
    }
    let is_counted = cgroups.above(&level.path).any(|level| level.last.counters.oom.is_some());
    // Version 2 counts `oom` at every limit that leads to a kill, so without one the machine as a whole ran out;
    // version 1 leaves that open.
    if is_scarce || (is_counted && cgroups.is_whole()) {
        let amounts = match (machine.used(), machine.total) {
            (Some(used), Some(total)) => format!("used {used} of {total}"),
            _ => "unavailable".to_owned(),
        };
        // Only part of the machine may be out of memory, e.g. the NUMA node that a process is bound to.
        let by = if is_scarce { "the machine had no more" } else { "by no cgroup's limit" };
        return format!("{what}; {by}: {amounts}");
    }
    let above = if cgroups.is_whole() { "" } else { ", and those above it cannot be read" };
    format!("{what}; whose limit was reached was not seen{above}")
}

/// The evidence that the limit of `level` was reached since the last report.
fn reached(level: &Level) -> Option<String> {
    let (now, before) = (level.last.counters, level.reported);
    let rose = |now: Option<u64>, before: Option<u64>| {
        let (now, before) = (now?, before?);
        (now > before).then_some((before, now))
    };
    if now.oom.is_some() {
        let own = rose(now.local_oom, before.local_oom);
        // Old kernels only have the count that includes descendants; the caller asks the innermost level first.
        let (from, to) = own.or_else(|| if now.local_oom.is_none() { rose(now.oom, before.oom) } else { None })?;
        return Some(format!("oom {from} to {to}"));
    }
    let Some(Limit::At(limit)) = level.last.limit else { return None };
    let used = level.last.peak.max(level.last.current)?;
    let (from, to) = rose(now.reached, before.reached).filter(|_| used.0 as f64 >= FULL * limit.0 as f64)?;
    Some(format!("failcnt {from} to {to}"))
}

/// The proof, in words, that no process was OOM-killed since the beginning. It needs every counter: each must be
/// unchanged, no limit may be close, and the machine must have had plenty of memory.
pub(super) fn ruled_out(
    cgroups: &Cgroups,
    machine: &Machine,
    machine_before: &Machine,
    least: Option<f64>,
) -> Option<String> {
    let mut counters = Vec::new();
    for level in cgroups.own() {
        let (before, after) = (level.first.counters.own_kills(), level.last.counters.own_kills());
        // The last counts of a removed cgroup are unknown.
        match (before, after) {
            (Some(before), Some(after)) if before == after && level.is_there => {
                counters.push(format!("oom_kill {before} to {after} in cgroup {}", short(&level.path)));
            }
            _ => return None,
        }
    }
    let on_machine = machine_before.oom_kill.zip(machine.oom_kill).map(|(before, after)| before == after);
    // A kill on the machine may have happened in a cgroup that the process moved to unnoticed.
    if on_machine == Some(false) || (counters.is_empty() && on_machine.is_none()) {
        return None;
    }
    let is_near = |level: &Level| level.last.fullness().is_some_and(|share| share > AMPLE);
    if cgroups.all().any(is_near) || least.is_none_or(|share| share < PLENTY) {
        return None;
    }
    let whole = on_machine.map(|_| "none on the machine".to_owned());
    let (used, total) = (machine.used()?, machine.total?);
    let amounts = format!("machine used {used} of {total}");
    Some(whole.into_iter().chain([amounts]).chain(counters).collect::<Vec<String>>().join(", "))
}

/// Version 2 counters exist only where the memory controller is mounted as version 2, so files with the same contents
/// stand in for them.
#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Writes the files of a cgroup: its `oom_kill` and `oom` including descendants (`all`), and for itself (`own`).
    fn say(folder: &Path, path: &str, used: u64, limit: &str, all: (u64, u64), own: (u64, u64)) -> std::io::Result<()> {
        let folder = folder.join(path);
        fs::create_dir_all(&folder)?;
        let events = |(kills, ooms): (u64, u64)| {
            format!("low 0\nhigh 0\nmax 3\noom {ooms}\noom_kill {kills}\noom_group_kill 0\n")
        };
        for (name, text) in [
            ("memory.current", format!("{used}\n")),
            ("memory.peak", format!("{used}\n")),
            ("memory.max", format!("{limit}\n")),
            ("memory.events", events(all)),
            ("memory.events.local", events(own)),
        ] {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }

    const GIB: u64 = 1 << 30;
    const BOTH: [&str; 2] = ["pod", "pod/step"];

    fn quiet(mount: &Path, is_whole: bool) -> std::io::Result<Cgroups> {
        for path in BOTH {
            say(mount, path, GIB, "max", (0, 0), (0, 0))?;
        }
        Ok(Cgroups::below(mount, "/pod/step", is_whole))
    }

    #[test]
    fn the_level_whose_own_counter_rose_is_the_one_whose_limit_was_reached() -> Result<(), Box<dyn std::error::Error>> {
        let mount = tempfile::tempdir()?;
        let mut cgroups = quiet(mount.path(), true)?;
        say(mount.path(), "pod", 2 * GIB, "2147483648", (1, 1), (0, 1))?;
        say(mount.path(), "pod/step", GIB, "max", (1, 0), (1, 0))?;
        cgroups.read();
        let lines = new_kills(&cgroups, &Machine::with(90 * GIB, 100 * GIB, 1), Some(0.9));
        assert_eq!(
            lines,
            ["oom_kill 0 to 1 in cgroup /pod/step; limit reached: /pod, used 2048.0 MiB of 2048.0 MiB, oom 0 to 1"]
        );
        cgroups.settle();
        assert!(new_kills(&cgroups, &Machine::with(90 * GIB, 100 * GIB, 1), Some(0.9)).is_empty(), "told once");
        Ok(())
    }

    #[test]
    fn a_kill_without_a_limit_is_the_machines_or_of_somebody_above() -> Result<(), Box<dyn std::error::Error>> {
        let mount = tempfile::tempdir()?;
        for (is_whole, words) in
            [(true, "by no cgroup's limit: used"), (false, "whose limit was reached was not seen, and those above")]
        {
            let mut cgroups = quiet(mount.path(), is_whole)?;
            say(mount.path(), "pod/step", GIB, "max", (1, 0), (1, 0))?;
            cgroups.read();
            let lines = new_kills(&cgroups, &Machine::with(50 * GIB, 100 * GIB, 1), Some(0.5));
            assert!(lines.len() == 1 && lines[0].contains(words), "{lines:?}");
        }
        Ok(())
    }

    #[test]
    fn a_kill_next_door_is_none_of_the_jobs() -> Result<(), Box<dyn std::error::Error>> {
        let mount = tempfile::tempdir()?;
        let mut cgroups = quiet(mount.path(), true)?;
        say(mount.path(), "pod", GIB, "max", (1, 1), (0, 0))?;
        cgroups.read();
        let (before, after) = (Machine::with(90 * GIB, 100 * GIB, 3), Machine::with(90 * GIB, 100 * GIB, 4));
        assert!(new_kills(&cgroups, &after, Some(0.9)).is_empty());
        assert!(ruled_out(&cgroups, &after, &before, Some(0.9)).is_none(), "a kill on the machine leaves it open");
        let proof = ruled_out(&cgroups, &before, &before, Some(0.9));
        assert!(proof.is_some_and(|proof| proof.contains("oom_kill 0 to 0 in cgroup /pod/step")));
        assert!(ruled_out(&cgroups, &before, &before, Some(0.02)).is_none(), "little was available");
        Ok(())
    }

    #[test]
    fn what_cannot_be_read_rules_nothing_out() -> Result<(), Box<dyn std::error::Error>> {
        let mount = tempfile::tempdir()?;
        let cgroups = Cgroups::below(mount.path(), "/pod/step", true);
        let machine = Machine::default();
        assert!(ruled_out(&cgroups, &machine, &machine, Some(0.9)).is_none());
        let mut cgroups = quiet(mount.path(), true)?;
        fs::write(mount.path().join("pod/step/memory.events"), "")?;
        fs::write(mount.path().join("pod/step/memory.events.local"), "")?;
        cgroups.read();
        let machine = Machine::with(90 * GIB, 100 * GIB, 3);
        assert!(ruled_out(&cgroups, &machine, &machine, Some(0.9)).is_none());
        Ok(())
    }
}
