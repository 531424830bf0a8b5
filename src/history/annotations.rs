use serde::{Deserialize, Serialize};

use super::{HistoryError, INCIDENTS, OutcomeSummary, Record, changes};
use crate::model::{Text, Texts};
use crate::store::{Change, Store};

/// What people call an incident and say of it; no analysis knows any of this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Annotations {
    /// The job's name.
    pub job: Option<String>,
    /// Words to find it by, in order, each once.
    pub tags: Vec<String>,
    /// The oldest first.
    pub notes: Vec<Note>,
    /// Who looks after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// What was said last of whether anybody still has to look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// That an incident is resolved, or that it is open again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it is resolved.
    pub resolved: bool,
    /// Who said so, where that is known.
    #[serde(default)]
    pub by: Option<String>,
    /// When, RFC 3339.
    pub time: String,
}

/// Whether anybody still has to look at an incident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody said anything.
    #[default]
    Open,
    /// A change made it go away, or somebody said that it is resolved.
    Resolved,
    /// It was resolved, and somebody said that it is not.
    Reopened,
}

impl State {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Resolved => "resolved",
            State::Reopened => "reopened",
        }
    }

    /// What `verdict` makes of an incident.
    pub(super) fn of(verdict: Option<&Verdict>) -> State {
        match verdict {
            None => State::Open,
            Some(Verdict { resolved: true, .. }) => State::Resolved,
            Some(_) => State::Reopened,
        }
    }
}

/// Something that somebody wrote down about an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The words; empty where the link says it all.
    pub text: String,
    /// Where more is said.
    #[serde(default)]
    pub link: Option<String>,
    /// When it was written, RFC 3339.
    pub time: String,
}

impl Annotations {
    /// An incident has no more notes: all of a record must fit.
    pub const MOST_NOTES: usize = 16;

    /// Whether nobody said anything.
    pub fn is_empty(&self) -> bool {
        let Annotations { job, tags, notes, assignee, verdict } = self;
        job.is_none() && tags.is_empty() && notes.is_empty() && assignee.is_none() && verdict.is_none()
    }

    /// With what `newer` says: its name and assignee, the tags and notes of both, and what was said last of its state.
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

    /// What was said last of its state, by people or by a change that made it go away.
    pub(super) fn verdict(&self, told: Option<&OutcomeSummary>) -> Option<Verdict> {
        let of_change = told.filter(|told| told.worked);
        let of_change = of_change.map(|told| Verdict { resolved: true, by: None, time: told.time.clone() });
        later(of_change, self.verdict.clone())
    }
}

/// The later of two; of equals the second.
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

/// Keeps what the annotations of `record` say now.
pub fn annotate(store: &mut dyn Store, record: &Record) -> Result<(), HistoryError> {
    if record.annotations.notes.len() > Annotations::MOST_NOTES {
        return Err(HistoryError::TooManyNotes { id: record.incident.id.clone() });
    }
    let key = format!("{INCIDENTS}{}", record.incident.id);
    changes::commit(store, vec![Change::put(key, record.fitting_bytes()?)])?;
    Ok(())
}
