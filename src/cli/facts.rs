use clap::Args;

use super::error::CliError;
use crate::facts::Value;
use crate::knowledge::{Glossary, Knowledge};
use crate::rulebase::FactNames;

/// Facts that the user knows and no input states.
#[derive(Debug, Args)]
pub(super) struct ToldFacts {
    /// Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`
    #[arg(long, value_name = "KEY=VALUE", value_parser = read)]
    pub fact: Vec<(String, Value)>,
}

impl ToldFacts {
    /// Refuses unknown facts: they would silently have no effect.
    pub fn check(&self, knowledge: &Knowledge) -> Result<(), CliError> {
        match unknown_fact(&self.fact, knowledge)? {
            Some((name, nearest)) => Err(CliError::NoFact { name, nearest }),
            None => Ok(()),
        }
    }
}

/// The first of `facts` with an unknown name, and known names with a similar spelling.
pub(super) fn unknown_fact(
    facts: &[(String, Value)],
    knowledge: &Knowledge,
) -> Result<Option<(String, Vec<String>)>, CliError> {
    if facts.is_empty() {
        return Ok(None);
    }
    let names = FactNames::new(knowledge, &Glossary::shipped()?);
    let unknown = facts.iter().find(|(name, _)| !names.is_known(name));
    Ok(unknown.map(|(name, _)| (name.clone(), names.nearest(name))))
}

/// Parses `host.memory=500GiB`: a name and a number, an amount of memory, a flag or words.
fn read(text: &str) -> Result<(String, Value), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), Value::read(value))),
        _ => Err("write it as KEY=VALUE, e.g. model=8b".to_owned()),
    }
}
