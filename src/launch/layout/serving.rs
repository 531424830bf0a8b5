//! The layout of an inference engine that trains nothing.

use super::Config;
use crate::memory::{Batch, Cluster, Layout, Optimizer, OptimizerKind, Parallel, Precision, Quantised, Width};

/// Whether a job of this kind (the fact `config.job`) trains nothing.
pub(crate) fn serves(job: &str) -> bool {
    matches!(job, "serve" | "infer")
}

/// The layout of an engine on `cluster`: weights only, with its longest request as the batch.
pub(super) fn layout(config: Config<'_>, cluster: Cluster) -> Layout {
    let weights = match config.count("served_bits") {
        Some(4) => Quantised::FourBit.of_any_shape(),
        Some(8) => Quantised::EightBit.of_any_shape(),
        Some(16) => Width::TWO,
        Some(32) => Width::FOUR,
        _ => Width::between(Quantised::FourBit.of_any_shape().low, Width::TWO.high),
    };
    Layout {
        parallel: Parallel {
            tensor: config.count("tensor_parallel").unwrap_or(1),
            pipeline: config.count("pipeline_parallel").unwrap_or(1),
            ..Parallel::default()
        },
        precision: Precision { weights, gradients: Width::ZERO, master: None, ..Precision::PURE_16_BIT },
        optimizer: Optimizer { kind: OptimizerKind::None, ..Optimizer::default() },
        batch: config.count("sequence_length").map(|tokens| Batch::of(1, tokens)),
        cluster,
        ..Layout::default()
    }
}
