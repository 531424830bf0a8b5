//! Finds what a requested size was allocated for.
//!
//! A request of 2.32 GiB is 4096 × 152064 × 4 bytes: logits of 4096 tokens in fp32. A size that many quantities could
//! produce proves little, so every match states how likely it is to arise by chance.

mod quantities;

pub use quantities::Family;
use quantities::{Quantity, Size, quantities};

use super::layout::Layout;
use super::{ModelSize, Parameters, Width};
use crate::model::Bytes;

/// A requested size within the bounds of its printed digits, and how the allocator rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requested {
    /// At least.
    pub low: Bytes,
    /// At most.
    pub high: Bytes,
    /// How the allocator rounded the request.
    pub rounding: Rounding,
}

/// How an allocator rounds a request before it reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// PyTorch's caching allocator (`c10/cuda/CUDACachingAllocator.cpp`, `get_allocation_size`): sizes up to 1 MiB
    /// become 2 MiB, below 10 MiB 20 MiB, and larger ones the next multiple of 2 MiB.
    Caching,
    /// No rounding.
    Exact,
}

impl Rounding {
    /// The size that is requested if `size` is needed.
    pub fn asked(self, size: Bytes) -> Bytes {
        const MIB: i128 = Bytes::MIB.0;
        match (self, size.0) {
            (Rounding::Exact, _) => size,
            (_, ..=0) => size,
            (_, 1..=MIB) => Bytes(2 * MIB),
            (_, size) if size < 10 * MIB => Bytes(20 * MIB),
            (_, size) => Bytes(size.saturating_add(2 * MIB - 1) / (2 * MIB) * (2 * MIB)),
        }
    }

    fn step(self) -> f64 {
        match self {
            Rounding::Caching => 2.0 * Bytes::MIB.0 as f64,
            Rounding::Exact => 0.0,
        }
    }
}

impl Requested {
    /// The bounds of `bytes` that were printed as `text`: half a unit of the last decimal to either side (`2.32 GiB`).
    /// Text without a decimal point is exact.
    pub fn printed(bytes: Bytes, text: &str, rounding: Rounding) -> Requested {
        let digits = text.find(|c: char| c.is_ascii_digit()).map_or("", |at| &text[at..]);
        let number = digits.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or("").trim_end_matches('.');
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let half = match number.parse::<f64>() {
            Ok(value) if decimals > 0 && value > 0.0 => {
                let unit = bytes.0 as f64 / value;
                (unit * 0.5 * 10f64.powi(-i32::try_from(decimals).unwrap_or(0))).ceil() as i128
            }
            _ => 0,
        };
        Requested { low: Bytes(bytes.0 - half), high: Bytes(bytes.0 + half), rounding }
    }

    /// Whether a need of `size` would be printed like this.
    fn fits(&self, size: Bytes) -> bool {
        (self.low..=self.high).contains(&self.rounding.asked(size))
    }

    /// The width, in bytes, of the range of sizes that are printed alike; for small requests this is nearly everything.
    fn window(&self) -> f64 {
        if self.rounding == Rounding::Caching && self.low.0 <= 20 * Bytes::MIB.0 {
            return self.high.0 as f64;
        }
        (self.high.0 - self.low.0) as f64 + self.rounding.step()
    }
}

/// A quantity that has the requested size.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeMatch {
    /// The quantity, in words.
    pub quantity: &'static str,
    /// The quantity's family.
    pub family: Family,
    /// The computation of the size: `4096 tokens × 152064 vocabulary × 4 bytes`.
    pub formula: String,
    /// Its exact size.
    pub bytes: Bytes,
    /// The number that was solved for: tokens, or the length of a sequence.
    pub multiple: Option<u64>,
    /// The probability, 0–1, that some quantity has such a size by chance. For a quantity of known size it is the share
    /// of sizes around it that are printed alike, for a multiple the same among the multiples that are as round; both
    /// times the number of quantities tried.
    pub chance: f64,
}

/// The quantities of `model` in `layout` that have the requested size, the least likely to match by chance first.
/// Matches with a chance of a half or more are left out.
pub fn size_matches(requested: &Requested, model: &ModelSize, layout: &Layout) -> Vec<SizeMatch> {
    let mut matches = Vec::new();
    let quantities = quantities(model, layout);
    for quantity in &quantities {
        let found = match quantity.size {
            Size::Fixed(parameters, width) => fixed(requested, quantity, parameters, width),
            Size::Tokens { each } => multiple(requested, quantity, each),
            Size::Square { times, width } => square(requested, quantity, times, width),
        };
        matches.extend(found);
    }
    for found in &mut matches {
        found.chance = (found.chance * quantities.len() as f64).min(1.0);
    }
    matches.retain(|found| found.chance < 0.5);
    matches.sort_by(|a, b| a.chance.total_cmp(&b.chance));
    // Known tokens and solved-for tokens give the same match.
    let mut said: Vec<String> = Vec::new();
    matches.retain(|found| {
        let is_new = !said.contains(&found.formula);
        said.push(found.formula.clone());
        is_new
    });
    matches
}

