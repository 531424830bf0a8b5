//! How a job loads weights and states and saves them.

use serde::{Deserialize, Serialize};

use crate::memory::Width;

/// How a job loads weights and states and saves them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// How the weights are loaded at the start.
    pub weights: WeightsLoad,
    /// How the optimizer states are restored.
    pub resume: Resume,
    /// Whether loading makes another copy of the states (`Optimizer.load_state_dict` of PyTorch up to 2.0.1).
    pub load_copies: bool,
    /// How the weights are exported for other programs.
    pub export: Export,
    /// Whether the first rank gathers all weights and optimizer states (FSDP `FULL_STATE_DICT`).
    pub full_state: bool,
    /// Whether each rank copies its shards to the host to save them (verl, EasyR1).
    pub copies_shards: bool,
    /// Whether weights and optimizer states are copied and written one after the other (accelerate).
    pub in_turn: bool,
}

impl Default for Checkpoint {
    fn default() -> Checkpoint {
        Checkpoint {
            weights: WeightsLoad::EveryRank(Width::TWO),
            resume: Resume::Nothing,
            load_copies: false,
            export: Export::Nothing,
            full_state: false,
            copies_shards: false,
            in_turn: false,
        }
    }
}

/// How weights are loaded at the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightsLoad {
    /// Every rank builds the model in host memory.
    EveryRank(Width),
    /// One rank does, and sends the weights to the others: `zero.Init`, EasyR1's rank-0 start.
    FirstRank(Width),
    /// Tensor by tensor onto the device, or made there.
    Streamed,
}

/// How optimizer states are restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// They are not.
    #[default]
    Nothing,
    /// Every rank loads its own part, all ranks at once.
    OwnPart,
    /// Every rank loads its own part, one rank after the other (`pipeline_loading_checkpoint`).
    OwnPartInTurn,
    /// Every rank loads all parts (`elastic_checkpoint`).
    AllParts,
    /// Parameter by parameter (DeepSpeed's universal checkpoint).
    Universal,
}

/// How weights are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Export {
    /// None.
    #[default]
    Nothing,
    /// Gathered in the first rank's host memory.
    FirstRank,
    /// Cloned by every rank, although only one writes (OpenRLHF from 0.7.5 below stage 3).
    EveryRank,
}
