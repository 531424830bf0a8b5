use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

/// The literals that make a line worth reading, as one search.
pub struct Anchors {
    search: AhoCorasick,
    literals: Vec<&'static str>,
}

impl Anchors {
    /// One search for all of `literals`. A literal that contains another is left out: the shorter one finds it.
    ///
    /// `LeftmostFirst` is what lets the search use its SIMD prefilter; above 64 literals it does not.
    pub fn new(literals: impl IntoIterator<Item = &'static str>) -> Result<Anchors, aho_corasick::BuildError> {
        let mut all: Vec<&'static str> = literals.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        let contains_another = |literal: &str| all.iter().any(|other| *other != literal && literal.contains(other));
        let literals: Vec<&'static str> = all.iter().copied().filter(|literal| !contains_another(literal)).collect();
        let search = AhoCorasickBuilder::new().match_kind(MatchKind::LeftmostFirst).build(&literals)?;
        Ok(Anchors { search, literals })
    }

    /// The literals that are searched for.
    pub fn literals(&self) -> &[&'static str] {
        &self.literals
    }

    /// Length of the longest literal.
    pub(super) fn longest(&self) -> usize {
        self.literals.iter().map(|literal| literal.len()).max().unwrap_or(0)
    }

    /// Where in `bytes` anchors begin, in order.
    pub fn find<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        self.search.find_iter(bytes).map(|found| found.start())
    }

    /// Where in `bytes` anchors begin that end behind the first `known` bytes, in which the others were found before.
    pub(super) fn find_new<'a>(&'a self, bytes: &'a [u8], known: usize) -> impl Iterator<Item = usize> + 'a {
        self.search.find_iter(bytes).filter(move |found| found.end() > known).map(|found| found.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_shorter_of_two_that_find_the_same() -> Result<(), aho_corasick::BuildError> {
        let anchors = Anchors::new(["CUDA out of memory", "out of memory", "oom-kill"])?;
        assert_eq!(anchors.literals(), ["oom-kill", "out of memory"]);
        assert_eq!(anchors.find(b"x CUDA out of memory oom-kill").collect::<Vec<_>>(), [7, 21]);
        Ok(())
    }
}
