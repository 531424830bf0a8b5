use std::path::Path;

use clap::Args;

use super::{open, publish};
use crate::cli::error::CliError;
use crate::cli::labels::{name, tag};
use crate::history::{self, Annotations};
use crate::redact::Redactor;

/// Name an incident's job and tag it, so that `job:` and `tag:` find it
#[derive(Debug, Args)]
pub(super) struct Tag {
    /// The incident's id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// The tags to add
    #[arg(value_name = "TAG", value_parser = tag, required_unless_present_any = ["job", "remove"])]
    tags: Vec<String>,
    /// Name the job
    #[arg(long, value_name = "NAME", value_parser = name)]
    job: Option<String>,
    /// Remove these tags; comma-separated or repeated
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    remove: Vec<String>,
}

impl Tag {
    pub fn run(self, home: &Path, redactor: &Redactor) -> Result<(), CliError> {
        let mut store = open(home)?;
        let mut record = history::find(&store, &self.id)?;
        let mut said = Annotations { job: self.job, tags: self.tags, ..Annotations::default() };
        redactor.mask(&mut said);
        record.annotations = record.annotations.with(&said);
        record.annotations.tags.retain(|tag| !self.remove.contains(tag));
        history::annotate(&mut store, &record)?;
        publish(&mut store)?;
        let Annotations { job, tags, .. } = &record.annotations;
        let shown: Vec<String> = job.iter().cloned().chain(tags.iter().map(|tag| format!("#{tag}"))).collect();
        anstream::println!(
            "{}: {}",
            record.incident.id,
            if shown.is_empty() { "no tags".to_owned() } else { shown.join(" ") }
        );
        Ok(())
    }
}
