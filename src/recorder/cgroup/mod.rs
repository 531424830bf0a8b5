//! The cgroups of the job's processes, and their ancestors.
//!
//! A job may leave the recorder's cgroup: a transient scope is a sibling of it. So the cgroup of each process is looked
//! up, and the files of all its levels are held open from the first time that a process is seen there.

mod files;
mod mounts;

use std::collections::BTreeMap;
use std::fs;

use files::Files;
pub(super) use files::{Counters, Limit, Reading};
use mounts::Hierarchy;

/// Longer paths are shown without their middle.
const LONGEST_PATH: usize = 72;

/// All cgroups that are observed.
pub(super) struct Cgroups {
    hierarchy: Option<Hierarchy>,
    levels: BTreeMap<String, Level>,
    /// The paths of cgroups that had processes of the job.
    own: Vec<String>,
}

/// A cgroup over time.
pub(super) struct Level {
    pub path: String,
    files: Files,
    /// The reading when it was first seen.
    pub first: Reading,
    /// The counters when a kill was last reported.
    pub reported: Counters,
    /// The last successful reading.
    pub last: Reading,
    /// Whether the last attempt to read it succeeded.
    pub is_there: bool,
}

impl Cgroups {
    /// Observes the cgroups of this process.
    pub fn here() -> Cgroups {
        let mut cgroups = Cgroups { hierarchy: Hierarchy::here(), levels: BTreeMap::new(), own: Vec::new() };
        cgroups.add_process(std::process::id());
        cgroups
    }

    /// Observes the version 2 cgroup at `path` and its ancestors, with files below `mount`.
    #[cfg(test)]
    pub fn below(mount: &std::path::Path, path: &str, is_whole: bool) -> Cgroups {
        let hierarchy = Some(Hierarchy::at(mount, is_whole));
        let mut cgroups = Cgroups { hierarchy, levels: BTreeMap::new(), own: Vec::new() };
        cgroups.add(path);
        cgroups
    }

    /// Whether the outermost cgroup that can be read is the root of the hierarchy.
    pub fn is_whole(&self) -> bool {
        self.hierarchy.as_ref().is_some_and(|hierarchy| hierarchy.is_whole)
    }

    /// Adds the cgroup of the process, and its ancestors.
    pub fn add_process(&mut self, pid: u32) {
        let Some(hierarchy) = &self.hierarchy else { return };
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return };
        let Some(path) = hierarchy.path_of(&text) else { return };
        let path = path.to_owned();
        self.add(&path);
    }

    /// Adds the cgroup at `path`, and its ancestors.
    fn add(&mut self, path: &str) {
        let Some(hierarchy) = &self.hierarchy else { return };
        let levels = hierarchy.levels(path);
        let Some((own, _)) = levels.first() else { return };
        if self.own.contains(own) {
            return;
        }
        self.own.push(own.clone());
        for (path, folder) in levels {
            let files = Files::open(&folder, hierarchy.version);
            if files.is_there() && !self.levels.contains_key(&path) {
                let first = files.read();
                let level = Level {
                    files,
                    reported: first.counters,
                    last: first.clone(),
                    first,
                    is_there: true,
                    path: path.clone(),
                };
                self.levels.insert(path, level);
            }
        }
    }

    /// Reads all cgroups.
    pub fn read(&mut self) {
        for level in self.levels.values_mut() {
            let reading = level.files.read();
            level.is_there = reading.current.is_some();
            if level.is_there {
                level.last = reading;
            }
        }
    }

    /// The cgroups that had processes of the job.
    pub fn own(&self) -> impl Iterator<Item = &Level> {
        self.own.iter().filter_map(|path| self.levels.get(path))
    }

    /// The cgroup at `path` and its ancestors, innermost first.
    pub fn above<'c>(&'c self, path: &'c str) -> impl Iterator<Item = &'c Level> {
        let is_above = move |level: &&Level| {
            level.path == "/"
                || path.strip_prefix(&level.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // In the map a path comes before those below it.
        self.levels.values().rev().filter(is_above)
    }

    /// All cgroups, outermost first.
    pub fn all(&self) -> impl Iterator<Item = &Level> {
        self.levels.values()
    }

    /// Marks the kills counted so far as reported.
    pub fn settle(&mut self) {
        self.levels.values_mut().for_each(|level| level.reported = level.last.counters);
    }

    /// The lines of a record, one per cgroup.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.levels.values().map(|level| match level.is_there {
            true => format!("cgroup {}: {}", short(&level.path), level.last),
            false => format!("cgroup {}: unavailable, it was removed", short(&level.path)),
        })
    }
}

/// `path`, without its middle if it is long: `/kubepods.slice/…/cri-containerd-1a2b.scope`.
pub(super) fn short(path: &str) -> String {
    if path.len() <= LONGEST_PATH {
        return path.to_owned();
    }
    let head = path.floor_char_boundary(LONGEST_PATH / 3);
    let tail = path.ceil_char_boundary(path.len() - LONGEST_PATH / 2);
    format!("{}…{}", &path[..head], &path[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_lose_their_middle() {
        assert_eq!(short("/a/b"), "/a/b");
        let path = format!("/kubepods.slice/{}/cri-containerd-1a2b.scope", "x".repeat(100));
        let short = short(&path);
        assert!(short.len() <= LONGEST_PATH && short.ends_with("cri-containerd-1a2b.scope"), "{short}");
    }
}
