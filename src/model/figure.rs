use serde::{Deserialize, Serialize};

use super::{Bytes, Citation, FigureName, Location};

/// A number that a log states, or one computed from such numbers; the latter says so in `derived`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Figure {
    /// What it measures.
    pub name: FigureName,
    /// The amount, where it is one of memory.
    pub bytes: Option<Bytes>,
    /// The number, where it is none of memory: a share, an index, a process id.
    pub value: Option<f64>,
    /// The words that state it, verbatim.
    pub text: String,
    /// Where those words stand.
    pub source: Location,
    /// How it was computed, when no single place states it.
    pub derived: Option<Derivation>,
}

/// How a figure came out of others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Derivation {
    /// The computation in words and numbers.
    pub formula: String,
    /// What it was computed from.
    pub from: Vec<Citation>,
}

impl Figure {
    /// The number that counts: bytes for memory, else the value.
    pub fn amount(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes.0 as f64).or(self.value)
    }
}
