//! Memory snapshots of PyTorch (`torch.cuda.memory._dump_snapshot`).
//!
//! In go the bytes of a pickle, which is read as plain data and never run ([`pickle`]); out come the memory of each device at its most
//! telling moment, by purpose and by line, and what a log would have said of an allocation that was refused ([`Shown`]). A pickle has no lines: what is said of it names the file and its entry, never a line.

mod categories;
mod pickle;
mod reader;
mod refusal;
mod replay;
mod space;
mod structure;
mod summary;

use std::sync::Arc;

use categories::Categories;
pub use refusal::refusals;
use serde::{Deserialize, Serialize};
pub use structure::Recording;

use crate::knowledge::{Knowledge, KnowledgeError};
use crate::model::{Event, Snapshot};

/// What one recording shows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Shown {
    /// The file.
    pub path: Arc<str>,
    /// Each device by itself.
    pub devices: Vec<Snapshot>,
    /// What a log would have said of the allocations that were refused last.
    pub refused: Vec<Event>,
}

impl Shown {
    /// By `recording`.
    pub fn of(recording: &Recording, knowledge: &Knowledge) -> Result<Shown, KnowledgeError> {
        let (libraries, categories) = (knowledge.libraries()?, Categories::of(recording, knowledge));
        let summary = |device| summary::summary(recording, device, &categories, libraries);
        let devices: Vec<Snapshot> = recording.devices.iter().map(summary).collect();
        let refused = refusal::events(recording, &devices);
        Ok(Shown { path: Arc::clone(&recording.path), devices, refused })
    }
}
