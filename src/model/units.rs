use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of memory in bytes. It is signed because a budget can be overdrawn (vLLM prints a negative KV cache), and wider than an address
/// because programs print negative lengths as sizes near 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transparent))]
pub struct Bytes(#[cfg_attr(feature = "schema", schemars(with = "i64"))] pub i128);

impl Bytes {
    /// 2^10 bytes.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// 2^20 bytes.
    pub const MIB: Bytes = Bytes(1 << 20);
    /// 2^30 bytes.
    pub const GIB: Bytes = Bytes(1 << 30);
    /// 2^40 bytes.
    pub const TIB: Bytes = Bytes(1 << 40);

    /// 2^60 bytes: no machine has as much memory, so a request of it is a length that overflowed.
    pub const EIB: Bytes = Bytes(1 << 60);

    /// `amount` units of `unit`, rounded to the nearest byte; `None` if that is not a sensible number of bytes. Just below 2^62 and 2^63 it
    /// stands for "no limit" (the kernel prints 2^63 less a page), and up to 2^64 for a negative length.
    pub fn of(amount: f64, unit: Bytes) -> Option<Bytes> {
        const MOST: f64 = (1u128 << 64) as f64;
        let bytes = amount * unit.0 as f64;
        let is_sensible = bytes.is_finite() && bytes.abs() <= MOST && !is_no_limit(bytes.abs() as u128);
        is_sensible.then(|| Bytes((bytes.round() as i128).min(u64::MAX.into())))
    }

    /// [`Bytes::of`] a whole number of bytes, which tells 2^63 from the "no limit" just below it.
    pub fn counted(bytes: u64) -> Option<Bytes> {
        let is_amount = bytes == 1 << 63 || !is_no_limit(bytes.into());
        is_amount.then_some(Bytes(bytes as i128))
    }

    /// The amount in GiB (2^30 bytes).
    pub fn gib(self) -> f64 {
        self.0 as f64 / Bytes::GIB.0 as f64
    }
}

/// Whether so many bytes are the largest number of a type, less what it was rounded by: a page, or a unit. Between these numbers lie sizes that
/// were read from memory which nothing had been written to.
fn is_no_limit(bytes: u128) -> bool {
    // `9.2 EB` has two digits of it.
    [1u128 << 62, 1 << 63].into_iter().any(|most| (most - most / 256..=most).contains(&bytes))
}

impl fmt::Display for Bytes {
    /// The largest binary unit of which there is at least one, with two decimals: `2.00 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        for (unit, name) in
            [(Bytes::EIB, "EiB"), (Bytes::TIB, "TiB"), (Bytes::GIB, "GiB"), (Bytes::MIB, "MiB"), (Bytes::KIB, "KiB")]
        {
            if size >= unit.0.unsigned_abs() {
                return write!(f, "{:.2} {name}", self.0 as f64 / unit.0 as f64);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 < 0 {
            return serializer.serialize_i64(i64::try_from(self.0).unwrap_or(i64::MIN));
        }
        serializer.serialize_u64(u64::try_from(self.0).unwrap_or(u64::MAX))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Amount;

        impl serde::de::Visitor<'_> for Amount {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of bytes")
            }

            fn visit_i64<E>(self, amount: i64) -> Result<Bytes, E> {
                Ok(Bytes(amount.into()))
            }

            fn visit_u64<E>(self, amount: u64) -> Result<Bytes, E> {
                Ok(Bytes(amount.into()))
            }
        }

        deserializer.deserialize_i64(Amount)
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
        assert_eq!(Bytes::counted(9_223_372_036_854_771_712), None);
        assert_eq!(Bytes::of(9_223_372_036_854_771_712.0, Bytes(1)), None);
        assert_eq!(Bytes::of(f64::NAN, Bytes::GIB), None);
        assert_eq!(Bytes::of(1.16, Bytes::GIB), Some(Bytes(1_245_540_516)));
    }

    #[test]
    fn a_negative_length_is_an_amount_near_two_to_the_64() {
        let minus_one = Bytes(u64::MAX.into());
        assert_eq!(Bytes::counted(u64::MAX), Some(minus_one));
        assert_eq!(Bytes::counted(1 << 63), Some(Bytes(1 << 63)));
        assert_eq!(Bytes::of(17_179_869_184.0, Bytes::GIB), Some(minus_one));
        assert_eq!(minus_one.to_string(), "16.00 EiB");
        assert_eq!(serde_json::to_string(&minus_one).ok().as_deref(), Some("18446744073709551615"));
        assert_eq!(serde_json::from_str::<Bytes>("18446744073709551615").ok(), Some(minus_one));
        assert_eq!(serde_json::from_str::<Bytes>("-5").ok(), Some(Bytes(-5)));
    }
}
