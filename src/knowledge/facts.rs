use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;
use super::language::Words;

/// A file of `rules/facts/`: the names under which settings of several frameworks are one fact.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactFile {
    pub fact: Vec<Fact>,
}

/// A name that conditions may use.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The name: `config.zero_stage`.
    pub name: Arc<str>,
    /// The type of its values.
    pub r#type: FactType,
    /// The unit of a number.
    #[serde(default)]
    pub unit: Option<Arc<str>>,
    /// The possible words, if they are few.
    #[serde(default)]
    pub values: Vec<Arc<str>>,
    /// What it means.
    pub meaning: Words,
    /// What shows it if no configuration states it.
    #[serde(default)]
    pub shown_by: Vec<Shown>,
}

/// A way in which logs show a fact.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// A condition (CEL) over facts from the logs.
    pub when: Condition,
    /// The fact's value then.
    pub value: String,
}

/// The type of a fact's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactType {
    /// A number; conditions write it with a decimal point.
    Number,
    /// Words.
    Text,
    /// `true` or `false`.
    Flag,
    /// Several words: ask with `exists`.
    List,
}

impl FactType {
    /// The word for it in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            FactType::Number => "number",
            FactType::Text => "text",
            FactType::Flag => "flag",
            FactType::List => "list",
        }
    }
}

impl Fact {
    /// Whether `value`, as a rule writes it, is a possible value.
    pub fn allows(&self, value: &str) -> bool {
        match self.r#type {
            FactType::Number => value.parse::<f64>().is_ok_and(f64::is_finite),
            FactType::Flag => matches!(value, "true" | "false"),
            FactType::List => false,
            FactType::Text => self.values.is_empty() || self.values.iter().any(|known| &**known == value),
        }
    }
}
