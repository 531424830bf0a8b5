//! How the job spread its model, as far as the facts say.

use super::Launch;
use crate::diagnosis::{Facts, Value};
use crate::knowledge::TrainsIn;
use crate::memory::{
    Attention, Batch, Cluster, IdleOffload, Implementation, Layout, ModelSize, Offload, OffloadDevice,
    OptimizerOffload, Parallel, ParameterOffload, Precision, Recomputation, Resume, Sharding,
    deepspeed_pins_by_default,
};
use crate::model::{Bytes, Citation};

/// The facts that a layout is read from, under one prefix.
#[derive(Clone, Copy)]
struct Config<'f>(&'f Facts);

impl Config<'_> {
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

    fn device(self, name: &str) -> Option<OffloadDevice> {
        match self.0.text(&format!("config.{name}"))? {
            "cpu" => Some(OffloadDevice::Cpu),
            "nvme" => Some(OffloadDevice::Nvme),
            _ => None,
        }
    }
}

impl Launch<'_> {
    /// The model that is trained and the words that name it; `None` where nothing says how large it is.
    pub(super) fn model(&self, facts: &Facts) -> Option<(ModelSize, Vec<Citation>)> {
        for name in ["model", "config.model", "job.model"] {
            if let Some(found) = facts.text(name).and_then(|model| self.knowledge.models.find(model)) {
                let cites = facts.get(name).map(|known| known.cites.clone()).unwrap_or_default();
                return Some((ModelSize::from(found), cites));
            }
        }
        let count = facts.number("job.parameters").filter(|count| *count >= 1.0)?;
        let cites = facts.get("job.parameters").map(|known| known.cites.clone()).unwrap_or_default();
        Some((ModelSize::of_parameters(count as u64), cites))
    }

    /// The layout that `facts` describe; `None` where what counts most is not known: in which numbers it trains, over how
    /// many ranks states are shared out.
    pub(super) fn layout(&self, facts: &Facts) -> Option<Layout> {
        let config = Config(facts);
        // An adapter's size hangs on which matrices it is for.
        if config.number("lora_rank").is_some_and(|rank| rank > 0.0) {
            return None;
        }
        let cluster = self.cluster(facts)?;
        let trains = self.trains()?;
        let sharding = match (config.number("zero_stage")? as u64, trains.fsdp) {
            (0, _) => Sharding::Replicated,
            (1, _) => Sharding::ZeroOne,
            (2, false) => Sharding::ZeroTwo,
            (2, true) => Sharding::FsdpGradOp,
            (_, false) => Sharding::ZeroThree,
            (_, true) => Sharding::FsdpFull,
        };
        let mut precision = match trains.precision {
            TrainsIn::Mixed => Precision::MIXED,
            TrainsIn::MixedFp32Gradients => Precision::MIXED_FP32_GRADIENTS,
            TrainsIn::Fp32ComputedIn16Bit => Precision::FP32_COMPUTED_IN_16_BIT,
        };
        if facts.text("config.grad_accum_dtype") == Some("fp32") && trains.precision == TrainsIn::Mixed {
            precision = Precision::MIXED_FP32_GRADIENTS;
        }
        let pin = config.flag("pin_memory").unwrap_or_else(|| deepspeed_pins_by_default(None));
        let offload = Offload {
            optimizer: config.device("offload_optimizer").map(|device| OptimizerOffload {
                device,
                pin,
                ratio: config.number("offload_ratio").unwrap_or(1.0),
            }),
            parameters: config.device("offload_param").map(|device| ParameterOffload { device }),
            sub_group_size: config.count("sub_group_size").unwrap_or(Offload::default().sub_group_size),
            activations: config.flag("offload_activations").unwrap_or(false),
        };
        let batch = config.count("micro_batch").zip(config.count("sequence_length"));
        Some(Layout {
            cluster,
            parallel: Parallel {
                tensor: config.count("tensor_parallel").unwrap_or(1),
                pipeline: config.count("pipeline_parallel").unwrap_or(1),
                sequence: config.count("ring_attention").unwrap_or(1),
            },
            sharding,
            precision,
            offload,
            idle_offload: IdleOffload {
                parameters: config.flag("offload_idle_param").unwrap_or(false),
                optimizer: config.flag("offload_idle_optimizer").unwrap_or(false),
            },
            batch: batch.map(|(micro_batch, sequence)| Batch::of(micro_batch, sequence)),
            recomputation: match config.flag("recomputation") {
                Some(true) => Recomputation::Full,
                _ => Recomputation::None,
            },
            attention: match config.flag("flash_attention") {
                Some(false) => Attention::Eager,
                _ => Attention::Flash,
            },
            checkpoint: crate::memory::Checkpoint {
                resume: match (config.flag("elastic_checkpoint"), config.flag("pipeline_loading")) {
                    (Some(true), _) => Resume::AllParts,
                    (_, Some(true)) => Resume::OwnPartInTurn,
                    _ => Resume::OwnPart,
                },
                full_state: facts.text("config.state_dict") == Some("full"),
                ..Default::default()
            },
            implementation: Implementation::deepspeed(facts.text("version.deepspeed")),
            ..Layout::default()
        })
    }

    /// The machines; `None` where the number of ranks is not known.
    fn cluster(&self, facts: &Facts) -> Option<Cluster> {
        let config = Config(facts);
        let visible = facts.text("config.visible_devices").filter(|devices| !devices.is_empty());
        let visible = || visible.map(|devices| devices.split(',').count() as u64);
        let per_node = config.count("processes_per_node").or_else(visible);
        let world = facts.number("job.world_size").map(|ranks| ranks as u64).or(per_node)?.max(1);
        let devices_per_node = per_node.unwrap_or(world.min(8)).clamp(1, world);
        Some(Cluster {
            devices_per_node,
            nodes: world.div_ceil(devices_per_node),
            device_memory: device_memory(facts),
            host_memory: host_memory(facts),
        })
    }

    /// How the framework, or what it was configured with, trains.
    fn trains(&self) -> Option<crate::knowledge::Trains> {
        self.framework.into_iter().chain(self.configured.iter().copied()).find_map(|framework| framework.trains)
    }
}

/// Memory of a device: as the message says, as the user says, or as the device is named: `A100-80G`,
/// `NVIDIA A100-SXM4-80GB`.
pub(crate) fn device_memory(facts: &Facts) -> Option<Bytes> {
    let stated = ["figures.gpu_total", "gpu.memory"].into_iter().find_map(|name| facts.number(name));
    let named = || ["gpu", "job.gpu"].into_iter().find_map(|name| size_in_name(facts.text(name)?));
    stated.map(|bytes| Bytes(bytes as i64)).or_else(named)
}

fn size_in_name(name: &str) -> Option<Bytes> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let gib = parts.filter_map(|part| part.strip_suffix("GiB").or(part.strip_suffix("GB")).or(part.strip_suffix('G')));
    gib.filter_map(|digits| digits.parse().ok()).find_map(|amount| Bytes::of(amount, Bytes::GIB))
}

/// Memory of a host, or the limit of the container: as the user says, or as whoever refused it counts.
pub(crate) fn host_memory(facts: &Facts) -> Option<Bytes> {
    let stated = ["host.memory", "figures.memcg_limit", "config.memory_limit", "figures.node_total"];
    stated.into_iter().find_map(|name| facts.number(name)).map(|bytes| Bytes(bytes as i64))
}
