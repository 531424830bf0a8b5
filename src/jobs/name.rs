//! What the names of files and folders tell about the job that wrote them.

use std::collections::BTreeSet;

use crate::incident::node_and_path;
use crate::knowledge::{Inputs, NameWords, is_among};

/// Most digits of a rank; a longer number is a job's id.
const LONGEST_RANK: usize = 3;
/// Most digits of a rank if the word before it says that it is one.
const LONGEST_NAMED_RANK: usize = 6;

/// The parsed path of a log.
#[derive(Debug, Clone, Default)]
pub(super) struct LogPath {
    /// The folders, outermost first; empty if the user named the file itself.
    folders: Vec<String>,
    /// The words of the name without parts and numbers: `train-rank3.log` is `train`.
    shape: Vec<String>,
    /// Words that may name an experiment: neither parts nor programs.
    pub words: BTreeSet<String>,
    /// Ids of jobs.
    pub ids: BTreeSet<String>,
    /// Whether it belongs to a Ray session, whose workers share their logs.
    pub of_session: bool,
    /// Whether the user named the file itself.
    pub is_named: bool,
    /// The node on which it was read, if on another machine.
    pub node: Option<String>,
}

/// What logs of one job have in common: folders and names without the numbers of parts, and ids.
pub(super) type Key = (Vec<Vec<String>>, Vec<String>, BTreeSet<String>);

impl LogPath {
    /// Parses the path of a log; `is_named` says whether the user named it, and `common` how many of its folders hold all logs. A number
    /// in the name of such a folder tells no log from another, whether it is an id or chance: `/tmp/run.ab1234`.
    pub fn of(path: &str, is_named: bool, common: usize) -> LogPath {
        let (node, path) = node_and_path(path).map_or((None, path), |(node, path)| (Some(node), path));
        let (_, file) = path.rsplit_once(['/', '!']).unwrap_or(("", path));
        let folders: Vec<String> = if is_named { Vec::new() } else { folders(path).map(str::to_lowercase).collect() };
        let file = file.to_lowercase();
        let of_session = words().session.iter().any(|name| file.starts_with(name));
        let node = node.map(str::to_lowercase);
        let mut path = LogPath { of_session, is_named, node, folders: folders.clone(), ..LogPath::default() };
        // A session's workers are named by digests, so they get one shape, which no name can have because of its blanks.
        path.shape = if of_session { vec!["of a session".to_owned()] } else { path.read(&file) };
        for (depth, folder) in folders.iter().enumerate() {
            let mut own = LogPath::default();
            own.read(folder);
            path.words.extend(own.words);
            let numbers = if depth < common { &mut path.words } else { &mut path.ids };
            numbers.extend(own.ids);
        }
        path
    }

    /// Returns the shape of a name, and adds its ids and words.
    fn read(&mut self, name: &str) -> Vec<String> {
        let tokens = tokens(name);
        let mut shape = Vec::new();
        let mut before = "";
        for token in &tokens {
            let is_number = token.bytes().all(|byte| byte.is_ascii_digit());
            let is_hex = token.len() >= 8 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_number {
                let is_named = is_among(&words().many_parts, before);
                let longest = if is_named { LONGEST_NAMED_RANK } else { LONGEST_RANK };
                let is_rank = token.len() <= longest && !is_among(&words().jobs, before);
                if !is_rank && !looks_like_time(token) {
                    self.ids.insert(token.clone());
                }
            } else if !is_hex && !is_among(&words().parts, token) {
                shape.push(token.clone());
                let is_common = is_among(&words().jobs, token) || is_among(&words().programs, token);
                if !is_common && token.len() > 1 {
                    self.words.insert(token.clone());
                }
            }
            before = token;
        }
        shape
    }

    /// The words and ids that may name its experiment or job.
    pub fn names(&self) -> BTreeSet<String> {
        self.words.union(&self.ids).cloned().collect()
    }

    /// The key that it shares with other logs of its job.
    pub fn key(&self) -> Key {
        let folder = |folder: &String| {
            let mut path = LogPath::default();
            let shape = path.read(folder);
            // A folder that is only a number belongs to a rank.
            if shape.is_empty() && path.ids.is_empty() { Vec::new() } else { vec![folder.clone()] }
        };
        (self.folders.iter().map(folder).collect(), self.shape.clone(), self.ids.clone())
    }

    /// Whether both are named as parts of one job: equal except for numbers of parts, in equally named folders.
    pub fn is_alike(&self, other: &LogPath) -> bool {
        let is_shaped = self.shape == other.shape && !(self.shape.is_empty() && self.is_named);
        self.of_session == other.of_session && is_shaped && self.key() == other.key()
    }

