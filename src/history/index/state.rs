use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

use super::error::IndexError;

/// What the fields hold; grows with them and with how words are told apart.
const FORMAT: u32 = 3;

/// What every commit says of itself: of which store it is, and how far it follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    format: u32,
    /// The store's id.
    pub store: String,
    /// The last change that it knows.
    pub change: u64,
    /// How many incidents there are then.
    pub incidents: u64,
}

impl State {
    /// Says that an index follows `store` to `change`.
    pub fn new(store: String, change: u64, incidents: u64) -> State {
        State { format: FORMAT, store, change, incidents }
    }

    /// As a commit's payload, with a checksum: nothing else protects that.
    pub fn payload(&self) -> Result<String, IndexError> {
        let words = serde_json::to_string(self)?;
        Ok(format!("{} {words}", checksum(&words)))
    }

    /// Reads what [`State::payload`] wrote.
    pub fn read(payload: Option<&str>) -> Result<State, IndexError> {
        // An index without one was never committed.
        let payload = payload.ok_or(IndexError::Missing)?;
        let damaged = || IndexError::Damaged("what it says of itself makes no sense".to_owned());
        let (sum, words) = payload.split_once(' ').ok_or_else(damaged)?;
        if sum != checksum(words) {
            return Err(damaged());
        }
        let state: State = serde_json::from_str(words).map_err(|_| IndexError::Format)?;
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
        let state = State::new("ab".to_owned(), 7, 3);
        let payload = state.payload()?;
        assert_eq!(State::read(Some(&payload))?, state);
        assert!(matches!(State::read(None), Err(IndexError::Missing)));
        for at in 0..payload.len() {
            let mut bytes = payload.clone().into_bytes();
            bytes[at] ^= 1;
            let damaged = String::from_utf8_lossy(&bytes).into_owned();
            assert!(State::read(Some(&damaged)).is_err(), "{damaged}");
        }
        let other = State { format: FORMAT + 1, ..state };
        assert!(matches!(State::read(Some(&other.payload()?)), Err(IndexError::Format)));
        Ok(())
    }
}
