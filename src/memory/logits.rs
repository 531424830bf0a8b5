//! Memory of the output head and the loss.
//!
//! PyTorch's cross entropy keeps its log-softmax, and in backward creates the full gradients of that and of its input:
//! three tensors of the logits' size at once (`LogSoftmax.cpp`, `LossNLL.cpp`). transformers casts the logits to fp32
//! for it. A caller that holds the model's output also holds its logits, in 16 bit, or in fp32 if the head computes in
//! fp32.

use super::component::Component;
use super::layout::{Layout, Logits, Precision};
use super::{ModelSize, Parameters, Width};

/// The stage at which logits are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogitsStage {
    /// At the end of forward, with the loss.
    Forward,
    /// In backward through the loss.
    Loss,
    /// In backward through the layers: only what the model's output still holds.
    Held,
    /// In a pass without backward.
    Inference,
    /// In such a pass for log-probabilities.
    Experience,
}

/// Bytes per logit of the entropy of all logits: their softmax and its product with them, in 16 bit or, under autocast, in
/// fp32 (verl's `entropy_from_logits`).
const ENTROPY: Width = Width { low: 4.0, high: 8.0 };

/// Logits on one device; tensor parallelism splits the head.
pub(super) fn logits(model: &ModelSize, layout: &Layout, stage: LogitsStage) -> Vec<Component> {
    let (Some(shape), Some(batch)) = (&model.shape, layout.batch) else { return Vec::new() };
    let tokens = batch.tokens(layout.parallel.sequence);
    if layout.logits == Logits::Fused {
        return if stage == LogitsStage::Held { Vec::new() } else { vec![chunk(layout, tokens, shape.hidden)] };
    }
    let width = width(layout, stage);
    if width.is_zero() {
        return Vec::new();
    }
    let bytes = Parameters::exactly(tokens * shape.vocabulary.div_ceil(layout.parallel.tensor.max(1))).at(width);
    let formula = format!("{tokens} tokens × {} × {width} bytes", shape.vocabulary);
    vec![Component::on_device("logits", bytes, formula)]
}

/// A chunk of a fused linear cross entropy: as many tokens as make the logits about as large as the hidden states of
/// all tokens (Liger's `fused_linear_cross_entropy.py`), in 16 bit, in fp32 and as gradients, together with the
/// gradient of the hidden states.
fn chunk(layout: &Layout, tokens: u64, hidden: u64) -> Component {
    let width = Width::between(0.0, 10.0 + layout.precision.compute.high);
    let bytes = Parameters::exactly(tokens * hidden).at(width);
    Component::on_device("logits", bytes, format!("one chunk: {tokens} tokens × {hidden} × {width} bytes"))
}

fn width(layout: &Layout, stage: LogitsStage) -> Width {
    let (forward, loss) = logits_widths(layout.logits, layout.precision);
    match (stage, layout.logits) {
        (LogitsStage::Forward, _) => forward,
        // The logits, their fp32 copy, and a log-softmax that is not kept.
        (LogitsStage::Inference, Logits::Upcast) => Width::between(6.0, 10.0),
        (LogitsStage::Inference, _) => forward,
        (LogitsStage::Experience, _) if layout.whole_entropy => {
            self::width(layout, LogitsStage::Inference).plus(ENTROPY)
        }
        (LogitsStage::Experience, _) => self::width(layout, LogitsStage::Inference),
        (LogitsStage::Loss, _) => loss,
        (LogitsStage::Held, Logits::Upcast) => Width::between(0.0, layout.precision.residual.high),
        (LogitsStage::Held, _) => Width::ZERO,
    }
}

/// Bytes per logit at the end of forward, and at most in backward.
///
/// - Upcast: 4 for the fp32 copy and 4 for its log-softmax, and up to 6 for the original logits and the copy that
///   transformers makes to shift them (up to 4.45); in backward three times 4, and up to 4 if the output is held.
/// - All in 16 bit: transformers casts even then, but the held output takes only 2; without the cast, each tensor takes
///   2.
/// - In place: 2, and 2 to 4 for the gradient.
pub fn logits_widths(logits: Logits, precision: Precision) -> (Width, Width) {
    match logits {
        Logits::Upcast if precision.is_all_16_bit() => (Width::between(4.0, 10.0), Width::between(8.0, 14.0)),
        Logits::Upcast => (Width::between(8.0, 14.0), Width::between(12.0, 16.0)),
        Logits::InPlace => (Width::TWO, Width::between(4.0, 6.0)),
        Logits::Fused => (Width::ZERO, Width::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};
    use crate::memory::Amount;
    use crate::memory::activations;
    use crate::memory::layout::{Batch, Recomputation};

    fn qwen() -> Result<ModelSize, KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        Ok(models.find("Qwen2.5-7B").map_or(ModelSize::of_parameters(0), ModelSize::from))
    }

    fn layout(logits: Logits) -> Layout {
        let batch = Some(Batch::of(1, 32_768));
        Layout { batch, recomputation: Recomputation::Full, logits, ..Layout::default() }
    }

    fn sum(parts: Vec<Component>) -> Amount {
        parts.iter().map(|part| part.bytes).sum()
    }

    #[test]
    fn logits_outweigh_what_is_left_by_recomputation() -> Result<(), KnowledgeError> {
        let (model, layout) = (qwen()?, layout(Logits::Upcast));
        let loss = sum(logits(&model, &layout, LogitsStage::Loss));
        // 4.64 GiB per byte: three times 4 in backward, up to 4 if the output is held.
        assert!((loss.low.gib() - 55.7).abs() < 0.1 && (loss.high.gib() - 74.3).abs() < 0.1, "{loss}");
        assert!(sum(logits(&model, &layout, LogitsStage::Forward)).high < loss.high);
        assert!(sum(activations::kept(&model, &layout)).high < loss.low);
        Ok(())
    }

    #[test]
    fn a_fused_loss_has_a_chunk() -> Result<(), KnowledgeError> {
        let (model, layout) = (qwen()?, layout(Logits::Fused));
        let chunk = sum(logits(&model, &layout, LogitsStage::Loss));
        assert!(chunk.high.gib() < 1.5 && !chunk.is_nothing(), "{chunk}");
        assert!(logits(&model, &layout, LogitsStage::Held).is_empty());
        Ok(())
    }
}
