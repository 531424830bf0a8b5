//! The list of the index's files that are known to be intact.
//!
//! The search engine verifies its files' checksums only on request, and reading all of a large index takes longer than
//! a query. So a writer leaves a list of sizes and modification times; a file that still matches its entry is taken as
//! intact, and only the others are read.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use tantivy::Index;
use tantivy::index::{IndexMeta, SegmentComponent};

use super::error::IndexError;

const LIST: &str = "checked.json";

/// Size in bytes, and time of the last modification in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Seen(u64, u128);

#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    files: BTreeMap<String, Seen>,
}

/// Checks that all files of `index` in `folder` exist and are as they were written. `thoroughly` ignores the list and
/// reads all of them.
pub(super) fn check(index: &Index, meta: &IndexMeta, folder: &Path, thoroughly: bool) -> Result<(), IndexError> {
    let list = if thoroughly { List::default() } else { read(folder) };
    for name in files(meta) {
        let path = folder.join(&name);
        let damaged = || IndexError::Damaged(format!("{name} is not as it was written"));
        let data = fs::metadata(&path).map_err(|_| IndexError::Damaged(format!("{name} is gone")))?;
        if list.files.get(&name) != Some(&seen(&data))
            && !index.directory().validate_checksum(Path::new(&name)).map_err(|_| damaged())?
        {
            return Err(damaged());
        }
    }
    Ok(())
}

/// Writes the list for the files of `meta`, which were just written.
pub(super) fn note(meta: &IndexMeta, folder: &Path) {
    let mut list = List::default();
    for name in files(meta) {
        if let Ok(data) = fs::metadata(folder.join(&name)) {
            list.files.insert(name, seen(&data));
        }
    }
    // A failure costs only time: readers then check the files themselves.
    let temporary = folder.join(format!("{LIST}.new"));
    let written = serde_json::to_vec(&list).map(|bytes| fs::write(&temporary, bytes));
    if matches!(written, Ok(Ok(()))) {
        let _ = fs::rename(&temporary, folder.join(LIST));
    }
}

/// The files that a commit consists of.
fn files(meta: &IndexMeta) -> Vec<String> {
    let mut files = Vec::new();
    for segment in &meta.segments {
        use SegmentComponent::{Delete, FastFields, FieldNorms, Positions, Postings, Store, Terms};
        let deleted = segment.has_deletes().then_some(Delete);
        for component in [Postings, Positions, Terms, Store, FastFields, FieldNorms].into_iter().chain(deleted) {
            files.push(segment.relative_path(component).to_string_lossy().into_owned());
        }
    }
    files
}

fn read(folder: &Path) -> List {
    fs::read(folder.join(LIST)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn seen(data: &Metadata) -> Seen {
    let changed = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Seen(data.len(), changed.map_or(0, |time| time.as_nanos()))
}
