//! The entries of a journal. Each has a checksum of its own, so that damage costs only the entry that it hits.
//!
//! An entry consists of a mark (4 bytes), a kind (1), the lengths of key (2) and value (4), the number of its change
//! (8), a checksum of all that and of what follows (4), the key and the value. Numbers are little-endian.

/// These bytes rarely occur elsewhere; where they do, the checksum does not match.
pub(super) const MARK: [u8; 4] = [0xf7, b'O', b'J', 0xc1];
const HEAD: usize = 4 + 1 + 2 + 4 + 8 + 4;
/// The longest value: the limit of a record, and what sealing adds.
const LONGEST: usize = 128 << 10;
/// The longest entry.
pub(super) const MOST: usize = HEAD + u16::MAX as usize + LONGEST;
/// The length of an [`Entry::Done`].
pub(super) const DONE: usize = HEAD + 9;

/// An entry of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry<'b> {
    /// The first entry; changes are numbered from here.
    Begin,
    /// Writes a record.
    Put(&'b str, &'b [u8]),
    /// Removes a record.
    Remove(&'b str),
    /// Completes a change with this many entries.
    Commit(u32),
    /// Notes that a change is durable and was acknowledged.
    Done(DoneNote),
}

/// What is noted when a change is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct DoneNote {
    /// The number of the change.
    pub change: u64,
    /// Whether sled has it durably as well.
    pub is_in_engine: bool,
    /// The size of all records in bytes.
    pub live: u64,
}

/// What some bytes begin with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded<'b> {
    /// An entry of the change `change`; its value is at `value..length`.
    Entry { entry: Entry<'b>, change: u64, value: usize, length: usize },
    /// An incomplete entry.
    Short,
    /// No entry.
    Nonsense,
}

/// Appends an entry to `bytes`; returns the offset of its value.
pub(super) fn encode(bytes: &mut Vec<u8>, change: u64, entry: Entry<'_>) -> usize {
    let number;
    let mut done = [0; 9];
    let (kind, key, value): (u8, &str, &[u8]) = match entry {
        Entry::Begin => (0, "", &[]),
        Entry::Put(key, sealed) => (1, key, sealed),
        Entry::Remove(key) => (2, key, &[]),
        Entry::Commit(entries) => {
            number = entries.to_le_bytes();
            (3, "", &number)
        }
        Entry::Done(DoneNote { is_in_engine, live, .. }) => {
            done[0] = u8::from(is_in_engine);
            done[1..].copy_from_slice(&live.to_le_bytes());
            (4, "", &done)
        }
    };
    let begin = bytes.len();
    bytes.extend(MARK);
    bytes.push(kind);
    bytes.extend((key.len() as u16).to_le_bytes());
    bytes.extend((value.len() as u32).to_le_bytes());
    bytes.extend(change.to_le_bytes());
    let checksum = checksum(&bytes[begin..], key.as_bytes(), value);
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(key.as_bytes());
    bytes.extend(value);
    bytes.len() - value.len()
}

/// Decodes the entry at the beginning of `bytes`.
pub(super) fn decode(bytes: &[u8]) -> Decoded<'_> {
    if !bytes.starts_with(&MARK[..bytes.len().min(MARK.len())]) {
        return Decoded::Nonsense;
    }
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Decoded::Short };
    let [_, _, _, _, kind, k0, k1, v0, v1, v2, v3, c0, c1, c2, c3, c4, c5, c6, c7, sum @ ..] = *head;
    let key = usize::from(u16::from_le_bytes([k0, k1]));
    let value = u32::from_le_bytes([v0, v1, v2, v3]) as usize;
    let change = u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]);
    if value > LONGEST {
        return Decoded::Nonsense;
    }
    let Some((key, after)) = rest.split_at_checked(key) else { return Decoded::Short };
    let Some(content) = after.get(..value) else { return Decoded::Short };
    if u32::from_le_bytes(sum) != checksum(&head[..HEAD - 4], key, content) {
        return Decoded::Nonsense;
    }
    let Ok(key) = std::str::from_utf8(key) else { return Decoded::Nonsense };
    let entry = match (kind, content) {
        (0, []) => Entry::Begin,
        (1, sealed) => Entry::Put(key, sealed),
        (2, []) => Entry::Remove(key),
        (3, &[a, b, c, d]) => Entry::Commit(u32::from_le_bytes([a, b, c, d])),
        (4, &[engine, a, b, c, d, e, f, g, h]) => Entry::Done(DoneNote {
            change,
            is_in_engine: engine == 1,
            live: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        }),
        _ => return Decoded::Nonsense,
    };
    let begin = HEAD + key.len();
    Decoded::Entry { entry, change, value: begin, length: begin + value }
}

fn checksum(head: &[u8], key: &[u8], value: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    [head, key, value].into_iter().for_each(|part| sum.update(part));
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_are_read_as_written() {
        let done = Entry::Done(DoneNote { change: 7, is_in_engine: true, live: 1 << 40 });
        for entry in [Entry::Begin, Entry::Put("a/b", b"value"), Entry::Remove("a/b"), Entry::Commit(3), done] {
            let mut bytes = Vec::new();
            let value = encode(&mut bytes, 7, entry);
            let length = bytes.len();
            assert_eq!(decode(&bytes), Decoded::Entry { entry, change: 7, value, length });
            assert_eq!(length == DONE, entry == done);
        }
    }

    proptest! {
        #[test]
        fn damage_is_no_entry(
            key in "[a-z/]{0,20}", value in proptest::collection::vec(any::<u8>(), 0..400),
            at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            encode(&mut bytes, 7, Entry::Put(&key, &value));
            prop_assert_eq!(decode(&bytes[..cut.index(bytes.len())]), Decoded::Short);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let is_entry = matches!(decode(&bytes), Decoded::Entry { .. });
            prop_assert!(!is_entry);
        }

        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode(&bytes);
            decode(&[&MARK[..], &bytes].concat());
        }
    }
}
