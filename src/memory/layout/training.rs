//! How weights are trained: the number formats, the optimizer, and the batch.

use serde::{Deserialize, Serialize};

use crate::memory::{Parameters, Width};

/// Bytes of weights and gradients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// Weights as they are kept.
    pub weights: Width,
    /// Gradients as they are accumulated.
    pub gradients: Width,
    /// A second copy of the weights for the optimizer.
    pub master: Option<Width>,
    /// Weights as they are used in computation, after being cast or gathered; activations have the same width.
    pub compute: Width,
    /// The residual stream between layers: as wide as embedding and norms if those are wider than the computation.
    pub residual: Width,
}

impl Precision {
    /// All in fp32.
    pub const FP32: Precision = Precision {
        weights: Width::FOUR,
        gradients: Width::FOUR,
        master: None,
        compute: Width::FOUR,
        residual: Width::FOUR,
    };
    /// fp32 weights, computed in 16 bit by autocast or FSDP's mixed precision (the default of verl and EasyR1).
    pub const FP32_COMPUTED_IN_16_BIT: Precision = Precision { compute: Width::TWO, ..Precision::FP32 };
    /// 16-bit weights and gradients, fp32 master weights: DeepSpeed with bf16 or fp16.
    pub const MIXED: Precision = Precision {
        weights: Width::TWO,
        gradients: Width::TWO,
        master: Some(Width::FOUR),
        compute: Width::TWO,
        residual: Width::TWO,
    };
    /// The same with gradients accumulated in fp32: `grad_accum_dtype: fp32`, Megatron.
    pub const MIXED_FP32_GRADIENTS: Precision = Precision { gradients: Width::FOUR, ..Precision::MIXED };
    /// All in 16 bit, the optimizer too.
    pub const PURE_16_BIT: Precision = Precision { master: None, ..Precision::MIXED };

    /// Whether nothing is wider than 16 bit, even if weights are quantised.
    pub fn is_all_16_bit(self) -> bool {
        let parts = [self.weights, self.gradients, self.stepped(), self.compute, self.residual];
        parts.iter().all(|width| width.high <= 2.0)
    }

    /// The width that the optimizer works on: master weights, or the weights themselves.
    pub fn stepped(self) -> Width {
        self.master.unwrap_or(self.weights)
    }
}

impl Default for Precision {
    fn default() -> Precision {
        Precision::MIXED
    }
}

/// The optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Optimizer {
    /// The algorithm.
    pub kind: OptimizerKind,
    /// Whether it keeps rounding errors in the width of the weights (Kahan summation).
    pub kahan: bool,
    /// Whether it updates all tensors at once with intermediate copies (`foreach`, PyTorch's default on devices) rather
    /// than fused or one by one.
    pub foreach: bool,
    /// Whether its states lie in memory that the driver moves to the host when the device runs short (bitsandbytes' paged optimizers).
    pub paged: bool,
    /// Whether it is known to update each tensor by one kernel, without such copies (Apex, Transformer Engine, `fused`).
    pub fused: bool,
}

/// An optimizer's algorithm, as far as its memory is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerKind {
    /// Adam, AdamW: two moments as wide as the weights that it works on.
    #[default]
    AdamW,
    /// Two moments of 8 bit with their scales.
    AdamW8Bit,
    /// Row and column sums instead of a second moment, no first moment.
    Adafactor,
    /// One moment: SGD with momentum, Lion.
    OneMoment,
    /// No state.
    Sgd,
    /// Nothing is trained.
    None,
}

impl Optimizer {
    /// Whether it may copy what it updates.
    pub fn may_copy(self) -> bool {
        self.kind == OptimizerKind::AdamW && !self.fused && !self.paged
    }

    /// Bytes of state per parameter for an optimizer that works on numbers of width `stepped`.
    pub fn states(self, stepped: Width, weights: Width) -> Width {
        let moments = match self.kind {
            OptimizerKind::AdamW => stepped.times(2.0),
            // Two fp32 scales per 256 (bitsandbytes) to 2048 numbers.
            OptimizerKind::AdamW8Bit => Width::between(2.0, 2.0 + 8.0 / 256.0),
            // One row and one column of a matrix with hundreds of both.
            OptimizerKind::Adafactor => Width::between(0.0, 4.0 / 100.0),
            OptimizerKind::OneMoment => stepped,
            OptimizerKind::Sgd | OptimizerKind::None => Width::ZERO,
        };
        if self.kahan { moments.plus(weights) } else { moments }
    }
}

/// A LoRA adapter, the only part that is trained. The weights beneath are as wide as `precision.weights` (QLoRA: 0.55
/// to 0.6 bytes).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Its parameters, with bounds if its target matrices are unknown.
    pub parameters: Parameters,
    /// Bytes per parameter.
    pub weights: Width,
}

/// Communication buffers, in elements. The defaults are DeepSpeed's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Buckets {
    /// Gradients being reduced.
    pub reduce: u64,
    /// Weights being gathered after a step of stage 1 or 2.
    pub allgather: u64,
    /// Whether a second bucket fills while the first is being sent.
    pub overlap: bool,
    /// Weights fetched ahead in stage 3.
    pub prefetch: u64,
    /// Gathered weights kept in stage 3.
    pub max_live: u64,
    /// Whether the buckets of all gradients are the gradients themselves (Megatron's buffers, `gradient_as_bucket_view`).
    pub gradients_are_buckets: bool,
}

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets {
            reduce: 500_000_000,
            allgather: 500_000_000,
            overlap: false,
            prefetch: 50_000_000,
            max_live: 1_000_000_000,
            gradients_are_buckets: false,
        }
    }
}

/// What a rank computes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Sequences per micro-batch.
    pub micro_batch: u64,
    /// Tokens of the longest sequence.
    pub sequence: u64,
    /// The most tokens of a packed or dynamic micro-batch, counted over all ranks of a sequence.
    pub token_budget: Option<u64>,
    /// Micro-batches per step.
    pub accumulation: u64,
}

impl Batch {
    /// `micro_batch` sequences of `sequence` tokens, without accumulation.
    pub fn of(micro_batch: u64, sequence: u64) -> Batch {
        Batch { micro_batch, sequence, token_budget: None, accumulation: 1 }
    }

    /// Tokens of a micro-batch on one of the `ranks` that share a sequence.
    pub fn tokens(self, ranks: u64) -> u64 {
        self.token_budget.unwrap_or(self.micro_batch.saturating_mul(self.sequence)).div_ceil(ranks.max(1))
    }
}

/// What is recomputed in backward instead of kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recomputation {
    /// Nothing.
    #[default]
    None,
    /// The attention matrix.
    Selective,
    /// All but each layer's input (gradient checkpointing).
    Full,
}

/// How attention is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attention {
    /// Without keeping the attention matrix: FlashAttention, SDPA's flash and memory-efficient kernels.
    #[default]
    Flash,
    /// With the matrix: `eager`.
    Eager,
}

/// How the loss treats the logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Logits {
    /// A copy in fp32 for the loss: transformers, OpenRLHF.
    #[default]
    Upcast,
    /// Cross entropy over the 16-bit logits in place: verl and EasyR1 without padding.
    InPlace,
    /// Never whole: a fused linear cross entropy (Liger).
    Fused,
}
