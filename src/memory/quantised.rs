//! Widths of quantised weights beneath an adapter.

use super::{Precision, Width};
use crate::knowledge::Shape;

/// The quantisation of weights beneath an adapter. Embedding, head and norms are not quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "they are called so")]
pub enum Quantised {
    /// QLoRA's NF4, GPTQ, AWQ.
    FourBit,
    /// LLM.int8().
    EightBit,
    /// AQLM's codebooks.
    TwoBit,
}

impl Quantised {
    /// Parses the value of the fact `config.quantization`.
    pub fn named(name: &str) -> Option<Quantised> {
        Some(match name {
            "4bit" => Quantised::FourBit,
            "8bit" => Quantised::EightBit,
            "2bit" => Quantised::TwoBit,
            _ => return None,
        })
    }

    /// Bytes per quantised weight without its scales.
    pub fn nominal(self) -> f64 {
        match self {
            Quantised::FourBit => 0.5,
            Quantised::EightBit => 1.0,
            Quantised::TwoBit => 0.25,
        }
    }

    /// Bytes per quantised weight with its scales: in 4 bits one fp32 scale per 64 weights, or one of 8 bits that has
    /// an fp32 scale per 256 (bitsandbytes' double quantisation); in 8 bits one scale per row.
    fn matrix(self) -> Width {
        match self {
            Quantised::FourBit => Width::between(0.5 + 1.0 / 64.0, 0.5 + 4.0 / 64.0),
            Quantised::EightBit => Width::between(1.0, 1.0 + 4.0 / 512.0),
            Quantised::TwoBit => Width::between(0.25, 0.3),
        }
    }

    /// Average bytes per weight if the model's shape is unknown; embedding and head stay in 16 bit, which matters most
    /// in small models.
    pub fn of_any_shape(self) -> Width {
        match self {
            Quantised::FourBit => Width::between(0.55, 0.85),
            Quantised::EightBit => Width::between(1.0, 1.2),
            Quantised::TwoBit => Width::between(0.27, 0.5),
        }
    }

    /// `precision` with the weights' average width after the matrices of `shape`, if known, are quantised.
    ///
    /// peft's `prepare_model_for_kbit_training` casts everything that is not quantised to fp32, and with it the
    /// residual stream; without it they stay in 16 bit.
    pub fn beneath(self, shape: Option<&Shape>, precision: Precision) -> Precision {
        let Some(shape) = shape else { return Precision { weights: self.of_any_shape(), ..precision } };
        let others = match precision.is_all_16_bit() {
            true => Width::TWO,
            false => Width::between(2.0, 4.0),
        };
        let outside = shape.parameters_outside_layers() as f64 / shape.parameters().max(1) as f64;
        let weights = self.matrix().times(1.0 - outside).plus(others.times(outside));
        Precision { weights, residual: others, ..precision }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};

    #[test]
    fn what_is_not_quantised_weighs_in_small_models() -> Result<(), KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        for (name, low, high) in [("TinyLlama-1.1B", 0.69, 0.97), ("Llama-2-70B", 0.53, 0.59)] {
            let Some(shape) = models.iter().find(|model| &*model.name == name).map(|model| &model.shape) else {
                continue;
            };
            let precision = Quantised::FourBit.beneath(Some(shape), Precision::MIXED);
            let near = |width: f64, expected: f64| (width - expected).abs() < 0.01;
            assert!(near(precision.weights.low, low) && near(precision.weights.high, high), "{name}: {precision:?}");
            assert_eq!(precision.residual, Width::between(2.0, 4.0));
            assert!(Quantised::FourBit.beneath(Some(shape), Precision::PURE_16_BIT).is_all_16_bit());
        }
        Ok(())
    }
}
