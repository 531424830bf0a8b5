use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

use super::error::IndexError;

/// The version of the fields' content; it increases when the fields or the splitting into words change.
const FORMAT: u32 = 3;

/// What every commit of the index records: which store it was made from, and how far it follows that store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexState {
    format: u32,
    pub store: String,
    /// The last change that it knows.
    pub change: u64,
    /// The number of incidents in the store after that change.
    pub incidents: u64,
}

impl IndexState {
    /// The state of an index that follows `store` up to `change`.
    pub fn new(store: String, change: u64, incidents: u64) -> IndexState {
        IndexState { format: FORMAT, store, change, incidents }
    }

    /// The payload of a commit, with a checksum: the search engine does not protect it.
    pub fn payload(&self) -> Result<String, IndexError> {
        let words = serde_json::to_string(self)?;
        Ok(format!("{} {words}", checksum(&words)))
    }

    /// Reads what [`IndexState::payload`] wrote.
    pub fn read(payload: Option<&str>) -> Result<IndexState, IndexError> {
        // An index without a payload was never committed.
        let payload = payload.ok_or(IndexError::Missing)?;
        let damaged = || IndexError::Damaged("what it says of itself makes no sense".to_owned());
        let (sum, words) = payload.split_once(' ').ok_or_else(damaged)?;
        if sum != checksum(words) {
            return Err(damaged());
        }
        let state: IndexState = serde_json::from_str(words).map_err(|_| IndexError::Format)?;
        if state.format == FORMAT { Ok(state) } else { Err(IndexError::Format) }
    }
}

fn checksum(words: &str) -> String {
    hexadecimal(&Sha256::digest(words)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_written_or_refused() -> Result<(), IndexError> {
        let state = IndexState::new("ab".to_owned(), 7, 3);
        let payload = state.payload()?;
        assert_eq!(IndexState::read(Some(&payload))?, state);
        assert!(matches!(IndexState::read(None), Err(IndexError::Missing)));
        for at in 0..payload.len() {
            let mut bytes = payload.clone().into_bytes();
            bytes[at] ^= 1;
            let damaged = String::from_utf8_lossy(&bytes).into_owned();
            assert!(IndexState::read(Some(&damaged)).is_err(), "{damaged}");
        }
        let other = IndexState { format: FORMAT + 1, ..state };
        assert!(matches!(IndexState::read(Some(&other.payload()?)), Err(IndexError::Format)));
        Ok(())
    }
}
