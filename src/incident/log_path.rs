//! What the path of a log tells about the process that wrote it.

use std::sync::Arc;

/// The rank that a log's path names: `run/rank_17.log`, `rank-17/stdout.log`; not `local_rank_1.log`.
pub fn rank_of_path(path: &str) -> Option<u32> {
    const WORD: &str = "rank";
    path.rsplit(['/', '\\', '!']).find_map(|part| {
        let part = part.to_ascii_lowercase();
        part.match_indices(WORD).find_map(|(at, _)| {
            let before = part[..at].trim_end_matches(['_', '-', '.']);
            let is_word = before.ends_with("global") || !part[..at].ends_with(|c: char| c.is_alphanumeric());
            let after = part[at + WORD.len()..].trim_start_matches(['_', '-', '.', '=']);
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let ends = !after[end..].starts_with(char::is_alphabetic);
            (is_word && ends && !before.ends_with("local")).then(|| after[..end].parse().ok())?
        })
    })
}

/// The node that a log's path names: before the colon if the log was read on another machine (`gpu-17:/logs/job.log`), else a folder
/// (`node-3/job.log`).
pub fn node_of_path(path: &str) -> Option<Arc<str>> {
    node_and_path(path)
        .map(|(node, _)| node)
        .or_else(|| path.rsplit(['/', '!']).skip(1).find(|part| is_node(part)))
        .map(Arc::from)
}

/// The node on which a log was read, and its path there. A single letter before the colon is a drive, and two slashes after it make an
/// address.
pub fn node_and_path(path: &str) -> Option<(&str, &str)> {
    let (node, rest) = path.split_once(':')?;
    let is_name = node.len() > 1 && !node.contains(['/', '\\', '!']) && !rest.starts_with("//");
    is_name.then_some((node, rest))
}

fn is_node(part: &str) -> bool {
    let words = ["node", "host", "machine"];
    let number = words.iter().find_map(|word| part.strip_prefix(word));
    let number = number.map(|rest| rest.trim_start_matches(['_', '-']));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_ranks_and_nodes() {
        for (path, rank) in [
            ("run/rank_17.log", Some(17)),
            ("node-03:/logs/rank17.out", Some(17)),
            ("logs/train-rank3.log", Some(3)),
            ("logs/global_rank_5/stdout.log", Some(5)),
            ("run/attempt_0/rank=9/stderr.log", Some(9)),
            ("logs/local_rank_1.log", None),
            ("logs/ranking_3.log", None),
            ("frank_3.log", None),
            ("rank_3b.log", None),
            ("job.log", None),
        ] {
            assert_eq!(rank_of_path(path), rank, "{path}");
        }
        for (path, node) in [
            ("gpu-17:/var/log/job.log", Some("gpu-17")),
            ("run/node-3/rank_1.log", Some("node-3")),
            ("node7.log", None),
            ("s3://bucket/rank_1.log", None),
            (r"C:\logs\rank_1.log", None),
        ] {
            assert_eq!(node_of_path(path).as_deref(), node, "{path}");
        }
    }
}
