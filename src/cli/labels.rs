//! Names and tags that people give to incidents.

use clap::Args;

use crate::history::Annotations;

/// The longest name of a job, or tag, in characters.
const LONGEST_NAME: usize = 64;
/// The longest note or link in characters.
const LONGEST_NOTE: usize = 500;

/// Flags that label the incident.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Labels {
    /// Name the job, so that `history search job:NAME` finds it
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "no_save")]
    job: Option<String>,
    /// Tag the incident, so that `history search tag:TAG` finds it; comma-separated or repeated
    #[arg(long, value_name = "TAG", value_delimiter = ',', value_parser = tag, conflicts_with = "no_save")]
    tag: Vec<String>,
}

impl Labels {
    /// The labels as annotations.
    pub fn annotations(&self) -> Annotations {
        let said = Annotations { job: self.job.clone(), tags: self.tag.clone(), ..Annotations::default() };
        Annotations::default().with(&said)
    }
}

/// Parses the name of a job: one line of limited length.
pub(super) fn name(text: &str) -> Result<String, String> {
    one_line(text, LONGEST_NAME)
}

/// Parses a tag: one word.
pub(super) fn tag(text: &str) -> Result<String, String> {
    match text.contains(|c: char| c.is_whitespace() || "\",".contains(c)) {
        true => Err("a tag is one word: write `long-context`".to_owned()),
        false => one_line(text, LONGEST_NAME),
    }
}

/// Parses a note or link: one line of limited length.
pub(super) fn note(text: &str) -> Result<String, String> {
    one_line(text, LONGEST_NOTE)
}

fn one_line(text: &str, most: usize) -> Result<String, String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().filter(|c| !c.is_control()).count() {
        0 => Err("write at least one letter".to_owned()),
        letters if letters > most => Err(format!("{letters} letters are too many: write {most} at most")),
        _ => Ok(text.chars().filter(|c| !c.is_control()).collect()),
    }
}
