//! Page-locked host memory.
//!
//! Every pinned allocation of PyTorch (`pin_memory()`, `empty(pin_memory=True)`, copies from the device with
//! `non_blocking=True`) comes from its `CachingHostAllocator`, which takes the next power of two and keeps it
//! (`aten/src/ATen/core/CachingHostAllocator.h`).

use serde::{Deserialize, Serialize};

use super::Amount;
use crate::model::Bytes;

/// How an allocator of pinned memory rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pinning {
    /// Up to a power of two: PyTorch without `pinned_max_round_threshold_mb`.
    #[default]
    PowersOfTwo,
    /// Not at all: DeepSpeed's own allocator, or ordinary memory.
    Exact,
}

impl Pinning {
    /// What an allocation of `size` takes.
    pub fn taken(self, size: Bytes) -> Bytes {
        match (self, u64::try_from(size.0)) {
            (Pinning::PowersOfTwo, Ok(size @ 1..)) => {
                let power = size.checked_next_power_of_two().unwrap_or(size);
                Bytes(i64::try_from(power).unwrap_or(i64::MAX))
            }
            _ => size,
        }
    }

    /// What many allocations of unknown sizes take that are `sum` together: at least that, and where sizes lie anywhere
    /// between two powers of two, 1/ln 2 of it on average.
    pub fn taken_by_many(self, sum: Amount) -> Amount {
        match self {
            Pinning::PowersOfTwo => {
                Amount { low: sum.low, high: super::amount::scale(sum.high, std::f64::consts::LOG2_E) }
            }
            Pinning::Exact => sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_powers_of_two() {
        let taken = |size| Pinning::PowersOfTwo.taken(Bytes(size)).0;
        assert_eq!([taken(0), taken(1), taken(1024), taken(1025), taken(-5)], [0, 1, 1024, 2048, -5]);
        // The 16-bit gradients of 72.7e9 parameters on one of 8 ranks: 16.93 GiB.
        assert_eq!(taken(2 * 72_700_000_000 / 8), 32 << 30);
        assert_eq!(Pinning::Exact.taken(Bytes(1025)).0, 1025);
    }
}
