use serde::{Deserialize, Serialize};

use super::{HistoryError, INCIDENTS, OutcomeSummary, Record, changes};
use crate::model::{Text, Texts};
use crate::store::{Change, Store};

/// What people add to an incident: no analysis knows any of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Annotations {
    pub job: Option<String>,
    /// Words to find it by, sorted and without duplicates.
    pub tags: Vec<String>,
    /// Oldest first.
    pub notes: Vec<Note>,
    /// The person who looks after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// The last time somebody resolved or reopened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// Somebody's statement that an incident is resolved, or open again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it is resolved.
    pub resolved: bool,
    /// Who said so, if known.
    #[serde(default)]
    pub by: Option<String>,
    /// When, as RFC 3339.
    pub time: String,
}

/// Whether anybody still has to look at an incident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody has resolved it.
    #[default]
    Open,
    /// A change made it go away, or somebody said that it is resolved.
    Resolved,
    /// It was resolved, and somebody said later that it is not.
    Reopened,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Resolved => "resolved",
            State::Reopened => "reopened",
        }
    }

    pub(super) fn of(verdict: Option<&Verdict>) -> State {
        match verdict {
            None => State::Open,
            Some(Verdict { resolved: true, .. }) => State::Resolved,
            Some(_) => State::Reopened,
        }
    }
}

/// A note that somebody wrote about an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The text; empty if the link says it all.
    pub text: String,
    /// An address where more is said.
    #[serde(default)]
    pub link: Option<String>,
    /// When it was written, as RFC 3339.
    pub time: String,
}

impl Annotations {
    /// The most notes an incident may have: the record with all of them must fit into the store.
    pub const MOST_NOTES: usize = 16;

    pub fn is_empty(&self) -> bool {
        let Annotations { job, tags, notes, assignee, verdict } = self;
        job.is_none() && tags.is_empty() && notes.is_empty() && assignee.is_none() && verdict.is_none()
    }

    /// Merges `newer` into it: the newer job name and assignee win, tags and notes are united, and the later verdict
    /// counts.
    pub fn with(mut self, newer: &Annotations) -> Annotations {
        self.job = newer.job.clone().or(self.job);
        self.tags.extend(newer.tags.iter().cloned());
        self.tags.sort();
        self.tags.dedup();
        for note in &newer.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.notes.sort_by(|a, b| a.time.cmp(&b.time));
        self.assignee = newer.assignee.clone().or(self.assignee);
        self.verdict = later(self.verdict, newer.verdict.clone());
        self
    }

    /// The latest verdict, by people or by a change that made the incident go away.
    pub(super) fn verdict(&self, told: Option<&OutcomeSummary>) -> Option<Verdict> {
        let of_change = told.filter(|told| told.worked);
        let of_change = of_change.map(|told| Verdict { resolved: true, by: None, time: told.time.clone() });
        later(of_change, self.verdict.clone())
    }
}

/// The later of two verdicts; the second one if both have the same time.
fn later(a: Option<Verdict>, b: Option<Verdict>) -> Option<Verdict> {
    match (a, b) {
        (Some(a), Some(b)) if a.time > b.time => Some(a),
        (a, None) => a,
        (_, b) => b,
    }
}

impl Texts for Annotations {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Annotations { job, tags, notes, assignee, verdict } = self;
        job.texts(see);
        tags.texts(see);
        notes.texts(see);
        assignee.texts(see);
        verdict.iter_mut().for_each(|verdict| verdict.by.texts(see));
    }
}

impl Texts for Note {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Note { text, link, time: _ } = self;
        text.texts(see);
        link.texts(see);
    }
}

/// Stores the annotations that `record` now has.
pub fn annotate(store: &mut dyn Store, record: &Record) -> Result<(), HistoryError> {
    if record.annotations.notes.len() > Annotations::MOST_NOTES {
        return Err(HistoryError::TooManyNotes { id: record.incident.id.clone() });
    }
    let key = format!("{INCIDENTS}{}", record.incident.id);
    changes::commit(store, vec![Change::put(key, record.fitting_bytes()?)])?;
    Ok(())
}
