//! What forward keeps for backward.
//!
//! Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), in 16 bit: a layer keeps
//! 34 bytes a token and unit of width, and 5 a token, head and key for the attention matrix. That is an MLP of 4·h with
//! GELU and dropout; OPT, GPT-NeoX and Falcon in transformers keep 26 to 36. Layers with RMSNorm and a gated MLP keep
//! more as transformers computes them, tensor by tensor (counted with `saved_tensors_hooks` on transformers 5.23,
//! PyTorch 2.15): 12·h for the norms, 8 for each of the width of the queries, 4 of the keys, 8 of the MLP, 6 of what is
//! normalised head by head, and 6 instead of 5 for the attention matrix. Fused kernels keep less. Hence bounds.

use super::component::Component;
use super::layout::{Attention, Layout, Logits, Recomputation};
use super::{Amount, ModelSize, Width, amount};
use crate::knowledge::Shape;
use crate::model::Bytes;

/// How far the paper's formula and counts of real layers lie apart.
const UNSURE: f64 = 0.25;

/// What one layer keeps of `tokens` in sequences of `sequence` by the paper's formula, in bytes; `attention_matrix` is
/// whether that matrix is kept.
pub fn layer_by_paper(shape: &Shape, tokens: u64, sequence: u64, attention_matrix: bool) -> Bytes {
    let linear = 34.0 * (tokens * shape.hidden) as f64;
    let matrix = 5.0 * (shape.heads * sequence) as f64 * tokens as f64;
    Bytes((linear + if attention_matrix { matrix } else { 0.0 }).round() as i64)
}

/// The inputs of all layers, all that full recomputation keeps: 2 bytes a token and unit of width.
pub fn layer_inputs(shape: &Shape, tokens: u64) -> Bytes {
    Bytes((2.0 * (shape.layers * shape.hidden) as f64 * tokens as f64).round() as i64)
}

/// What one layer keeps, within bounds: the paper's formula a quarter less, to what transformers keeps.
fn layer(shape: &Shape, layout: &Layout, tokens: u64, sequence: u64) -> Amount {
    let tensor = layout.parallel.tensor.max(1) as f64;
    let (hidden, tokens) = (shape.hidden as f64, tokens as f64);
    let paper = 34.0 * hidden;
    let (query, key) = ((shape.heads * shape.head_dim()) as f64, (shape.kv_heads() * shape.head_dim()) as f64);
    let intermediate = shape.experts.as_ref().map_or(shape.intermediate, |experts| {
        (experts.active * experts.intermediate + experts.shared).max(shape.intermediate)
    }) as f64;
    let normed = if shape.query_key_norm { 6.0 * (query + key) } else { 0.0 };
    let counted = 12.0 * hidden + 8.0 * query + 4.0 * key + 8.0 * intermediate + normed;
    let high = (paper * (1.0 + UNSURE)).max(if shape.gated_mlp { counted * 1.1 } else { 0.0 });
    let mut bounds = (paper * (1.0 - UNSURE) / tensor, high / tensor);
    if tensor > 1.0 {
        // Without sequence parallelism inputs of the two halves of a layer stay whole: 10 of the 34.
        bounds.1 = high * (10.0 / 34.0 + 24.0 / 34.0 / tensor);
    }
    if layout.attention == Attention::Eager && layout.recomputation != Recomputation::Selective {
        let matrix = (shape.heads * sequence) as f64 / tensor;
        bounds = (bounds.0 + 5.0 * (1.0 - UNSURE) * matrix, bounds.1 + 6.0 * (1.0 + UNSURE) * matrix);
    }
    // The formulas count in 16 bit.
    let wide = layout.precision.compute.high / 2.0;
    let bytes = |each: f64| Bytes((each * wide * tokens).round() as i64);
    Amount::between(bytes(bounds.0), bytes(bounds.1))
}

/// When activations are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// At the end of forward.
    Forward,
    /// In backward, while a layer is computed again.
    Backward,
    /// Without backward to come.
    Inference,
}

/// Activations of the language model on one device; nothing where shape or batch are not known.
pub(super) fn activations(model: &ModelSize, layout: &Layout, pass: Pass) -> Vec<Component> {
    let (Some(shape), Some(batch)) = (&model.shape, layout.batch) else { return Vec::new() };
    let tokens = batch.tokens(layout.parallel.sequence);
    let sequence = batch.sequence.div_ceil(layout.parallel.sequence.max(1));
    let one = layer(shape, layout, tokens, sequence);
    let said = format!("{tokens} tokens × {} layers of width {}", shape.layers, shape.hidden);
    if pass == Pass::Inference {
        let bytes = one.maybe();
        return vec![Component::on_device("activations", bytes, format!("{tokens} tokens, one layer at a time"))];
    }
    // A stage of a pipeline keeps as many micro-batches as there are stages behind it.
    let stages = layout.parallel.pipeline.max(1);
    let layers = |bytes: Bytes| amount::scale(bytes, shape.layers as f64 / stages as f64);
    let all_layers =
        |bytes: Amount| Amount { low: layers(bytes.low), high: amount::scale(layers(bytes.high), stages as f64) };
    match layout.recomputation {
        Recomputation::Full => {
            let input = layout.precision.compute.times((tokens * shape.hidden) as f64);
            let input = Amount::exactly(Bytes(input.high.round() as i64));
            let again = if pass == Pass::Backward { one } else { one.maybe() };
            vec![
                Component::on_device(
                    "layer inputs",
                    all_layers(input),
                    format!("{said} × {} B", layout.precision.compute),
                ),
                Component::on_device("activations of one layer", again, format!("{tokens} tokens, computed again")),
            ]
        }
        Recomputation::None | Recomputation::Selective => {
            vec![Component::on_device("activations", all_layers(one), said)]
        }
    }
}

