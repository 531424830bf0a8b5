//! Behaviour that depends on the version of a framework.

use serde::{Deserialize, Serialize};

use crate::memory::Pinning;

/// Behaviour that depends on the version of a framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Implementation {
    /// Whether the optimizer's states exist from the engine's start rather than from the first step.
    pub states_at_init: bool,
    /// Whether offload below stage 3 also keeps the 16-bit weights of the rank's part in host memory.
    pub weights_beside_master: bool,
    /// How allocations of pinned memory are rounded.
    pub pinning: Pinning,
}
