//! The quantities that may be allocated in one piece.

use crate::knowledge::Shape;
use crate::memory::layout::Layout;
use crate::memory::states::Job;
use crate::memory::{ModelSize, Parameters, Width};

/// A quantity that may be allocated in one piece.
pub(super) struct Quantity {
    pub name: &'static str,
    pub family: Family,
    pub size: Size,
    /// The computation of its size, without the unknown number.
    pub formula: String,
}

/// The family of a quantity, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Scores of every vocabulary entry for every token.
    Logits,
    /// Tensors between and within layers.
    Activations,
    /// Scores of every token for every token.
    Attention,
    /// A matrix, a layer or an expert: weights, or their gradients.
    Weights,
    /// All parameters or a rank's part of them in one buffer: weights, gradients, master weights or a moment of Adam.
    States,
    /// A buffer that is reduced or gathered at once.
    Bucket,
}

impl Family {
    /// The word that rules compare with.
    pub const fn as_str(self) -> &'static str {
        match self {
            Family::Logits => "logits",
            Family::Activations => "activations",
            Family::Attention => "attention",
            Family::Weights => "weights",
            Family::States => "states",
            Family::Bucket => "bucket",
        }
    }
}

pub(super) enum Size {
    /// This many numbers of this width.
    Fixed(Parameters, Width),
    /// This many bytes per token, for an unknown number of tokens.
    Tokens { each: u64 },
    /// The square of an unknown length, `times` over, with `width` bytes each.
    Square { times: u64, width: u64 },
}

/// The quantities of `model` in `layout`: first in fp32, then in 16 bit.
pub(super) fn quantities(model: &ModelSize, layout: &Layout) -> Vec<Quantity> {
    let mut all = Vec::new();
    for bytes in [4, 2] {
        let width = Width::exactly(bytes as f64);
        let mut fixed = |name, family, count: Parameters, formula: String| {
            if count.low > 0 {
                let formula = format!("{formula} × {width} bytes");
                all.push(Quantity { name, family, size: Size::Fixed(count, width), formula });
            }
        };
        states(model, layout, &mut fixed);
        if let Some(shape) = &model.shape {
            weights(shape, layout, &mut |name, count, formula| fixed(name, Family::Weights, count, formula));
            activations(shape, layout, bytes, &mut all);
        }
    }
    all
}

/// Flat buffers of states and of communication.
fn states(model: &ModelSize, layout: &Layout, fixed: &mut impl FnMut(&'static str, Family, Parameters, String)) {
    use Family::{Bucket, States};
    let job = Job { model, layout };
    let whole = layout.on_rank(model);
    fixed("all parameters", States, whole, whole.to_string());
    if !layout.sharding.is_zero() {
        return;
    }
    if layout.shards() > 1 {
        fixed("a rank's part of the parameters", States, job.stepped(), format!("{whole} ÷ {}", layout.shards()));
    }
    let (bucket, group) = (layout.buckets.reduce, layout.offload.sub_group_size);
    fixed("gradient bucket", Bucket, Parameters::exactly(bucket), format!("{bucket:.0e}"));
    if job.stepped().low > group {
        fixed("a sub-group of the optimizer", States, Parameters::exactly(group), format!("{group:.0e}"));
    }
}

/// Single weights and layers, or their gradients, as they are loaded, moved or gathered.
fn weights(shape: &Shape, layout: &Layout, fixed: &mut impl FnMut(&'static str, Parameters, String)) {
    let tensor = layout.parallel.tensor.max(1);
    let mut matrix = |name, rows: u64, columns: u64| {
        let formula = match tensor {
            1 => format!("{rows} × {columns}"),
            tensor => format!("{rows} × {columns} ÷ {tensor}"),
        };
        fixed(name, Parameters::exactly(rows.saturating_mul(columns)).shard(tensor), formula);
    };
    let width = shape.embedding_parameters() / shape.vocabulary.max(1);
    matrix("embedding or output head", shape.vocabulary, width);
    matrix("a matrix of the MLP", shape.hidden, shape.intermediate);
    if shape.gated_mlp {
        matrix("both inward matrices of the MLP", shape.hidden, 2 * shape.intermediate);
    }
    if let Some(experts) = &shape.experts {
        matrix("inward matrices of all experts", shape.hidden, 2 * experts.count * experts.intermediate);
        matrix("outward matrices of all experts", shape.hidden, experts.count * experts.intermediate);
    }
    // An added padding token enlarges the vocabulary by a few rows, perhaps rounded up.
    let added = Parameters::between((shape.vocabulary + 1) * width, (shape.vocabulary + 64) * width);
    let formula = format!("({} + up to 64) × {width}", shape.vocabulary);
    fixed("embedding or output head with a few tokens added", added.shard(tensor), formula);
    let (layer, shards) = (shape.largest_layer(), layout.shards());
    fixed("a layer", Parameters::exactly(layer).shard(tensor), format!("{layer} parameters"));
    if layout.sharding.is_fsdp() && shards > 1 {
        let part = Parameters::exactly(layer).shard(shards * tensor);
        fixed("a rank's part of a layer", part, format!("{layer} parameters ÷ {shards}"));
    }
}

/// Quantities that grow with the number of tokens: logits, activations between layers, the attention matrix.
fn activations(shape: &Shape, layout: &Layout, bytes: u64, all: &mut Vec<Quantity>) {
    let tensor = layout.parallel.tensor.max(1);
    let width = Width::exactly(bytes as f64);
    let known = layout.batch.map(|batch| batch.tokens(layout.parallel.sequence)).filter(|tokens| *tokens > 0);
    for (name, family, each, width_name) in [
        ("logits", Family::Logits, shape.vocabulary.div_ceil(tensor), "vocabulary"),
        ("hidden states", Family::Activations, shape.hidden, "hidden"),
        ("an intermediate of the MLP", Family::Activations, shape.intermediate.div_ceil(tensor), "intermediate"),
    ] {
        let formula = format!("{each} {width_name} × {bytes} bytes");
        if let Some(tokens) = known {
            let size = Size::Fixed(Parameters::exactly(tokens.saturating_mul(each)), width);
            all.push(Quantity { name, family, size, formula: format!("{tokens} tokens × {formula}") });
        }
        all.push(Quantity { name, family, size: Size::Tokens { each: each * bytes }, formula });
    }
    let (name, family) = ("attention matrix", Family::Attention);
    let times = layout.batch.map_or(1, |batch| batch.micro_batch.max(1)).saturating_mul(shape.heads.div_ceil(tensor));
    if let Some(sequence) = layout.batch.map(|batch| batch.sequence).filter(|sequence| *sequence > 0) {
        let count = Parameters::exactly(sequence.saturating_mul(sequence).saturating_mul(times));
        let formula = format!("{times} × {sequence}² × {bytes} bytes");
        all.push(Quantity { name, family, size: Size::Fixed(count, width), formula });
    }
    all.push(Quantity { name, family, size: Size::Square { times, width: bytes }, formula: times.to_string() });
}
