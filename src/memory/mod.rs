//! The arithmetic of training and serving memory.
//!
//! In go a model's size and shape and how a job spreads it ([`Layout`]). Out come the needs of each moment on a device
//! and on a host ([`Plan`]), the parts that explain an observed figure ([`explain`](explain())), and the quantities
//! that match a requested size ([`size_matches`]). Amounts are exact where the source is exact and have bounds where
//! something is unknown. Nothing here reads a file, prints or knows a framework by name.

mod activations;
mod amount;
mod checkpoint;
mod companions;
mod component;
mod explain;
mod kv_cache;
mod layout;
mod logits;
mod model_size;
mod offload;
mod pinned;
mod plan;
mod process;
mod quantised;
mod requested_size;
mod serving;
mod states;

pub mod samples;

pub use amount::Amount;
pub use component::{Component, Place};
pub use explain::{Explanation, Observed, States, explain, states};
pub use kv_cache::kv_bytes_per_token;
pub use layout::{
    Adapter, Attention, Batch, Buckets, Checkpoint, Cluster, Companion, Engine, Export, Home, IdleOffload, Images,
    Implementation, Layout, Logits, Offload, OffloadDevice, Optimizer, OptimizerKind, OptimizerOffload, Parallel,
    ParameterOffload, Precision, Recomputation, Resume, Samples, Sharding, Sleep, WeightsLoad,
};
pub use model_size::{ModelSize, Parameters, Width};
pub use pinned::Pinning;
pub use plan::{Moment, MomentPlan, Plan, SHAPE_UNKNOWN, Step};
pub use quantised::Quantised;
pub use requested_size::Family;
pub use requested_size::{Requested, Rounding, SizeMatch, size_matches};
