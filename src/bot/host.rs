//! What GitHub and GitLab have in common beside conversations: jobs, their logs, and who may write.

use super::error::Trouble;
use super::work::{JobTask, Request};
use crate::triage::{Download, Forge, HttpError, Patience};

/// A step asks once; the queue is what is patient.
pub(super) fn patience() -> Patience {
    use std::time::Duration;
    let no = Duration::ZERO;
    Patience { attempts: 1, first_wait: no, longest_wait: no, in_all: Duration::from_secs(60) }
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It failed, ran out of time, or was cancelled.
    Failed,
    /// It went through.
    Passed,
    /// It runs.
    NotYet,
    /// It was skipped, or nobody knows.
    Otherwise,
}

/// A job as its forge knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFacts {
    /// Its number.
    pub number: u64,
    /// How it ended.
    pub ended: Ended,
    /// Whether somebody ended it.
    pub is_cancelled: bool,
    /// What people call it; its comment is its own.
    pub name: String,
    /// The commit that it ran on.
    pub commit: String,
    /// The page that shows it.
    pub page: Option<String>,
    /// When it ended, RFC 3339, as the forge says it.
    pub time: Option<String>,
    /// The requests that it is known to be of.
    pub requests: Vec<Request>,
}

/// A check beside a commit.
#[derive(Debug, Clone, Copy)]
pub struct Check<'c> {
    /// Its name.
    pub name: &'c str,
    /// The commit.
    pub commit: &'c str,
    /// By what it is known again.
    pub id: &'c str,
    /// What ran out, in a line.
    pub title: &'c str,
    /// The report as Markdown.
    pub summary: &'c str,
    /// The page that shows the job.
    pub page: Option<&'c str>,
}

/// A project on a forge, as it is asked with our token.
pub trait Host {
    /// The job as it is now.
    fn job(&self, job: &JobTask) -> Result<JobFacts, Trouble>;
    /// Its log, as many bytes of it.
    fn log(&self, job: u64, most: u64) -> Result<Download, HttpError>;
    /// The open requests that `job` is of.
    fn requests(&self, job: &JobFacts) -> Result<Vec<Request>, Trouble>;
    /// The conversation of `request`.
    fn conversation(&self, request: &Request) -> Result<Box<dyn Forge>, Trouble>;
    /// Writes a check, over the one with its id where there is one. Nothing where the forge has none for us.
    fn check(&self, check: &Check<'_>) -> Result<(), Trouble>;
    /// Whether `author` may write to the project.
    fn may_write(&self, author: &str) -> Result<bool, Trouble>;
}
