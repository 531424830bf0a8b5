//! Settings as facts, under the names that several frameworks share.

use std::sync::Arc;

use super::Launch;
use crate::diagnosis::{Answer, Asker, Facts, Value, names};
use crate::knowledge::{Fact, FactType, Knob};
use crate::model::Citation;

/// A fact of the configuration: its name, its value, where it stands.
pub(super) type Stated = (Arc<str>, Value, Vec<Citation>);

impl Launch<'_> {
    /// Adds to `facts` what the configuration sets, and what holds where it sets nothing.
    pub fn configure(&self, facts: &mut Facts) {
        for (name, value, cites) in self.stated.get_or_init(|| self.state()) {
            facts.cite(name, value.clone(), cites.clone());
        }
    }

    /// What the configuration says, the surest first: it is the same for every incident.
    fn state(&self) -> Vec<Stated> {
        let always = self.framework.iter().flat_map(|framework| &framework.always);
        let mut all: Vec<Stated> = always.map(|(name, flag)| (name.clone(), Value::Flag(*flag), Vec::new())).collect();
        for knob in self.knobs() {
            let Some(fact) = self.fact(knob) else { continue };
            if let Some(setting) = self.setting(knob) {
                let entry = setting.entry;
                if let Some(value) = meaning(knob, fact, &entry.value.to_string()) {
                    all.push((fact.name.clone(), value, vec![entry.at.clone()]));
                }
            }
        }
        // Only then: what another spelling sets is no default.
        for knob in self.knobs().filter(|knob| self.is_configured(&knob.framework)) {
            let Some(fact) = self.fact(knob) else { continue };
            let default = knob.default_at(self.version_of(knob));
            if let Some(value) = default.and_then(|default| meaning(knob, fact, default)) {
                all.push((fact.name.clone(), value, Vec::new()));
            }
        }
        all
    }

    /// Adds to `facts` what others of them show of the configuration: ZeRO's stage by the file that failed.
    pub fn infer(&self, facts: &mut Facts) {
        let asker = Asker::new(facts);
        let unknown = self.knowledge.facts.iter().filter(|fact| facts.get(&fact.name).is_none());
        let shown = |fact: &Fact| {
            let row = fact.shown_by.iter().find(|row| asker.ask(&row.when) == Answer::Yes)?;
            let cites =
                names(&row.when).into_iter().filter_map(|name| facts.get(name)).flat_map(|known| known.cites.clone());
            Some((fact.name.clone(), stated(fact, &row.value)?, cites.collect::<Vec<_>>()))
        };
        let found: Vec<_> = unknown.filter_map(shown).collect();
        for (name, value, cites) in found {
            facts.cite(&name, value, cites);
        }
    }

    /// Whether the fact that is `knob`'s value says that it is at `to` already.
    pub fn is_known_to_be(&self, facts: &Facts, knob: &Knob, to: &str) -> bool {
        let known = self.fact(knob).and_then(|fact| Some((fact, facts.get(&fact.name)?)));
        known.is_some_and(|(fact, known)| meaning(knob, fact, to).is_some_and(|value| value == known.value))
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
    stated(fact, knob.meaning(value))
}

/// `words` as a value of `fact`.
fn stated(fact: &Fact, words: &str) -> Option<Value> {
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
