//! Page-locked host memory.
//!
//! Every pinned allocation of PyTorch (`pin_memory()`, `empty(pin_memory=True)`, copies from the device with
//! `non_blocking=True`) goes through its `CachingHostAllocator`, which rounds up to the next power of two and never
//! frees (`aten/src/ATen/core/CachingHostAllocator.h`).

use serde::{Deserialize, Serialize};

use super::Amount;
use crate::model::Bytes;

/// The rounding of an allocator of pinned memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pinning {
    /// Up to a power of two, as PyTorch does without `pinned_max_round_threshold_mb`.
    #[default]
    PowersOfTwo,
    /// None: DeepSpeed's own allocator, or ordinary memory.
    Exact,
}

impl Pinning {
    /// The memory that an allocation of `size` takes.
    pub fn taken(self, size: Bytes) -> Bytes {
        match (self, u64::try_from(size.0)) {
            (Pinning::PowersOfTwo, Ok(size @ 1..)) => {
                let power = size.checked_next_power_of_two().unwrap_or(size);
                Bytes(power.into())
            }
            _ => size,
        }
    }

    /// The memory of many allocations of unknown sizes that add up to `sum`: at least the sum, and 1/ln 2 times it on
    /// average if their sizes are spread evenly between powers of two.
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
