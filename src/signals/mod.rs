//! What an incident shows, as named signals that can be weighed.
//!
//! In go the stack, the messages, the lines around them, the signs of phases and the facts; out come [`Signals`]: a name
//! (`function:backward`, `level:requested=large`), how strongly it is there, and the line that shows it. Nothing here says what a
//! signal speaks for: weights do, and those are data.

mod levels;
mod messages;
mod stack;

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::incident::Found;
use crate::knowledge::Libraries;
use crate::model::Citation;

/// One signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// How strongly it is there, 0–1.
    pub strength: f64,
    /// The line that shows it; `None` where no single one does.
    pub cite: Option<Citation>,
}

/// The signals of an incident, by name.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    by_name: BTreeMap<String, Signal>,
}

impl Signals {
    /// Adds a signal, or makes a known one as strong.
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

/// What `found` shows, of which `facts` are known.
pub fn of(found: &Found, facts: &Facts, libraries: &Libraries) -> Signals {
    let mut signals = Signals::default();
    stack::add(&mut signals, &found.frames, libraries);
    messages::add(&mut signals, found);
    levels::add(&mut signals, found, facts);
    signals
}
