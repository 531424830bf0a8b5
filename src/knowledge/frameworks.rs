use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;
use super::version::Version;

/// `rules/frameworks.toml`: how to tell what a job ran on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrameworkFile {
    pub framework: Vec<Framework>,
}

/// A training or serving framework.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framework {
    /// Its name.
    pub name: Arc<str>,
    /// What stands in the paths of its source files: a folder, a module.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Its source files that loggers put before a message, where no other program has one of that name.
    #[serde(default)]
    pub places: Vec<String>,
    /// What stands in command lines that start it, or in its configuration.
    #[serde(default)]
    pub launched_by: Vec<String>,
    /// Keys that stand together in its configuration files and in no others; one such set is enough.
    #[serde(default)]
    pub keys: Vec<Vec<String>>,
    /// Whose messages in a log show it, by producer.
    #[serde(default)]
    pub producers: Vec<String>,
    /// How its processes call themselves: Ray actors, engine workers; a part of the name.
    #[serde(default)]
    pub roles: Vec<String>,
    /// What it stands on, nearest first: their knobs are its knobs.
    #[serde(default)]
    pub uses: Vec<Arc<str>>,
    /// Whether jobs of other frameworks run on it, though none of them has its knobs: Slurm.
    #[serde(default)]
    pub carries_others: bool,
    /// A condition (CEL) under which its options do nothing for a job.
    #[serde(default)]
    pub unless: Option<Condition>,
    /// A condition (CEL) without which its options are not for a job: what is not known to hold does not.
    #[serde(default)]
    pub only: Option<Condition>,
    /// How it trains, where it decides that.
    #[serde(default)]
    pub trains: Option<Trains>,
    /// Other models on the devices that train; of several rows of one name the first that holds.
    #[serde(default)]
    pub companion: Vec<CompanionRow>,
    /// Facts that hold whatever the configuration says: the framework's own code sets them.
    #[serde(default)]
    pub always: BTreeMap<Arc<str>, bool>,
    /// Where settings of one of those are written, if no configuration of the user's reaches them: a place in its code,
    /// a key or an option that passes them on.
    #[serde(default)]
    pub set_in: BTreeMap<Arc<str>, Arc<str>>,
    /// From which version on it does what the arithmetic of memory asks for.
    #[serde(default)]
    pub since: BTreeMap<Behaviour, Version>,
}

/// What a framework's version decides of the memory that a job needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// The optimizer's states are there from the first step on, not with the engine.
    StatesFromFirstStep,
    /// Offload below stage 3 keeps the 16-bit weights of the rank's part in host memory too.
    WeightsBesideMaster,
    /// Optimizer states are loaded without a copy of them.
    StatesLoadedInPlace,
    /// Every rank clones the state that one exports, unless the weights are sharded.
    ExportOnEveryRank,
}

/// Another model on the devices that train.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompanionRow {
    /// What for: `reference`, `reward`, `critic`.
    pub name: Arc<str>,
    /// The fact that names it; without one, or where that says nothing, it is as large as the trained model.
    #[serde(default)]
    pub model: Option<Arc<str>>,
    /// Where it lives.
    pub home: CompanionHome,
    /// A condition (CEL) under which it is there.
    pub when: Condition,
}

/// Where another model lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompanionHome {
    /// Whole on every device.
    Replicated,
    /// Shared out as the trained model's ranks are.
    Sharded,
    /// On the host.
    Host,
    /// As the model itself, with all its states.
    Trained,
}

/// How a framework trains.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trains {
    /// In which numbers.
    pub precision: TrainsIn,
    /// Whether PyTorch's FSDP shares states out, not ZeRO.
    #[serde(default)]
    pub fsdp: bool,
    /// Whether the loss is computed on 16-bit logits in place.
    #[serde(default)]
    pub logits_in_place: bool,
    /// Where roll-outs are generated.
    #[serde(default)]
    pub engine: EngineIs,
}

/// Where an inference engine is that generates roll-outs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineIs {
    /// On devices of its own, unless `config.colocate` says otherwise.
    #[default]
    Elsewhere,
    /// On the devices that train; it sleeps where `config.sleep_mode` says so.
    Beside,
}

/// In which numbers weights, gradients and states are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainsIn {
    /// 16-bit weights and gradients, fp32 master weights.
    Mixed,
    /// The same with fp32 gradients.
    MixedFp32Gradients,
    /// All in fp32, computed in 16 bit.
    #[serde(rename = "fp32_computed_in_16_bit")]
    Fp32ComputedIn16Bit,
}
