use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;

use super::SearchError;

/// Which of hundreds of literals stand in a line.
pub struct Literals {
    automaton: NFA,
    start: StateID,
}

impl Literals {
    /// The search for `literals`, none of which is empty.
    pub fn new<L: AsRef<[u8]>>(literals: impl IntoIterator<Item = L>) -> Result<Literals, SearchError> {
        // The smallest automaton: a DFA would take longer to build than a log to analyze. Steps it takes again are known.
        let automaton = NFA::builder().dense_depth(1).prefilter(false).build(literals)?;
        let start = automaton.start_state(Anchored::No)?;
        Ok(Literals { automaton, start })
    }

    /// Gives every literal that stands in `line`, by its place among all, and the byte behind it to `found`, in the order
    /// in which they end; of several that end together the longest comes first.
    pub fn each(&self, line: &str, known: &mut KnownSteps, mut found: impl FnMut(usize, usize)) {
        let mut state = self.start;
        for (at, byte) in line.bytes().enumerate() {
            state = known.step(&self.automaton, state, byte);
            if self.automaton.is_match(state) {
                for index in 0..self.automaton.match_len(state) {
                    found(self.automaton.match_pattern(state, index).as_usize(), at + 1);
                }
            }
        }
    }
}

/// What steps an automaton took before: it stands at few of its states, and asking it is ten times as much work. Each
/// automaton wants its own.
pub struct KnownSteps(Vec<Step>);

#[derive(Clone, Copy)]
struct Step {
    from: StateID,
    to: StateID,
}

impl KnownSteps {
    /// States that are known at a time; where two are the same modulo this, the later one's steps are known.
    const STATES: usize = 256;
    const BYTES: usize = 256;

    /// As many as are worth it for a whole log.
    pub fn many() -> KnownSteps {
        KnownSteps(vec![Step { from: StateID::ZERO, to: StateID::ZERO }; KnownSteps::STATES * KnownSteps::BYTES])
    }

    /// None, for a few lines.
    pub fn none() -> KnownSteps {
        KnownSteps(Vec::new())
    }

    /// The step that `byte` takes from `state`. The way that nearly all steps take is short.
    #[inline(always)]
    fn step(&mut self, automaton: &NFA, state: StateID, byte: u8) -> StateID {
        let place = (state.as_usize() % KnownSteps::STATES) * KnownSteps::BYTES + usize::from(byte);
        match self.0.get(place) {
            // No step is from state zero, the dead one.
            Some(step) if step.from == state => step.to,
            _ => self.learn(place, automaton, state, byte),
        }
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, place: usize, automaton: &NFA, from: StateID, byte: u8) -> StateID {
        let to = automaton.next_state(Anchored::No, from, byte);
        if let Some(known) = self.0.get_mut(place) {
            *known = Step { from, to };
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(
            literals in prop::collection::vec("[abö\\.]{1,4}", 1..12),
            lines in prop::collection::vec("[abcö\\.]{0,40}", 1..4),
        ) {
            let search = Literals::new(&literals).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let mut known = KnownSteps::many();
            for line in &lines {
                let mut plain: Vec<_> = (0..line.len())
                    .flat_map(|at| literals.iter().enumerate().map(move |(index, literal)| (at, index, literal)))
                    .filter(|(at, _, literal)| line.as_bytes()[*at..].starts_with(literal.as_bytes()))
                    .map(|(at, index, literal)| (at + literal.len(), Reverse(literal.len()), index))
                    .collect();
                plain.sort_unstable();
                for known in [&mut known, &mut KnownSteps::none()] {
                    let mut found = Vec::new();
                    search.each(line, known, |index, end| found.push((end, Reverse(literals[index].len()), index)));
                    prop_assert_eq!(&found, &plain);
                }
            }
        }
    }
}
