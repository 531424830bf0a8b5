use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::model::Bytes;

/// An amount of memory known within bounds; both are the same where it is known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// At least.
    pub low: Bytes,
    /// At most.
    pub high: Bytes,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount::exactly(Bytes(0));

    /// Exactly `bytes`.
    pub const fn exactly(bytes: Bytes) -> Amount {
        Amount { low: bytes, high: bytes }
    }

    /// Anything up to `high`.
    pub const fn up_to(high: Bytes) -> Amount {
        Amount { low: Bytes(0), high }
    }

    /// At least `low` and at most `high`.
    pub fn between(low: Bytes, high: Bytes) -> Amount {
        Amount { low: low.min(high), high: high.max(low) }
    }

    /// Widens the bounds by `share`: 0.25 is ±25 %.
    pub fn around(self, share: f64) -> Amount {
        Amount { low: scale(self.low, 1.0 - share), high: scale(self.high, 1.0 + share) }
    }

    /// `count` times as much.
    pub fn times(self, count: u64) -> Amount {
        self.map(|bytes| Bytes(bytes.0.saturating_mul(count.into())))
    }

    /// Applies `change` to both bounds; it must keep their order.
    pub fn map(self, change: impl Fn(Bytes) -> Bytes) -> Amount {
        Amount { low: change(self.low), high: change(self.high) }
    }

    /// The larger amount, bound by bound.
    pub fn max(self, other: Amount) -> Amount {
        Amount { low: self.low.max(other.low), high: self.high.max(other.high) }
    }

    /// The 95 % interval of the sum of `amounts` if each lies anywhere within its bounds, independently of the others:
    /// the middles add up, and so do the squares of the half-widths.
    pub fn together(amounts: impl IntoIterator<Item = Amount>) -> Amount {
        /// 1.96 standard deviations, where the uniform distribution over ±1 has a standard deviation of 1 ÷ √3.
        const SURE: f64 = 1.13;
        let (mut middle, mut all, mut squares) = (0.0, 0.0, 0.0f64);
        for Amount { low, high } in amounts {
            let half = (high.0 - low.0) as f64 / 2.0;
            middle += low.0 as f64 + half;
            all += half;
            squares += half * half;
        }
        let half = all.min(SURE * squares.sqrt());
        let bytes = |bytes: f64| Bytes(bytes.round() as i128);
        Amount { low: bytes(middle - half), high: bytes(middle + half) }
    }

    /// From zero up to the upper bound, for memory that may not be taken.
    pub fn maybe(self) -> Amount {
        Amount::up_to(self.high)
    }

    /// The middle between the bounds.
    pub fn middle(self) -> Bytes {
        Bytes(self.low.0 + (self.high.0 - self.low.0) / 2)
    }

    /// Whether it is zero even at the upper bound.
    pub fn is_nothing(self) -> bool {
        self.high.0 <= 0
    }
}

/// `bytes` times `factor`, to the nearest byte.
pub(super) fn scale(bytes: Bytes, factor: f64) -> Bytes {
    Bytes((bytes.0 as f64 * factor).round() as i128)
}

impl Add for Amount {
    type Output = Amount;
    fn add(self, other: Amount) -> Amount {
        Amount { low: self.low + other.low, high: self.high + other.high }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::ZERO, Add::add)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.low == self.high {
            true => self.low.fmt(f),
            false => write!(f, "{} to {}", self.low, self.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_errors_partly_cancel_out() {
        let amount = |low, high| Amount::between(Bytes(low), Bytes(high));
        assert_eq!(Amount::together([amount(3, 5)]), amount(3, 5), "one alone has nothing to cancel with");
        assert_eq!(Amount::together([amount(100, 300), Amount::exactly(Bytes(50))]), amount(150, 350));
        // ±100 four times: ±226, not ±400.
        assert_eq!(Amount::together([amount(0, 200); 4]), amount(174, 626));
        assert_eq!(Amount::together([]), Amount::ZERO);
    }
}
