//! The bot's work, as it is stored.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

/// Milliseconds since 1970.
pub type Moment = i64;

/// The services that run pipelines and hold conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgeName {
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
}

impl ForgeName {
    /// The name in addresses and settings.
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
    /// The forge.
    pub forge: ForgeName,
    /// `owner/name` on GitHub, the project's number on GitLab.
    pub name: String,
    /// The name that people see.
    pub title: String,
    /// The installation of our app that gives access to it, if the event names one.
    #[serde(default)]
    pub installation: Option<u64>,
}

/// A pull or merge request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The project that the request wants to change.
    pub project: String,
    /// Its number in the project.
    pub number: u64,
}

/// A job that ended, as an event described it. Its real state is asked for later: events come late, twice and out of
/// order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTask {
    /// Its number on the forge. Every attempt of a job has its own, later ones a higher.
    pub number: u64,
    /// The job's name.
    pub name: String,
    /// The workflow, if the event names it: two may have jobs of the same name.
    #[serde(default)]
    pub workflow: Option<String>,
    /// The branch.
    pub branch: String,
    /// The requests that the event names.
    #[serde(default)]
    pub requests: Vec<Request>,
}

/// A comment that addresses the bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentTask {
    /// The kind of comment; numbers are unique within a kind.
    pub sort: String,
    /// Its number.
    pub number: u64,
    /// The request that it was written on.
    pub request: Request,
    /// The author: a login on GitHub, the user's number on GitLab.
    pub author: String,
    /// The commands, one per line.
    pub lines: Vec<String>,
}

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Say why a job failed, or that it no longer fails.
    Job(JobTask),
    /// Reply to a comment.
    Comment(CommentTask),
}

/// The state of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It was begun and cannot be repeated; whether it succeeded is unknown.
    Begun,
    /// It is done.
    Done,
    /// It failed for good, for this reason.
    Refused(String),
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The project.
    pub project: Project,
    /// The task.
    pub task: Task,
    /// When the event arrived.
    pub enqueued: Moment,
    /// When it may be tried next.
    pub due: Moment,
    /// How many attempts failed.
    pub attempts: u32,
    /// Why the last one failed.
    #[serde(default)]
    pub error: Option<String>,
    /// The states of its steps, by name.
    #[serde(default)]
    pub steps: BTreeMap<String, StepState>,
}

impl Work {
    /// Work from an event that arrived at `now`.
    pub fn new(project: Project, task: Task, now: Moment) -> Work {
        Work { project, task, enqueued: now, due: now, attempts: 0, error: None, steps: BTreeMap::new() }
    }

    /// The id: equal for all events about the same job or comment.
    pub fn id(&self) -> String {
        let Project { forge, name, .. } = &self.project;
        match &self.task {
            Task::Job(job) => digest(&[forge.as_str(), name, "job", &job.number.to_string()]),
            Task::Comment(comment) => digest(&[forge.as_str(), name, &comment.sort, &comment.number.to_string()]),
        }
    }

    /// What it is about: `job 123`.
    pub fn about(&self) -> String {
        match &self.task {
            Task::Job(job) => format!("job {}", job.number),
            Task::Comment(comment) => format!("comment {}", comment.number),
        }
    }

    /// The thread: work of one thread is done in the order in which it arrived.
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

    /// The state of `step`.
    pub fn step(&self, step: &str) -> Option<&StepState> {
        self.steps.get(step)
    }

    /// The steps that failed for good, and why.
    pub fn refused(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|(step, state)| match state {
            StepState::Refused(why) => Some(format!("{step}: {why}")),
            _ => None,
        })
    }
}

/// A short digest of `parts`, distinct for distinct lists.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hexadecimal(&hash.finalize()[..12])
}
