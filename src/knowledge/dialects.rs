use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;

/// How a framework reads what it is launched with: one file of `rules/dialects/`.
///
/// A knob is a setting that moves memory, with all that whoever turns it should know. Most of what a launch says is none: it
/// chooses an algorithm, names a file, decides in which numbers weights are kept. Here stands which settings these are, and
/// what follows from all of them together, as the framework's own parsers and defaults decide it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    /// The framework.
    pub framework: Arc<str>,
    /// Where this was read, with versions.
    #[serde(rename = "source")]
    _source: String,
    /// Settings by the name under which conditions ask for them, behind `set.`.
    #[serde(default)]
    pub setting: BTreeMap<Arc<str>, SettingRow>,
    /// Facts and what decides them; of several rows the first that holds.
    #[serde(default)]
    pub fact: BTreeMap<Arc<str>, Vec<FactRow>>,
    /// Launches and what they must be read as.
    #[serde(default)]
    pub example: Vec<DialectExample>,
}

/// A setting that decides something.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingRow {
    /// Its names, the one that counts first: a flag or a key; behind `$` a variable of the environment, behind `#` a directive of the
    /// scheduler; behind the words of a command and a blank that command's alone: `torchrun --nproc_per_node`.
    pub keys: Vec<Arc<str>>,
    /// Its value where nobody sets it; an empty text where that is known to be nothing. Absent: unknown then.
    #[serde(default)]
    pub default: Option<Plain>,
}

/// What decides a fact.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactRow {
    /// Its value then.
    #[serde(default)]
    pub is: Option<Plain>,
    /// An expression (CEL) of its value then.
    #[serde(default)]
    pub by: Option<Condition>,
    /// A condition (CEL); where a fact that it needs is not known, the fact that it decides is not known either.
    #[serde(default)]
    pub when: Option<Condition>,
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

/// A launch and what it must be read as.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialectExample {
    /// Its files by name, in the order of their names.
    pub files: BTreeMap<String, String>,
    /// Facts that must come out.
    pub states: BTreeMap<Arc<str>, Plain>,
    /// Facts that must stay open.
    #[serde(default)]
    pub leaves_open: Vec<Arc<str>>,
}
