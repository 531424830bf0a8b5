//! Facts that other facts imply, by the rows of `rules/facts/`.

use std::collections::HashSet;

use super::JobConfig;
use super::facts::{StatedFact, stated};
use crate::facts::{Evaluator, Facts, names};
use crate::knowledge::Fact;

/// A fact that others imply, and the names that its conditions ask for.
struct Implied<'k> {
    fact: &'k Fact,
    asks: Vec<&'k str>,
}

impl JobConfig<'_> {
    /// Adds facts about the job and its configuration that other facts imply, such as ZeRO's stage by the file that
    /// failed, each after those that it asks for. What depends on the phase is added in a second call, once it is known.
    pub fn infer(&self, facts: &mut Facts) {
        let has_phase = facts.get("phase").is_some();
        let implied = self.knowledge.facts.iter().filter(|fact| !fact.shown_by.is_empty());
        let mut left: Vec<Implied<'_>> =
            implied.filter(|fact| facts.get(&fact.name).is_none()).map(Implied::of).collect();
        while !left.is_empty() {
            let open: HashSet<&str> = left.iter().map(|implied| &*implied.fact.name).collect();
            let waits = |implied: &Implied<'_>| {
                let mut others = implied.asks.iter().filter(|name| **name != &*implied.fact.name);
                others.any(|name| open.contains(name) || *name == "phase" && !has_phase)
            };
            let (waiting, mut ready): (Vec<_>, Vec<_>) = left.into_iter().partition(waits);
            left = waiting;
            if ready.is_empty() {
                if !has_phase {
                    return;
                }
                // Of facts that ask for each other the first in the file begins.
                ready.push(left.remove(0));
            }
            let evaluator = Evaluator::new(facts);
            let found: Vec<_> = ready.iter().filter_map(|implied| implied.shown(&evaluator, facts)).collect();
            for (name, value, cites) in found {
                facts.cite(&name, value, cites);
            }
        }
    }
}

impl<'k> Implied<'k> {
    fn of(fact: &'k Fact) -> Implied<'k> {
        Implied { fact, asks: fact.shown_by.iter().flat_map(|row| names(&row.when)).collect() }
    }

    /// The fact as its first row states it whose condition holds.
    fn shown(&self, evaluator: &Evaluator<'_>, facts: &Facts) -> Option<StatedFact> {
        let row = self.fact.shown_by.iter().find(|row| evaluator.holds(&row.when))?;
        let cites = names(&row.when).into_iter().filter_map(|name| facts.get(name));
        let cites = cites.flat_map(|known| known.cites.clone()).collect();
        Some((self.fact.name.clone(), stated(self.fact, &row.value)?, cites))
    }
}
