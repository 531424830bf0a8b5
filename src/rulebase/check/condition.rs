use std::sync::Arc;

use crate::facts::{Answer, Comparison, Evaluator, Expression, Facts, Literal, Value};
use crate::knowledge::{FactType, Glossary, Knowledge};
use crate::model::{Kind, Phase};

use crate::rulebase::names::{FactNames, suggestion};

/// Checks conditions.
pub(super) struct Conditions {
    /// All facts.
    pub facts: FactNames,
    /// Incidents with only kind and phase known.
    bare: Vec<(Kind, Facts)>,
    /// Incidents with everything known.
    full: Vec<Facts>,
}

/// A problem of a condition, and the advice.
pub(super) type Fault = (String, String);

impl Conditions {
    pub fn new(knowledge: &Knowledge, glossary: &Glossary) -> Conditions {
        let facts = FactNames::new(knowledge, glossary);
        let pairs = Kind::ALL.iter().flat_map(|kind| Phase::ALL.iter().map(move |phase| (*kind, *phase)));
        let bare = pairs.map(|(kind, phase)| {
            let mut facts = Facts::default();
            facts.say("kind", Value::Text(kind.to_string()));
            facts.say("phase", Value::Text(phase.to_string()));
            (kind, facts)
        });
        let bare = bare.collect();
        let full = [(0.5, false), (1.0, true), (64e9, true)].map(|(number, flag)| full(&facts, number, flag)).into();
        Conditions { facts, bare, full }
    }

    /// The problems of `condition` for incidents of `kinds`.
    pub fn faults(&self, condition: &str, kinds: &[Kind]) -> Vec<Fault> {
        let expr = match Expression::new(condition) {
            Ok(expr) => expr,
            Err(problem) => {
                let problem = problem.lines().next().unwrap_or_default().to_owned();
                return vec![(
                    format!("the condition cannot be read: {problem}"),
                    "write it in the Common Expression Language (CEL), e.g. `phase == \"backward\"`".to_owned(),
                )];
            }
        };
        let mut faults: Vec<Fault> = expr.names().iter().filter_map(|name| self.unknown(name)).collect();
        faults.extend(expr.comparisons().iter().filter_map(|comparison| self.mismatch(comparison)));
        // The type of a setting is known only with a launch.
        if expr.names().iter().any(|name| self.facts.is_setting(name)) {
            return faults;
        }
        if faults.is_empty() {
            faults.extend(self.nonsense(&expr));
        }
        if faults.is_empty() && self.never_holds(&expr, kinds) {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            faults.push((
                "the condition can never hold".to_owned(),
                format!("no phase of an incident of {} makes it true; compare it with `kinds`", kinds.join(", ")),
            ));
        }
        faults
    }

    fn unknown(&self, name: &str) -> Option<Fault> {
        if self.facts.type_of(name).is_some() || self.facts.is_setting(name) {
            return None;
        }
        let advice = suggestion(name, self.facts.iter().map(|(known, _)| known));
        let advice = advice.unwrap_or_else(|| "docs/writing-rules.md lists every fact".to_owned());
        Some((format!("no fact is called `{name}`"), advice))
    }

    /// A fact compared with a value of another type, or with a word that it never has.
    fn mismatch(&self, Comparison { name, with }: &Comparison) -> Option<Fault> {
        let r#type = self.facts.type_of(name)?;
        let fault = |problem: String, advice: &str| Some((problem, advice.to_owned()));
        match (r#type, with) {
            (FactType::Number, Literal::Number(true)) | (FactType::Flag, Literal::Flag) => None,
            (FactType::Number, Literal::Number(false)) => fault(
                format!("`{name}` is compared with a whole number"),
                "write it with a decimal point: all numbers are doubles",
            ),
            (FactType::Text, Literal::Text(word)) => {
                let values = self.facts.values_of(name);
                // An empty text asks whether the fact is known at all.
                if values.is_empty() || word.is_empty() || values.iter().any(|value| **value == **word) {
                    return None;
                }
                let known: Vec<&str> = values.iter().map(|value| &**value).collect();
                let advice = suggestion(word, known.iter().copied());
                fault(
                    format!("`{name}` is never \"{word}\""),
                    &advice.unwrap_or_else(|| format!("it is one of: {}", known.join(", "))),
                )
            }
            // `"x" in producers` searches a list.
            (FactType::List, Literal::Text(_)) => None,
            (known, _) => fault(
                format!("`{name}` is a {}, compared with something else", known.as_str()),
                "compare it with a value of its own type",
            ),
        }
    }

