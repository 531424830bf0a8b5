use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;

use super::error::StoreError;
use super::{Change, Store, record, start};

/// A store in memory that behaves like the one on disk, for tests and where nothing may be written.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: BTreeMap<String, Vec<u8>>,
    change: u64,
}

impl Store for MemoryStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.records.get(key).cloned())
    }

    fn scan_after(
        &self,
        prefix: &str,
        after: Option<&str>,
        each: &mut dyn FnMut(&str, &[u8]),
    ) -> Result<(), StoreError> {
        let from = self.records.range::<str, _>((start(prefix, after), Unbounded));
        from.take_while(|(key, _)| key.starts_with(prefix)).for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn commit(&mut self, changes: &[Change]) -> Result<u64, StoreError> {
        for Change { key, value } in changes {
            if let Some(bytes) = value.as_ref().map(Vec::len).filter(|bytes| *bytes > record::MOST) {
                return Err(StoreError::TooLarge { key: key.clone(), bytes, most: record::MOST });
            }
        }
        for Change { key, value } in changes {
            match value {
                Some(value) => self.records.insert(key.clone(), value.clone()),
                None => self.records.remove(key),
            };
        }
        self.change += 1;
        Ok(self.change)
    }

    fn change(&self) -> u64 {
        self.change
    }
}
