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
pub struct KnownSteps(Box<[Step; KnownSteps::LENGTH]>);

#[derive(Clone, Copy)]
struct Step {
    from: StateID,
    to: StateID,
}

impl KnownSteps {
    /// 256 bytes for each of 256 states; of states that are the same modulo 256, the later one's steps are known.
    const LENGTH: usize = 1 << 16;

    /// The step that `byte` takes from `state`. The way that nearly all steps take is short.
    #[inline(always)]
    fn step(&mut self, automaton: &NFA, state: StateID, byte: u8) -> StateID {
        let place = u16::from_le_bytes([byte, state.as_u32() as u8]);
        let step = self.0[usize::from(place)];
        // No step is from state zero, the dead one.
        if step.from == state { step.to } else { self.learn(place, automaton, state, byte) }
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, place: u16, automaton: &NFA, from: StateID, byte: u8) -> StateID {
        let to = automaton.next_state(Anchored::No, from, byte);
        self.0[usize::from(place)] = Step { from, to };
        to
    }
}

impl Default for KnownSteps {
    fn default() -> KnownSteps {
        let none = Step { from: StateID::ZERO, to: StateID::ZERO };
        let steps = vec![none; KnownSteps::LENGTH].into_boxed_slice();
        KnownSteps(steps.try_into().unwrap_or_else(|_| unreachable!("so many were made")))
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
            let mut known = KnownSteps::default();
            for line in &lines {
                let mut plain: Vec<_> = (0..line.len())
                    .flat_map(|at| literals.iter().enumerate().map(move |(index, literal)| (at, index, literal)))
                    .filter(|(at, _, literal)| line.as_bytes()[*at..].starts_with(literal.as_bytes()))
                    .map(|(at, index, literal)| (at + literal.len(), Reverse(literal.len()), index))
                    .collect();
                plain.sort_unstable();
                let mut found = Vec::new();
                search.each(line, &mut known, |index, end| found.push((end, Reverse(literals[index].len()), index)));
                found.sort_unstable_by_key(|(end, length, index)| (*end, *length, *index));
                prop_assert_eq!(&found, &plain);
            }
        }
    }
}
