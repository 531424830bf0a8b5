//! The cgroups in which the job's processes are, and those above them.
//!
//! A job may leave the recorder's own cgroup: a transient scope is its sibling. So each process is asked where it is, and the files of
//! all levels up to the top are held open from when the first process is seen there.

mod level;
mod mounts;

use std::collections::BTreeMap;
use std::fs;

use level::Files;
pub(super) use level::{Counters, Limit, Reading};
use mounts::Hierarchy;

/// Paths longer than this are written without their middle.
const LONGEST_PATH: usize = 72;

/// See the module.
pub(super) struct Cgroups {
    hierarchy: Option<Hierarchy>,
    levels: BTreeMap<String, Level>,
    /// In which processes of the job were.
    own: Vec<String>,
}

/// One cgroup over time.
pub(super) struct Level {
    pub path: String,
    files: Files,
    /// When it was first seen.
    pub first: Reading,
    /// What it was when a kill was last told of.
    pub told: Counters,
    /// The last one that could be read.
    pub last: Reading,
    /// Whether it can still be read.
    pub is_there: bool,
}

impl Cgroups {
    /// Of this process.
    pub fn here() -> Cgroups {
        let mut cgroups = Cgroups { hierarchy: Hierarchy::here(), levels: BTreeMap::new(), own: Vec::new() };
        cgroups.add_process(std::process::id());
        cgroups
    }

    /// The cgroup at `path` of version 2 and those above it, as files below `mount`.
    #[cfg(test)]
    pub fn below(mount: &std::path::Path, path: &str, is_whole: bool) -> Cgroups {
        let hierarchy = Some(Hierarchy::at(mount, is_whole));
        let mut cgroups = Cgroups { hierarchy, levels: BTreeMap::new(), own: Vec::new() };
        cgroups.add(path);
        cgroups
    }

    /// Whether there is no cgroup above the outermost one that can be read.
    pub fn is_whole(&self) -> bool {
        self.hierarchy.as_ref().is_some_and(|hierarchy| hierarchy.is_whole)
    }

    /// Notes in which cgroup the process is.
    pub fn add_process(&mut self, pid: u32) {
        let Some(hierarchy) = &self.hierarchy else { return };
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return };
        let Some(path) = hierarchy.path_of(&text) else { return };
        let path = path.to_owned();
        self.add(&path);
    }

    /// Notes that the job is in the cgroup at `path`.
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
                    told: first.counters,
                    last: first.clone(),
                    first,
                    is_there: true,
                    path: path.clone(),
                };
                self.levels.insert(path, level);
            }
        }
    }

    /// Reads all of them.
    pub fn read(&mut self) {
        for level in self.levels.values_mut() {
            let reading = level.files.read();
            level.is_there = reading.current.is_some();
            if level.is_there {
                level.last = reading;
            }
        }
    }

    /// Those in which processes of the job were.
    pub fn own(&self) -> impl Iterator<Item = &Level> {
        self.own.iter().filter_map(|path| self.levels.get(path))
    }

    /// The cgroup at `path` and those above it, innermost first.
    pub fn above<'c>(&'c self, path: &'c str) -> impl Iterator<Item = &'c Level> {
        let is_above = move |level: &&Level| {
            level.path == "/"
                || path.strip_prefix(&level.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // A path sorts before those below it.
        self.levels.values().rev().filter(is_above)
    }

    /// All, outermost first.
    pub fn all(&self) -> impl Iterator<Item = &Level> {
        self.levels.values()
    }

    /// That the kills counted so far have been told of.
    pub fn settle(&mut self) {
        self.levels.values_mut().for_each(|level| level.told = level.last.counters);
    }

    /// A line for each, as a record has it.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.levels.values().map(|level| match level.is_there {
            true => format!("cgroup {}: {}", short(&level.path), level.last),
            false => format!("cgroup {}: unavailable, it was removed", short(&level.path)),
        })
    }
}

/// `path`, without its middle where it is long: `/kubepods.slice/…/cri-containerd-1a2b.scope`.
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
