//! What an engine needs that only serves: its weights, and a cache of keys and values in what its share of a device leaves.

use crate::memory::{
    Amount, Component, Engine, Layout, ModelSize, Moment, MomentPlan, Place, Plan, Step, Width, kv_bytes_per_token,
};
use crate::model::Bytes;

/// What `model` served in `layout` should need. `share` of a device's memory is the engine's, where that is known.
pub(super) fn plan(model: &ModelSize, layout: &Layout, share: Option<f64>) -> Plan {
    let ranks = layout.parallel.model_ranks();
    let parameters = model.parameters.shard(ranks);
    let formula = format!("{} ÷ {ranks} × {} B", model.parameters, layout.precision.weights);
    let weights = component("weights", parameters.at(layout.precision.weights), formula);
    let mut assumptions = vec![
        "nothing is trained: weights, and a cache of keys and values",
        "not counted: the engine's first pass over its largest batch, its graphs, the device's context",
    ];
    let cache = cache(model, layout, share);
    if cache.is_none() {
        assumptions.push("not counted: the cache, neither its share of the device nor the longest request is known");
    }
    let moment = |moment: Moment, components: Vec<Component>| MomentPlan {
        moment,
        step: Step::Later,
        components,
        process: Vec::new(),
    };
    let mut at_work = vec![weights.clone()];
    at_work.extend(cache);
    Plan {
        moments: vec![moment(Moment::Init, vec![weights]), moment(Moment::Rollout, at_work)],
        assumptions: assumptions.into_iter().map(str::to_owned).collect(),
    }
}

/// What the cache takes of a device: all that the engine's share leaves, else at least one request of the longest.
fn cache(model: &ModelSize, layout: &Layout, share: Option<f64>) -> Option<Component> {
    let ranks = layout.parallel.model_ranks();
    if let (Some(memory_share), Some(capacity)) = (share, layout.cluster.device_memory) {
        let engine =
            Engine { tensor_parallel: ranks, memory_share, weights: layout.precision.weights, ..Engine::default() };
        let left = engine.cache_on_device(model, capacity);
        let left = Amount { low: left.low.max(Bytes(0)), high: left.high.max(Bytes(0)) };
        return Some(component("cache of keys and values", left, format!("{memory_share} × {capacity} − weights")));
    }
    let (shape, batch) = (model.shape.as_ref()?, layout.batch?);
    let token = kv_bytes_per_token(shape, Width::TWO, layout.parallel.tensor);
    let tokens = batch.sequence as f64 / layout.parallel.pipeline.max(1) as f64;
    let bytes = |of: Bytes| Bytes((of.0 as f64 * tokens) as i64);
    let amount = Amount { low: bytes(token.low), high: bytes(token.high) };
    let formula = format!("{} tokens × {} B, at least", batch.sequence, token.high.0);
    Some(component("cache of one longest request", amount, formula))
}

fn component(name: &str, bytes: Amount, formula: String) -> Component {
    Component { name: name.to_owned(), bytes, formula, place: Place::Device }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};
    use crate::memory::{Batch, Cluster, Parallel};

    #[test]
    fn an_engine_fills_its_share_with_weights_and_cache() -> Result<(), KnowledgeError> {
        let knowledge = Knowledge::shipped()?;
        let Some(found) = knowledge.models.find("Llama-3-8B") else { return Ok(()) };
        let model = ModelSize::from(found);
        let mut layout = Layout {
            parallel: Parallel { tensor: 2, ..Parallel::default() },
            batch: Some(Batch::of(1, 8192)),
            cluster: Cluster { device_memory: Some(Bytes(80 << 30)), ..Cluster::of(1, 2) },
            ..Layout::default()
        };
        let known = plan(&model, &layout, Some(0.9));
        let work = known.at(Moment::Rollout).map(|moment| moment.device().high);
        assert_eq!(work, Some(Bytes((80 << 30) * 9 / 10)));
        layout.cluster.device_memory = None;
        // 64 KiB for each of 8192 tokens on either device.
        let one = plan(&model, &layout, Some(0.9)).at(Moment::Rollout).map(|moment| moment.device().low);
        let weights = plan(&model, &layout, None).at(Moment::Init).map(|moment| moment.device().low);
        assert_eq!(one.zip(weights).map(|(all, weights)| all - weights), Some(Bytes(512 << 20)));
        assert!(!known.moments.iter().any(|moment| moment.moment == Moment::Backward));
        Ok(())
    }
}
