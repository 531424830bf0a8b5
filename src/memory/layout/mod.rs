//! How a job spreads a model over devices and hosts.
//!
//! Nothing here knows a framework: the differences between DeepSpeed, FSDP, OpenRLHF, verl and EasyR1 are values of
//! these fields, and those between versions are `since` in `rules/frameworks.toml` and [`Implementation`].

mod checkpoint;
mod companions;
mod implementation;
mod offload;
mod training;

use serde::{Deserialize, Serialize};

pub use checkpoint::{Checkpoint, Export, Resume, WeightsLoad};
pub use companions::{Companion, Engine, Home, Images, Samples, Sleep};
pub use implementation::Implementation;
pub use offload::{IdleOffload, Offload, OffloadDevice, OptimizerOffload, ParameterOffload};
pub use training::{Adapter, Attention, Batch, Buckets, Logits, Optimizer, OptimizerKind, Precision, Recomputation};

use super::{ModelSize, Parameters, Width};
use crate::model::Bytes;

/// A job's layout. The default is one device that trains in 16 bit with fp32 master weights and AdamW.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// The machines.
    pub cluster: Cluster,
    /// Splits of the model and of the sequence.
    pub parallel: Parallel,
    /// What data-parallel ranks share out among themselves.
    pub sharding: Sharding,
    /// The number of ranks that shard a second copy of the weights, if there is one (ZeRO++'s hpZ).
    pub secondary_shards: Option<u64>,
    /// Bytes of weights and gradients.
    pub precision: Precision,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// An adapter that is trained instead of the weights: LoRA.
    pub adapter: Option<Adapter>,
    /// How many of the weights are trained, if the others are frozen: a vision tower beneath a language model.
    pub trained: Option<Parameters>,
    /// What is offloaded to the host.
    pub offload: Offload,
    /// What moves to the host between updates.
    pub idle_offload: IdleOffload,
    /// Communication buffers.
    pub buckets: Buckets,
    /// What a rank computes at once; `None` if that is unknown.
    pub batch: Option<Batch>,
    /// What a rank computes at once in passes for log-probabilities, values and rewards, if that is not [`Self::batch`].
    pub experience_batch: Option<Batch>,
    /// Whether those passes also compute the entropy of all their logits at once.
    pub whole_entropy: bool,
    /// What is recomputed in backward instead of kept.
    pub recomputation: Recomputation,
    /// How attention is computed.
    pub attention: Attention,
    /// How the loss treats the logits.
    pub logits: Logits,
    /// How weights and states are loaded and saved.
    pub checkpoint: Checkpoint,
    /// Behaviour that depends on the framework's version.
    pub implementation: Implementation,
    /// Other models on the same devices.
    pub companions: Vec<Companion>,
    /// An inference engine on the same devices.
    pub engine: Option<Engine>,
    /// Samples between ranks and on hosts.
    pub samples: Samples,
}

impl Layout {
    /// The number of ranks that a sharded state is split over. Ranks that share a sequence count as well, since they
    /// hold equal weights.
    pub fn shards(&self) -> u64 {
        let ranks = self.cluster.devices() / self.parallel.model_ranks();
        match self.sharding {
            Sharding::FsdpHybrid => ranks.min(self.cluster.devices_per_node),
            _ => ranks,
        }
        .max(1)
    }

    /// The parameters on one rank before sharding: its part by tensor and pipeline parallelism.
    pub fn on_rank(&self, model: &ModelSize) -> Parameters {
        let even = model.parameters.shard(self.parallel.model_ranks());
        if self.parallel.pipeline <= 1 {
            return even;
        }
        // The first and the last stage also hold the embedding and the head.
        let embedding = model.shape.as_ref().map_or(even.high / 10, |shape| shape.embedding_parameters());
        Parameters { low: even.low, high: even.high + embedding / self.parallel.tensor.max(1) }
    }

