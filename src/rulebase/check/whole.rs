use crate::knowledge::{Glossary, Knowledge, Origin, Words};
use crate::model::{FigureName, Kind, OtherFailureName, Phase};
use crate::rulebase::sources::RuleSource;

use super::condition::Conditions;
use super::{Finding, Severity};

/// Checks the shipped rules as a whole: conditions of levers and frameworks, levers that no knob turns, and words
/// without an explanation.
pub(super) fn check(
    sources: &[RuleSource],
    knowledge: &Knowledge,
    glossary: &Glossary,
    conditions: &Conditions,
    findings: &mut Vec<Finding>,
) {
    let mut error = |file: &str, problem: String, advice: &str| {
        let (file, advice) = (file.to_owned(), advice.to_owned());
        findings.push(Finding { severity: Severity::Error, file, line: None, problem, advice });
    };
    if !sources.iter().any(|source| source.origin == Origin::Shipped) {
        return;
    }
    let unless = knowledge.levers.iter().map(|lever| ("rules/levers.toml", &lever.name, &lever.unless));
    let frameworks = &knowledge.frameworks;
    let unless = unless.chain(frameworks.iter().map(|known| ("rules/frameworks.toml", &known.name, &known.unless)));
    let companions = frameworks.iter().flat_map(|framework| &framework.companion);
    let when = companions.map(|row| ("rules/frameworks.toml", &row.name, &row.when));
    let by_hand = knowledge
        .levers
        .iter()
        .filter_map(|lever| Some(("rules/levers.toml", &lever.name, &lever.by_hand.as_ref()?.when)));
    let conditions_of = unless.filter_map(|(file, name, unless)| Some((file, name, unless.as_ref()?)));
    let conditions_of = conditions_of.chain(when).chain(by_hand);
    for (file, name, condition) in conditions_of {
        for (problem, advice) in conditions.faults(condition, Kind::ALL) {
            error(file, format!("{name}: {problem}"), &advice);
        }
    }
    for lever in &knowledge.levers {
        if !knowledge.knobs.iter().any(|knob| knob.turns(&lever.name, None).is_some()) && &*lever.name != "other" {
            error("rules/levers.toml", format!("no knob turns {}", lever.name), "add a knob to rules/knobs/");
        }
    }
    let words = Kind::ALL.iter().map(|kind| ("kind", kind.as_str()));
    let words = words.chain(Phase::ALL.iter().map(|phase| ("phase", phase.as_str())));
    let words = words.chain(FigureName::ALL.iter().map(|figure| ("figure", figure.as_str())));
    let words = words.chain(OtherFailureName::ALL.iter().map(|failure| ("other_failure", failure.as_str())));
    for (of, name) in words.filter(|(of, name)| glossary.word(of, name).is_none()) {
        error("rules/glossary/words.toml", format!("nobody explains the {of} `{name}`"), "add a [[word]]");
    }
    let named = |file: &'static str, name: &str, words: &Words| (file, name.to_owned(), words.is_partial());
    let meanings = knowledge.levers.iter().map(|lever| named("rules/levers.toml", &lever.name, &lever.meaning));
    let meanings = meanings.chain(knowledge.facts.iter().map(|fact| named("rules/facts/", &fact.name, &fact.meaning)));
    let facts = glossary.facts.iter().map(|fact| named("rules/glossary/", &fact.name, &fact.meaning));
    let explained = glossary.words.iter().map(|word| named("rules/glossary/words.toml", &word.name, &word.meaning));
    for (file, name, _) in meanings.chain(facts).chain(explained).filter(|(_, _, is_partial)| *is_partial) {
        error(file, format!("the meaning of `{name}` lacks a language"), "say it in English and Chinese");
    }
    for (index, fact) in glossary.facts.iter().enumerate() {
        let twice = glossary.facts[..index].iter().chain(&knowledge.facts).any(|other| other.name == fact.name);
        if twice {
            error("rules/glossary/", format!("`{}` is explained twice", fact.name), "leave one out");
        }
    }
}