fn fixed(requested: &Requested, quantity: &Quantity, count: Parameters, width: Width) -> Option<SizeMatch> {
    let amount = count.at(width);
    // A size with bounds matches if any size within them does, which proves correspondingly less.
    let nearest = Bytes(requested.high.0 - requested.high.0.rem_euclid((requested.rounding.step() as i128).max(1)));
    let mut sizes = [amount.low, amount.high, nearest.max(amount.low).min(amount.high)].into_iter();
    let size = sizes.find(|size| requested.fits(*size))?;
    let spread = (amount.high.0 - amount.low.0) as f64;
    Some(SizeMatch {
        quantity: quantity.name,
        family: quantity.family,
        formula: quantity.formula.clone(),
        bytes: size,
        multiple: None,
        chance: (requested.window() + spread) / (size.0 as f64).max(1.0),
    })
}

fn multiple(requested: &Requested, quantity: &Quantity, each: u64) -> Option<SizeMatch> {
    let size = |count: u64| Some(Bytes(count.checked_mul(each)?.into()));
    let (least, most) = bounds(requested, |low| low / each.max(1));
    let count = roundest(least, most, |count| size(count).is_some_and(|size| requested.fits(size)))?;
    let spacing = (each as f64) * power_of_two_in(count) as f64;
    Some(SizeMatch {
        quantity: quantity.name,
        family: quantity.family,
        formula: format!("{count} tokens × {}", quantity.formula),
        bytes: size(count)?,
        multiple: Some(count),
        chance: requested.window() / spacing,
    })
}

fn square(requested: &Requested, quantity: &Quantity, times: u64, width: u64) -> Option<SizeMatch> {
    let each = times.checked_mul(width)?;
    let size = |length: u64| Some(Bytes(length.checked_mul(length)?.checked_mul(each)?.into()));
    let root = |bytes: u64| ((bytes / each.max(1)) as f64).sqrt() as u64;
    let (least, most) = bounds(requested, root);
    let length = roundest(least, most, |length| size(length).is_some_and(|size| requested.fits(size)))?;
    let power = power_of_two_in(length) as f64;
    // The distance to the next equally round length.
    let spacing = (each as f64) * (2.0 * length as f64 * power + power * power);
    Some(SizeMatch {
        quantity: quantity.name,
        family: quantity.family,
        formula: format!("{} × {length}² × {width} bytes", quantity.formula),
        bytes: size(length)?,
        multiple: Some(length),
        chance: requested.window() / spacing,
    })
}

/// The range of counts whose sizes may be printed like this.
fn bounds(requested: &Requested, count_of: impl Fn(u64) -> u64) -> (u64, u64) {
    let below = requested.low.0.saturating_sub(requested.rounding.step() as i128);
    // The allocator rounds small requests up by more than a step.
    let below = if requested.low.0 <= 20 * Bytes::MIB.0 && requested.rounding == Rounding::Caching { 0 } else { below };
    let unsigned = |bytes: i128| u64::try_from(bytes).unwrap_or(0);
    (count_of(unsigned(below)).max(1), count_of(unsigned(requested.high.0)).saturating_add(1))
}

/// Of the matching counts from `least` to `most`, the one divisible by the largest power of two.
fn roundest(least: u64, most: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let of_power = |power: u32| {
        let step = 1u64 << power;
        let first = least.div_ceil(step).checked_mul(step)?;
        // The range contains few multiples of the largest power of two that divides any of its counts.
        (first <= most).then_some(())?;
        (0..64)
            .map_while(|n| first.checked_add(step.checked_mul(n)?).filter(|count| *count <= most))
            .find(|count| fits(*count))
    };
    (0..40).rev().find_map(of_power)
}

