//! Device memory of training: weights, gradients, the optimizer's states, and transient buffers.

use super::component::Component;
use super::layout::{Layout, OffloadDevice, Recomputation, Sharding};
use super::{Amount, ModelSize, Parameters, Width};
use crate::model::Bytes;

/// A model in a layout, seen from one rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job<'j> {
    pub model: &'j ModelSize,
    pub layout: &'j Layout,
}

impl Job<'_> {
    /// The number of ranks that share a state; 1 unless `is_split`.
    fn ways(&self, is_split: bool) -> u64 {
        if is_split { self.layout.shards() } else { 1 }
    }

    /// The trained parameters whose optimizer states one rank keeps.
    pub fn stepped(&self) -> Parameters {
        self.layout.trained_on_rank(self.model).shard(self.ways(self.layout.sharding.splits_optimizer()))
    }

    /// Bytes of optimizer state per trained parameter, without master weights.
    pub fn states_width(&self) -> Width {
        let precision = self.layout.precision;
        self.layout.optimizer.states(precision.stepped(), precision.weights)
    }

    /// The stepped parameters whose states stay on the device: all without offload; with a ratio below 1 the sub-groups
    /// before `int((1 − ratio) · n)`, computed as DeepSpeed does (`stage3.py`, `subgroup_to_device`).
    pub fn stepped_on_device(&self) -> Parameters {
        let Some(offload) = self.layout.offload.optimizer else { return self.stepped() };
        if self.layout.sharding != Sharding::ZeroThree || offload.device == OffloadDevice::Nvme {
            return Parameters::exactly(0);
        }
        let size = self.layout.offload.sub_group_size.max(1);
        self.stepped().map(|count| {
            let groups = count.div_ceil(size);
            let kept = ((1.0 - offload.ratio) * groups as f64) as u64;
            (kept * size).min(count)
        })
    }

    /// The formula of a rank's parameters: `7.62 B ÷ 8`.
    pub fn shared_out(&self, parameters: Parameters, is_split: bool) -> String {
        match self.ways(is_split) {
            1 => parameters.to_string(),
            ways => format!("{parameters} ÷ {ways}"),
        }
    }

    /// The weights that a rank keeps; none if they are offloaded.
    pub fn weights(&self) -> Vec<Component> {
        let layout = self.layout;
        let split = layout.sharding.splits_weights();
        if split && layout.offload.parameters.is_some() {
            return Vec::new();
        }
        let whole = layout.on_rank(self.model);
        let formula = format!("{} × {} bytes", self.shared_out(whole, split), layout.precision.weights);
        let weights = whole.shard(self.ways(split)).at(layout.precision.weights);
        let mut parts = vec![Component::on_device("weights", weights, formula)];
        if let Some(adapter) = layout.adapter {
            let trained = layout.trained_on_rank(self.model);
            let formula = format!("{} × {} bytes", self.shared_out(trained, split), adapter.weights);
            parts.push(Component::on_device("adapter", trained.shard(self.ways(split)).at(adapter.weights), formula));
        }
        parts
    }

    /// Master weights on the device.
    pub fn master(&self) -> Vec<Component> {
        let Some(width) = self.layout.precision.master else { return Vec::new() };
        self.of_stepped("master weights", width)
    }

    /// Optimizer states on the device. Paged ones leave it for whatever else needs room, and PyTorch does not count them.
    pub fn moments(&self) -> Vec<Component> {
        match self.layout.optimizer.paged {
            true => Vec::new(),
            false => self.of_stepped("optimizer states", self.states_width()),
        }
    }

    fn of_stepped(&self, name: &str, width: Width) -> Vec<Component> {
        let trained = self.layout.trained_on_rank(self.model);
        let formula = match self.layout.steps_on_host() {
            true => format!("{} of sub-groups on the device × {width} bytes", self.stepped_on_device()),
            false => format!("{} × {width} bytes", self.shared_out(trained, self.layout.sharding.splits_optimizer())),
        };
        let bytes = self.stepped_on_device().at(width);
        if bytes.is_nothing() { Vec::new() } else { vec![Component::on_device(name, bytes, formula)] }
    }

    /// fp32 gradients of the sub-groups that a ratio below 1 keeps on the device.
    pub fn kept_gradients(&self) -> Vec<Component> {
        match self.layout.offload.optimizer {
            Some(_) => self.of_stepped("fp32 gradients", self.layout.precision.stepped()),
            None => Vec::new(),
        }
    }

    /// A second copy of the weights, sharded over a few neighbouring ranks (`zero_hpz_partition_size`).
    pub fn secondary_weights(&self) -> Vec<Component> {
        let Some(ranks) = self.layout.secondary_shards.filter(|ranks| *ranks > 1) else { return Vec::new() };
        let (whole, width) = (self.layout.on_rank(self.model), self.layout.precision.compute);
        let formula = format!("{whole} ÷ {ranks} × {width} bytes");
        vec![Component::on_device("secondary weights", whole.shard(ranks).at(width), formula)]
    }

    /// Gradients after backward. Stage 3 keeps them from the start in one flat buffer, which offload places on the
    /// host. With offload, stages 1 and 2 pass each gradient on (stage 1 only once all exist).
    pub fn gradients(&self) -> Vec<Component> {
        let layout = self.layout;
        let split = layout.sharding.splits_gradients();
        if self.sums_in_buckets() {
            return Vec::new();
        }
        if layout.steps_on_host() && split {
            return self.passing_gradient();
        }
        let trained = layout.trained_on_rank(self.model);
        let bytes = trained.shard(self.ways(split)).at(layout.precision.gradients);
        let formula = format!("{} × {} bytes", self.shared_out(trained, split), layout.precision.gradients);
        if bytes.is_nothing() { Vec::new() } else { vec![Component::on_device("gradients", bytes, formula)] }
    }

    /// The largest gradient, being copied to the host.
    fn passing_gradient(&self) -> Vec<Component> {
        let Some(shape) = &self.model.shape else { return Vec::new() };
        let width = self.layout.precision.compute;
        let bytes = Parameters::exactly(shape.largest_module()).at(width);
        vec![Component::on_device("passing gradient", bytes, format!("largest parameter × {width} bytes"))]
    }

    /// Whether gradients are summed in the buffers that are communicated, each rank's whole and there from the start.
    fn sums_in_buckets(&self) -> bool {
        self.layout.buckets.gradients_are_buckets && !self.layout.sharding.splits_gradients()
    }

    /// Buffers for communicating gradients. `steady` selects what stays between steps: stage 3 keeps its bucket.
    pub fn buckets(&self, steady: bool) -> Vec<Component> {
        let layout = self.layout;
        let trained = layout.trained_on_rank(self.model);
        if trained.high == 0 {
            return Vec::new();
        }
        if self.sums_in_buckets() {
            let formula = format!("{trained} × {} bytes", layout.precision.gradients);
            let buffer = Component::on_device("gradients", trained.at(layout.precision.gradients), formula);
            return if steady { vec![buffer] } else { Vec::new() };
        }
        if layout.shards() == 1 && !layout.sharding.is_zero() {
            return Vec::new();
        }
        let width = layout.precision.compute;
        let bucket = Parameters::exactly(layout.buckets.reduce).at(width);
        let formula = format!("{:.0e} × {width} bytes", layout.buckets.reduce);
        match layout.sharding {
            Sharding::Replicated if steady => {
                let formula = format!("{trained} × {} bytes", layout.precision.gradients);
                vec![Component::on_device("DDP buckets", trained.at(layout.precision.gradients), formula)]
            }
            Sharding::ZeroThree => {
                let most = if layout.buckets.overlap { 2 } else { 1 };
                let bytes = Amount { low: bucket.low, high: bucket.times(most).high };
                vec![Component::on_device("gradient bucket", bytes, formula)]
            }
            Sharding::ZeroOne | Sharding::ZeroTwo if !steady => {
                let count = if layout.buckets.overlap { 2 } else { 1 };
                let formula = if count == 2 { format!("2 × {formula}") } else { formula };
                vec![Component::on_device("gradient buckets", bucket.times(count), formula)]
            }
            _ => Vec::new(),
        }
    }

    /// The largest quantised matrix, dequantised to compute.
    pub fn dequantised(&self) -> Vec<Component> {
        let (layout, Some(shape)) = (self.layout, self.model.shape.as_ref()) else { return Vec::new() };
        let width = layout.precision.compute;
        if layout.adapter.is_none() || layout.precision.weights.high >= width.high {
            return Vec::new();
        }
        let matrix = Parameters::exactly(shape.hidden * shape.intermediate).shard(layout.parallel.tensor);
        vec![Component::on_device("dequantised matrix", matrix.at(width), format!("{matrix} × {width} bytes"))]
    }

    /// Weights gathered or cast to compute.
    pub fn live(&self, in_backward: bool) -> Vec<Component> {
        let layout = self.layout;
        let whole = layout.on_rank(self.model);
        let width = layout.precision.compute;
        if !layout.sharding.splits_weights() && width.high < layout.precision.weights.high {
            // Autocast keeps cast weights to the end of its region, and backward keeps those that it needs: only the
            // head's if layers are recomputed.
            let is_dropped = in_backward && layout.recomputation == Recomputation::Full;
            let head = self.model.shape.as_ref().map(|shape| Parameters::exactly(shape.embedding_parameters()));
            let cast = head.filter(|_| is_dropped).unwrap_or(whole);
            return vec![Component::on_device(
                "weights cast by autocast",
                cast.at(width),
                format!("{cast} × {width} bytes"),
            )];
        }
        if !layout.sharding.splits_weights() || layout.shards() == 1 && layout.offload.parameters.is_none() {
            return Vec::new();
        }
        let most = whole.at(width).high;
        let at_most = |bytes: Amount| bytes.map(|bytes| bytes.min(most));
        let of = |count: u64| Parameters::exactly(count).at(width);
        let shape = self.model.shape.as_ref();
        match layout.sharding {
            Sharding::FsdpGradOp => {
                vec![Component::on_device("gathered weights", whole.at(width), format!("{whole} × {width} bytes"))]
            }
            Sharding::FsdpFull | Sharding::FsdpHybrid => {
                // The largest unit is a layer, or everything outside of layers; a second one may be prefetched.
                let unit = shape.map_or(Amount::up_to(most), |shape| {
                    of(shape.largest_layer().max(shape.parameters_outside_layers()))
                });
                let bytes = at_most(Amount { low: unit.low, high: unit.times(2).high });
                vec![Component::on_device("gathered unit", bytes, format!("largest unit × {width} bytes, one or two"))]
            }
            _ => {
                let least = shape.map_or(Amount::ZERO, |shape| of(shape.largest_module()));
                let kept = of(layout.buckets.max_live).high.max(shape.map_or(Bytes(0), |s| of(s.largest_layer()).high));
                let bytes = Amount { low: least.low, high: least.high + kept + of(layout.buckets.prefetch).high };
                let formula = format!("largest module + up to {:.0e} × {width} bytes", layout.buckets.max_live);
                vec![Component::on_device("live parameters", at_most(bytes), formula)]
            }
        }
    }

    /// The unsharded gradients of a unit before they are reduced (FSDP).
    pub fn unit_gradients(&self) -> Vec<Component> {
        let (layout, Some(shape)) = (self.layout, self.model.shape.as_ref()) else { return Vec::new() };
        if !layout.sharding.is_fsdp() || layout.shards() == 1 || layout.adapter.is_some() {
            return Vec::new();
        }
        let unit = shape.largest_layer().max(shape.parameters_outside_layers());
        let bounds = Width::between(layout.precision.compute.low, layout.precision.gradients.high.max(2.0));
        let bytes = Parameters::exactly(unit).at(bounds);
        vec![Component::on_device("gradients of one unit", bytes, format!("largest unit × {bounds} bytes"))]
    }

    /// Temporary buffers of the optimizer's step.
    pub fn step_buffers(&self) -> Vec<Component> {
        let layout = self.layout;
        let on_device = self.stepped_on_device();
        let mut parts = Vec::new();
        if on_device.high > 0 {
            let stepped = layout.precision.stepped();
            let is_cast = layout.precision.gradients.high < stepped.high && !layout.steps_on_host();
            if layout.sharding.is_zero() && is_cast && !self.sums_in_buckets() {
                // Gradients are flattened before they are cast.
                let flat = stepped.plus(layout.precision.gradients);
                let (count, width, formula) = match layout.sharding {
                    Sharding::ZeroThree => {
                        let group = layout.offload.sub_group_size;
                        let width = Width::between(stepped.low, flat.high);
                        (on_device.map(|count| count.min(group)), width, "one sub-group")
                    }
                    _ => (on_device, flat, "the rank's part"),
                };
                let formula = format!("{formula} × {width} bytes");
                parts.push(Component::on_device("gradients cast for the step", count.at(width), formula));
            }
            // PyTorch's own AdamW uses `foreach` unless it is fused: one copy, up to PyTorch 2.0 two.
            let may_be = !layout.sharding.is_zero() && layout.optimizer.may_copy();
            let width = match layout.optimizer.foreach {
                true => stepped,
                false if may_be => Width::between(0.0, 2.0 * stepped.high),
                false => Width::ZERO,
            };
            if !width.is_zero() && !self.states_width().is_zero() {
                let bytes = on_device.at(width);
                parts.push(Component::on_device(
                    "foreach intermediates",
                    bytes,
                    format!("{on_device} × {width} bytes"),
                ));
            }
        }
        let is_gathered = matches!(layout.sharding, Sharding::ZeroOne | Sharding::ZeroTwo) && layout.shards() > 1;
        if is_gathered && !self.sums_in_buckets() {
            let bucket = Parameters::exactly(layout.buckets.allgather.min(layout.trained_on_rank(self.model).high));
            let bytes = bucket.at(layout.precision.weights).maybe();
            let formula = format!("up to {:.0e} × {} bytes", layout.buckets.allgather, layout.precision.weights);
            parts.push(Component::on_device("allgather bucket", bytes, formula));
        }
        parts
    }

    /// The zero gradients with which DeepSpeed steps or sets up its optimizer at the start.
    pub fn start_buffers(&self) -> Vec<Component> {
        let layout = self.layout;
        if !layout.sharding.is_zero() || self.sums_in_buckets() || self.stepped_on_device().high == 0 {
            return Vec::new();
        }
        let stepped = layout.precision.stepped();
        let count = match layout.sharding {
            Sharding::ZeroThree => self.stepped_on_device().map(|count| count.min(layout.offload.sub_group_size)),
            _ => self.stepped_on_device(),
        };
        vec![Component::on_device("gradients of zeros", count.at(stepped), format!("{count} × {stepped} bytes"))]
    }
}
