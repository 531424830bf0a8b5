//! Memory snapshots of PyTorch (`torch.cuda.memory._dump_snapshot`).
//!
//! In go the bytes of a pickle, which is read as plain data and never run ([`pickle`]); out come the memory of each device at its most
//! telling moment, by purpose and by line ([`summaries`]), and what a log would have said of an allocation that was refused
//! ([`refusals`]). A pickle has no lines: what is said of it names the file and its entry, never a line.

mod categories;
mod pickle;
mod reader;
mod refusal;
mod replay;
mod space;
mod structure;
mod summary;

use categories::Categories;
pub use refusal::refusals;
pub use structure::Recording;

use crate::knowledge::{Knowledge, KnowledgeError};
use crate::model::Snapshot;

/// What `recordings` show, each device by itself.
pub fn summaries(recordings: &[Recording], knowledge: &Knowledge) -> Result<Vec<Snapshot>, KnowledgeError> {
    if recordings.is_empty() {
        return Ok(Vec::new());
    }
    let libraries = knowledge.libraries()?;
    let of_one = |recording: &Recording| {
        let categories = Categories::of(recording, knowledge);
        let devices = recording.devices.iter();
        devices.map(|device| summary::summary(recording, device, &categories, libraries)).collect::<Vec<Snapshot>>()
    };
    Ok(recordings.iter().flat_map(of_one).collect())
}
