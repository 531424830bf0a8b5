//! The shipped rule base is consistent, its examples pass, and its facts are those that the grammars state.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use oomdoc::internal::knowledge::{FactType, Glossary, Knowledge};
use oomdoc::internal::model::FactValue;
use oomdoc::internal::parse::{GRAMMARS, Grammars, read_whole};
use oomdoc::internal::rulebase::{FactNames, RuleSource, check};

#[allow(dead_code)]
#[path = "../../examples/facts_doc.rs"]
mod facts_doc;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn the_shipped_rules_hold_together() -> Outcome {
    let checked = check(&RuleSource::shipped())?;
    assert_eq!(checked.findings, []);
    assert!(checked.rules >= 27 && checked.examples >= 2 * checked.rules, "{} examples", checked.examples);
    Ok(())
}

/// Every fact stated in a grammar's examples may be used in rules and has the documented type.
#[test]
fn facts_of_logs_are_explained() -> Outcome {
    let (knowledge, glossary) = (Knowledge::shipped()?, Glossary::shipped()?);
    let names = FactNames::new(&knowledge, &glossary);
    let grammars = Grammars::new(GRAMMARS, &knowledge)?;
    let mut wrong: BTreeMap<&str, String> = BTreeMap::new();
    for grammar in GRAMMARS {
        for example in grammar.examples() {
            let findings = read_whole("example", example.text.as_bytes(), &grammars);
            for fact in findings.events.iter().flat_map(|event| &event.facts) {
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

#[test]
fn the_page_on_writing_rules_lists_every_fact() -> Outcome {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/writing-rules.md"))?;
    let listed = page.split_once("instead. -->\n").map(|(_, listed)| listed.to_owned());
    let names = FactNames::new(&Knowledge::shipped()?, &Glossary::shipped()?);
    assert!(listed == Some(facts_doc::render(&names)?), "put `cargo run --example facts_doc` at the end of the page");
    Ok(())
}

/// The rule shown on the page is valid, and its examples pass.
#[test]
fn the_page_on_writing_rules_shows_a_rule_that_works() -> Outcome {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/writing-rules.md"))?;
    let rule = page.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```\n")).map(|(rule, _)| rule);
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("image_tower.toml"), rule.ok_or("the page shows no rule")?)?;
    let checked = check(&RuleSource::read(folder.path())?)?;
    assert!(!checked.fails(), "{:#?}", checked.findings);
    assert_eq!((checked.rules, checked.examples), (1, 2));
    let problems: Vec<&str> = checked.findings.iter().map(|finding| finding.problem.as_str()).collect();
    assert!(problems[0].contains("no shipped rule concludes") && problems[1].contains("Chinese"), "{problems:?}");
    assert_eq!(problems.len(), 2, "{problems:?}");
    Ok(())
}
