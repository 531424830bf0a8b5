//! What shares devices and hosts with the training.

use serde::{Deserialize, Serialize};

use crate::memory::{Amount, ModelSize, Width};
use crate::model::Bytes;

/// Another model on the same devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Companion {
    /// Its role: `reference`, `reward`, `critic`.
    pub name: String,
    /// Its size.
    pub size: ModelSize,
    /// Bytes of a weight.
    pub weights: Width,
    /// Where its weights are.
    pub home: Home,
}

/// Where the weights of another model are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// Whole on every device.
    Replicated,
    /// Sharded over the same ranks as the trained model.
    Sharded,
    /// On the host, pinned; on the device only to compute.
    Host,
    /// Trained like the model itself, with all its states.
    Trained,
}

/// An inference engine on the same devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Engine {
    /// Devices of one engine.
    pub tensor_parallel: u64,
    /// Share of a whole device that it may fill: `gpu_memory_utilization`.
    pub memory_share: f64,
    /// Bytes of a weight.
    pub weights: Width,
    /// Bytes of a number in the KV cache.
    pub cache: Width,
    /// What happens while others compute.
    pub sleep: Sleep,
    /// Device memory that it keeps while asleep: context, communicators, graphs.
    pub residual: Amount,
}

impl Default for Engine {
    fn default() -> Engine {
        Engine {
            tensor_parallel: 1,
            memory_share: 0.9,
            weights: Width::TWO,
            cache: Width::TWO,
            sleep: Sleep::Never,
            residual: Amount { low: Bytes::GIB, high: Bytes(3 << 30) },
        }
    }
}

/// What an engine does while others compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sleep {
    /// It keeps everything.
    #[default]
    Never,
    /// It frees its cache and moves its weights to pinned host memory (vLLM's sleep level 1).
    WeightsToHost,
    /// It frees its cache and its weights.
    Discard,
}

/// Samples between ranks and on hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Samples {
    /// Processed images that a rank keeps.
    pub images: Option<Images>,
    /// Tokens of all samples that the first rank of a sequence sends to the others through device memory.
    pub broadcast_tokens: Option<u64>,
    /// The shared memory that Ray's object store may fill.
    pub object_store: Bytes,
}

/// Processed images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Images {
    /// Pixels of one image.
    pub pixels: u64,
    /// Different images that a rank holds at once.
    pub per_rank: u64,
}
