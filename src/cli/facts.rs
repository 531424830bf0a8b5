use super::error::CliError;
use crate::facts::Value;
use crate::knowledge::{Glossary, Knowledge};
use crate::rulebase::FactNames;

/// Refuses facts that nobody asks for: they would change nothing, and nobody would notice.
pub(super) fn check(told: &[(String, Value)], knowledge: &Knowledge) -> Result<(), CliError> {
    if told.is_empty() {
        return Ok(());
    }
    let names = FactNames::new(knowledge, &Glossary::shipped()?);
    match told.iter().find(|(name, _)| !names.is_known(name)) {
        Some((name, _)) => Err(CliError::NoFact { name: name.clone(), nearest: names.nearest(name) }),
        None => Ok(()),
    }
}
