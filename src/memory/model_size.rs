//! How large a model is, as far as that is known.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Amount;
use crate::knowledge::{ModelMatch, Shape};
use crate::model::Bytes;

/// A number of parameters known within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// At least.
    pub low: u64,
    /// At most.
    pub high: u64,
}

impl Parameters {
    /// Exactly `count`.
    pub const fn exactly(count: u64) -> Parameters {
        Parameters { low: count, high: count }
    }

    /// Between both, in whatever order they come.
    pub fn between(one: u64, other: u64) -> Parameters {
        Parameters { low: one.min(other), high: one.max(other) }
    }

    /// What a name rounds to `count`. Names round down: 7B are 6.7 to 8.3 billion, 13B are 13.0, 32B 32.8, 72B 72.7.
    pub fn named(count: u64) -> Parameters {
        Parameters { low: count - count / 20, high: count + count / 5 }
    }

    /// The part of each of `shards`, padded as the last one is.
    pub fn shard(self, shards: u64) -> Parameters {
        self.map(|count| count.div_ceil(shards.max(1)))
    }

    /// Both bounds through `change`, which must not turn them around.
    pub fn map(self, change: impl Fn(u64) -> u64) -> Parameters {
        Parameters { low: change(self.low), high: change(self.high) }
    }

    /// Memory at `width` bytes a parameter.
    pub fn at(self, width: Width) -> Amount {
        Amount { low: width.low_of(self.low), high: width.high_of(self.high) }
    }

    /// Memory by a computation on the exact number; it must grow with the number.
    pub fn bytes(self, compute: impl Fn(u64) -> Bytes) -> Amount {
        Amount { low: compute(self.low), high: compute(self.high) }
    }
}

impl From<(u64, u64)> for Parameters {
    fn from((low, high): (u64, u64)) -> Parameters {
        Parameters::between(low, high)
    }
}

impl fmt::Display for Parameters {
    /// In billions or millions: `7.62 B`, `7.60 to 9.60 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = if self.high < 100_000_000 { (1e6, "M") } else { (1e9, "B") };
        let shown = |count: u64| format!("{:.2}", count as f64 / unit);
        match self.low == self.high {
            true => write!(f, "{} {name}", shown(self.low)),
            false => write!(f, "{} to {} {name}", shown(self.low), shown(self.high)),
        }
    }
}

/// Bytes a parameter, within bounds: 8-bit states carry scales beside them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Width {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

impl Width {
    /// Nothing.
    pub const ZERO: Width = Width::exactly(0.0);
    /// 16-bit numbers.
    pub const TWO: Width = Width::exactly(2.0);
    /// 32-bit numbers.
    pub const FOUR: Width = Width::exactly(4.0);
    /// Two 32-bit numbers: Adam's moments.
    pub const EIGHT: Width = Width::exactly(8.0);

    /// Exactly `bytes`.
    pub const fn exactly(bytes: f64) -> Width {
        Width { low: bytes, high: bytes }
    }

    /// `low` to `high` bytes.
    pub const fn between(low: f64, high: f64) -> Width {
        Width { low, high }
    }

    /// `count` times as wide.
    pub fn times(self, count: f64) -> Width {
        Width { low: self.low * count, high: self.high * count }
    }

    /// Both together.
    pub fn plus(self, other: Width) -> Width {
        Width { low: self.low + other.low, high: self.high + other.high }
    }

    /// Whether it is no width at all.
    pub fn is_zero(self) -> bool {
        self.high <= 0.0
    }

    fn low_of(self, count: u64) -> Bytes {
        Bytes((count as f64 * self.low).round() as i128)
    }

    fn high_of(self, count: u64) -> Bytes {
        Bytes((count as f64 * self.high).round() as i128)
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two decimals tell an average from a whole number.
        let shown = |bytes: f64| (bytes * 100.0).round() / 100.0;
        match self.low == self.high {
            true => write!(f, "{}", shown(self.low)),
            false => write!(f, "{}–{}", shown(self.low), shown(self.high)),
        }
    }
}

/// A model as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelSize {
    /// All its parameters.
    pub parameters: Parameters,
    /// What it is built of; `None` when only its size is known.
    pub shape: Option<Shape>,
}

impl ModelSize {
    /// A model of known shape.
    pub fn of_shape(shape: Shape) -> ModelSize {
        ModelSize { parameters: Parameters::exactly(shape.parameters()), shape: Some(shape) }
    }

    /// A model of so many parameters, counted or printed, and unknown shape.
    pub fn of_parameters(count: u64) -> ModelSize {
        ModelSize { parameters: Parameters::exactly(count), shape: None }
    }
}

impl From<ModelMatch<'_>> for ModelSize {
    fn from(found: ModelMatch<'_>) -> ModelSize {
        match found {
            ModelMatch::Model(model) => ModelSize::of_shape(model.shape.clone()),
            ModelMatch::Size(count) => ModelSize { parameters: Parameters::named(count), shape: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_stay_exact() {
        let parameters = Parameters::exactly(405_853_388_800);
        assert_eq!(parameters.at(Width::exactly(16.0)), Amount::exactly(Bytes(16 * 405_853_388_800)));
        assert_eq!(parameters.shard(3).low, 135_284_462_934);
        assert_eq!(parameters.to_string(), "405.85 B");
    }

    #[test]
    fn a_named_size_holds_what_carries_the_name() {
        for (named, actual) in [(7, 6_738_415_616), (7, 8_292_166_656), (13, 13_015_864_320), (70, 68_976_648_192)] {
            let bounds = Parameters::named(named * 1_000_000_000);
            assert!((bounds.low..=bounds.high).contains(&actual), "{named}B: {actual}");
        }
    }
}
