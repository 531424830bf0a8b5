//! The shipped dialects: their example launches are read as they say, and their conditions only ask for facts that
//! something states.

use std::collections::BTreeSet;
use std::error::Error;

use oomdoc::internal::config::Document;
use oomdoc::internal::facts::{Expression, Facts, Value};
use oomdoc::internal::knowledge::{Dialect, DialectExample, FactRow, Knob, Knowledge, Plain, shipped_files};
use oomdoc::internal::launch::JobConfig;
use oomdoc::model::Job;

type Outcome = Result<(), Box<dyn Error>>;

fn knowledge() -> Result<Knowledge, Box<dyn Error>> {
    let knowledge = Knowledge::load(shipped_files())?;
    knowledge.complete()?;
    Ok(knowledge)
}

fn read(example: &DialectExample, knowledge: &Knowledge) -> Result<Facts, Box<dyn Error>> {
    let files = example.files.iter().map(|(path, text)| Document::read(path.as_str(), text));
    let launch = JobConfig::new(knowledge, &Job::default(), files.collect::<Result<_, _>>()?, Vec::new());
    let mut facts = Facts::default();
    launch.configure(&mut facts);
    Ok(facts)
}

#[test]
fn launches_are_read_as_their_frameworks_read_them() -> Outcome {
    let knowledge = knowledge()?;
    let mut wrong = Vec::new();
    for dialect in &knowledge.dialects {
        assert!(!dialect.example.is_empty(), "{} has no example", dialect.framework);
        for (number, example) in dialect.example.iter().enumerate() {
            let facts = read(example, &knowledge)?;
            for (name, expected) in &example.states {
                let known = facts.get(name).map(|known| &known.value);
                if known != Some(&expected.into()) {
                    wrong.push(format!("{} {number}: {name} is {known:?}, not {expected:?}", dialect.framework));
                }
            }
            for name in &example.leaves_open {
                if let Some(known) = facts.get(name) {
                    wrong.push(format!("{} {number}: {name} is {:?}, not open", dialect.framework, known.value));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Every row of a dialect, with the name of the fact it decides.
fn rows(dialect: &Dialect) -> impl Iterator<Item = (&str, &FactRow)> {
    dialect.fact.iter().flat_map(|(name, rows)| rows.iter().map(move |row| (&**name, row)))
}

#[test]
fn facts_are_ones_that_rules_may_ask_for() -> Outcome {
    let knowledge = knowledge()?;
    for dialect in &knowledge.dialects {
        for (name, row) in rows(dialect) {
            let place = format!("{}: {name}", dialect.framework);
            assert!(
                row.is.is_some() != row.by.is_some(),
                "{place}: a row says what it `is`, or `by` what it is computed"
            );
            if name.starts_with("set.") {
                continue;
            }
            let fact = knowledge.facts.iter().find(|fact| *fact.name == *name);
            let fact = fact.ok_or_else(|| format!("{place}: no such fact in rules/facts/"))?;
            let words = match &row.is {
                Some(Plain::Flag(flag)) => flag.to_string(),
                Some(Plain::Number(number)) => number.to_string(),
                Some(Plain::Text(text)) => text.clone(),
                None => continue,
            };
            assert!(fact.allows(&words), "{place} cannot be `{words}`");
        }
    }
    Ok(())
}

#[test]
fn conditions_ask_for_what_somebody_states() -> Outcome {
    let knowledge = knowledge()?;
    for dialect in &knowledge.dialects {
        let stack = knowledge.stack(Some(&dialect.framework));
        // A framework built on this one may rely on this dialect to decide a fact.
        let near = |other: &&Dialect| {
            stack.contains(&&*other.framework) || knowledge.stack(Some(&other.framework)).contains(&&*dialect.framework)
        };
        let mut known: BTreeSet<String> = knowledge.facts.iter().map(|fact| fact.name.to_string()).collect();
        let surroundings = ["launch.commands", "launch.comments", "launch.files", "launch.frames", "launch.framework"];
        known.extend(surroundings.map(str::to_owned));
        for other in knowledge.dialects.iter().filter(near) {
            known.extend(other.setting.keys().map(|name| format!("set.{name}")));
            known.extend(other.fact.keys().map(|name| name.to_string()));
        }
        for (name, row) in rows(dialect) {
            for expression in [&row.when, &row.by].into_iter().flatten() {
                for asked in Expression::new(expression)?.names() {
                    let is_known = known.contains(&asked) || asked.starts_with("operand.");
                    assert!(is_known, "{}: {name} asks for `{asked}`, which nobody states", dialect.framework);
                }
            }
        }
    }
    Ok(())
}

/// Settings to which a dialect gives another default than the knob of the same name: the value in effect where nobody
/// sets it comes from another setting, another program or another version.
const OTHERWISE: [&str; 12] = [
    "accelerate accelerate_stage",
    "deepspeed ds_stage",
    "megatron gradients",
    "openrlhf micro_batch",
    "openrlhf prompt_length",
    "slime offload_rollout",
    "slime offload_train",
    "swift tuner",
    "trl max_completion_length",
    "trl max_prompt_length",
    "verl sft_batch",
    "vllm vllm_share",
];

#[test]
fn defaults_are_those_of_the_frameworks_knobs() -> Outcome {
    let knowledge = knowledge()?;
    let mut otherwise = BTreeSet::new();
    for dialect in &knowledge.dialects {
        for (name, row) in &dialect.setting {
            let Some(default) = row.default.as_ref().map(Value::from) else { continue };
            // The key without the mark of a variable or directive, and without the command it is given to.
            let is_named = |knob: &Knob| {
                row.keys.iter().any(|key| key.rsplit(['$', '#', ' ']).next().is_some_and(|key| knob.knows(key)))
            };
            let knobs = knowledge.knobs.iter().filter(|knob| knob.framework == dialect.framework && is_named(knob));
            if knobs.filter_map(|knob| knob.default_at(None)).any(|of_knob| Value::read(of_knob) != default) {
                otherwise.insert(format!("{} {name}", dialect.framework));
            }
        }
    }
    assert_eq!(otherwise, BTreeSet::from(OTHERWISE.map(str::to_owned)));
    Ok(())
}
