use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;

/// How a framework reads what it is launched with: one file of `rules/dialects/`.
///
/// A knob is a setting that moves memory, with everything that one should know before turning it. Most settings of a launch are not knobs:
/// they choose an algorithm, name a file, or decide the precision of weights. A dialect lists these settings and the facts that follow from
/// all of them together, as the framework's own parsers and defaults decide.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    /// The framework.
    pub framework: Arc<str>,
    /// Where this was read, with versions.
    #[serde(rename = "source")]
    _source: String,
    /// Settings by the name that conditions use after `set.`.
    #[serde(default)]
    pub setting: BTreeMap<Arc<str>, SettingRow>,
    /// Facts and the rows that decide them; the first that holds counts.
    #[serde(default)]
    pub fact: BTreeMap<Arc<str>, Vec<FactRow>>,
    /// Launches and the facts that must be read from them.
    #[serde(default)]
    pub example: Vec<DialectExample>,
}

/// A setting that decides facts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingRow {
    /// Its names in order of precedence: a flag or a key; `$NAME` for an environment variable, `#NAME` for a scheduler's directive;
    /// preceded by a command it counts only for that command: `torchrun --nproc_per_node`.
    pub keys: Vec<Arc<str>>,
    /// Its default; an empty text if the default is known to be nothing. Absent: unknown.
    #[serde(default)]
    pub default: Option<Plain>,
}

/// A row that decides a fact.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactRow {
    /// The fact's value.
    #[serde(default)]
    pub is: Option<Plain>,
    /// An expression (CEL) for the fact's value.
    #[serde(default)]
    pub by: Option<Condition>,
    /// A condition (CEL). If it needs an unknown fact, the decided fact is unknown, too.
    #[serde(default)]
    pub when: Option<Condition>,
}

impl FactRow {
    /// Whether its expressions may ask for one of these facts: they have its name in them.
    pub fn asks_any(&self, facts: &[&str]) -> bool {
        facts.iter().any(|fact| self.expressions().any(|expression| expression.contains(fact)))
    }

    /// Its expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Condition> {
        [&self.by, &self.when].into_iter().flatten()
    }
}

/// A value as a table writes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Plain {
    /// `true`
    Flag(bool),
    /// `2`, `0.5`
    Number(f64),
    /// Words.
    Text(String),
}

/// A launch and the facts that must be read from it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialectExample {
    /// Its files by name, in the order of their names.
    pub files: BTreeMap<String, String>,
    /// Facts that must be found.
    pub states: BTreeMap<Arc<str>, Plain>,
    /// Facts that must stay open.
    #[serde(default)]
    pub leaves_open: Vec<Arc<str>>,
}
