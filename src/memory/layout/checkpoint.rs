//! What is loaded and saved.

use serde::{Deserialize, Serialize};

use crate::memory::Width;

/// What is loaded and saved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// How the weights come in at the start.
    pub weights: WeightsLoad,
    /// How the optimizer states come back.
    pub resume: Resume,
    /// Whether loading copies the states once more (`Optimizer.load_state_dict` of PyTorch up to 2.0.1).
    pub load_copies: bool,
    /// An export of the weights for others.
    pub export: Export,
    /// Whether the first rank gathers all weights and optimizer states (FSDP `FULL_STATE_DICT`).
    pub full_state: bool,
    /// Whether each rank copies its shards to the host to save them (verl, EasyR1).
    pub copies_shards: bool,
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
        }
    }
}

/// How weights come in at the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightsLoad {
    /// Every rank builds the model in host memory.
    EveryRank(Width),
    /// One rank does and sends it round: `zero.Init`, EasyR1's rank-0 start.
    FirstRank(Width),
    /// Tensor by tensor onto the device.
    Streamed,
}

/// How optimizer states come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// They do not.
    #[default]
    Nothing,
    /// Every rank its own part, all at once.
    OwnPart,
    /// Every rank its own part, one after the other (`pipeline_loading_checkpoint`).
    OwnPartInTurn,
    /// Every rank all parts (`elastic_checkpoint`).
    AllParts,
    /// Parameter by parameter (DeepSpeed's universal checkpoint).
    Universal,
}

/// An export of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Export {
    /// None.
    #[default]
    Nothing,
    /// Gathered in the first rank's host memory.
    FirstRank,
    /// Cloned by every rank, though one writes (OpenRLHF from 0.7.5 below stage 3).
    EveryRank,
}
