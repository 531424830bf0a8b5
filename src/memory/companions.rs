//! Memory of other models and of the inference engine on the devices and hosts of a training job.

use super::component::Component;
use super::layout::{Companion, Home, Layout, Sleep};
use super::plan::{Moment, MomentPlan, Plan};
use super::states::Job;
use super::{Amount, Parameters, samples};
use crate::model::Bytes;

const ENGINE_WEIGHTS: &str = "engine weights";
const ENGINE_CACHE: &str = "engine cache and activations";
const ENGINE_ASLEEP: &str = "engine asleep";

impl Plan {
    /// The most that lies on a device beside an engine that holds its share of it; `None` without an engine. One that sleeps between roll-outs
    /// is awake only while it generates and receives weights.
    pub fn beside_engine(&self, layout: &Layout) -> Option<Amount> {
        let engine = layout.engine.as_ref()?;
        let is_beside = |plan: &&MomentPlan| {
            engine.sleep == Sleep::Never || matches!(plan.moment, Moment::Rollout | Moment::WeightSync)
        };
        let others = |plan: &MomentPlan| -> Amount {
            let is_other = |name: &str| ![ENGINE_WEIGHTS, ENGINE_CACHE, ENGINE_ASLEEP].contains(&name);
            let parts = plan.components.iter().filter(|part| !part.place.is_host() && is_other(&part.name));
            parts.map(|part| part.bytes).sum()
        };
        self.moments.iter().filter(is_beside).map(others).max_by_key(|amount| amount.middle())
    }
}

