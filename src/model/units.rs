use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount of memory in bytes. It is signed because a budget can be overdrawn (vLLM prints a negative KV cache).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(pub i64);

impl Bytes {
    /// 2^10 bytes.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// 2^20 bytes.
    pub const MIB: Bytes = Bytes(1 << 20);
    /// 2^30 bytes.
    pub const GIB: Bytes = Bytes(1 << 30);
    /// 2^40 bytes.
    pub const TIB: Bytes = Bytes(1 << 40);

    /// `amount` units of `unit`, rounded to the nearest byte; `None` if that is not a sensible number of bytes (the kernel prints "no
    /// limit" as 2^63 bytes less a page).
    pub fn of(amount: f64, unit: Bytes) -> Option<Bytes> {
        const UNLIMITED: f64 = (1u64 << 62) as f64;
        let bytes = amount * unit.0 as f64;
        (bytes.is_finite() && bytes.abs() < UNLIMITED).then(|| Bytes(bytes.round() as i64))
    }

    /// The amount in GiB (2^30 bytes).
    pub fn gib(self) -> f64 {
        self.0 as f64 / Bytes::GIB.0 as f64
    }
}

impl fmt::Display for Bytes {
    /// The largest binary unit of which there is at least one, with two decimals: `2.00 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        for (unit, name) in [(Bytes::TIB, "TiB"), (Bytes::GIB, "GiB"), (Bytes::MIB, "MiB"), (Bytes::KIB, "KiB")] {
            if size >= unit.0.unsigned_abs() {
                return write!(f, "{:.2} {name}", self.0 as f64 / unit.0 as f64);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

impl std::ops::Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl std::ops::Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(amounts: I) -> Bytes {
        amounts.fold(Bytes(0), |sum, amount| sum + amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_largest_whole_unit() {
        assert_eq!(Bytes(0).to_string(), "0 bytes");
        assert_eq!(Bytes(2 << 30).to_string(), "2.00 GiB");
        assert_eq!(Bytes(20 << 20).to_string(), "20.00 MiB");
        assert_eq!(Bytes(-(3 << 30)).to_string(), "-3.00 GiB");
    }

    #[test]
    fn no_limit_is_no_amount() {
        assert_eq!(Bytes::of(9_007_199_254_740_988.0, Bytes::KIB), None);
        assert_eq!(Bytes::of(f64::NAN, Bytes::GIB), None);
        assert_eq!(Bytes::of(1.16, Bytes::GIB), Some(Bytes(1_245_540_516)));
    }
}
