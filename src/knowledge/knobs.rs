use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;
use super::words::Words;

/// One file of `rules/knobs/`: what a framework lets one turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnobFile {
    /// The framework.
    pub framework: Arc<str>,
    /// Where this was read, with versions.
    #[serde(rename = "source")]
    _source: String,
    #[serde(default)]
    pub knob: Vec<Knob>,
}

/// A setting that moves memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// Its name within the framework, for rules and for `explain`.
    pub id: Arc<str>,
    /// Set from the file.
    #[serde(skip)]
    pub framework: Arc<str>,
    /// Where it is set.
    pub target: Target,
    /// What its values are.
    pub r#type: Type,
    /// How it is spelled, by version; the newest last.
    pub spelling: Vec<Spelling>,
    /// Its value where nobody sets it, by version; the newest last.
    #[serde(default)]
    pub default: Vec<Default>,
    /// What it turns, and how far.
    pub lever: Vec<Turn>,
    /// The fact that its value is, for rules: `config.zero_stage`. Knobs of several frameworks share one.
    #[serde(default)]
    pub fact: Option<Arc<str>>,
    /// What a value means as that fact, where it is not the value itself: `true` of `--adam_offload` is `cpu`.
    #[serde(default)]
    pub means: BTreeMap<String, String>,
    /// What memory it moves.
    pub moves: Words,
    /// What it costs.
    pub cost: Words,
    /// What must hold for it to work.
    #[serde(default)]
    pub constraint: Vec<Constraint>,
}

/// Where a knob is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A command line.
    Cli,
    /// A JSON file.
    Json,
    /// A YAML file, or an override of one on a command line.
    Yaml,
    /// The environment.
    Env,
    /// The training script.
    Python,
    /// The machine, container or scheduler.
    System,
}

impl Target {
    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Target::Cli => "cli",
            Target::Json => "json",
            Target::Yaml => "yaml",
            Target::Env => "env",
            Target::Python => "python",
            Target::System => "system",
        }
    }
}

/// What a knob's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// On when it stands there.
    Flag,
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// An amount of memory with a unit.
    Size,
    /// One of several words.
    Choice,
    /// Anything.
    Text,
}

/// How a knob is spelled in a range of versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spelling {
    /// As one writes it: `--zero_stage`, `zero_optimization.stage`.
    pub name: Arc<str>,
    /// The first version that knows it.
    #[serde(default)]
    pub since: Option<Arc<str>>,
    /// The last version that knows it.
    #[serde(default)]
    pub until: Option<Arc<str>>,
}

/// A knob's default in a range of versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Default {
    /// The value.
    pub value: String,
    /// The first version that has it.
    #[serde(default)]
    pub since: Option<Arc<str>>,
}

/// What a knob does to a lever.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The lever.
    pub name: Arc<str>,
    /// Which way, where a lever goes both ways.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// How to turn it.
    pub to: To,
    /// Never beyond this.
    #[serde(default)]
    pub limit: Option<f64>,
}

/// Which way a lever is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To more.
    Raise,
    /// To less.
    Lower,
}

/// How to turn a knob.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// Switch it on.
    On,
    /// Switch it off.
    Off,
    /// Multiply by this; whole numbers stay whole and at least 1.
    Scale(f64),
    /// Add this.
    Add(f64),
    /// To this value.
    Value(String),
}

/// What must hold for a knob to be accepted and to do what it says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// A condition (CEL) under which it is refused or does nothing.
    #[serde(default)]
    pub unless: Option<Condition>,
    /// The same in words.
    pub text: Words,
}
