//! Host memory of offload, buffer by buffer as the code allocates it.
//!
//! ZeRO stage 3: `deepspeed/runtime/zero/stage3.py`, `_create_fp32_partitions` (master weights, pageable),
//! `initialize_optimizer_states` (an fp32 gradient a sub-group), `_setup_for_real_optimizer` (one flat buffer of 16-bit
//! gradients), `_create_param_groups_fp16_flat_cpu_memory` (weights, always pinned). Stages 1 and 2:
//! `stage_1_and_2.py`, `weights_partition`, `single_grad_partition`, `param_buffer_of_bit16_for_cpu_offload_groups`,
//! `accumulated_grads_in_cpu`. Adam's moments are ordinary memory from the first step on.
//!
//! Sub-groups and flat buffers are assumed to be of equal size; those of parameters without weight decay are small.

use super::component::Component;
use super::layout::{Layout, OffloadDevice, OptimizerOffload, Sharding};
use super::states::Job;
use super::{Amount, Parameters, Pinning, Width};
use crate::model::Bytes;

impl Job<'_> {
    /// Buffers of offload on one host that exist from the engine's start.
    pub fn offloaded(&self) -> Vec<Component> {
        let mut parts = match (self.layout.offload.optimizer, self.layout.sharding) {
            (None, _) => Vec::new(),
            (Some(offload), _) if offload.device == OffloadDevice::Nvme => self.swapped(),
            (Some(offload), Sharding::ZeroThree) => self.offloaded_by_stage_3(offload),
            (Some(offload), sharding) if sharding.is_zero() => self.offloaded_by_stage_1_or_2(offload),
            (Some(_), _) => self.offloaded_otherwise(),
        };
        parts.extend(self.offloaded_weights());
        parts.retain(|part| !part.bytes.is_nothing());
        parts
    }

    /// Adam's states on one host, from the first step on.
    pub fn offloaded_moments(&self) -> Vec<Component> {
        if self.states_width().is_zero() {
            return Vec::new();
        }
        let part = match self.layout.offload.optimizer {
            Some(offload) if offload.device == OffloadDevice::Nvme => return Vec::new(),
            Some(_) => self.stepped_on_host(),
            // Pages may stay on the device; if that is full, all of them are here.
            None if self.layout.optimizer.paged => self.stepped(),
            None => return Vec::new(),
        };
        vec![self.of_ranks(
            "optimizer states",
            part.at(self.states_width()),
            format!("{part} × {} bytes", self.states_width()),
        )]
    }

    /// A second master copy of one sub-group during the setup of stage 3.
    pub fn cast_sub_group(&self) -> Vec<Component> {
        let is_cast = self.layout.sharding == Sharding::ZeroThree && self.stepped_on_host().high > 0;
        let (true, Some(master)) = (is_cast, self.layout.precision.master) else { return Vec::new() };
        let group = self.stepped_on_host().map(|count| count.min(self.layout.offload.sub_group_size));
        vec![self.of_ranks("sub-group being cast", group.at(master), format!("{group} × {master} bytes"))]
    }

    /// The parameters of a rank whose states are on the host.
    pub fn stepped_on_host(&self) -> Parameters {
        let (all, kept) = (self.stepped(), self.stepped_on_device());
        match self.layout.offload.optimizer {
            // A larger model may keep one more sub-group on the device.
            Some(_) => Parameters::between(all.low - kept.low.min(all.low), all.high - kept.high.min(all.high)),
            None => Parameters::exactly(0),
        }
    }

    fn offloaded_by_stage_3(&self, offload: OptimizerOffload) -> Vec<Component> {
        let (host, all) = (self.stepped_on_host(), self.stepped());
        let pinning = self.pinning(offload.pin);
        let precision = self.layout.precision;
        let master = precision.stepped();
        let group = self.layout.offload.sub_group_size.max(1);
        let sub_groups = host.bytes(|count| {
            let whole = pinning.taken(bytes_of(group, master)).0.saturating_mul((count / group) as i128);
            Bytes(whole) + pinning.taken(bytes_of(count % group, master))
        });
        let flat = all.bytes(|count| pinning.taken(bytes_of(count, precision.gradients)));
        let mut parts = vec![self.of_ranks("master weights", host.at(master), format!("{host} × {master} bytes"))];
        let formula = format!("{host} × {master} bytes in sub-groups of {group:.0e}");
        parts.push(self.of_ranks_pinned("fp32 gradients", sub_groups, formula, offload.pin));
        let formula = format!("{all} × {} bytes in one buffer", precision.gradients);
        parts.push(self.of_ranks_pinned("gradients", flat, formula, offload.pin));
        parts
    }

    fn offloaded_by_stage_1_or_2(&self, offload: OptimizerOffload) -> Vec<Component> {
        let part = self.stepped();
        let pinning = self.pinning(offload.pin);
        let precision = self.layout.precision;
        let buffer = |width: Width| part.bytes(|count| pinning.taken(bytes_of(count, width)));
        let formula = |width: Width| format!("{part} × {width} bytes in one buffer");
        let stepped = precision.stepped();
        let mut parts = vec![
            self.of_ranks_pinned("master weights", buffer(stepped), formula(stepped), offload.pin),
            self.of_ranks_pinned("fp32 gradients", buffer(stepped), formula(stepped), offload.pin),
        ];
        if self.layout.implementation.weights_beside_master {
            let width = precision.weights;
            parts.push(self.of_ranks_pinned("16-bit weights", buffer(width), formula(width), offload.pin));
        }
        if self.layout.batch.is_some_and(|batch| batch.accumulation > 1) {
            let sum = part.at(precision.gradients);
            let formula = format!("{part} × {} bytes, parameter by parameter", precision.gradients);
            parts.push(self.of_ranks_pinned("accumulated gradients", pinning.taken_by_many(sum), formula, offload.pin));
        }
        parts
    }

    /// FSDP's `CPUOffload`: gradients, unit by unit in pinned memory.
    fn offloaded_otherwise(&self) -> Vec<Component> {
        let part = self.stepped();
        let precision = self.layout.precision;
        let width = precision.gradients;
        vec![self.of_ranks_pinned("gradients", self.by_unit(width), format!("{part} × {width} bytes"), true)]
    }

    fn offloaded_weights(&self) -> Vec<Component> {
        let layout = self.layout;
        let Some(offload) = layout.offload.parameters.filter(|_| layout.sharding.splits_weights()) else {
            return Vec::new();
        };
        let width = layout.precision.weights;
        let part = self.kept_weights();
        if offload.device == OffloadDevice::Nvme {
            // Five buffers of 1e8 elements, and up to 1e9 elements that stay in memory (`buffer_count`, `buffer_size`,
            // `max_in_cpu`).
            let bytes = part.map(|count| count.min(1_500_000_000)).at(width).maybe();
            return vec![self.of_ranks_pinned(
                "swap buffers of weights",
                bytes,
                format!("up to 1.5e9 × {width} bytes"),
                true,
            )];
        }
        let bytes = match layout.sharding {
            Sharding::ZeroThree => part.bytes(|count| self.pinning(true).taken(bytes_of(count, width))),
            _ => self.by_unit(width),
        };
        vec![self.of_ranks_pinned("offloaded weights", bytes, format!("{part} × {width} bytes"), true)]
    }

    /// Pinned buffers for swapping to a disk: at most four of a sub-group in fp32 (`buffer_count`).
    fn swapped(&self) -> Vec<Component> {
        let group = self.stepped().map(|count| count.min(self.layout.offload.sub_group_size));
        let bytes = group.at(Width::FOUR).times(4).maybe();
        vec![self.of_ranks_pinned("swap buffers", bytes, format!("up to 4 × {group} × 4 bytes"), true)]
    }

    /// The host memory of offloaded activations; `kept` are the same on one device.
    pub fn offloaded_activations(&self, kept: Vec<Component>) -> Vec<Component> {
        let taken = |bytes| self.layout.implementation.pinning.taken_by_many(bytes);
        let moved = |part: Component| self.of_ranks_pinned(&part.name, taken(part.bytes), part.formula, true);
        kept.into_iter().map(moved).collect()
    }

    /// The states that verl and EasyR1 move to the host between updates.
    pub fn idle(&self) -> Vec<Component> {
        let layout = self.layout;
        let mut parts = Vec::new();
        if layout.idle_offload.parameters {
            let width = layout.precision.weights;
            let formula = format!("{} × {width} bytes, unit by unit", self.kept_weights());
            parts.push(self.of_ranks_pinned("idle weights", self.by_unit(width), formula, true));
        }
        if layout.idle_offload.optimizer {
            let width = self.states_width().plus(layout.precision.master.unwrap_or(Width::ZERO));
            // Each of the two states is a separate tensor; those of an adapter are many small ones.
            let bytes = match layout.adapter {
                None => self.by_unit(width.times(0.5)).times(2),
                Some(_) => layout.implementation.pinning.taken_by_many(self.stepped().at(width)),
            };
            let formula = format!("{} × {width} bytes, unit by unit", self.stepped());
            parts.push(self.of_ranks_pinned("idle optimizer states", bytes, formula, true));
        }
        parts
    }

    /// The weights that a rank keeps: all, or its shard.
    fn kept_weights(&self) -> Parameters {
        let ways = if self.layout.sharding.splits_weights() { self.layout.shards() } else { 1 };
        self.layout.on_rank(self.model).shard(ways)
    }

    /// The rank's shard of the weights in pinned buffers, one per layer and one for the rest.
    fn by_unit(&self, width: Width) -> Amount {
        let pinning = self.layout.implementation.pinning;
        let all = self.kept_weights();
        let split = self.layout.parallel.tensor * self.layout.parallel.pipeline;
        match &self.model.shape {
            Some(shape) if split <= 1 => {
                let ways = if self.layout.sharding.splits_weights() { self.layout.shards() } else { 1 };
                let taken = |count: u64| pinning.taken(bytes_of(count.div_ceil(ways), width));
                let layers = Amount::exactly(taken(shape.largest_layer())).times(shape.layers);
                layers + Amount::exactly(taken(shape.parameters_outside_layers()))
            }
            _ => pinning.taken_by_many(all.at(width)),
        }
    }

    fn pinning(&self, pin: bool) -> Pinning {
        if pin { self.layout.implementation.pinning } else { Pinning::Exact }
    }

    /// A component on a host that takes `bytes` for each of its ranks.
    pub fn of_ranks(&self, name: &str, bytes: Amount, formula: String) -> Component {
        self.of_ranks_pinned(name, bytes, formula, false)
    }

    /// [`Self::of_ranks`], page-locked if `pin` is set.
    pub fn of_ranks_pinned(&self, name: &str, bytes: Amount, formula: String, pin: bool) -> Component {
        let ranks = self.layout.ranks_of_node();
        let formula = format!("{ranks} × {formula}");
        match pin {
            true => Component::pinned(name, bytes.times(ranks), formula),
            false => Component::on_host(name, bytes.times(ranks), formula),
        }
    }
}

impl Layout {
    /// The number of ranks on one node.
    pub fn ranks_of_node(&self) -> u64 {
        self.cluster.devices_per_node.max(1)
    }
}

fn bytes_of(count: u64, width: Width) -> Bytes {
    Parameters::exactly(count).at(width).high
}
