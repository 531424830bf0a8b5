//! Settings as facts, under the names that several frameworks share.

use super::Launch;
use crate::diagnosis::{Facts, Value};
use crate::knowledge::{Fact, FactType, Knob};

impl Launch<'_> {
    /// Adds to `facts` what the configuration sets, and what holds where it sets nothing.
    pub fn configure(&self, facts: &mut Facts) {
        for knob in self.knobs() {
            let Some(fact) = self.fact(knob) else { continue };
            if let Some(setting) = self.setting(knob) {
                let entry = setting.entry;
                if let Some(value) = meaning(knob, fact, &entry.value.to_string()) {
                    facts.cite(&fact.name, value, vec![entry.at.clone()]);
                }
            }
        }
        // Only then: what another spelling sets is no default.
        for knob in self.knobs().filter(|knob| self.is_configured(&knob.framework)) {
            let Some(fact) = self.fact(knob) else { continue };
            let default = knob.default_at(self.version_of(knob));
            if let Some(value) = default.and_then(|default| meaning(knob, fact, default)) {
                facts.say(&fact.name, value);
            }
        }
    }

    fn fact(&self, knob: &Knob) -> Option<&Fact> {
        let name = knob.fact.as_deref()?;
        self.knowledge.facts.iter().find(|fact| *fact.name == *name)
    }

    /// States `facts` as they are once `knob` is set to `to`.
    pub fn turned(&self, facts: &Facts, knob: &Knob, to: &str) -> Facts {
        let mut facts = facts.clone();
        if let Some(fact) = self.fact(knob)
            && let Some(value) = meaning(knob, fact, to)
        {
            facts.replace(&fact.name, value);
        }
        facts
    }
}

/// What a knob's value says as its fact; nothing where it is none of what the fact can be (`auto`).
fn meaning(knob: &Knob, fact: &Fact, value: &str) -> Option<Value> {
    let words = knob.meaning(value);
    match fact.r#type {
        FactType::Text => fact.allows(words).then(|| Value::Text(words.to_owned())),
        FactType::Flag => words.to_ascii_lowercase().parse().ok().map(Value::Flag),
        // No knob holds several values.
        FactType::List => None,
        FactType::Number => match Value::read(words) {
            Value::Number(number) if number.is_finite() => Some(Value::Number(number)),
            _ => None,
        },
    }
}
