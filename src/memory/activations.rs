//! Activations: what forward keeps for backward, and what a layer needs while it computes.
//!
//! By Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), a layer in 16 bit
//! keeps 34 bytes per token and unit of width, and 5 per token, head and key for the attention matrix. That is an MLP
//! of 4·h with GELU and dropout; OPT, GPT-NeoX and Falcon in transformers keep 26 to 36. Layers with RMSNorm and a
//! gated MLP keep more, since transformers computes them tensor by tensor (counted with `saved_tensors_hooks` on
//! transformers 5.23, PyTorch 2.15): 12·h for the norms, 8 per unit of the queries' width, 4 of the keys', 8 of the
//! MLP's, 6 of what is normalised per head, and 6 instead of 5 for the attention matrix; measurements on an H100 agree.
//! Fused kernels keep only inputs and outputs: 8·h, 4, 4 and 6. Frozen matrices and norms do not keep the inputs for
//! their own gradients; an adapter keeps its input, and peft keeps one in fp32 for each matrix. Hence the bounds.

use super::component::Component;
use super::layout::{Attention, Layout, Logits, Recomputation};
use super::{Amount, ModelSize, Width, amount};
use crate::knowledge::Shape;
use crate::model::Bytes;

/// How far counts of real layers deviate from the paper's formula.
const UNSURE: f64 = 0.25;
/// The share of masks, positions and other small tensors that a layer keeps as well.
const BESIDES: f64 = 0.07;

/// Bytes per token of a layer without its attention matrix, in 16 bit on one device.
fn linear(shape: &Shape, layout: &Layout) -> Width {
    let hidden = shape.hidden as f64;
    let is_frozen = layout.adapter.is_some();
    if !shape.gated_mlp {
        let paper = 34.0 * hidden;
        let unkept = if is_frozen { 6.0 * hidden } else { 0.0 };
        return Width::between(paper * (1.0 - UNSURE) - unkept, paper * (1.0 + UNSURE));
    }
    let (query, key) = ((shape.heads * shape.head_dim()) as f64, (shape.kv_heads() * shape.head_dim()) as f64);
    let intermediate = shape.experts.as_ref().map_or(shape.intermediate, |experts| {
        (experts.active * experts.intermediate + experts.shared).max(shape.intermediate)
    }) as f64;
    let normed = if shape.query_key_norm { query + key } else { 0.0 };
    let fused = 8.0 * hidden + 4.0 * query + 4.0 * key + 6.0 * intermediate + 2.0 * normed;
    let one_by_one = 12.0 * hidden + 8.0 * query + 4.0 * key + 8.0 * intermediate + 6.0 * normed;
    if is_frozen {
        let frozen = one_by_one - 8.0 * hidden - 2.0 * intermediate;
        let adapters = Width::between(2.0 * hidden, 4.0 * (5.0 * hidden + query + intermediate));
        return Width::exactly(frozen).plus(adapters);
    }
    // Frameworks that split matrices, recompute selectively or fuse the loss usually have fused kernels.
    let has_fused = layout.logits == Logits::Fused
        || layout.parallel.tensor > 1
        || layout.recomputation == Recomputation::Selective;
    let low = if has_fused { fused } else { one_by_one * (1.0 - BESIDES) };
    Width::between(low, one_by_one * (1.0 + BESIDES))
}

/// Bytes per token of a layer's attention matrix: in fp32 and cast to 16 bit; in backward also its gradient in both.
fn matrix(shape: &Shape, layout: &Layout, sequence: u64, in_backward: bool) -> Width {
    if layout.attention == Attention::Flash || !in_backward && layout.recomputation == Recomputation::Selective {
        return Width::ZERO;
    }
    let keys = (shape.heads * sequence) as f64;
    // In fp32 nothing is cast. Like all of a layer, it is counted here as if it were 16 bit.
    match (layout.precision.compute.high > 2.0, in_backward) {
        (true, false) => Width::between(2.0 * keys, 2.5 * keys),
        (true, true) => Width::between(6.0 * keys, 6.5 * keys),
        (false, false) => Width::between(5.0 * keys, 6.0 * keys),
        (false, true) => Width::between(12.0 * keys, 16.0 * keys),
    }
}

/// The bounds of one device's share of activations under tensor parallelism. `inputs` is the share of inputs to the two
/// halves of a layer, which stay whole without sequence parallelism.
fn share_of_device(layout: &Layout, inputs: f64) -> (f64, f64) {
    let tensor = layout.parallel.tensor.max(1) as f64;
    let (split, whole) = (1.0 / tensor, inputs + (1.0 - inputs) / tensor);
    match layout.parallel.splits_inputs {
        Some(true) => (split, split),
        Some(false) => (whole, whole),
        None => (split, whole),
    }
}

/// Memory of `tokens` in one layer at `width` bytes each, split by tensor parallelism. Inputs are 10 of the 34 bytes.
fn of_layer(layout: &Layout, width: Width, tokens: u64) -> Amount {
    let (least, most) = share_of_device(layout, 10.0 / 34.0);
    // The formulas assume 16 bit.
    let wide = layout.precision.compute.high / 2.0;
    let bytes = |each: f64, share: f64| Bytes((each * wide * share * tokens as f64).round() as i128);
    Amount::between(bytes(width.low, least), bytes(width.high, most))
}

/// Adds a seventh to a quarter if the residual stream is wider than the computation (counted on the same transformers
/// under autocast, and measured).
fn widened(layout: &Layout, width: Width) -> Width {
    let (residual, compute) = (layout.residual(), layout.precision.compute.high);
    let times = |residual: f64, more: f64| if residual > compute { more } else { 1.0 };
    Width::between(width.low * times(residual.low, 1.15), width.high * times(residual.high, 1.25))
}

