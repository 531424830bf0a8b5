//! What the bot has to do, as it lies in the store.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

/// Milliseconds since 1970.
pub type Moment = i64;

/// Who runs pipelines and holds conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgeName {
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
}

impl ForgeName {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ForgeName::GitHub => "github",
            ForgeName::GitLab => "gitlab",
        }
    }
}

impl fmt::Display for ForgeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A project on a forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Where.
    pub forge: ForgeName,
    /// `owner/name`, or GitLab's number of it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// By which installation of our app it is reached, where the event says so.
    #[serde(default)]
    pub installation: Option<u64>,
}

/// A pull or merge request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The project that it wants to change.
    pub project: String,
    /// Its number there.
    pub number: u64,
}

/// A job that is over, as an event told of it. What holds is asked for when it is answered: events come late, twice and out of order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTask {
    /// Its number on the forge. Every attempt of a job has its own, and a later one a higher.
    pub number: u64,
    /// What it is called.
    pub name: String,
    /// The workflow that it is of, where the event says so: two may have jobs of one name.
    #[serde(default)]
    pub workflow: Option<String>,
    /// The branch.
    pub branch: String,
    /// Requests that the event names.
    #[serde(default)]
    pub requests: Vec<Request>,
}

/// A comment that addresses the bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentTask {
    /// What sort of comment; each sort counts by itself.
    pub sort: String,
    /// Its number.
    pub number: u64,
    /// The conversation that it belongs to.
    pub request: Request,
    /// Who wrote it: a login, or GitLab's number of the user.
    pub author: String,
    /// What is asked for, a line each.
    pub lines: Vec<String>,
}

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Say why a job failed, or that it failed no longer.
    Job(JobTask),
    /// Answer a comment.
    Comment(CommentTask),
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It was begun, and cannot be done twice. Whether it was done nobody knows.
    Begun,
    /// It is done.
    Done,
    /// It was refused, for good.
    Refused(String),
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// For whom.
    pub project: Project,
    /// What.
    pub task: Task,
    /// When it came.
    pub enqueued: Moment,
    /// When it is tried next.
    pub due: Moment,
    /// How often it was tried in vain.
    pub attempts: u32,
    /// What went wrong the last time.
    #[serde(default)]
    pub error: Option<String>,
    /// Its steps so far, by name.
    #[serde(default)]
    pub steps: BTreeMap<String, StepState>,
}

impl Work {
    /// Work that came at `now`.
    pub fn new(project: Project, task: Task, now: Moment) -> Work {
        Work { project, task, enqueued: now, due: now, attempts: 0, error: None, steps: BTreeMap::new() }
    }

    /// Its name: the same job and the same comment have one, whoever tells of them and how often.
    pub fn id(&self) -> String {
        let Project { forge, name, .. } = &self.project;
        match &self.task {
            Task::Job(job) => digest(&[forge.as_str(), name, "job", &job.number.to_string()]),
            Task::Comment(comment) => digest(&[forge.as_str(), name, &comment.sort, &comment.number.to_string()]),
        }
    }

    /// What it is about, in words: `job 123`.
    pub fn about(&self) -> String {
        match &self.task {
            Task::Job(job) => format!("job {}", job.number),
            Task::Comment(comment) => format!("comment {}", comment.number),
        }
    }

    /// What its conversation is about: of that, work is done in the order in which it came.
    pub fn thread(&self) -> String {
        let Project { forge, name, .. } = &self.project;
        match &self.task {
            Task::Job(job) => {
                let workflow = job.workflow.as_deref().unwrap_or_default();
                digest(&[forge.as_str(), name, "thread", &job.branch, workflow, &job.name])
            }
            Task::Comment(_) => self.id(),
        }
    }

    /// How far `step` is.
    pub fn step(&self, step: &str) -> Option<&StepState> {
        self.steps.get(step)
    }

    /// What was refused.
    pub fn refused(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|(step, state)| match state {
            StepState::Refused(why) => Some(format!("{step}: {why}")),
            _ => None,
        })
    }
}

/// A short name for `parts`, no two lists of which have the same.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hexadecimal(&hash.finalize()[..12])
}
