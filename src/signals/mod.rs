//! Turns an incident into named signals that can be weighed.
//!
//! The input is the stack, the messages, the lines around them, the signs of phases and the facts; the output is [`Signals`]: each has a
//! name (`function:backward`, `level:requested=large`), a strength, and the line that shows it. Nothing here decides what a signal speaks
//! for; weights do, and those are data.

mod levels;
mod messages;
mod stack;

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::incident::FoundIncident;
use crate::knowledge::Libraries;
use crate::model::Citation;

/// One signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// Its strength, 0–1.
    pub strength: f64,
    /// The line that shows it; `None` if no single line does.
    pub cite: Option<Citation>,
}

/// The signals of an incident, by name.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    by_name: BTreeMap<String, Signal>,
}

impl Signals {
    /// Adds a signal; a known one keeps the greater strength.
    fn add(&mut self, name: String, strength: f64, cite: Option<&Citation>) {
        let new = || Signal { strength, cite: cite.cloned() };
        let known = self.by_name.entry(name).or_insert_with(new);
        if known.strength < strength {
            *known = new();
        }
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Signal)> {
        self.by_name.iter().map(|(name, signal)| (name.as_str(), signal))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

/// The signals of `found`, whose facts are `facts`.
pub fn of(found: &FoundIncident, facts: &Facts, libraries: &Libraries) -> Signals {
    let mut signals = Signals::default();
    stack::add(&mut signals, &found.frames, libraries);
    messages::add(&mut signals, found);
    levels::add(&mut signals, found, facts);
    signals
}