fn power_of_two_in(count: u64) -> u64 {
    1 << count.trailing_zeros().min(62)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};
    use crate::memory::{Batch, Cluster, Sharding};

    fn model(name: &str) -> Result<ModelSize, KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        let shape = models.iter().find(|model| &*model.name == name).map(|model| model.shape.clone());
        Ok(shape.map_or(ModelSize::of_parameters(1), ModelSize::of_shape))
    }

    fn printed(text: &str) -> Requested {
        let mut words = text.split(' ');
        let number: f64 = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        let unit = if words.next() == Some("MiB") { Bytes::MIB } else { Bytes::GIB };
        Requested::printed(Bytes::of(number, unit).unwrap_or_default(), text, Rounding::Caching)
    }

    #[test]
    fn rounds_as_the_caching_allocator_does() {
        let mib = |size: f64| Rounding::Caching.asked(Bytes((size * Bytes::MIB.0 as f64) as i128)).0 / Bytes::MIB.0;
        assert_eq!([mib(0.1), mib(1.0), mib(1.1), mib(9.9), mib(10.0), mib(953.67)], [2, 2, 20, 20, 10, 954]);
    }

    #[test]
    fn reads_how_exactly_a_size_is_printed() {
        let requested = printed("2.32 GiB");
        assert_eq!(requested.high.0 - requested.low.0, 2 * 5_368_710);
        assert_eq!(Requested::printed(Bytes(4096), "4096 bytes", Rounding::Exact).window(), 0.0);
    }

    #[test]
    fn tells_logits_by_the_vocabulary() -> Result<(), KnowledgeError> {
        let matches = size_matches(&printed("2.32 GiB"), &model("Qwen2.5-7B")?, &Layout::default());
        assert_eq!(matches[0].quantity, "logits", "{matches:#?}");
        assert_eq!(matches[0].multiple, Some(4096));
        assert_eq!(matches[0].formula, "4096 tokens × 152064 vocabulary × 4 bytes");
        assert!(matches[0].chance < 0.2);
        Ok(())
    }

    #[test]
    fn tells_states_by_the_number_of_parameters() -> Result<(), KnowledgeError> {
        let layout = Layout { sharding: Sharding::ZeroTwo, cluster: Cluster::of(1, 8), ..Layout::default() };
        let llama = model("Llama-3-8B")?;
        for (text, quantity) in [
            ("3.74 GiB", "a rank's part of the parameters"),
            ("29.92 GiB", "all parameters"),
            ("954.00 MiB", "gradient bucket"),
            ("1.96 GiB", "embedding or output head"),
        ] {
            let matches = size_matches(&printed(text), &llama, &layout);
            assert_eq!(matches.first().map(|found| found.quantity), Some(quantity), "{text}: {matches:#?}");
        }
        Ok(())
    }

    #[test]
    fn tells_weights_on_their_way_to_a_device() -> Result<(), KnowledgeError> {
        for (name, text, quantity) in [
            ("Llama-2-13B", "136.00 MiB", "a matrix of the MLP"),
            ("Qwen2.5-32B", "270.00 MiB", "a matrix of the MLP"),
            // One token more than 32000.
            ("Llama-7B", "502.00 MiB", "embedding or output head with a few tokens added"),
            ("gpt-oss-120b", "3.96 GiB", "inward matrices of all experts"),
        ] {
            let matches = size_matches(&printed(text), &model(name)?, &Layout::default());
            assert!(matches.iter().any(|found| found.quantity == quantity), "{name} {text}: {matches:#?}");
        }
        Ok(())
    }

    #[test]
    fn tells_the_attention_matrix() -> Result<(), KnowledgeError> {
        let layout = Layout { batch: Some(Batch::of(2, 8192)), ..Layout::default() };
        // 2 × 32 × 8192² × 2 bytes
        let matches = size_matches(&printed("8.00 GiB"), &model("Llama-3-8B")?, &layout);
        assert_eq!(matches.first().map(|found| found.quantity), Some("attention matrix"), "{matches:#?}");
        Ok(())
    }

    #[test]
    fn proves_little_by_a_size_that_much_could_have() -> Result<(), KnowledgeError> {
        let matches = size_matches(&printed("20.00 MiB"), &model("Llama-3-8B")?, &Layout::default());
        assert!(matches.is_empty(), "{matches:#?}");
        let odd = size_matches(&printed("1.37 GiB"), &model("Qwen2.5-7B")?, &Layout::default());
        assert!(odd.iter().all(|found| found.chance > 0.2), "{odd:#?}");
        Ok(())
    }

    #[test]
    fn an_uncertain_size_proves_less() {
        let named = ModelSize { parameters: Parameters::named(8_000_000_000), shape: None };
        let exact = ModelSize::of_parameters(8_030_261_248);
        let layout = Layout::default();
        let chance = |model| size_matches(&printed("29.92 GiB"), model, &layout).first().map(|found| found.chance);
        assert!(chance(&exact).is_some_and(|chance| chance < 0.01));
        assert!(chance(&named).is_none_or(|chance| chance > 0.2));
    }
}
