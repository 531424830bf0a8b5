use serde::{Deserialize, Serialize};

use super::{Bytes, Citation, FigureName, Location};

/// A number that a log states, or one computed from such numbers, which then has `derived`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Figure {
    /// What the number measures.
    pub name: FigureName,
    /// The amount, if it is an amount of memory.
    pub bytes: Option<Bytes>,
    /// The number, if it is not an amount of memory: a share, an index, a process id.
    pub value: Option<f64>,
    /// The words that state it, verbatim.
    pub text: String,
    /// Where those words stand.
    pub source: Location,
    /// How it was computed, if no single place states it.
    pub derived: Option<Derivation>,
}

/// How a figure was computed from others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Derivation {
    /// The computation in words and numbers.
    pub formula: String,
    /// The lines that state the numbers used.
    pub from: Vec<Citation>,
}

impl Figure {
    /// The number of bytes, or the value of a figure that is not an amount of memory.
    pub fn amount(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes.0 as f64).or(self.value)
    }
}
