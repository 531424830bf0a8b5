//! What versions of frameworks decide.

use serde::{Deserialize, Serialize};

use super::{Export, Sharding};
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

impl Implementation {
    /// DeepSpeed at `version`; the newest where it is not known.
    ///
    /// - up to 0.13.1 a step with empty gradients at the start makes Adam's states (`initialize_optimizer_states`);
    /// - from 0.17.0 offload below stage 3 keeps `param_buffer_of_bit16_for_cpu_offload_groups`.
    pub fn deepspeed(version: Option<&str>) -> Implementation {
        Implementation {
            states_at_init: !at_least(version, [0, 13, 2]),
            weights_beside_master: at_least(version, [0, 17, 0]),
            ..Implementation::default()
        }
    }
}

/// Whether DeepSpeed at `version` pins offload buffers where the configuration does not say.
pub fn deepspeed_pins_by_default(version: Option<&str>) -> bool {
    at_least(version, [0, 19, 5])
}

/// What `--save_hf_ckpt` of OpenRLHF at `version` costs: from 0.7.5 all ranks clone the state before one writes it,
/// unless the weights are sharded.
pub fn openrlhf_export(version: Option<&str>, sharding: Sharding) -> Export {
    match !sharding.splits_weights() && at_least(version, [0, 7, 5]) {
        true => Export::EveryRank,
        false => Export::FirstRank,
    }
}

/// Whether PyTorch at `version` copies optimizer states when it loads them (a deep copy up to 2.0.1).
pub fn torch_load_copies(version: Option<&str>) -> bool {
    !at_least(version, [2, 1, 0])
}

/// Whether `version` is `least` or newer; an unknown version is the newest.
fn at_least(version: Option<&str>, least: [u64; 3]) -> bool {
    let Some(version) = version else { return true };
    let number = |part: &str| {
        let digits = part.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse::<u64>().unwrap_or(0)
    };
    let mut parts = version.trim_start_matches('v').split('.').map(number);
    least.map(|_| parts.next().unwrap_or(0)) >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_versions_by_number() {
        for (version, newer) in [("0.13.1", false), ("0.13.2", true), ("0.9.5", false), ("0.14", true), ("1.0", true)] {
            assert_eq!(Implementation::deepspeed(Some(version)).states_at_init, !newer, "{version}");
        }
        assert!(torch_load_copies(Some("2.0.1+cu118")));
        assert!(!torch_load_copies(Some("v2.1.0a0")));
        assert!(deepspeed_pins_by_default(None));
        assert_eq!(openrlhf_export(Some("0.7.4"), Sharding::ZeroTwo), Export::FirstRank);
        assert_eq!(openrlhf_export(Some("0.10.1.post2"), Sharding::ZeroTwo), Export::EveryRank);
        assert_eq!(openrlhf_export(None, Sharding::ZeroThree), Export::FirstRank);
    }
}
