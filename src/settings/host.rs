use super::pattern::NamePattern;
use crate::facts::Value;

/// Facts about hosts with matching names.
#[derive(Debug, Clone)]
pub struct HostFacts {
    /// The pattern as written.
    pub name: String,
    /// The hosts.
    pub pattern: NamePattern,
    /// The facts about each.
    pub facts: Vec<(String, Value)>,
}
