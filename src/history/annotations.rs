use serde::{Deserialize, Serialize};

use super::{HistoryError, INCIDENTS, Record, changes};
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
        self.job.is_none() && self.tags.is_empty() && self.notes.is_empty()
    }

    /// With what `newer` says: its name, and the tags and notes of both.
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
        self
    }
}

impl Texts for Annotations {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Annotations { job, tags, notes } = self;
        job.texts(see);
        tags.texts(see);
        notes.texts(see);
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
