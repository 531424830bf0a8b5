use std::io::{self, Read};

use super::entry::{Decoded, Entry, MARK, MOST, decode};

/// How many bytes are read at once.
const CHUNK: usize = 1 << 20;

/// What a walk through a journal finds.
pub(super) enum WalkItem<'b> {
    /// An entry of a change; `value` and `end` are the offsets of its value and its end.
    Entry { entry: Entry<'b>, change: u64, value: u64, end: u64 },
    /// Bytes from the offset `from` that are no entry.
    Gap { from: u64 },
}

/// Walks through all of `journal` and calls `each`. After damage it continues at the next entry.
pub(super) fn walk(journal: &mut dyn Read, each: &mut dyn FnMut(WalkItem<'_>)) -> io::Result<()> {
    let (mut bytes, mut at, mut offset) = (Vec::new(), 0, 0);
    let (mut is_end, mut in_gap) = (false, false);
    loop {
        if !is_end && bytes.len() - at < MOST {
            bytes.drain(..at);
            offset += at as u64;
            at = 0;
            is_end = journal.take(CHUNK as u64).read_to_end(&mut bytes)? == 0;
            continue;
        }
        let rest = &bytes[at..];
        if rest.is_empty() {
            return Ok(());
        }
        let here = offset + at as u64;
        match decode(rest) {
            Decoded::Entry { entry, change, value, length } => {
                in_gap = false;
                at += length;
                each(WalkItem::Entry { entry, change, value: here + value as u64, end: offset + at as u64 });
            }
            // With the longest possible entry in the buffer, an incomplete one is none either.
            Decoded::Short | Decoded::Nonsense => {
                if !in_gap {
                    each(WalkItem::Gap { from: here });
                }
                in_gap = true;
                at += 1 + memchr::memmem::find(&rest[1..], &MARK).unwrap_or(rest.len().saturating_sub(MARK.len()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::encode;
    use super::*;
    use proptest::prelude::*;

    fn met(mut bytes: &[u8]) -> (Vec<String>, usize) {
        let (mut keys, mut gaps) = (Vec::new(), 0);
        let each = &mut |met: WalkItem<'_>| match met {
            WalkItem::Entry { entry: Entry::Put(key, _), .. } => keys.push(key.to_owned()),
            WalkItem::Entry { .. } => {}
            WalkItem::Gap { .. } => gaps += 1,
        };
        assert!(walk(&mut bytes, each).is_ok());
        (keys, gaps)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// One flipped bit costs one entry, wherever it is.
        #[test]
        fn damage_costs_what_it_hits(
            lengths in proptest::collection::vec(0_usize..70_000, 2..40),
            at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let mut bytes = Vec::new();
            for (number, length) in lengths.iter().enumerate() {
                encode(&mut bytes, 1, Entry::Put(&number.to_string(), &vec![number as u8; *length]));
            }
            prop_assert_eq!(met(&bytes), ((0..lengths.len()).map(|number| number.to_string()).collect(), 0));
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let (keys, gaps) = met(&bytes);
            prop_assert_eq!((keys.len(), gaps), (lengths.len() - 1, 1));
        }
    }
}
