//! Reads PyTorch's memory snapshots (`torch.cuda.memory._dump_snapshot`).
//!
//! In go the bytes of a pickle, which is read as plain data and never run ([`pickle`]). Out come the memory of each
//! device at its most informative moment, by purpose and by line, and the events that a log would have stated of a
//! refused allocation ([`SnapshotFindings`]). A pickle has no lines, so citations name the file and the entry, never a line.

mod categories;
mod pickle;
mod reader;
mod refusal;
mod replay;
mod segments;
mod structure;
mod summary;

use std::sync::Arc;

use categories::Categories;
pub use refusal::refusals;
use serde::{Deserialize, Serialize};
pub use structure::Recording;

use crate::knowledge::{Knowledge, KnowledgeError};
use crate::model::{Event, Snapshot};

/// The findings in one recording.
#[derive(Debug, Serialize, Deserialize)]
pub struct SnapshotFindings {
    /// The file.
    pub path: Arc<str>,
    /// The memory of each device.
    pub devices: Vec<Snapshot>,
    /// The events that a log would have stated of the last refused allocations.
    pub refused: Vec<Event>,
}

impl SnapshotFindings {
    /// Evaluates `recording`.
    pub fn of(recording: &Recording, knowledge: &Knowledge) -> Result<SnapshotFindings, KnowledgeError> {
        let (libraries, categories) = (knowledge.libraries()?, Categories::of(recording, knowledge));
        let summary = |device| summary::summary(recording, device, &categories, libraries);
        let devices: Vec<Snapshot> = recording.devices.iter().map(summary).collect();
        let refused = refusal::events(recording, &devices);
        Ok(SnapshotFindings { path: Arc::clone(&recording.path), devices, refused })
    }
}
