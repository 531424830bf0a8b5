//! The shipped rule base: it holds together, its examples hold, and what it says of facts is what the grammars state.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Cursor;
use std::sync::Arc;

use oomdoc::knowledge::{FactType, Glossary, Knowledge};
use oomdoc::model::FactValue;
use oomdoc::parse::{Extractor, GRAMMARS, Grammars};
use oomdoc::rulebase::{FactNames, RuleSource, check};
use oomdoc::scan::{Extent, Scanner};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn the_shipped_rules_hold_together() -> Outcome {
    let checked = check(&RuleSource::shipped())?;
    assert_eq!(checked.findings, []);
    assert!(checked.rules >= 27 && checked.examples >= 2 * checked.rules, "{} examples", checked.examples);
    Ok(())
}

/// Whatever a grammar states in its own examples is a fact that rules may ask for, of the type that is said.
#[test]
fn facts_of_logs_are_explained() -> Outcome {
    let (knowledge, glossary) = (Knowledge::shipped()?, Glossary::shipped()?);
    let names = FactNames::new(&knowledge, &glossary);
    let grammars = Grammars::new(GRAMMARS)?;
    let mut wrong: BTreeMap<&str, String> = BTreeMap::new();
    for grammar in GRAMMARS {
        for example in grammar.examples() {
            let mut extractor = Extractor::new(Arc::from("example"), &grammars, &knowledge);
            let mut scanner = Scanner::new(grammars.anchors(), Extent::DEFAULT);
            let mut input = Cursor::new(example.text.as_bytes().to_vec());
            while scanner.read_from(&mut input, 1 << 20, &mut extractor)? > 0 {}
            scanner.finish(&mut extractor);
            for fact in extractor.finish().events.iter().flat_map(|event| &event.facts) {
                let stated = match fact.value {
                    FactValue::Text(_) => FactType::Text,
                    FactValue::Number(_) => FactType::Number,
                };
                if names.type_of(fact.key) != Some(stated) {
                    wrong.insert(fact.key, format!("{} {:?} {}", stated.as_str(), fact.value, grammar.producer()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "rules/glossary/facts.toml does not know: {wrong:#?}");
    Ok(())
}
