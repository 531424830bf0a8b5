//! Changes of the configuration and their effects.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bytes, Outcomes};

/// A change of the job's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Patch {
    /// What it changes, independent of the framework.
    pub lever: Arc<str>,
    /// The setting, as the user's framework version spells it.
    pub knob: String,
    /// The current value.
    pub from: Option<String>,
    /// The new value; absent if the current value or the amount that is needed is not known.
    pub to: Option<Scalar>,
    /// How to change the value, if the new value is not fully known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Settings that must be changed too; without them this one is refused or has no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Partner>,
    /// Where it is set: `cli`, `json`, `yaml`, `env`, `python`, `system`.
    pub target: String,
    /// The user's own file that sets it, if it is known.
    pub file: Option<String>,
    /// The edit as a unified diff.
    pub diff: Option<String>,
    /// What to type or write, if none of the given files sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The settings that the edit changes; not written or stored.
    #[serde(skip)]
    #[doc(hidden)]
    pub edits: Vec<Edit>,
    /// How much memory it frees or adds.
    pub effect: PatchEffect,
    /// How much memory is needed at the moment of the incident after the change.
    #[serde(default)]
    pub needs: PatchNeeds,
    /// Whether that is available; absent if it cannot be computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffices: Option<bool>,
    /// What the change costs.
    pub cost: Option<String>,
    /// The condition under which it works, followed by the note.
    pub constraint: Option<String>,
    /// The note alone: the end of `constraint` that is not a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its outcomes for the same cause in earlier incidents of the same kind and phase; absent if none were reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Outcomes>,
}

impl Patch {
    /// The condition under which it works: [`Patch::constraint`] without the [`Patch::note`] at its end.
    pub fn condition(&self) -> Option<&str> {
        let both = self.constraint.as_deref()?;
        let condition = self.note.as_deref().and_then(|note| both.strip_suffix(note)).unwrap_or(both).trim_end();
        (!condition.is_empty()).then_some(condition)
    }
}

/// A value of a setting, with its type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum Scalar {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// Any other value; a part in angle brackets is one that only the user knows.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Flag(flag) => flag.fmt(f),
            Scalar::Integer(number) => number.fmt(f),
            Scalar::Number(number) => number.fmt(f),
            Scalar::Text(words) => f.write_str(words),
        }
    }
}

/// How to change a value that is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// Multiply it by this.
    Times(f64),
    /// Add this to it.
    Add(f64),
    /// Set it to at least this: more may be needed, and nothing says how much.
    AtLeast(Scalar),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Times(factor) => write!(f, "× {factor}"),
            Change::Add(amount) => write!(f, "{}{}", if *amount < 0.0 { "− " } else { "+ " }, amount.abs()),
            Change::AtLeast(amount) => write!(f, "≥ {amount}"),
        }
    }
}

/// A setting that another one requires: without it, the other one is refused or has no effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Partner {
    /// The setting, as the user's framework version spells it.
    pub knob: String,
    /// Its value.
    pub to: Scalar,
}

/// A change of one setting in one of the user's files.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// The file.
    pub file: Arc<str>,
    /// The setting, as the file spells it.
    pub key: String,
    /// The new value.
    pub to: Scalar,
    /// How the file sets it.
    pub given: Given,
    /// The number of the script's command that it belongs to.
    pub command: Option<usize>,
}

/// How a setting is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// As a key of a configuration file.
    Setting,
    /// As an option: `--zero_stage 3`.
    Flag,
    /// As a key on a command line: `data.rollout_batch_size=128`.
    Override,
    /// In the environment.
    Env,
    /// As a line for the scheduler: `#SBATCH --mem=64G`.
    Directive,
    /// Not any more: the key goes.
    Removed,
    /// As the command that starts the script of `key` in the place of Python: `accelerate launch --config_file fsdp.yaml`.
    Launcher,
}

/// Several patches that free enough memory together, but not alone; or, where that cannot be counted, that are not known to free too little.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PatchSet {
    /// The settings; each belongs to one of the diagnosis' patches.
    pub knobs: Vec<String>,
    /// How much memory is needed at the moment of the incident after all these changes, where it can be counted.
    pub needs: PatchNeeds,
}

/// How many bytes a patch adds; a negative amount is freed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PatchEffect {
    /// Per device.
    pub gpu_bytes: Option<Bytes>,
    /// Per host.
    pub host_bytes: Option<Bytes>,
}

/// How much memory is needed at the moment of the incident after a patch, as far as it can be computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PatchNeeds {
    /// On a device.
    pub gpu: Option<Need>,
    /// On a host.
    pub host: Option<Need>,
}

/// An amount of memory that is needed, and the capacity for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Need {
    /// The amount that is needed.
    pub bytes: Bytes,
    /// The amount that exists, if it is known.
    pub capacity: Option<Bytes>,
}

impl fmt::Display for Need {
    /// `15.87 of 79.15 GiB`, or `15.87 GiB` where nobody knows what there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.capacity {
            Some(capacity) => write!(f, "{:.2} of {:.2} GiB", self.bytes.gib(), capacity.gib()),
            None => self.bytes.fmt(f),
        }
    }
}