impl Job<'_> {
    /// Memory of other models on a device; `at_work` means that those that live on the host may be computing.
    pub fn companions_on_device(&self, at_work: bool) -> Vec<Component> {
        let mut parts = Vec::new();
        for companion in &self.layout.companions {
            let (name, whole) = (format!("{} weights", companion.name), companion.size.parameters);
            let part = |ways: u64| {
                let formula = format!("{whole} ÷ {ways} × {} bytes", companion.weights);
                Component::on_device(name.clone(), whole.shard(ways).at(companion.weights), formula)
            };
            match companion.home {
                Home::Replicated => parts.push(part(1)),
                Home::Sharded => parts.push(part(self.layout.shards())),
                Home::Host if at_work => {
                    // A layer at a time.
                    let shape = companion.size.shape.as_ref();
                    let layer = shape
                        .map_or(whole, |shape| Parameters::exactly(shape.largest_layer().max(shape.largest_module())));
                    let bytes = layer.at(companion.weights);
                    parts.push(Component::on_device(
                        name,
                        bytes,
                        format!("largest layer × {} bytes", companion.weights),
                    ));
                }
                Home::Host => {}
                Home::Trained => {
                    let job = self.for_companion(companion);
                    let states = job.weights().into_iter().chain(job.master()).chain(job.moments());
                    parts.extend(
                        states.map(|state| Component { name: format!("{} {}", companion.name, state.name), ..state }),
                    );
                }
            }
        }
        parts
    }

    /// Memory of other models on a host.
    pub fn companions_on_host(&self) -> Vec<Component> {
        let mut parts = Vec::new();
        for companion in &self.layout.companions {
            match companion.home {
                Home::Host => {
                    let part = companion.size.parameters.shard(self.layout.shards());
                    let bytes = self.layout.implementation.pinning.taken_by_many(part.at(companion.weights));
                    let formula = format!("{part} × {} bytes, layer by layer", companion.weights);
                    parts.push(self.of_ranks_pinned(&format!("{} weights", companion.name), bytes, formula, true));
                }
                Home::Trained => {
                    let job = self.for_companion(companion);
                    let states = job.offloaded().into_iter().chain(job.offloaded_moments()).chain(job.idle());
                    parts.extend(
                        states.map(|state| Component { name: format!("{} {}", companion.name, state.name), ..state }),
                    );
                }
                Home::Replicated | Home::Sharded => {}
            }
        }
        parts
    }

    fn for_companion<'c>(&'c self, companion: &'c Companion) -> Job<'c> {
        Job { model: &companion.size, layout: self.layout }
    }

    /// Device memory of the working engine: its share of the whole, or only its weights if the device's memory is
    /// unknown.
    pub fn engine_at_work(&self) -> Vec<Component> {
        let Some(engine) = &self.layout.engine else { return Vec::new() };
        let cache = |capacity: Bytes| engine.cache(ENGINE_CACHE, self.model, capacity);
        let weights = engine.weights(ENGINE_WEIGHTS, self.model);
        [weights].into_iter().chain(self.layout.cluster.device_memory.map(cache)).collect()
    }

    /// Device memory of the engine while others compute.
    pub fn engine_at_rest(&self) -> Vec<Component> {
        match &self.layout.engine {
            None => Vec::new(),
            Some(engine) if engine.sleep == Sleep::Never => self.engine_at_work(),
            Some(engine) => {
                let formula = "context, communicators, graphs";
                vec![Component::on_device(ENGINE_ASLEEP, engine.residual, formula)]
            }
        }
    }

    /// Device memory of the engine while it receives weights: all of the weights, and perhaps its cache, which may be
    /// woken only later.
    pub fn engine_in_sync(&self) -> Vec<Component> {
        let mut parts = self.engine_at_work();
        if self.layout.engine.as_ref().is_some_and(|engine| engine.sleep != Sleep::Never) {
            for part in parts.iter_mut().skip(1) {
                part.bytes = part.bytes.maybe();
            }
        }
        parts
    }

    /// A whole tensor or layer, gathered to be sent to the engine.
    pub fn gathered_for_sync(&self) -> Vec<Component> {
        let (Some(_), true) = (&self.layout.engine, self.layout.sharding.splits_weights()) else { return Vec::new() };
        let width = self.layout.precision.weights;
        let Some(shape) = &self.model.shape else { return Vec::new() };
        let bytes = Amount {
            low: Parameters::exactly(shape.largest_module()).at(self.layout.precision.compute).low,
            high: Parameters::exactly(shape.largest_layer().max(shape.parameters_outside_layers())).at(width).high,
        };
        vec![Component::on_device("gathered weights", bytes, format!("largest tensor or layer × {width} bytes"))]
    }

    /// Weights of sleeping engines in host memory.
    pub fn engine_on_host(&self) -> Vec<Component> {
        let asleep = self.layout.engine.as_ref().filter(|engine| engine.sleep == Sleep::WeightsToHost);
        let Some(engine) = asleep else { return Vec::new() };
        let bytes = self.layout.implementation.pinning.taken_by_many(engine.weights_on_device(self.model));
        vec![self.of_ranks_pinned("weights of sleeping engines", bytes, engine.weights_formula(self.model), true)]
    }

    /// Samples in host memory: images that ranks keep, and the filled part of the object store.
    pub fn samples_on_host(&self) -> Vec<Component> {
        let mut parts = Vec::new();
        if let Some(images) = self.layout.samples.images {
            let each = samples::processed_image(images.pixels);
            let bytes = Amount::exactly(each).times(images.per_rank);
            parts.push(self.of_ranks("processed images", bytes, format!("{} × {each}", images.per_rank)));
        }
        if self.layout.samples.object_store.0 > 0 {
            let bytes = Amount::up_to(self.layout.samples.object_store);
            parts.push(Component::on_host("object store", bytes, "as far as it is filled"));
        }
        parts
    }

    /// Samples that the first rank of a sequence sends through its device.
    pub fn samples_on_device(&self) -> Vec<Component> {
        let Some(tokens) = self.layout.samples.broadcast_tokens else { return Vec::new() };
        let formula = format!("{tokens} tokens × 16–17 bytes × 3");
        vec![Component::on_device("samples being sent", samples::sent_on_source(tokens), formula)]
    }
}