/// Logits of one device: what forward leaves and what backward needs at most. The head is split by tensor parallelism.
pub(super) fn logits(model: &ModelSize, layout: &Layout, pass: Pass) -> Vec<Component> {
    let (Some(shape), Some(batch)) = (&model.shape, layout.batch) else { return Vec::new() };
    let tokens = batch.tokens(layout.parallel.sequence);
    let (forward, backward) = logits_widths(layout.logits);
    let width = match pass {
        Pass::Forward | Pass::Inference => forward,
        Pass::Backward => backward,
    };
    if width.is_zero() {
        return Vec::new();
    }
    let bytes = super::Parameters::exactly(tokens * shape.vocabulary.div_ceil(layout.parallel.tensor.max(1))).at(width);
    let formula = format!("{tokens} tokens × {} × {width} B", shape.vocabulary);
    vec![Component::on_device("logits", bytes, formula)]
}

/// Bytes of each logit in forward and in backward.
///
/// Upcast: 2 as they come, 4 as they are cast, 4 for their log-softmax; in backward the gradients of both besides (PyTorch's
/// cross entropy makes each in full), while the cast copy may be gone. In place: 2, and 2 to 4 for the gradient.
pub fn logits_widths(logits: Logits) -> (Width, Width) {
    match logits {
        Logits::Upcast => (Width::between(6.0, 10.0), Width::between(10.0, 14.0)),
        Logits::InPlace => (Width::TWO, Width::between(4.0, 6.0)),
        Logits::Fused => (Width::ZERO, Width::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};
    use crate::memory::layout::Batch;

    fn shape(name: &str) -> Result<Option<Shape>, KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        Ok(models.iter().find(|model| &*model.name == name).map(|model| model.shape.clone()))
    }

    #[test]
    fn repeats_the_papers_table() -> Result<(), KnowledgeError> {
        for (name, sequence, none, flash, full) in [
            ("Llama-3-8B", 4096, 97.0, 17.0, 1.0),
            ("Llama-2-13B", 4096, 152.0, 26.6, 1.6),
            ("Qwen2.5-72B", 8192, 1770.0, 170.0, 10.0),
        ] {
            let Some(shape) = shape(name)? else { continue };
            let all = |matrix| layer_by_paper(&shape, sequence, sequence, matrix).gib() * shape.layers as f64;
            assert!((all(true) / none - 1.0).abs() < 0.01, "{name}: {}", all(true));
            assert!((all(false) / flash - 1.0).abs() < 0.01, "{name}: {}", all(false));
            assert!((layer_inputs(&shape, sequence).gib() / full - 1.0).abs() < 0.03, "{name}");
        }
        Ok(())
    }

    /// Bytes a token, as `saved_tensors_hooks` counted them over layers of these proportions.
    #[test]
    fn holds_what_real_layers_keep() -> Result<(), KnowledgeError> {
        let layout = Layout::default();
        for (name, counted) in [
            ("Llama-3-8B", 49.08),
            ("Llama-2-7B", 45.58),
            ("Qwen2.5-7B", 62.92),
            ("OPT-6.7B", 28.08),
            ("Falcon-7B", 25.57),
        ] {
            let Some(shape) = shape(name)? else { continue };
            let Amount { low, high } = layer(&shape, &layout, 1000, 1000);
            let counted = Bytes((counted * shape.hidden as f64 * 1000.0) as i64);
            assert!(low <= counted && counted <= high, "{name}: {counted} of {low}..{high}");
        }
        Ok(())
    }

    #[test]
    fn logits_outweigh_what_is_left_by_recomputation() -> Result<(), KnowledgeError> {
        let Some(shape) = shape("Qwen2.5-7B")? else { return Ok(()) };
        let model = ModelSize::of_shape(shape);
        let layout = Layout {
            batch: Some(Batch::of(1, 32_768)),
            recomputation: Recomputation::Full,
            logits: Logits::Upcast,
            ..Layout::default()
        };
        let backward = logits(&model, &layout, Pass::Backward);
        let forward = logits(&model, &layout, Pass::Forward);
        // 9.3 GiB in 16 bit, 18.6 in fp32, some 46 in backward.
        assert!(forward.iter().all(|logits| (logits.bytes.low.gib() - 27.8).abs() < 0.1), "{forward:?}");
        assert!(backward.iter().all(|logits| (logits.bytes.low.gib() - 46.4).abs() < 0.1), "{backward:?}");
        let kept: Amount = activations(&model, &layout, Pass::Forward).iter().map(|part| part.bytes).sum();
        assert!(kept.low < backward[0].bytes.low);
        Ok(())
    }
}
