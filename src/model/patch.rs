//! What to change, and what that would do.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bytes, Outcomes};

/// A change of the job's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Patch {
    /// What it turns, whatever the framework calls it.
    pub lever: Arc<str>,
    /// As the user's framework version spells it.
    pub knob: String,
    /// Its value now.
    pub from: Option<String>,
    /// Its value then; absent where nobody knows from what to count, or how much is needed.
    pub to: Option<Scalar>,
    /// What is known of its value then, where that is not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// What must be set with it, or it is refused or does nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Partner>,
    /// Where it is set: `cli`, `json`, `yaml`, `env`, `python`, `system`.
    pub target: String,
    /// The user's own file, where it is known.
    pub file: Option<String>,
    /// The edit as a unified diff.
    pub diff: Option<String>,
    /// What to type or to write where no file was given that sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The settings that make the edit; no part of what is written or kept.
    #[serde(skip)]
    #[doc(hidden)]
    pub edits: Vec<Edit>,
    /// What it moves.
    pub effect: PatchEffect,
    /// What the incident's moment needs then.
    #[serde(default)]
    pub needs: PatchNeeds,
    /// Whether that is no more than there is; absent where the arithmetic does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffices: Option<bool>,
    /// What it costs.
    pub cost: Option<String>,
    /// What must hold for it to work, then what else is worth knowing.
    pub constraint: Option<String>,
    /// The latter alone: the end of `constraint` that is no condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How it went here before, for the same cause in incidents of the same kind and phase; absent where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Outcomes>,
}

impl Patch {
    /// What must hold for it to work: [`Patch::constraint`] without the [`Patch::note`] behind it.
    pub fn condition(&self) -> Option<&str> {
        let both = self.constraint.as_deref()?;
        let condition = self.note.as_deref().and_then(|note| both.strip_suffix(note)).unwrap_or(both).trim_end();
        (!condition.is_empty()).then_some(condition)
    }
}

/// A value of a setting, of the type that it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum Scalar {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Number(f64),
    /// Anything else; in angle brackets stands what only the user knows.
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

/// How far to turn what is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// Multiply it by this.
    Times(f64),
    /// Add this to it.
    Add(f64),
    /// To no less than this: more may be needed, and nothing says how much.
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

/// A setting without which another one is refused or does nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Partner {
    /// As the user's framework version spells it.
    pub knob: String,
    /// Its value.
    pub to: Scalar,
}

/// One setting of one of the user's files.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// The file.
    pub file: Arc<str>,
    /// As the file spells it.
    pub key: String,
    /// Its value then.
    pub to: Scalar,
    /// How a script gives it.
    pub given: Given,
    /// To which of the script's commands.
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
}

/// Several patches that do together what none of them does alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PatchSet {
    /// Their knobs, each of one of the diagnosis' patches.
    pub knobs: Vec<String>,
    /// What the incident's moment needs then.
    pub needs: PatchNeeds,
}

/// How many bytes a patch moves; negative frees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PatchEffect {
    /// Per device.
    pub gpu_bytes: Option<Bytes>,
    /// Per host.
    pub host_bytes: Option<Bytes>,
}

/// What the moment of the incident needs once a patch is applied, as far as the arithmetic knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PatchNeeds {
    /// On a device.
    pub gpu: Option<Need>,
    /// On a host.
    pub host: Option<Need>,
}

/// An amount that is needed, of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Need {
    /// Needed.
    pub bytes: Bytes,
    /// There is so much, where that is known.
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
