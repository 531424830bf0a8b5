use super::pattern::NamePattern;
use crate::facts::Value;

/// What is known of hosts whose names fit.
#[derive(Debug, Clone)]
pub struct HostFacts {
    /// As it was written.
    pub name: String,
    /// Which hosts.
    pub pattern: NamePattern,
    /// What is known of each.
    pub facts: Vec<(String, Value)>,
}
