//! Derives the memory layout of a job from facts.

mod companions;
mod engine;
mod serving;
mod training;

pub(crate) use companions::rolls_out;
pub(crate) use serving::serves;

use super::JobConfig;
use crate::facts::{Facts, Value};
use crate::knowledge::{Behaviour, CompanionRow, EngineIs, Framework, Trains, TrainsIn, Version};
use crate::memory::{
    Attention, Checkpoint, Cluster, Export, IdleOffload, Implementation, Layout, Logits, ModelSize, OffloadDevice,
    Parallel, Recomputation, Resume, Samples, Sharding, WeightsLoad, Width, kv_bytes_per_token,
};
use crate::model::{Bytes, Citation, Figure, FigureName, Incident, Kind};

/// How a job of an unknown framework is assumed to train: like DeepSpeed and most trainers.
pub(crate) const USUAL: Trains =
    Trains { precision: TrainsIn::Mixed, fsdp: false, logits_in_place: false, engine: EngineIs::Elsewhere };

/// The facts with the prefix `config.`, from which a layout is read.
#[derive(Clone, Copy)]
struct Config<'f>(&'f Facts);

impl<'f> Config<'f> {
    fn number(self, name: &str) -> Option<f64> {
        self.0.number(&format!("config.{name}"))
    }

    fn count(self, name: &str) -> Option<u64> {
        self.number(name).filter(|number| *number >= 1.0).map(|number| number as u64)
    }

    fn flag(self, name: &str) -> Option<bool> {
        match self.0.get(&format!("config.{name}"))?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    fn text(self, name: &str) -> Option<&'f str> {
        self.0.text(&format!("config.{name}"))
    }

    fn device(self, name: &str) -> Option<OffloadDevice> {
        match self.0.text(&format!("config.{name}"))? {
            "cpu" => Some(OffloadDevice::Cpu),
            "nvme" => Some(OffloadDevice::Nvme),
            _ => None,
        }
    }
}

