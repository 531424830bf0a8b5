//! What launchers tell a process of itself, and what its files are called by that.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// Variables in which launchers say a process's rank among all, the first that is set counts.
const RANK: &[&str] = &["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];
/// The same within its machine.
const LOCAL_RANK: &[&str] =
    &["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"];
/// Options in which a command line says the rank.
const OPTIONS: &[&str] = &["--rank", "--local_rank", "--local-rank"];

/// The rank that the variables of an environment say, as [`std::env::var`] or `/proc/PID/environ` have them.
pub(super) fn rank(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    RANK.iter().chain(LOCAL_RANK).find_map(|name| variable(name)?.trim().parse().ok())
}

/// The variable `name` of an environment as the kernel shows it.
pub(super) fn variable(environment: &[u8], name: &str) -> Option<String> {
    environment.split(|byte| *byte == 0).find_map(|pair| {
        let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

/// The rank that a command line says: `--local_rank=3`.
pub(super) fn rank_of_arguments(arguments: &[&str]) -> Option<u32> {
    arguments.iter().enumerate().find_map(|(place, argument)| {
        let (name, value) = argument.split_once('=').map_or((*argument, None), |(name, value)| (name, Some(value)));
        let value = value.or_else(|| arguments.get(place + 1).copied()).filter(|_| OPTIONS.contains(&name))?;
        value.parse().ok()
    })
}

/// What the files of a recorder are called, so that those of a job's nodes and ranks differ where they share a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The machine.
    pub host: String,
    /// The rank of this process, where its launcher starts one recorder a rank.
    pub rank: Option<u32>,
    stem: String,
}

impl Names {
    /// Of this process, now.
    pub fn of_this_process() -> Names {
        Names::new(
            &crate::store::machine().unwrap_or_default(),
            rank(|name| std::env::var(name).ok()),
            Timestamp::now(),
            std::process::id(),
        )
    }

    fn new(host: &str, rank: Option<u32>, now: Timestamp, pid: u32) -> Names {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let host: String = host.chars().filter(|c| is_plain(*c)).take(64).collect();
        let host = if host.is_empty() { "localhost".to_owned() } else { host };
        let time = now.strftime("%Y%m%dT%H%M%S");
        let of_rank = rank.map(|rank| format!("-rank{rank}")).unwrap_or_default();
        let stem = format!("oomdoc-{time}-{host}{of_rank}-{pid}");
        Names { host, rank, stem }
    }

    /// The log in `folder`.
    pub fn log(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.log", self.stem))
    }

    /// The record beside `log`.
    pub fn record_beside(log: &Path) -> PathBuf {
        log.with_extension("record")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_the_rank_each_in_their_own_way() {
        let environment = b"PATH=/bin\0OMPI_COMM_WORLD_RANK=5\0SLURM_PROCID=0\0LOCAL_RANK=1\0";
        assert_eq!(rank(|name| variable(environment, name)), Some(5));
        assert_eq!(rank(|name| variable(b"LOCAL_RANK=1\0", name)), Some(1));
        assert_eq!(rank(|name| variable(b"RANK=many\0", name)), None);
        assert_eq!(rank_of_arguments(&["python", "train.py", "--local_rank=3"]), Some(3));
        assert_eq!(rank_of_arguments(&["python", "train.py", "--local-rank", "2"]), Some(2));
        assert_eq!(rank_of_arguments(&["python", "--lora_rank", "2"]), None);
    }

    #[test]
    fn files_of_ranks_and_nodes_differ() {
        let name = |host, rank| Names::new(host, rank, Timestamp::UNIX_EPOCH, 7).log(Path::new("logs"));
        assert_eq!(name("node7", Some(3)), Path::new("logs/oomdoc-19700101T000000-node7-rank3-7.log"));
        assert_ne!(name("node7", None), name("node8", None));
        assert_eq!(Names::record_beside(Path::new("a/job.log")), Path::new("a/job.record"));
    }
}
