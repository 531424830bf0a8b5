//! Facts that other facts imply, by the rows of `rules/facts/`.

use std::collections::HashSet;
use std::sync::Arc;

use super::JobConfig;
use super::facts::{StatedFact, stated};
use crate::facts::{Evaluator, Facts, names};
use crate::knowledge::Fact;

/// A fact that others imply, and the names that its conditions ask for.
struct Implied<'k> {
    fact: &'k Fact,
    asks: Vec<&'k str>,
}

/// What was asked before: the facts that nothing implied, and all that were known then.
#[derive(Default)]
pub struct Inferred {
    refuted: HashSet<Arc<str>>,
    known: HashSet<String>,
}

impl JobConfig<'_> {
    /// Adds facts about the job and its configuration that other facts imply, such as ZeRO's stage by the file that
    /// failed, each after those that it asks for. What depends on the phase is added in a second call, once it is known, which asks again only
    /// where `before`, what the first one returned, leaves another answer open.
    pub fn infer(&self, facts: &mut Facts, before: &Inferred) -> Inferred {
        let has_phase = facts.get("phase").is_some();
        let implied = self.knowledge.facts.iter().filter(|fact| !fact.shown_by.is_empty());
        let implied = implied.filter(|fact| facts.get(&fact.name).is_none()).map(Implied::of);
        let mut left = before.open(implied.collect(), facts);
        let mut refuted = HashSet::new();
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
                    break;
                }
                // Of facts that ask for each other the first in the file begins.
                ready.push(left.remove(0));
            }
            let evaluator = Evaluator::new(facts);
            let found: Vec<_> = ready.iter().map(|implied| (implied, implied.shown(&evaluator, facts))).collect();
            for (implied, found) in found {
                match found {
                    Some((name, value, cites)) => facts.cite(&name, value, cites),
                    None => {
                        refuted.insert(Arc::clone(&implied.fact.name));
                    }
                }
            }
        }
        Inferred { refuted, known: facts.iter().map(|(name, _)| name.to_owned()).collect() }
    }
}

impl Inferred {
    /// Those of `all` that may be implied by what `facts` say now: whatever asks for nothing new, nor for one of these, was refuted and is so.
    fn open<'k>(&self, all: Vec<Implied<'k>>, facts: &Facts) -> Vec<Implied<'k>> {
        let is_new = |name: &&str| !self.known.contains(*name);
        let mut fresh: HashSet<&str> = facts.iter().map(|(name, _)| name).filter(is_new).collect();
        fresh.extend(all.iter().map(|implied| &*implied.fact.name).filter(|name| !self.refuted.contains(*name)));
        let mut closed: Vec<&Implied<'k>> =
            all.iter().filter(|implied| self.refuted.contains(&implied.fact.name)).collect();
        while !fresh.is_empty() {
            // A map may be asked for as a whole.
            let is_of = |part: &str, whole: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'));
            let is_fresh = |asked: &&str| fresh.contains(asked) || fresh.iter().any(|name| is_of(name, asked));
            let (open, rest): (Vec<_>, Vec<_>) =
                closed.into_iter().partition(|implied| implied.asks.iter().any(is_fresh));
            closed = rest;
            fresh = open.into_iter().map(|implied| &*implied.fact.name).collect();
        }
        let closed: HashSet<&Arc<str>> = closed.into_iter().map(|implied| &implied.fact.name).collect();
        all.into_iter().filter(|implied| !closed.contains(&implied.fact.name)).collect()
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
