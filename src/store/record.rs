//! A value as it lies on the disk: version (1 byte), length (4, little-endian), checksum (8), payload. The checksum covers
//! the key as well, so that a value under the wrong key is noticed.

use sha2::{Digest, Sha256};

const VERSION: u8 = 1;
const HEAD: usize = 1 + 4 + 8;

/// The largest payload. sled never gives back the space of values that it must store in files of their own.
pub(super) const MOST: usize = 64 << 10;

/// `payload` ready to be written under `key`.
pub(super) fn seal(key: &str, payload: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(HEAD + payload.len());
    sealed.push(VERSION);
    sealed.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    sealed.extend_from_slice(&checksum(key, payload));
    sealed.extend_from_slice(payload);
    sealed
}

/// The payload of what was read under `key`; the error says what does not fit.
pub(super) fn open<'s>(key: &str, sealed: &'s [u8]) -> Result<&'s [u8], String> {
    let (head, payload) =
        sealed.split_at_checked(HEAD).ok_or_else(|| format!("record {key} has {} bytes", sealed.len()))?;
    if head[0] != VERSION {
        return Err(format!("record {key} has version {}, not {VERSION}", head[0]));
    }
    if head[1..5] != (payload.len() as u32).to_le_bytes() {
        return Err(format!("record {key} is cut off"));
    }
    match head[5..] == checksum(key, payload) {
        true => Ok(payload),
        false => Err(format!("the checksum of record {key} does not fit")),
    }
}

fn checksum(key: &str, payload: &[u8]) -> [u8; 8] {
    let digest = Sha256::new().chain_update(key).chain_update([0]).chain_update(payload).finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_sealed_opens(key in "[a-z/]{0,20}", payload in proptest::collection::vec(any::<u8>(), 0..300)) {
            let sealed = seal(&key, &payload);
            prop_assert_eq!(open(&key, &sealed), Ok(payload.as_slice()));
        }

        #[test]
        fn any_damage_is_noticed(
            payload in proptest::collection::vec(any::<u8>(), 0..100),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
            cut in any::<prop::sample::Index>(),
        ) {
            let sealed = seal("rules/a", &payload);
            let mut flipped = sealed.clone();
            flipped[at.index(sealed.len())] ^= 1 << bit;
            prop_assert!(open("rules/a", &flipped).is_err());
            prop_assert!(open("rules/a", &sealed[..cut.index(sealed.len())]).is_err());
            prop_assert!(open("rules/b", &sealed).is_err());
        }
    }
}
