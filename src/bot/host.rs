//! What GitHub and GitLab have in common besides conversations: jobs, their logs, and permissions.

use super::error::StepError;
use super::work::{JobTask, Request};
use crate::triage::{Download, Forge, HttpError, Patience};

/// Each step sends its request once: retries are the queue's task.
pub(super) fn patience() -> Patience {
    use std::time::Duration;
    let no = Duration::ZERO;
    Patience { attempts: 1, first_wait: no, longest_wait: no, in_all: Duration::from_secs(60) }
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It failed, timed out or was cancelled.
    Failed,
    /// It succeeded.
    Passed,
    /// It has not ended.
    NotYet,
    /// It was skipped, or the status is unknown.
    Otherwise,
}

/// A job as its forge describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFacts {
    /// Its number.
    pub number: u64,
    /// How it ended.
    pub ended: Ended,
    /// Whether somebody cancelled it.
    pub is_cancelled: bool,
    /// The name under which its comment is found again.
    pub name: String,
    /// The commit that it ran on.
    pub commit: String,
    /// The page that shows it.
    pub page: Option<String>,
    /// When it ended, RFC 3339, as the forge says it.
    pub time: Option<String>,
    /// The requests that are known already.
    pub requests: Vec<Request>,
}

/// A check on a commit.
#[derive(Debug, Clone, Copy)]
pub struct Check<'c> {
    /// Its name.
    pub name: &'c str,
    /// The commit.
    pub commit: &'c str,
    /// Our id, by which the check is found again.
    pub id: &'c str,
    /// What ran out, in one line.
    pub title: &'c str,
    /// The report as Markdown.
    pub summary: &'c str,
    /// The page that shows the job.
    pub page: Option<&'c str>,
}

/// A project on a forge, accessed with the bot's token.
pub trait Host {
    /// The job's current state.
    fn job(&self, job: &JobTask) -> Result<JobFacts, StepError>;
    /// The job's log, at most `most` bytes of it.
    fn log(&self, job: u64, most: u64) -> Result<Download, HttpError>;
    /// The open requests that `job` ran for.
    fn requests(&self, job: &JobFacts) -> Result<Vec<Request>, StepError>;
    /// The conversation of `request`.
    fn conversation(&self, request: &Request) -> Result<Box<dyn Forge>, StepError>;
    /// Writes a check, replacing the one with the same id. Does nothing where the forge has no checks or the token may
    /// not write them.
    fn check(&self, check: &Check<'_>) -> Result<(), StepError>;
    /// Whether `author` may write to the project.
    fn may_write(&self, author: &str) -> Result<bool, StepError>;
}
