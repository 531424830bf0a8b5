//! What outlives a run: the user's rules, the incidents and their outcomes.
//!
//! In: changes. Out: records, and one snapshot file for everybody else. Only writers open the store, which allows one
//! process and takes tens of milliseconds. Readers look at its journal, beside any writer and without write permission.
//! What was acknowledged survives a killed process, a power cut and a full or failing disk. Anything unexpected (a
//! newer format, a damaged record, a foreign folder) is a named error with advice, never a panic and never an empty
//! answer.

mod compact;
mod disk;
mod disk_space;
mod engine;
mod error;
mod format;
mod home;
mod journal;
mod memory;
mod owner;
mod panics;
mod record;
mod rules;
mod salvage;
mod snapshot;
mod upgrade;
mod view;

use std::ops::Bound;

pub(crate) use panics::quietly;

pub use disk::DiskStore;
pub use disk_space::network;
pub use error::StoreError;
pub use home::{HomeUnknown, find_home};
pub use memory::MemoryStore;
pub use owner::host_name;
pub use rules::{RuleChanges, import_rules, own_rules, remove_rules};
pub use salvage::salvage;
pub use snapshot::Snapshot;
pub use view::View;

/// A store of records. Keys are paths, `rules/user/causes/nvlink.toml`; the part before the first slash is the record's
/// space.
pub trait Store {
    /// The value of `key`.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Calls `each` with every record whose key begins with `prefix` and comes after `after`, in order.
    fn scan_after(
        &self,
        prefix: &str,
        after: Option<&str>,
        each: &mut dyn FnMut(&str, &[u8]),
    ) -> Result<(), StoreError>;

    /// Calls `each` with every record whose key begins with `prefix`, in order.
    fn scan(&self, prefix: &str, each: &mut dyn FnMut(&str, &[u8])) -> Result<(), StoreError> {
        self.scan_after(prefix, None, each)
    }

    /// Applies all of `changes` or none. They are durable when this returns the number of the change.
    fn commit(&mut self, changes: &[Change]) -> Result<u64, StoreError>;

    /// The number of the last change; 0 before the first.
    fn change(&self) -> u64;
}

/// A record to write or to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its key.
    pub key: String,
    /// Its value; `None` removes it.
    pub value: Option<Vec<u8>>,
}

impl Change {
    /// Writes a record, replacing an earlier one.
    pub fn put(key: impl Into<String>, value: impl Into<Vec<u8>>) -> Change {
        Change { key: key.into(), value: Some(value.into()) }
    }

    /// Removes a record, if it is there.
    pub fn remove(key: impl Into<String>) -> Change {
        Change { key: key.into(), value: None }
    }
}

/// The lower bound of a scan of `prefix` that continues after `after`.
fn start<'k>(prefix: &'k str, after: Option<&'k str>) -> Bound<&'k str> {
    after.filter(|after| *after >= prefix).map_or(Bound::Included(prefix), Bound::Excluded)
}

/// The part of a key before the first slash.
fn space(key: &str) -> &str {
    key.split_once('/').map_or(key, |(space, _)| space)
}
