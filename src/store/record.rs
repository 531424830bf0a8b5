//! Sealed values: version (1 byte), length (4, little-endian), checksum (8), payload, which in version 2 is a zstd
//! frame. The checksum covers the key, so that a value under the wrong key is noticed, and the compressed payload, so
//! that nothing damaged is decompressed.

use std::borrow::Cow;
use std::cell::RefCell;

use sha2::{Digest, Sha256};
use zstd::bulk::{Compressor, Decompressor};

const PLAIN: u8 = 1;
const PACKED: u8 = 2;
const HEAD: usize = 1 + 4 + 8;
/// Shorter payloads hardly compress.
const LEAST: usize = 200;
/// The fastest level of zstd; text of logs shrinks to a third at any level.
const LEVEL: i32 = 1;

thread_local! {
    // Creating a context takes longer than using it. It fails without memory; records are then stored uncompressed.
    static PACK: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(LEVEL).ok());
    static UNPACK: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
}

/// The largest payload. sled stores larger values in files of their own and never frees their space.
pub(super) const MOST: usize = 64 << 10;
/// The longest key.
pub(super) const LONGEST_KEY: usize = 4 << 10;

/// Seals `payload` for writing under `key`.
pub(super) fn seal(key: &str, payload: &[u8]) -> Vec<u8> {
    let packed =
        (payload.len() >= LEAST).then(|| pack(payload)).flatten().filter(|packed| packed.len() < payload.len());
    let (version, payload) = packed.as_deref().map_or((PLAIN, payload), |packed| (PACKED, packed));
    let mut sealed = Vec::with_capacity(HEAD + payload.len());
    sealed.push(version);
    sealed.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    sealed.extend_from_slice(&checksum(key, payload));
    sealed.extend_from_slice(payload);
    sealed
}

fn pack(payload: &[u8]) -> Option<Vec<u8>> {
    PACK.with_borrow_mut(|pack| pack.as_mut()?.compress(payload).ok())
}

/// The payload of the value `sealed` that was read under `key`; the error describes the damage.
pub(super) fn open<'s>(key: &str, sealed: &'s [u8]) -> Result<Cow<'s, [u8]>, String> {
    let (head, payload) =
        sealed.split_at_checked(HEAD).ok_or_else(|| format!("record {key} has {} bytes", sealed.len()))?;
    let version = head[0];
    if ![PLAIN, PACKED].contains(&version) {
        return Err(format!("record {key} has version {version}, and {PACKED} is the latest known"));
    }
    if head[1..5] != (payload.len() as u32).to_le_bytes() {
        return Err(format!("record {key} is cut off"));
    }
    if head[5..] != checksum(key, payload) {
        return Err(format!("the checksum of record {key} does not fit"));
    }
    if version == PLAIN {
        return Ok(Cow::Borrowed(payload));
    }
    let unpacked = UNPACK.with_borrow_mut(|unpack| unpack.as_mut().map(|unpack| unpack.decompress(payload, MOST)));
    match unpacked {
        Some(Ok(unpacked)) => Ok(Cow::Owned(unpacked)),
        Some(Err(error)) => Err(format!("record {key} cannot be unpacked: {error}")),
        None => Err(format!("there is no memory to unpack record {key}")),
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
        fn what_was_sealed_opens(key in "[a-z/]{0,20}", payload in proptest::collection::vec(prop_oneof![Just(b'a'), any::<u8>()], 0..900)) {
            let sealed = seal(&key, &payload);
            prop_assert_eq!(open(&key, &sealed), Ok(Cow::Owned(payload)));
        }

        #[test]
        fn any_damage_is_noticed(
            payload in proptest::collection::vec(prop_oneof![Just(b'a'), any::<u8>()], 0..500),
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

    #[test]
    fn the_largest_record_takes_less_room_and_comes_back() {
        let payload: Vec<u8> = b"CUDA out of memory. ".repeat(MOST).into_iter().take(MOST).collect();
        let sealed = seal("incidents/a", &payload);
        assert!(sealed.len() < MOST / 10, "{}", sealed.len());
        assert_eq!(open("incidents/a", &sealed), Ok(Cow::Owned(payload)));
    }

    #[test]
    fn records_of_the_first_format_are_read() {
        // `rules/a` with the payload `x`, as format 1 wrote it.
        let mut sealed = vec![1, 1, 0, 0, 0];
        sealed.extend_from_slice(&checksum("rules/a", b"x"));
        sealed.push(b'x');
        assert_eq!(open("rules/a", &sealed), Ok(Cow::Borrowed(&b"x"[..])));
        assert_eq!(seal("rules/a", b"x"), sealed);
    }
}
