/// Which of thousands of literals stand in a line.
///
/// By the four bytes with which they end: an automaton of as many literals takes longer to build than most logs to analyze, a table
/// of their ends is built in no time, and a byte of a line costs one look into a map of bits that stays in the cache.
pub struct Literals {
    all: Vec<Box<[u8]>>,
    /// Whether a literal may end with four bytes, by their hash.
    ends: Box<[u64]>,
    /// The longest literal whose end has this hash, and with each its end and the next one.
    first: Vec<u32>,
    next: Vec<(u32, u32)>,
    /// Literals too short for that, by the byte with which they end, longest first.
    short: Vec<Vec<u32>>,
}

/// How many bytes of a literal's end are looked up.
const GRAM: usize = 4;
/// So many bits say which ends there are: few enough for the fastest cache.
const ENDS_BITS: u32 = 17;
/// No literal.
const NONE: u32 = u32::MAX;

impl Literals {
    /// The search for `literals`, none of which is empty.
    pub fn new<L: AsRef<[u8]>>(literals: impl IntoIterator<Item = L>) -> Literals {
        let all: Vec<Box<[u8]>> = literals.into_iter().map(|literal| Box::from(literal.as_ref())).collect();
        let buckets = (2 * all.len()).next_power_of_two().max(64);
        let mut search = Literals {
            ends: vec![0; (1 << ENDS_BITS) / 64].into_boxed_slice(),
            first: vec![NONE; buckets],
            next: vec![(0, NONE); all.len()],
            short: vec![Vec::new(); 256],
            all,
        };
        let mut order: Vec<u32> = (0..search.all.len() as u32).collect();
        order.sort_by_key(|index| search.all[*index as usize].len());
        for index in order {
            let literal = &search.all[index as usize];
            match (literal.last_chunk::<GRAM>(), literal.last()) {
                (Some(end), _) => {
                    let gram = u32::from_be_bytes(*end);
                    let (bit, bucket) = (bit(gram), search.bucket(gram));
                    search.ends[bit / 64] |= 1 << (bit % 64);
                    search.next[index as usize] = (gram, std::mem::replace(&mut search.first[bucket], index));
                }
                (None, Some(end)) => search.short[usize::from(*end)].insert(0, index),
                (None, None) => {}
            }
        }
        search
    }

    fn bucket(&self, gram: u32) -> usize {
        hash(gram) as usize & (self.first.len() - 1)
    }

    /// Gives every literal that stands in `line`, by its place among all, and the byte behind it to `found`, in the order
    /// in which they end; of several that end together the longest comes first.
    pub fn each(&self, line: &str, mut found: impl FnMut(usize, usize)) {
        let mut gram = 0u32;
        for (at, byte) in line.bytes().enumerate() {
            gram = gram << 8 | u32::from(byte);
            let bit = bit(gram);
            if self.ends[bit / 64] >> (bit % 64) & 1 == 1 {
                self.long(line, gram, at + 1, &mut found);
            }
            for index in &self.short[usize::from(byte)] {
                self.at(line, *index, at + 1, &mut found);
            }
        }
    }

    #[inline(never)]
    fn long(&self, line: &str, gram: u32, end: usize, found: &mut impl FnMut(usize, usize)) {
        let mut index = self.first[self.bucket(gram)];
        while index != NONE {
            let (its_gram, next) = self.next[index as usize];
            if its_gram == gram {
                self.at(line, index, end, found);
            }
            index = next;
        }
    }

    fn at(&self, line: &str, index: u32, end: usize, found: &mut impl FnMut(usize, usize)) {
        let literal = &self.all[index as usize];
        if line.as_bytes()[..end].ends_with(literal) {
            found(index as usize, end);
        }
    }
}

/// Fibonacci hashing: the high bits are the good ones.
fn hash(gram: u32) -> u32 {
    gram.wrapping_mul(0x9E37_79B1).rotate_right(15)
}

fn bit(gram: u32) -> usize {
    (gram.wrapping_mul(0x9E37_79B1) >> (32 - ENDS_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(
            literals in prop::collection::vec("[abö\\.]{1,8}", 1..12),
            lines in prop::collection::vec("[abcö\\.]{0,40}", 1..4),
        ) {
            let search = Literals::new(&literals);
            for line in &lines {
                let mut plain: Vec<_> = (0..line.len())
                    .flat_map(|at| literals.iter().enumerate().map(move |(index, literal)| (at, index, literal)))
                    .filter(|(at, _, literal)| line.as_bytes()[*at..].starts_with(literal.as_bytes()))
                    .map(|(at, index, literal)| (at + literal.len(), Reverse(literal.len()), index))
                    .collect();
                plain.sort_unstable();
                let mut found = Vec::new();
                search.each(line, |index, end| found.push((end, Reverse(literals[index].len()), index)));
                found.sort_unstable_by_key(|(end, length, index)| (*end, *length, *index));
                prop_assert_eq!(&found, &plain);
            }
        }
    }
}
