use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;
use super::version::Version;

/// `rules/frameworks.toml`: how to recognise the framework of a job, and the versions of what it stands on.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrameworkFile {
    pub framework: Vec<Framework>,
    #[serde(default)]
    pub wording: Vec<Wording>,
}

/// Words of a program's message that newer versions no longer print.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// The program, by the name that its knobs have.
    pub of: Arc<str>,
    /// Words that all stand in the message.
    pub words: Vec<Box<str>>,
    /// The last version that prints them.
    pub until: Arc<str>,
}

impl Wording {
    /// Whether `message` is said in these words.
    pub fn is_of(&self, message: &str) -> bool {
        self.words.iter().all(|words| message.contains(&**words))
    }
}

/// A training or serving framework.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framework {
    /// Its name.
    pub name: Arc<str>,
    /// Parts of the paths of its source files: a folder, a module.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Names of its source files that loggers print and that no other program has.
    #[serde(default)]
    pub places: Vec<String>,
    /// Words in command lines that start it, or in its configuration.
    #[serde(default)]
    pub launched_by: Vec<String>,
    /// The script that starts it, where no words of its command line are its own: `main.py`. It shows nothing by itself.
    #[serde(default)]
    pub script: Option<Arc<str>>,
    /// Parts of the names of functions by which a program of the user's own uses it. They show it only if nothing else does, or only a framework that carries others.
    #[serde(default)]
    pub called_by: Vec<String>,
    /// Keys that stand together in its configuration files and in no others; one such set is enough.
    #[serde(default)]
    pub keys: Vec<Vec<String>>,
    /// Producers whose messages in a log show it.
    #[serde(default)]
    pub producers: Vec<String>,
    /// Parts of the names of its processes: Ray actors, engine workers.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Frameworks that it builds on, nearest first; their knobs are its knobs.
    #[serde(default)]
    pub uses: Vec<Arc<str>>,
    /// Whether jobs of other frameworks run on it without having its knobs: Slurm.
    #[serde(default)]
    pub carries_others: bool,
    /// A condition (CEL) under which its options have no effect on a job.
    #[serde(default)]
    pub unless: Option<Condition>,
    /// A condition (CEL) that must be known to hold for its options to apply to a job.
    #[serde(default)]
    pub only: Option<Condition>,
    /// How it trains, if it decides that.
    #[serde(default)]
    pub trains: Option<Trains>,
    /// Other models on the training devices; of several rows of one name the first that holds counts.
    #[serde(default)]
    pub companion: Vec<CompanionRow>,
    /// Facts that hold in every configuration because the framework's own code sets them.
    #[serde(default)]
    pub always: BTreeMap<Arc<str>, bool>,
    /// Where settings of a framework in `uses` are made if the user's configuration does not reach them: a place in the code, or a key or
    /// option that passes them on.
    #[serde(default)]
    pub set_in: BTreeMap<Arc<str>, Arc<str>>,
    /// The file by which its own launcher starts several processes.
    #[serde(default)]
    pub launcher_file: Option<LauncherFile>,
    /// Whether it is a library whose options are those of scripts, each of which parses its own.
    #[serde(default)]
    pub leaves_options_to_scripts: bool,
    /// Changes of `rules/prices.toml` that it cannot make.
    #[serde(default)]
    pub lacks: Vec<Box<str>>,
    /// The version from which on it has a behaviour that the memory arithmetic depends on.
    #[serde(default)]
    pub since: BTreeMap<Behaviour, Version>,
}

impl Framework {
    /// Whether `words`, a command line, an image or a configuration, name it.
    pub fn is_launched_by(&self, words: &str) -> bool {
        self.launched_by.iter().any(|start| words.contains(start.as_str()))
    }

    /// Whether `name` is that of one of its container images without its owner: `sglang` of `lmsysorg/sglang`.
    pub fn is_image(&self, name: &str) -> bool {
        self.launched_by.iter().any(|start| start.rsplit_once('/').is_some_and(|(_, image)| image == name))
    }

    /// Whether `path` is the script that starts it.
    pub fn is_script(&self, path: &str) -> bool {
        self.script.is_some() && path.rsplit(['/', '\\']).next() == self.script.as_deref()
    }

    /// Whether `words` name it by more than the file name of a script, which a program of one's own may have as well.
    pub fn is_launched_by_name(&self, words: &str) -> bool {
        self.launched_by.iter().any(|start| !start.ends_with(".py") && words.contains(start.as_str()))
    }
}

/// A file that only a framework's launcher reads, not the script that it starts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LauncherFile {
    /// A key by which it is known.
    pub key: Arc<str>,
    /// The key of the number of processes.
    pub processes: Arc<str>,
    /// Words with which a launch names this launcher or another one that starts several processes.
    pub unless_said: Vec<String>,
    /// Words with which code does so.
    pub unless_called: Vec<String>,
    /// Frameworks whose lines in the log show that several processes ran.
    pub unless_of: Vec<Arc<str>>,
}

/// A behaviour of some versions that changes the memory a job needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// The optimizer's states are allocated by the first step, not with the engine.
    StatesFromFirstStep,
    /// Offload below stage 3 keeps the rank's part of the 16-bit weights in host memory, too.
    WeightsBesideMaster,
    /// Optimizer states are loaded without a copy of them.
    StatesLoadedInPlace,
    /// Every rank clones the state that one rank exports, unless the weights are sharded.
    ExportOnEveryRank,
}

/// Another model on the training devices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompanionRow {
    /// Its purpose: `reference`, `reward`, `critic`.
    pub name: Arc<str>,
    /// The fact that names the model; if it is absent or unknown, the model is as large as the trained one.
    #[serde(default)]
    pub model: Option<Arc<str>>,
    /// Where it lives.
    pub home: CompanionHome,
    /// A condition (CEL) under which it exists.
    pub when: Condition,
}

/// Where another model lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompanionHome {
    /// Whole on every device.
    Replicated,
    /// Sharded over the ranks like the trained model.
    Sharded,
    /// On the host.
    Host,
    /// Trained, too, with all its states.
    Trained,
}

/// How a framework trains.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trains {
    /// The precision.
    pub precision: TrainsIn,
    /// Whether PyTorch's FSDP shards the states, not ZeRO.
    #[serde(default)]
    pub fsdp: bool,
    /// Whether the loss is computed in place on 16-bit logits.
    #[serde(default)]
    pub logits_in_place: bool,
    /// Where rollouts are generated.
    #[serde(default)]
    pub engine: EngineIs,
}

/// Where the inference engine that generates rollouts runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineIs {
    /// On devices of its own, unless `config.colocate` says otherwise.
    #[default]
    Elsewhere,
    /// On the training devices; it sleeps if `config.sleep_mode` says so.
    Beside,
}

/// The precision of weights, gradients and states.
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
