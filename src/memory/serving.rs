//! The plan of an engine that only serves: its weights, and a cache of keys and values in the rest of its share of a
//! device.

use super::component::Component;
use super::{Engine, Layout, ModelSize, Moment, MomentPlan, Plan, Step, Width, kv_bytes_per_token};
use crate::model::Bytes;

impl Plan {
    /// Computes the needs of serving `model` in `layout`. `share` is the engine's share of a device's memory, if known.
    pub fn of_engine(model: &ModelSize, layout: &Layout, share: Option<f64>) -> Plan {
        let engine = Engine {
            tensor_parallel: layout.parallel.model_ranks(),
            weights: layout.precision.weights,
            ..Engine::default()
        };
        let weights = engine.weights("weights", model);
        let mut assumptions = vec![
            "nothing is trained: weights and a KV cache only",
            "not counted: the engine's profiling pass over its largest batch, its CUDA graphs and context",
        ];
        let cache = match share.zip(layout.cluster.device_memory) {
            Some((memory_share, capacity)) => {
                Some(Engine { memory_share, ..engine }.cache("cache of keys and values", model, capacity))
            }
            None => longest_request(model, layout),
        };
        if cache.is_none() {
            assumptions.push(
                "not counted: the KV cache; neither the engine's share of the GPU nor the longest request is known",
            );
        }
        let moment = |moment: Moment, components: Vec<Component>| MomentPlan {
            moment,
            step: Step::Later,
            components,
            process: Vec::new(),
        };
        let at_work = [weights.clone()].into_iter().chain(cache).collect();
        Plan {
            moments: vec![moment(Moment::Init, vec![weights]), moment(Moment::Rollout, at_work)],
            assumptions: assumptions.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// The least that the cache takes if the engine's share of a device is unknown: one request of maximum length.
fn longest_request(model: &ModelSize, layout: &Layout) -> Option<Component> {
    let (shape, batch) = (model.shape.as_ref()?, layout.batch?);
    let token = kv_bytes_per_token(shape, Width::TWO, layout.parallel.tensor);
    let tokens = batch.sequence as f64 / layout.parallel.pipeline.max(1) as f64;
    let bytes = token.map(|bytes| Bytes((bytes.0 as f64 * tokens) as i128));
    let formula = format!("{} tokens × {} bytes, at least", batch.sequence, token.high.0);
    Some(Component::on_device("cache of one longest request", bytes, formula))
}

impl Engine {
    /// Its weights on a device, as a component called `name`.
    pub(super) fn weights(&self, name: &str, model: &ModelSize) -> Component {
        Component::on_device(name, self.weights_on_device(model), self.weights_formula(model))
    }

    /// The formula of its weights on a device.
    pub(super) fn weights_formula(&self, model: &ModelSize) -> String {
        format!("{} ÷ {} × {} bytes", model.parameters, self.tensor_parallel, self.weights)
    }

    /// The rest of its share of a device of `capacity` beside its weights, as a component called `name`.
    pub(super) fn cache(&self, name: &str, model: &ModelSize, capacity: Bytes) -> Component {
        let left = self.cache_on_device(model, capacity).map(|bytes| bytes.max(Bytes(0)));
        Component::on_device(name, left, format!("{} × {capacity} − weights", self.memory_share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::memory::{Batch, Cluster, Parallel};
    use crate::model::Bytes;

    #[test]
    fn an_engine_fills_its_share_with_weights_and_cache() -> Result<(), Box<dyn std::error::Error>> {
        let knowledge = Knowledge::shipped()?;
        let found = knowledge.models.find("Llama-3-8B").ok_or("no such model")?;
        let model = ModelSize::from(found);
        let mut layout = Layout {
            parallel: Parallel { tensor: 2, ..Parallel::default() },
            batch: Some(Batch::of(1, 8192)),
            cluster: Cluster { device_memory: Some(Bytes(80 << 30)), ..Cluster::of(1, 2) },
            ..Layout::default()
        };
        let known = Plan::of_engine(&model, &layout, Some(0.9));
        let work = known.at(Moment::Rollout).map(|moment| moment.device().high);
        assert_eq!(work, Some(Bytes((80 << 30) * 9 / 10)));
        layout.cluster.device_memory = None;
        // 64 KiB for each of 8192 tokens on either device.
        let one = Plan::of_engine(&model, &layout, Some(0.9)).at(Moment::Rollout).map(|moment| moment.device().low);
        let weights = Plan::of_engine(&model, &layout, None).at(Moment::Init).map(|moment| moment.device().low);
        assert_eq!(one.zip(weights).map(|(all, weights)| all - weights), Some(Bytes(512 << 20)));
        assert!(!known.moments.iter().any(|moment| moment.moment == Moment::Backward));
        Ok(())
    }
}
