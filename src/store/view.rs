use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::disk::{DiskStore, FOLDER, opened, places};
use super::error::StoreError;
use super::format::{self, State};
use super::journal::Places;
use super::{Change, Snapshot, Store, start};

/// A writer on a failing disk may cut off what is just being read; wait this long before reading again.
const PAUSE: Duration = Duration::from_millis(50);

/// A read-only view of the store in a home folder: it waits for nobody and writes nothing. Commits to it stay in
/// memory.
pub struct View {
    path: PathBuf,
    /// `None` if there is no store yet.
    below: Option<Places>,
    above: BTreeMap<String, Option<Vec<u8>>>,
    change: u64,
}

impl View {
    /// Reads the store in `home`; an empty view if there is none, and none is created.
    pub fn of(home: &Path) -> Result<View, StoreError> {
        let path = home.join(FOLDER);
        let mut view = View { path, below: None, above: BTreeMap::new(), change: 0 };
        if !DiskStore::is_in(home) {
            return Ok(view);
        }
        // Read before the store: all that it knows of is in the store by then.
        let seen = Snapshot::last_change(home);
        match format::read(&view.path)? {
            State::New => return Ok(view),
            // Upgrades it, as it has no journal yet.
            State::Old => drop(DiskStore::open(home)?),
            State::Ready => {}
        }
        let below = places(&view.path).or_else(|_| {
            sleep(PAUSE);
            places(&view.path)
        })?;
        if below.change < seen {
            return Err(StoreError::RolledBack { path: view.path, found: below.change, seen });
        }
        view.change = below.change;
        view.below = Some(below);
        Ok(view)
    }

    /// The store's id; `None` if there is no store yet.
    pub fn id(&self) -> Option<String> {
        format::id_of(&self.path)
    }

    /// The number of the last change of the store itself, without commits to this view.
    pub fn kept(&self) -> u64 {
        self.below.as_ref().map_or(0, |below| below.change)
    }
}

impl Store for View {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(value) = self.above.get(key) {
            return Ok(value.clone());
        }
        let below = self.below.as_ref().and_then(|below| below.get(key));
        below.map(|sealed| opened(&self.path, key, sealed)).transpose()
    }

    fn scan_after(
        &self,
        prefix: &str,
        after: Option<&str>,
        each: &mut dyn FnMut(&str, &[u8]),
    ) -> Result<(), StoreError> {
        let above = self.above.range::<str, _>((start(prefix, after), Unbounded));
        let mut above = above.take_while(|(key, _)| key.starts_with(prefix)).peekable();
        if let Some(below) = &self.below {
            below.scan(prefix, after, &mut |key, sealed| {
                let mut is_above = false;
                while let Some((other, value)) = above.next_if(|(other, _)| other.as_str() <= key) {
                    is_above = other == key;
                    value.iter().for_each(|value| each(other, value));
                }
                if !is_above {
                    each(key, &opened(&self.path, key, sealed)?);
                }
                Ok::<(), StoreError>(())
            })?;
        }
        above.for_each(|(key, value)| value.iter().for_each(|value| each(key, value)));
        Ok(())
    }

    fn commit(&mut self, changes: &[Change]) -> Result<u64, StoreError> {
        self.above.extend(changes.iter().map(|change| (change.key.clone(), change.value.clone())));
        self.change += 1;
        Ok(self.change)
    }

    fn change(&self) -> u64 {
        self.change
    }
}
