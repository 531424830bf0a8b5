use std::fmt;

use serde::{Deserialize, Serialize};

use super::Amount;

/// Something that takes memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Component {
    /// What it is.
    pub name: String,
    /// How much it takes: on one device, or on one host for all its ranks.
    pub bytes: Amount,
    /// How that comes about.
    pub formula: String,
    /// Where.
    pub place: Place,
}

/// Where memory is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// On a device.
    Device,
    /// On a host.
    Host,
    /// On a host, page-locked: it cannot be swapped, and PyTorch does not give it back.
    HostPinned,
}

impl Place {
    /// Whether it is host memory, page-locked or not.
    pub fn is_host(self) -> bool {
        self != Place::Device
    }
}

/// Components that stay from one moment to the next throughout a step.
const STATES: [&str; 5] = ["weights", "adapter", "master weights", "gradients", "optimizer states"];

/// Pages that are written but not yet on the disk.
pub(super) const PAGE_CACHE: &str = "page cache of the checkpoint";

impl Component {
    /// Whether it stays from one moment to the next rather than coming and going within a moment.
    pub fn is_state(&self) -> bool {
        STATES.contains(&self.name.as_str())
    }

    /// Whether the kernel reclaims it before anything is killed: page cache.
    pub fn is_reclaimable(&self) -> bool {
        self.name == PAGE_CACHE
    }

    /// Whether it lies on a host and stays there when memory runs short.
    pub fn is_kept_on_host(&self) -> bool {
        self.place.is_host() && !self.is_reclaimable()
    }

    pub(super) fn on_device(name: impl Into<String>, bytes: Amount, formula: impl Into<String>) -> Component {
        Component { name: name.into(), bytes, formula: formula.into(), place: Place::Device }
    }

    pub(super) fn on_host(name: impl Into<String>, bytes: Amount, formula: impl Into<String>) -> Component {
        Component { name: name.into(), bytes, formula: formula.into(), place: Place::Host }
    }

    pub(super) fn pinned(name: impl Into<String>, bytes: Amount, formula: impl Into<String>) -> Component {
        Component { name: name.into(), bytes, formula: formula.into(), place: Place::HostPinned }
    }
}

impl fmt::Display for Component {
    /// `weights 14.96 GiB`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.bytes)
    }
}