    /// Whether it fails to evaluate even if everything is known.
    fn nonsense(&self, expr: &Expression<'_>) -> Option<Fault> {
        self.full.iter().find_map(|facts| match expr.ask(&Evaluator::new(facts)) {
            Answer::Yes | Answer::No => None,
            Answer::Missing(name) => Some((
                format!("nothing is called `{name}`"),
                "a function of CEL? contains, startsWith, exists, size …".to_owned(),
            )),
            Answer::Nonsense(problem) => Some((
                format!("the condition makes no sense: {problem}"),
                "all numbers are doubles: 2.0 * x, not 2 * x".to_owned(),
            )),
        })
    }

    /// Whether it is false for every phase of `kinds`.
    fn never_holds(&self, expr: &Expression<'_>, kinds: &[Kind]) -> bool {
        let mut asked = self.bare.iter().filter(|(kind, _)| kinds.contains(kind));
        !kinds.is_empty() && asked.all(|(_, facts)| expr.ask(&Evaluator::new(facts)) == Answer::No)
    }
}

/// An incident with everything known: every number is `number`, every flag is `flag`.
fn full(names: &FactNames, number: f64, flag: bool) -> Facts {
    let mut facts = Facts::default();
    for (name, r#type) in names.iter() {
        let text = || Value::Text(names.values_of(name).first().map_or("x", |value: &Arc<str>| value).to_owned());
        let value = match r#type {
            FactType::Number => Value::Number(number),
            FactType::Flag => Value::Flag(flag),
            FactType::Text => text(),
            FactType::List => Value::List(vec![text()]),
        };
        facts.say(name, value);
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_hold_or_be_asked_is_found() -> Result<(), Box<dyn std::error::Error>> {
        let (knowledge, glossary) = (Knowledge::shipped()?, Glossary::shipped()?);
        let conditions = Conditions::new(&knowledge, &glossary);
        let gpu = [Kind::GpuOom];
        for (condition, problem, advice) in [
            ("phase == \"backward\"", "", ""),
            ("phase in [\"rollout\", \"inference\"] && frames.exists(f, f.contains(\"vllm/\"))", "", ""),
            ("gpu.unused > 0.3 * figures.gpu_total || config.zero_stage < 3.0", "", ""),
            ("\"vllm\" in producers", "", ""),
            ("phase ==", "cannot be read", "CEL"),
            ("phase == \"optimiser_step\"", "`phase` is never \"optimiser_step\"", "`optimizer_step`"),
            ("phase == \"backward\" && phase == \"forward\"", "can never hold", "gpu_oom"),
            ("kind == \"host_oom_ray\"", "can never hold", "gpu_oom"),
            ("figure.requested > 1.0", "no fact is called `figure.requested`", "`figures.requested`"),
            ("figures.requested > 1", "whole number", "decimal point"),
            ("figures.requested > \"1 GiB\"", "number", "type"),
            ("2 * figures.requested > 1.0", "makes no sense", "doubles"),
            ("config.offload_optimizer == \"gpu\"", "never \"gpu\"", "cpu"),
            ("message.contain(\"x\")", "", ""),
            ("figures.requested", "makes no sense", ""),
        ] {
            let faults = conditions.faults(condition, &gpu);
            let said = format!("{faults:?}");
            if condition.contains("contain(") {
                assert_eq!(faults.len(), 1, "{condition}: {said}");
            } else if problem.is_empty() {
                assert!(faults.is_empty(), "{condition}: {said}");
            } else {
                assert_eq!(faults.len(), 1, "{condition}: {said}");
                assert!(faults[0].0.contains(problem) && faults[0].1.contains(advice), "{condition}: {said}");
            }
        }
        Ok(())
    }
}
