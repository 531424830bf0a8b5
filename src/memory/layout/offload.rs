//! What is offloaded to the host.

use serde::{Deserialize, Serialize};

/// What is offloaded to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offload {
    /// Optimizer states and master weights.
    pub optimizer: Option<OptimizerOffload>,
    /// Weights (ZeRO stage 3, FSDP).
    pub parameters: Option<ParameterOffload>,
    /// Elements that stage 3 steps at a time.
    pub sub_group_size: u64,
    /// Whether activations are moved to the host until backward.
    pub activations: bool,
}

impl Default for Offload {
    fn default() -> Offload {
        Offload { optimizer: None, parameters: None, sub_group_size: 1_000_000_000, activations: false }
    }
}

/// Where offloaded memory goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffloadDevice {
    /// Host memory.
    #[default]
    Cpu,
    /// A disk, through buffers in host memory.
    Nvme,
}

/// Offload of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OptimizerOffload {
    /// Where to.
    pub device: OffloadDevice,
    /// Whether its buffers are pinned.
    pub pin: bool,
    /// The share of sub-groups that are offloaded; the rest stays on the device (stage 3).
    pub ratio: f64,
}

impl OptimizerOffload {
    /// All of it to host memory.
    pub fn to_cpu(pin: bool) -> OptimizerOffload {
        OptimizerOffload { device: OffloadDevice::Cpu, pin, ratio: 1.0 }
    }
}

/// Offload of weights. DeepSpeed pins its flat buffer whatever the configuration says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterOffload {
    /// Where to.
    pub device: OffloadDevice,
}

/// What moves to the host between updates by pinned copies (verl's and EasyR1's offload). The update needs all of it
/// back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleOffload {
    /// Weights.
    pub parameters: bool,
    /// Optimizer states.
    pub optimizer: bool,
}