impl JobConfig<'_> {
    /// The trained model, and the citations that name it; `None` if its size is unknown.
    pub(crate) fn model(&self, facts: &Facts) -> Option<(ModelSize, Vec<Citation>)> {
        for name in ["model", "config.model", "job.model"] {
            if let Some(found) = facts.text(name).and_then(|model| self.knowledge.models.find(model)) {
                let cites = facts.cites(name);
                return Some((ModelSize::from(found), cites));
            }
        }
        if let Some(described) = super::shape::described(facts) {
            return Some((described, Vec::new()));
        }
        let count = facts.number("job.parameters").filter(|count| *count >= 1.0)?;
        let cites = facts.cites("job.parameters");
        Some((ModelSize::of_parameters(count as u64), cites))
    }

    /// Adds the numbers of heads of a model that is known by name, as flags would state them.
    pub(crate) fn state_heads(&self, facts: &mut Facts) {
        let Some((shape, cites)) = self.model(facts).and_then(|(model, cites)| Some((model.shape?, cites))) else {
            return;
        };
        for (name, heads) in [("shape.heads", shape.heads), ("shape.kv_heads", shape.kv_heads())] {
            if facts.number(name).is_none() {
                facts.cite(name, Value::Number(heads as f64), cites.clone());
            }
        }
    }

    /// Adds what the weights of a model of known size take in 16 bit, and the keys and values of a token, whatever they are kept in.
    pub(crate) fn state_weights(&self, facts: &mut Facts) {
        let Some((model, cites)) = self.model(facts) else { return };
        let of_token = model.shape.as_ref().map(|shape| kv_bytes_per_token(shape, Width::TWO, 1).high);
        let weights = Some(model.parameters.at(Width::TWO).high);
        for (name, bytes) in [("model.in_16_bit", weights), ("model.kv_per_token", of_token)] {
            if let Some(bytes) = bytes {
                facts.cite(name, Value::Number(bytes.0 as f64), cites.clone());
            }
        }
        engine::state_adapters(facts, &model);
        self.state_draft(facts);
    }

    /// The layout that `facts` describe for training `model`. `None` if an essential fact is unknown: the number of
    /// ranks that share states, the size of an adapter, or how quantised weights are trained.
    pub(crate) fn layout(&self, facts: &Facts, model: &ModelSize, trains: Trains) -> Option<Layout> {
        let config = Config(facts);
        let cluster = cluster(facts)?;
        if config.text("job").is_some_and(serves) {
            return Some(serving::layout(config, cluster));
        }
        let sharding = sharding(config, trains)?;
        // If the kind of sharding is stated, it decides between FSDP and ZeRO.
        let fsdp = config.text("sharding").map_or(trains.fsdp, |_| sharding.is_fsdp());
        let trains = Trains { fsdp, ..trains };
        let (precision, adapter) = training::precision_and_adapter(config, model, trains)?;
        // Where weights are split, a trainer may count one rank's; whoever counts all parameters as well does not.
        let is_whole = !sharding.splits_weights() || facts.get("job.parameters").is_some();
        let stated = facts.number("trainer.trainable_parameters").filter(|_| is_whole).map(|count| count as u64);
        let (adapter, trained) = training::as_stated(adapter, model, stated);
        let parallel = Parallel {
            tensor: config.count("tensor_parallel").unwrap_or(1),
            pipeline: config.count("pipeline_parallel").unwrap_or(1),
            sequence: config.count("ring_attention").unwrap_or(1),
            splits_inputs: config.flag("sequence_parallel"),
        };
        let ranks = (cluster.devices() / (parallel.model_ranks() * parallel.sequence).max(1)).max(1);
        Some(Layout {
            parallel,
            sharding,
            secondary_shards: config.count("hpz_partition").filter(|ranks| *ranks > 1),
            precision,
            optimizer: training::optimizer(config),
            adapter,
            trained,
            offload: training::offload(config),
            idle_offload: IdleOffload {
                parameters: config.flag("offload_idle_param").unwrap_or(false),
                optimizer: config.flag("offload_idle_optimizer").unwrap_or(false),
            },
            buckets: training::buckets(config, sharding),
            batch: training::batch(config, ranks),
            experience_batch: training::experience_batch(config, ranks),
            whole_entropy: config.flag("whole_entropy").unwrap_or(false),
            recomputation: match (config.text("recompute"), config.flag("recomputation")) {
                (Some("full"), _) | (None, Some(true)) => Recomputation::Full,
                (Some("selective"), _) => Recomputation::Selective,
                _ => Recomputation::None,
            },
            attention: match config.flag("flash_attention") {
                Some(false) => Attention::Eager,
                _ => Attention::Flash,
            },
            logits: match (config.flag("fused_loss"), trains.logits_in_place) {
                (Some(true), _) => Logits::Fused,
                (_, true) => Logits::InPlace,
                _ => Logits::Upcast,
            },
            checkpoint: self.checkpoint(config, sharding, trains),
            implementation: Implementation {
                states_at_init: !self.does(Behaviour::StatesFromFirstStep, facts),
                weights_beside_master: self.does(Behaviour::WeightsBesideMaster, facts),
                ..Implementation::default()
            },
            companions: companions::companions(self.companion_rows(), config, &self.knowledge.models, model),
            engine: companions::engine(config, trains),
            samples: Samples::default(),
            cluster,
        })
    }

    fn checkpoint(&self, config: Config<'_>, sharding: Sharding, trains: Trains) -> Checkpoint {
        let is_new = config.flag("reads_checkpoint") == Some(false);
        let resume = match (config.flag("elastic_checkpoint"), config.flag("pipeline_loading")) {
            _ if is_new => Resume::Nothing,
            (Some(true), _) => Resume::AllParts,
            (_, Some(true)) => Resume::OwnPartInTurn,
            _ => Resume::OwnPart,
        };
        let export = match (config.flag("save_hf"), config.flag("gather_on_save")) {
            (Some(true), _) if !sharding.splits_weights() && self.does(Behaviour::ExportOnEveryRank, config.0) => {
                Export::EveryRank
            }
            (Some(true), _) | (_, Some(true)) => Export::FirstRank,
            _ => Export::Nothing,
        };
        Checkpoint {
            // With `zero.Init` and with FSDP's start from the first rank, the model is built only once.
            weights: match (sharding, trains.fsdp) {
                _ if is_new => WeightsLoad::Streamed,
                (Sharding::ZeroThree, _) => WeightsLoad::FirstRank(Width::TWO),
                (_, true) => WeightsLoad::FirstRank(Width::FOUR),
                _ => WeightsLoad::EveryRank(Width::TWO),
            },
            resume,
            load_copies: !self.does(Behaviour::StatesLoadedInPlace, config.0),
            export,
            full_state: config.0.text("config.state_dict") == Some("full"),
            copies_shards: trains.fsdp && config.0.text("config.state_dict") != Some("full"),
            in_turn: config.0.text("config.state_dict").is_some(),
        }
    }

    /// Whether the version of the framework behaves as `what` says; an unknown version is taken to be the newest.
    fn does(&self, what: Behaviour, facts: &Facts) -> bool {
        let mut rows = self.knowledge.frameworks.iter().filter_map(|known| Some((known, known.since.get(&what)?)));
        let Some((framework, since)) = rows.next() else { return false };
        let own = || self.version.as_deref().filter(|_| self.framework() == Some(&*framework.name));
        let version = facts.text(&format!("version.{}", framework.name)).or_else(own);
        version.and_then(|version| version.parse::<Version>().ok()).is_none_or(|version| version >= *since)
    }

    /// The changes of an estimate that the framework cannot make.
    pub(crate) fn lacks(&self) -> &[Box<str>] {
        self.framework.map_or(&[], |framework| &framework.lacks)
    }

    fn companion_rows(&self) -> &[CompanionRow] {
        self.framework.map_or(&[], |framework| &framework.companion)
    }

    /// How the framework trains, or, if it does not say, a configured one that it builds on. A trainer that leaves that to
    /// its configuration trains as most do, once the configuration says in which numbers.
    pub(crate) fn trains(&self, facts: &Facts) -> Option<Trains> {
        let stack = self.knowledge.stack(self.framework());
        let is_beneath = |known: &&Framework| self.framework.is_none() || stack.contains(&&*known.name);
        let mut known = self.framework.into_iter().chain(self.configured.iter().copied().filter(is_beneath));
        let by_numbers = || Config(facts).text("trains_in").map(|_| USUAL);
        known.find_map(|framework| framework.trains).or_else(by_numbers)
    }
}

