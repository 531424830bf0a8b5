//! What launchers tell a process about its rank, and the names of the recorder's files.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// Variables with the global rank; the first that is set counts.
const RANK: &[&str] = &["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];
/// Variables with the rank on the machine.
const LOCAL_RANK: &[&str] =
    &["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"];
/// Command line options with a rank.
const OPTIONS: &[&str] = &["--rank", "--local_rank", "--local-rank"];

/// The rank according to an environment, which `variable` looks up.
pub(super) fn rank(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    RANK.iter().chain(LOCAL_RANK).find_map(|name| variable(name)?.trim().parse().ok())
}

/// The variable `name` in the contents of `/proc/PID/environ`.
pub(super) fn variable(environment: &[u8], name: &str) -> Option<String> {
    environment.split(|byte| *byte == 0).find_map(|pair| {
        let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

/// The rank in command line arguments: `--local_rank=3`.
pub(super) fn rank_of_arguments(arguments: &[&str]) -> Option<u32> {
    arguments.iter().enumerate().find_map(|(place, argument)| {
        let (name, value) = argument.split_once('=').map_or((*argument, None), |(name, value)| (name, Some(value)));
        let value = value.or_else(|| arguments.get(place + 1).copied()).filter(|_| OPTIONS.contains(&name))?;
        value.parse().ok()
    })
}

/// The names of the recorder's files. They differ between the nodes and ranks of a job, which may share a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The machine's host name.
    pub host: String,
    /// The rank of this process, if the launcher starts one recorder per rank.
    pub rank: Option<u32>,
    stem: String,
}

impl Names {
    /// The names for this process at this time.
    pub fn of_this_process() -> Names {
        Names::new(
            &crate::store::host_name().unwrap_or_default(),
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

    /// The path of the log in `folder`.
    pub fn log(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.log", self.stem))
    }

    /// The path of the record that belongs to `log`.
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