    /// The trained parameters on one rank before sharding.
    pub fn trained_on_rank(&self, model: &ModelSize) -> Parameters {
        match (&self.adapter, self.optimizer.kind) {
            (_, OptimizerKind::None) => Parameters::exactly(0),
            (Some(adapter), _) => adapter.parameters.shard(self.parallel.model_ranks()),
            (None, _) => match self.trained {
                Some(trained) => trained.shard(self.parallel.model_ranks()),
                None => self.on_rank(model),
            },
        }
    }

    /// The width of the residual stream between layers. FSDP and stage 3 cast inputs to the width that they compute in.
    pub fn residual(&self) -> Width {
        if self.sharding.splits_weights() { self.precision.compute } else { self.precision.residual }
    }

    /// Whether the optimizer steps on the host.
    pub fn steps_on_host(&self) -> bool {
        self.offload.optimizer.is_some()
    }
}

/// The machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// Devices per node, each with one rank.
    pub devices_per_node: u64,
    /// Nodes.
    pub nodes: u64,
    /// Memory of a device, if known.
    pub device_memory: Option<Bytes>,
    /// Memory of a host, or the limit of its container, if known.
    pub host_memory: Option<Bytes>,
}

impl Default for Cluster {
    fn default() -> Cluster {
        Cluster { devices_per_node: 1, nodes: 1, device_memory: None, host_memory: None }
    }
}

impl Cluster {
    /// `nodes` nodes of `devices_per_node` devices.
    pub fn of(nodes: u64, devices_per_node: u64) -> Cluster {
        Cluster { devices_per_node, nodes, ..Cluster::default() }
    }

    /// All devices.
    pub fn devices(&self) -> u64 {
        self.devices_per_node.saturating_mul(self.nodes).max(1)
    }
}

/// Splits of the model and of the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parallel {
    /// Ranks that split each matrix.
    pub tensor: u64,
    /// Ranks that split the layers.
    pub pipeline: u64,
    /// Ranks that split a sequence: Ulysses, ring attention, context parallel.
    pub sequence: u64,
    /// Whether activations between split matrices are split too (Megatron's sequence parallelism), if known.
    pub splits_inputs: Option<bool>,
}

impl Default for Parallel {
    fn default() -> Parallel {
        Parallel { tensor: 1, pipeline: 1, sequence: 1, splits_inputs: None }
    }
}

impl Parallel {
    /// The number of ranks that together hold one copy of the model.
    pub fn model_ranks(self) -> u64 {
        self.tensor.saturating_mul(self.pipeline).max(1)
    }
}

/// What data-parallel ranks share out among themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharding {
    /// Nothing: DDP, FSDP `NO_SHARD`, one device.
    #[default]
    Replicated,
    /// Optimizer states: DeepSpeed ZeRO stage 1, Megatron's distributed optimizer.
    ZeroOne,
    /// Optimizer states and gradients: ZeRO stage 2.
    ZeroTwo,
    /// All: ZeRO stage 3.
    ZeroThree,
    /// All, gathered unit by unit: FSDP `FULL_SHARD`.
    FsdpFull,
    /// All, but the weights stay gathered from forward to the end of backward: FSDP `SHARD_GRAD_OP`.
    FsdpGradOp,
    /// Like `FsdpFull` within a node, replicated between nodes: FSDP `HYBRID_SHARD`.
    FsdpHybrid,
}

impl Sharding {
    /// Whether weights are sharded.
    pub fn splits_weights(self) -> bool {
        matches!(self, Sharding::ZeroThree) || self.is_fsdp()
    }

    /// Whether gradients are sharded.
    pub fn splits_gradients(self) -> bool {
        matches!(self, Sharding::ZeroTwo) || self.splits_weights()
    }

    /// Whether optimizer states are sharded.
    pub fn splits_optimizer(self) -> bool {
        self != Sharding::Replicated
    }

    /// Whether it is PyTorch's FSDP.
    pub fn is_fsdp(self) -> bool {
        matches!(self, Sharding::FsdpFull | Sharding::FsdpGradOp | Sharding::FsdpHybrid)
    }

    /// Whether it is ZeRO stage 1, 2 or 3.
    pub fn is_zero(self) -> bool {
        matches!(self, Sharding::ZeroOne | Sharding::ZeroTwo | Sharding::ZeroThree)
    }
}
