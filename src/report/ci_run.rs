//! The lines of a comment about its CI run.

use super::wording;
use crate::knowledge::Language;

/// The last line of a comment: the run's address and its commit, as far as the pipeline gives them.
pub fn run(address: Option<&str>, commit: Option<&str>, language: Language) -> String {
    let link = address.map(|address| format!("[{}]({address})", wording::labels(language).this_run));
    let commit = commit.map(short);
    link.into_iter().chain(commit).collect::<Vec<_>>().join(" · ")
}

/// The heading of a comment on a solved problem, and the title of the folded earlier text.
pub fn solved(address: Option<&str>, commit: Option<&str>, language: Language) -> (String, &'static str) {
    let labels = wording::labels(language);
    let run = run(address, commit, language);
    let run = if run.is_empty() { run } else { format!(": {run}") };
    (format!("### {}\n\n{}{run}", labels.solved, labels.later_run), labels.what_it_was)
}

fn short(commit: &str) -> String {
    commit.chars().take(12).filter(char::is_ascii_alphanumeric).collect()
}