/// What one layer keeps for backward.
fn layer(shape: &Shape, layout: &Layout, tokens: u64, sequence: u64) -> Amount {
    let width = widened(layout, linear(shape, layout));
    of_layer(layout, width.plus(matrix(shape, layout, sequence, false)), tokens)
}

/// The most that one layer takes in backward: what it kept, and the gradients within its MLP or its attention matrix.
fn layer_in_backward(shape: &Shape, layout: &Layout, tokens: u64, sequence: u64) -> Amount {
    let kept = widened(layout, linear(shape, layout));
    let gradients = (4 * shape.hidden + 6 * shape.intermediate) as f64;
    let in_mlp = Width::between(kept.low + gradients / 2.0, kept.high + gradients);
    let matrix = matrix(shape, layout, sequence, true);
    let kept_matrix = self::matrix(shape, layout, sequence, false);
    let in_attention = kept.plus(matrix);
    let in_mlp = in_mlp.plus(kept_matrix);
    of_layer(layout, Width::between(in_mlp.low.max(in_attention.low), in_mlp.high.max(in_attention.high)), tokens)
}

/// One batch on one device, in a model of known shape.
struct Pass<'p> {
    shape: &'p Shape,
    tokens: u64,
    sequence: u64,
}

impl<'p> Pass<'p> {
    /// `None` if shape or batch is unknown.
    fn of(model: &'p ModelSize, layout: &Layout) -> Option<Pass<'p>> {
        let (shape, batch) = (model.shape.as_ref()?, layout.batch?);
        let ranks = layout.parallel.sequence.max(1);
        Some(Pass { shape, tokens: batch.tokens(ranks), sequence: batch.sequence.div_ceil(ranks) })
    }

    fn said(&self) -> String {
        format!("{} tokens × {} layers of width {}", self.tokens, self.shape.layers, self.shape.hidden)
    }
}

/// What forward keeps until backward: the inputs of all layers, or everything that they compute.
pub(super) fn kept(model: &ModelSize, layout: &Layout) -> Vec<Component> {
    let Some(pass) = Pass::of(model, layout) else { return Vec::new() };
    let shape = pass.shape;
    // A pipeline stage keeps as many micro-batches as there are stages behind it.
    let stages = layout.parallel.pipeline.max(1);
    let layers = |bytes: Bytes| amount::scale(bytes, shape.layers as f64 / stages as f64);
    let all_layers =
        |bytes: Amount| Amount { low: layers(bytes.low), high: amount::scale(layers(bytes.high), stages as f64) };
    match layout.recomputation {
        Recomputation::Full => {
            let residual = layout.residual();
            let (least, most) = share_of_device(layout, 1.0);
            let numbers = (pass.tokens * shape.hidden) as f64;
            let bytes = |each: f64| Bytes((each * numbers).round() as i128);
            let input = Amount::between(bytes(residual.low * least), bytes(residual.high * most));
            vec![Component::on_device("layer inputs", all_layers(input), format!("{} × {residual} bytes", pass.said()))]
        }
        Recomputation::None | Recomputation::Selective => {
            let all = all_layers(layer(shape, layout, pass.tokens, pass.sequence));
            vec![Component::on_device("activations", all, pass.said())]
        }
    }
}

/// What one layer needs while it computes in forward; it may be freed by the time of the loss.
pub(super) fn computed(model: &ModelSize, layout: &Layout) -> Vec<Component> {
    passing(model, layout, "activations of one layer", "")
}

/// What one layer needs while it computes in backward, beyond what was kept.
pub(super) fn computed_again(model: &ModelSize, layout: &Layout) -> Vec<Component> {
    let Some(pass) = Pass::of(model, layout) else { return Vec::new() };
    let whole = layer_in_backward(pass.shape, layout, pass.tokens, pass.sequence);
    let (bytes, formula) = match layout.recomputation {
        Recomputation::Full => (whole, format!("{} tokens, computed again", pass.tokens)),
        _ if layout.offload.activations => (whole, format!("{} tokens, fetched", pass.tokens)),
        _ => {
            let kept = layer(pass.shape, layout, pass.tokens, pass.sequence);
            (Amount::between(whole.low - kept.low, whole.high - kept.high), format!("{} tokens", pass.tokens))
        }
    };
    vec![Component::on_device("activations of one layer", bytes, formula)]
}

/// What a pass without backward needs: one layer at a time.
pub(super) fn of_inference(model: &ModelSize, layout: &Layout) -> Vec<Component> {
    passing(model, layout, "activations", ", one layer at a time")
}

/// What one layer needs in forward, as a component called `name`; `manner` is appended to the formula.
fn passing(model: &ModelSize, layout: &Layout, name: &str, manner: &str) -> Vec<Component> {
    let Some(pass) = Pass::of(model, layout) else { return Vec::new() };
    let bytes = layer(pass.shape, layout, pass.tokens, pass.sequence).maybe();
    vec![Component::on_device(name, bytes, format!("{} tokens{manner}", pass.tokens))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};

    fn shape(name: &str) -> Result<Option<Shape>, KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        Ok(models.iter().find(|model| &*model.name == name).map(|model| model.shape.clone()))
    }

    /// Bytes per token, as counted by `saved_tensors_hooks` for layers of these proportions.
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
            let counted = Bytes((counted * shape.hidden as f64 * 1000.0) as i128);
            assert!(low <= counted && counted <= high, "{name}: {counted} of {low}..{high}");
        }
        Ok(())
    }
}
