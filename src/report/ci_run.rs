//! What a comment says of the run that it speaks of.

use super::texts;
use crate::knowledge::Language;

/// The last line of a comment: the run's address and its commit, where they are known. Both come from the pipeline.
pub fn run(address: Option<&str>, commit: Option<&str>, language: Language) -> String {
    let link = address.map(|address| format!("[{}]({address})", texts::labels(language).this_run));
    let commit = commit.map(short);
    link.into_iter().chain(commit).collect::<Vec<_>>().join(" · ")
}

/// What stands above what was, and the words that open that.
pub fn solved(address: Option<&str>, commit: Option<&str>, language: Language) -> (String, &'static str) {
    let labels = texts::labels(language);
    let run = run(address, commit, language);
    let run = if run.is_empty() { run } else { format!(": {run}") };
    (format!("### {}\n\n{}{run}", labels.solved, labels.later_run), labels.what_it_was)
}

fn short(commit: &str) -> String {
    commit.chars().take(12).filter(char::is_ascii_alphanumeric).collect()
}