/// The kind of sharding; `None` if it is unknown.
fn sharding(config: Config<'_>, trains: Trains) -> Option<Sharding> {
    Some(match (config.text("sharding"), config.number("zero_stage").map(|stage| stage as u64), trains.fsdp) {
        (Some("replicated"), ..) | (None, Some(0), _) => Sharding::Replicated,
        (Some("zero_one" | "distributed_optimizer"), ..) | (None, Some(1), _) => Sharding::ZeroOne,
        (Some("zero_two"), ..) | (None, Some(2), false) => Sharding::ZeroTwo,
        (Some("fsdp_grad_op"), ..) | (None, Some(2), true) => Sharding::FsdpGradOp,
        (Some("hybrid"), ..) => Sharding::FsdpHybrid,
        (Some("fsdp_full"), ..) | (None, Some(_), true) => Sharding::FsdpFull,
        (Some(_), ..) | (None, Some(_), false) => Sharding::ZeroThree,
        (None, None, _) => return None,
    })
}

/// The machines; `None` if the number of ranks is unknown.
fn cluster(facts: &Facts) -> Option<Cluster> {
    let config = Config(facts);
    let visible = facts.text("config.visible_devices").filter(|devices| !devices.is_empty());
    let visible = || visible.map(|devices| devices.split(',').count() as u64);
    let per_node = config.count("processes_per_node").or_else(visible);
    let stated = facts.number("job.world_size").map(|ranks| ranks as u64).or(per_node);
    let world = stated.or_else(|| holds_all(facts).then_some(1))?.max(1);
    let devices_per_node = per_node.unwrap_or(world.min(8)).clamp(1, world);
    Some(Cluster {
        devices_per_node,
        nodes: world.div_ceil(devices_per_node),
        device_memory: device_memory(facts),
        host_memory: host_memory(facts),
    })
}

