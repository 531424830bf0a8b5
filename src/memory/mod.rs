//! The arithmetic of training and serving memory.
//!
//! In go a model's size and shape and how a job spreads it ([`Layout`]); out comes what each moment takes on a device and
//! on a host ([`Plan`]), which figure that explains ([`explain`](explain())), and what a requested size was asked for
//! ([`size_matches`]). Exact where the source is exact, bounds where something is unknown; nothing here reads a file, prints or knows
//! a framework by its name.

mod activations;
mod amount;
mod checkpoint;
mod companions;
mod component;
mod explain;
mod kv_cache;
mod layout;
mod logits;
mod offload;
mod pinned;
mod plan;
mod process;
mod quantised;
mod requested_size;
mod serving;
mod size;
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
pub use pinned::Pinning;
pub use plan::{Moment, MomentPlan, Plan, Step};
pub use quantised::Quantised;
#[cfg(test)]
pub use requested_size::Family;
pub use requested_size::{Requested, Rounding, SizeMatch, size_matches};
pub use size::{ModelSize, Parameters, Width};
