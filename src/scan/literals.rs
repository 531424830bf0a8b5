/// Finds which of thousands of literals occur in a line.
///
/// Literals are looked up by their last four bytes. An automaton for so many literals takes longer to build than most logs take to analyse;
/// a table of their endings is built at once, and each byte of a line costs one look-up in a bitmap that stays in the cache. Hundreds end
/// with the same word (`memory`), so literals of eight bytes and more are then looked up by their last eight bytes.
#[derive(Debug)]
pub struct Literals {
    all: Vec<Box<[u8]>>,
    /// A bitmap over the hash of four bytes: whether a literal may end with them.
    ends: Box<[u64; 1 << (ENDS_BITS - 6)]>,
    /// Literals of at least eight bytes by their last eight, of at least four by their last four, and shorter ones by their last one.
    long: Table,
    middle: Table,
    short: Vec<Vec<Short>>,
    /// A bitmap over two bytes: whether a short literal may end with them.
    short_ends: Box<[u64; 1 << 10]>,
}

/// A literal of fewer than four bytes, compared as one number.
#[derive(Debug, Clone)]
struct Short {
    bytes: u64,
    length: u32,
    index: u32,
}

impl Short {
    fn new(literal: &[u8], index: u32) -> Short {
        let bytes = literal.iter().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte));
        Short { bytes, length: literal.len() as u32, index }
    }

    /// Whether it ends `tail`, the last eight bytes read. Before the line's beginning these are zeros, which no literal contains.
    fn ends(&self, tail: u64) -> bool {
        tail & ((1 << (8 * self.length)) - 1) == self.bytes
    }
}

/// A hash table of literals by their endings, the longest of a bucket first.
#[derive(Debug)]
struct Table {
    /// The beginning of each bucket, and the end of the last.
    buckets: Vec<u32>,
    tails: Vec<(u64, u32)>,
}

impl Table {
    fn new(unsorted: Vec<(u64, u32)>, all: &[Box<[u8]>]) -> Table {
        let count = (2 * unsorted.len()).next_power_of_two().max(64);
        let mut buckets = vec![0; count + 1];
        unsorted.iter().for_each(|(tail, _)| buckets[bucket(*tail, count) + 1] += 1);
        (1..=count).for_each(|own| buckets[own] += buckets[own - 1]);
        // Each goes to the next free place of its bucket, which takes a tenth of the time of sorting all.
        let (mut free, mut tails) = (buckets.clone(), vec![(0, 0); unsorted.len()]);
        for (tail, index) in unsorted {
            let place = &mut free[bucket(tail, count)];
            tails[*place as usize] = (tail, index);
            *place += 1;
        }
        let longest_first = |(_, index): &(u64, u32)| std::cmp::Reverse(all[*index as usize].len());
        for own in buckets.windows(2).filter(|own| own[1] - own[0] > 1) {
            tails[own[0] as usize..own[1] as usize].sort_by_key(longest_first);
        }
        Table { buckets, tails }
    }

    /// The literals that end with `tail`.
    fn of(&self, tail: u64) -> impl Iterator<Item = u32> {
        let bucket = bucket(tail, self.buckets.len() - 1);
        let own = &self.tails[self.buckets[bucket] as usize..self.buckets[bucket + 1] as usize];
        own.iter().filter(move |(its, _)| *its == tail).map(|(_, index)| *index)
    }
}

/// How many last bytes the bitmap looks up.
const GRAM: usize = 4;
/// The size of the bitmap as a power of two, small enough for the first-level cache.
const ENDS_BITS: u32 = 17;

impl Literals {
    /// A search for `literals`, none of which may be empty.
    pub fn new<L: AsRef<[u8]>>(literals: impl IntoIterator<Item = L>) -> Literals {
        let all: Vec<Box<[u8]>> = literals.into_iter().map(|literal| Box::from(literal.as_ref())).collect();
        let (mut ends, mut short_ends) = (Box::new([0; _]), Box::new([0; _]));
        let (mut long, mut middle, mut short) = (Vec::with_capacity(all.len()), Vec::new(), vec![Vec::new(); 256]);
        for (literal, index) in all.iter().zip(0..) {
            if let Some(gram) = literal.last_chunk::<GRAM>() {
                let gram = u32::from_be_bytes(*gram);
                set(&mut ends[..], bit(gram));
                match literal.last_chunk::<8>() {
                    Some(tail) => long.push((u64::from_be_bytes(*tail), index)),
                    None => middle.push((u64::from(gram), index)),
                }
            } else if let Some(end) = literal.last() {
                short[usize::from(*end)].push(Short::new(literal, index));
                match literal.last_chunk::<2>() {
                    Some(two) => set(&mut short_ends[..], usize::from(u16::from_be_bytes(*two))),
                    None => (0..=u8::MAX).for_each(|before| {
                        set(&mut short_ends[..], usize::from(u16::from_be_bytes([before, *end])));
                    }),
                }
            }
        }
        let longest_first = |own: &mut Vec<Short>| own.sort_by_key(|short| std::cmp::Reverse(short.length));
        short.iter_mut().for_each(longest_first);
        let (long, middle) = (Table::new(long, &all), Table::new(middle, &all));
        Literals { all, ends, long, middle, short, short_ends }
    }

    /// Calls `found` for every literal in `line` with its index and the offset of its end, ordered by end; of several that end together the
    /// longest comes first.
    pub fn each(&self, line: &str, mut found: impl FnMut(usize, usize)) {
        let mut tail = 0u64;
        for (at, byte) in line.bytes().enumerate() {
            tail = tail << 8 | u64::from(byte);
            if is_set(&self.ends[..], bit(tail as u32)) {
                self.ended(line, tail, at + 1, &mut found);
            }
            if is_set(&self.short_ends[..], usize::from(tail as u16)) {
                let short = self.short[usize::from(byte)].iter().filter(|short| short.ends(tail));
                short.for_each(|short| found(short.index as usize, at + 1));
            }
        }
    }

    #[inline(never)]
    fn ended(&self, line: &str, tail: u64, end: usize, found: &mut impl FnMut(usize, usize)) {
        self.long.of(tail).for_each(|index| self.at(line, index, end, found));
        self.middle.of(tail & u64::from(u32::MAX)).for_each(|index| self.at(line, index, end, found));
    }

    fn at(&self, line: &str, index: u32, end: usize, found: &mut impl FnMut(usize, usize)) {
        let literal = &self.all[index as usize];
        if line.as_bytes()[..end].ends_with(literal) {
            found(index as usize, end);
        }
    }
}

/// The bucket for these bytes among `count`, a power of two: Fibonacci hashing, of which the high bits are well mixed.
fn bucket(tail: u64, count: usize) -> usize {
    (tail.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (count - 1)
}

fn set(bits: &mut [u64], bit: usize) {
    bits[bit / 64] |= 1 << (bit % 64);
}

fn is_set(bits: &[u64], bit: usize) -> bool {
    bits[bit / 64] >> (bit % 64) & 1 == 1
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
