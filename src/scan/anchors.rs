use std::thread;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};

/// Fewest bytes for which another thread is worth it.
const SHARE: usize = 256 << 10;

/// One search for the literals that make a line worth reading.
pub struct Anchors {
    search: AhoCorasick,
    literals: Vec<String>,
}

impl Anchors {
    /// One search for all of `literals`. A literal that contains another is left out: the shorter one finds it.
    ///
    /// `LeftmostFirst` lets the search use its SIMD prefilter, which it does for at most 64 literals.
    pub fn new<'l>(literals: impl IntoIterator<Item = &'l str>) -> Result<Anchors, aho_corasick::BuildError> {
        let mut all: Vec<&str> = literals.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        let contains_another = |literal: &str| all.iter().any(|other| *other != literal && literal.contains(other));
        let literals: Vec<String> =
            all.iter().filter(|literal| !contains_another(literal)).map(|literal| (*literal).to_owned()).collect();
        // The prefilter finds whole literals, so the automaton hardly matters; building a DFA would dominate the start-up time.
        let search = AhoCorasickBuilder::new()
            .match_kind(MatchKind::LeftmostFirst)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&literals)?;
        Ok(Anchors { search, literals })
    }

    /// The literals that are searched for.
    pub fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Length of the longest literal.
    pub(super) fn longest(&self) -> usize {
        self.literals.iter().map(String::len).max().unwrap_or(0)
    }

    /// The offsets in `bytes` at which anchors begin, in order.
    pub fn find<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        self.search.find_iter(bytes).map(|found| found.start())
    }

    /// The offsets of anchors that end after the first `known` bytes; those within were found before. Uses up to `threads` threads if that
    /// is worth it.
    pub(super) fn find_new(&self, bytes: &[u8], known: usize, threads: usize) -> Vec<usize> {
        let parts = threads.min((bytes.len() - known) / SHARE).max(1);
        let mut found: Vec<Vec<usize>> = vec![Vec::new(); parts];
        let border = |part: usize| known + (bytes.len() - known) * part / parts;
        let search = |part: usize, found: &mut Vec<usize>| {
            // An anchor that ends in this part may begin in the one before.
            let (known, end) = (border(part), border(part + 1));
            let from = known.saturating_sub(self.longest().saturating_sub(1));
            let all = self.search.find_iter(&bytes[from..end]);
            found.extend(all.filter(|found| from + found.end() > known).map(|found| from + found.start()));
        };
        thread::scope(|scope| {
            let mut shares = found.iter_mut().enumerate();
            let own = shares.next();
            for (part, share) in shares {
                scope.spawn(move || search(part, share));
            }
            own.into_iter().for_each(|(part, share)| search(part, share));
        });
        found.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_threads_find_what_one_finds() -> Result<(), aho_corasick::BuildError> {
        let anchors = Anchors::new(["out of memory", "oom-kill"])?;
        let mut bytes = vec![b'.'; 5 * SHARE];
        // At, before and across every possible border.
        for threads in 2..=5 {
            for (part, shift) in (1..threads).flat_map(|part| [(part, 0), (part, 5), (part, 40)]) {
                let at = bytes.len() * part / threads - shift;
                bytes[at..at + 8].copy_from_slice(b"oom-kill");
            }
        }
        let one = anchors.find_new(&bytes, 0, 1);
        assert!(one.len() > 15, "{one:?}");
        for threads in 2..=5 {
            assert_eq!(anchors.find_new(&bytes, 0, threads), one, "{threads} threads");
            assert_eq!(anchors.find_new(&bytes, one[3] + 8, threads), one[4..], "{threads} threads");
        }
        Ok(())
    }

    #[test]
    fn keeps_the_shorter_of_two_that_find_the_same() -> Result<(), aho_corasick::BuildError> {
        let anchors = Anchors::new(["CUDA out of memory", "out of memory", "oom-kill"])?;
        assert_eq!(anchors.literals(), ["oom-kill", "out of memory"]);
        assert_eq!(anchors.find(b"x CUDA out of memory oom-kill").collect::<Vec<_>>(), [7, 21]);
        Ok(())
    }
}
