//! Finds the memory controller's files for the cgroup of a process.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The version of a cgroup hierarchy, which decides the files' names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// The cgroup hierarchy with the memory controller, as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub version: Version,
    /// Its mount point.
    mount: PathBuf,
    /// The cgroup that is mounted there.
    root: String,
    /// Whether that cgroup is the root of the hierarchy.
    pub is_whole: bool,
}

/// The inode number of the initial cgroup namespace (`PROC_CGROUP_INIT_INO`).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFB;

impl Hierarchy {
    /// The hierarchy that this process sees; `None` where no memory controller is mounted.
    pub fn here() -> Option<Hierarchy> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let is_first = fs::metadata("/proc/self/ns/cgroup").is_ok_and(|namespace| namespace.ino() == FIRST_NAMESPACE);
        let has_memory = |mount: &Path| {
            let controllers = fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
            controllers.split_ascii_whitespace().any(|name| name == "memory")
        };
        Hierarchy::of(&mounts, is_first, has_memory)
    }

    /// A version 2 hierarchy with files below `mount`.
    #[cfg(test)]
    pub fn at(mount: &Path, is_whole: bool) -> Hierarchy {
        Hierarchy { version: Version::V2, mount: mount.to_owned(), root: "/".to_owned(), is_whole }
    }

    fn of(mounts: &str, is_first: bool, has_memory: impl Fn(&Path) -> bool) -> Option<Hierarchy> {
        let of_line = |line: &str| {
            let (place, system) = line.split_once(" - ")?;
            let mut place = place.split(' ').skip(3);
            let (root, mount) = (place.next()?.to_owned(), PathBuf::from(place.next()?));
            let mut system = system.split(' ');
            let version = match system.next()? {
                "cgroup2" if has_memory(&mount) => Version::V2,
                "cgroup" if system.nth(1)?.split(',').any(|option| option == "memory") => Version::V1,
                _ => return None,
            };
            let is_whole = is_first && root == "/";
            Some(Hierarchy { version, mount, root, is_whole })
        };
        mounts.lines().find_map(of_line)
    }

    /// The path of a process's cgroup in the text of `/proc/PID/cgroup`.
    pub fn path_of<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut lines = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        });
        let path = match self.version {
            Version::V2 => lines.find(|(controllers, _)| controllers.is_empty()),
            Version::V1 => lines.find(|(controllers, _)| controllers.split(',').any(|name| name == "memory")),
        };
        path.map(|(_, path)| path)
    }

    /// The paths and folders of the cgroup at `path` and of its ancestors, innermost first.
    pub fn levels(&self, path: &str) -> Vec<(String, PathBuf)> {
        // Of a cgroup outside of the mounted one only the mounted one is visible.
        let below = match self.root.as_str() {
            "/" => path,
            root => path.strip_prefix(root).filter(|below| below.is_empty() || below.starts_with('/')).unwrap_or("/"),
        };
        // A path may leave the namespace: `/../x`.
        let below = if below.split('/').any(|part| part == "..") { "/" } else { below };
        let below = below.trim_matches('/');
        let mut levels = vec![("/".to_owned(), self.mount.clone())];
        let mut so_far = String::new();
        for part in below.split('/').filter(|part| !part.is_empty()) {
            so_far = format!("{so_far}/{part}");
            levels.push((so_far.clone(), self.mount.join(&so_far[1..])));
        }
        levels.reverse();
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        35 31 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        40 31 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    const CONTAINER: &str = "41 31 0:37 /docker/9f2e /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";

    #[test]
    fn finds_the_hierarchy_with_the_memory_controller() -> Result<(), Box<dyn std::error::Error>> {
        let hybrid = Hierarchy::of(HYBRID, true, |_| false);
        let hybrid = hybrid.filter(|hybrid| hybrid.version == Version::V1 && hybrid.is_whole);
        let hybrid = hybrid.ok_or("the memory controller is mounted")?;
        assert_eq!(hybrid.path_of("5:devices:/\n4:cpu,memory:/a/b\n0::/x\n"), Some("/a/b"));
        let levels: Vec<String> = hybrid.levels("/a/b").into_iter().map(|(path, _)| path).collect();
        assert_eq!(levels, ["/a/b", "/a", "/"]);
        assert_eq!(hybrid.levels("/a")[0].1, Path::new("/sys/fs/cgroup/memory/a"));
        assert_eq!(Hierarchy::of("", true, |_| true), None);
        Ok(())
    }

    #[test]
    fn a_container_sees_nothing_above_itself() -> Result<(), Box<dyn std::error::Error>> {
        let container = Hierarchy::of(CONTAINER, false, |_| true).ok_or("the memory controller is mounted")?;
        assert!(!container.is_whole && container.version == Version::V2);
        assert_eq!(container.path_of("0::/docker/9f2e/step"), Some("/docker/9f2e/step"));
        let levels: Vec<String> = container.levels("/docker/9f2e/step").into_iter().map(|(path, _)| path).collect();
        assert_eq!(levels, ["/step", "/"]);
        assert_eq!(container.levels("/../other").len(), 1);
        Ok(())
    }
}