    /// How far their folders are from each other.
    pub fn folder_relation(&self, other: &LogPath) -> FolderRelation {
        match (self.is_named && other.is_named, self.key().0 == other.key().0) {
            (true, _) | (_, true) => FolderRelation::Together,
            _ if self.folders.starts_with(&other.folders) || other.folders.starts_with(&self.folders) => {
                FolderRelation::Below
            }
            _ => FolderRelation::Elsewhere,
        }
    }
}

fn words() -> &'static NameWords {
    &Inputs::shipped().name
}

/// How the folders of two logs are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderRelation {
    /// In one folder, or in the folders of two ranks.
    Together,
    /// One folder contains the other.
    Below,
    /// In two unrelated folders.
    Elsewhere,
}

/// The words and numbers of a name: `slurm-123_4.out` is `slurm`, `123`, `4`, `out`.
fn tokens(name: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut before: Option<char> = None;
    for c in name.chars() {
        let kind = |c: char| if c.is_ascii_digit() { 1 } else { u8::from(c.is_alphanumeric()) * 2 };
        if kind(c) != 0 {
            match tokens.last_mut() {
                Some(last) if before.is_some_and(|before| kind(before) == kind(c)) => last.push(c),
                _ => tokens.push(c.to_string()),
            }
        }
        before = Some(c);
    }
    // Digests mix digits and letters, so they are removed as a whole.
    let whole = name.split(|c: char| !c.is_alphanumeric());
    let is_digest = |part: &&str| part.len() >= 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    if whole.clone().any(|part| is_digest(&part)) {
        return whole.filter(|part| !part.is_empty() && !is_digest(part)).map(str::to_owned).collect();
    }
    tokens
}

/// `20261120`, `202611201012`, `1763625600`: a time and not an id.
fn looks_like_time(number: &str) -> bool {
    matches!(number.len(), 8 | 12 | 14) && number.starts_with("20") || number.len() >= 10 && number.starts_with('1')
}

/// The folders of a file, outermost first.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let folder = path.rsplit_once(['/', '!']).map_or("", |(folder, _)| folder);
    folder.split(['/', '!']).filter(|part| !part.is_empty())
}

/// How many folders two paths share, from the root on.
pub(super) fn shared_folders(a: &str, b: &str) -> usize {
    folders(a).zip(folders(b)).take_while(|(a, b)| a == b).count()
}

/// How many folders hold all of `paths`, which may be of several nodes.
pub(super) fn common_folders<'a>(mut paths: impl Iterator<Item = &'a str>) -> usize {
    let own = |path: &'a str| node_and_path(path).map_or(path, |(_, path)| path);
    let Some(first) = paths.next().map(own) else { return 0 };
    paths.map(|path| shared_folders(first, own(path))).min().unwrap_or(0)
}

/// Whether two files' names share a word that may name an experiment, or an id: `llama8b.sh` and `llama8b.log`.
pub(super) fn shares_name(a: &str, b: &str) -> bool {
    let (a, b) = (LogPath::of(a, true, 0), LogPath::of(b, true, 0));
    a.words.intersection(&b.words).next().is_some() || a.ids.intersection(&b.ids).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        LogPath::of(a, false, 0).is_alike(&LogPath::of(b, false, 0))
    }

    #[test]
    fn ranks_are_of_one_job_and_numbered_jobs_are_not() {
        assert!(alike("logs/rank0.log", "logs/rank12.log"));
        assert!(alike("run/node-0/train.log", "run/node-1/train.log"));
        assert!(alike("run/attempt_0/0/stdout.log", "run/attempt_0/1/stderr.log"));
        assert!(alike("ray/worker-1c98237e0c0999503cac6ae9-ffffffff-206.out", "ray/raylet.err"));
        assert!(alike("job.out", "job.err"));
        assert!(alike("run/rank_00017.log", "run/rank_01717.log"));
        assert!(alike("gpu-01:/scratch/run/rank_0.log", "gpu-02:/scratch/run/rank_8.log"));
        assert!(!alike("gpu-01:/scratch/48213/train.log", "gpu-02:/scratch/48214/train.log"));
        assert!(!alike("slurm-48213.out", "slurm-48214.out"));
        assert!(!alike("job1.log", "job2.log"));
        assert!(!alike("llama/train.log", "qwen/train.log"));
        assert!(!alike("48213/train.log", "48214/train.log"));
    }

    #[test]
    fn what_names_an_experiment_is_told_from_what_names_a_program() {
        let words = |path: &str| LogPath::of(path, true, 0).words.into_iter().collect::<Vec<_>>();
        assert_eq!(words("train_rank3.log"), Vec::<String>::new());
        assert_eq!(words("qwen-sft-train.log"), ["qwen", "sft"]);
        assert!(shares_name("exp/qwen.sh", "exp/qwen_train.log") && !shares_name("exp/launch.sh", "exp/train.log"));
        assert_eq!(shared_folders("a/b/x.log", "a/b/c/y.yaml"), 2);
    }
}
