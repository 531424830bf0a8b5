//! What versions of frameworks decide.

use serde::{Deserialize, Serialize};

use crate::memory::Pinning;

/// What versions of frameworks decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Implementation {
    /// The optimizer's states are there with the engine, not from the first step on.
    pub states_at_init: bool,
    /// Offload below stage 3 keeps the 16-bit weights of the rank's part in host memory too.
    pub weights_beside_master: bool,
    /// How pinned memory rounds.
    pub pinning: Pinning,
}