/// Whether each rank is known to hold all of the states: on the device that ran out they are then the same for one rank as for many, so that
/// their number need not be known.
fn holds_all(facts: &Facts) -> bool {
    facts.text("kind") == Some("gpu_oom") && facts.text("config.sharding") == Some("replicated")
}

/// The memory of a device: from the error message, from the user, from the device's name (`A100-80G`, `NVIDIA
/// A100-SXM4-80GB`), or from the type that the job asked for.
pub(crate) fn device_memory(facts: &Facts) -> Option<Bytes> {
    let stated = ["figures.gpu_total", "gpu.memory"].into_iter().find_map(|name| facts.number(name));
    let named = || ["gpu", "job.gpu"].into_iter().find_map(|name| size_in_name(facts.text(name)?));
    let asked = || facts.number("gpu.of_type").map(|bytes| Bytes(bytes as i128));
    stated.map(|bytes| Bytes(bytes as i128)).or_else(named).or_else(asked)
}

/// What the process held of a device when it failed, and what it asked for.
pub(crate) fn device_wanted(facts: &Facts) -> Option<Bytes> {
    let held = facts.number("figures.torch_allocated")?;
    Some(Bytes((held + facts.number("figures.requested")?) as i128))
}

/// Adds the limit that the configuration sets, where a limit was hit and no log says which.
pub fn state_limit(incident: &mut Incident, facts: &mut Facts) {
    let is_stated = incident.figures.iter().any(|figure| figure.name == FigureName::MemcgLimit);
    if is_stated || incident.kind != Kind::HostOomCgroup {
        return;
    }
    let Some(limit) = facts.number("config.memory_limit") else { return };
    let cites = facts.cites("config.memory_limit");
    let Some(Citation { location, text, .. }) = cites.first().cloned() else { return };
    incident.figures.push(Figure {
        name: FigureName::MemcgLimit,
        bytes: Some(Bytes(limit as i128)),
        value: None,
        text,
        source: location,
        derived: None,
    });
    facts.cite("figures.memcg_limit", Value::Number(limit), cites);
}

/// Adds the fact `gpu.capacity`, the memory of a device from whichever source knows it.
pub fn state_capacity(facts: &mut Facts) {
    if let Some(Bytes(bytes)) = device_memory(facts) {
        facts.say("gpu.capacity", Value::Number(bytes as f64));
    }
}

fn size_in_name(name: &str) -> Option<Bytes> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let gib = parts.filter_map(|part| part.strip_suffix("GiB").or(part.strip_suffix("GB")).or(part.strip_suffix('G')));
    gib.filter_map(|digits| digits.parse().ok()).find_map(|amount| Bytes::of(amount, Bytes::GIB))
}

/// The memory of a host or the limit of its container: from the user, or from the component that refused memory.
pub(crate) fn host_memory(facts: &Facts) -> Option<Bytes> {
    let stated = ["host.memory", "figures.memcg_limit", "config.memory_limit", "figures.node_total"];
    let stated = stated.into_iter().find_map(|name| facts.number(name));
    stated.map(|bytes| Bytes(bytes as i128)).or_else(|| host_by_share(facts))
}

/// The memory of the whole machine, where what is in use is printed beside the share that this is: `used = 118.30 GB, percent = 94.1%`.
pub(crate) fn host_by_share(facts: &Facts) -> Option<Bytes> {
    // Two prints of two moments say nothing together.
    let place = |name| Some(facts.get(name)?.cites.first()?.location.line);
    let is_one_print = place("figures.host_percent") == place("figures.host_used");
    let share = facts.number("figures.host_percent").filter(|percent| *percent > 0.0 && is_one_print)?;
    Some(Bytes((facts.number("figures.host_used")? / share * 100.0) as i128))
}

/// The memory of that host or container in use at the failure, as counted by the component that refused memory.
pub(crate) fn host_used(facts: &Facts) -> Option<Bytes> {
    let stated = ["figures.memcg_usage", "figures.node_used"];
    stated.into_iter().find_map(|name| facts.number(name)).map(|bytes| Bytes(bytes as i128))
}
