//! What an inference engine holds beside the weights of its model: a draft model, and room for adapters.

use super::super::JobConfig;
use crate::facts::{Facts, Value};
use crate::knowledge::Shape;
use crate::memory::{ModelSize, Width};

impl JobConfig<'_> {
    /// Adds what the weights of the model that drafts tokens take in 16 bit, where its size is known by its name.
    pub(super) fn state_draft(&self, facts: &mut Facts) {
        let draft = ["config.draft_model", "vllm.draft_model"].into_iter().find_map(|name| {
            let found = self.knowledge.models.find(facts.text(name)?)?;
            Some((ModelSize::from(found), facts.get(name)?.cites.clone()))
        });
        if let Some((draft, cites)) = draft {
            let bytes = draft.parameters.at(Width::TWO).high;
            facts.cite("draft.in_16_bit", Value::Number(bytes.0 as f64), cites);
        }
    }
}

/// Adds what an adapter of rank 1 takes, and what an engine sets aside for as many of the rank that it is told.
pub(super) fn state_adapters(facts: &mut Facts, model: &ModelSize) {
    let Some(each) = model.shape.as_ref().and_then(of_rank_one) else { return };
    facts.say("adapters.of_rank_one", Value::Number(each));
    let slots = facts.number("config.adapter_slots").zip(facts.number("config.adapter_slot_rank"));
    if let Some((slots, rank)) = slots {
        let ranks = facts.number("config.engine_tensor_parallel").unwrap_or(1.0).max(1.0);
        facts.say("adapters.set_aside", Value::Number(slots * rank * each / ranks));
    }
}

/// Bytes in 16 bit of an adapter of rank 1 on all matrices of all layers: of each matrix its width in and its width out. `None` where
/// layers are built otherwise.
fn of_rank_one(shape: &Shape) -> Option<f64> {
    if shape.experts.is_some() || shape.latent_attention.is_some() {
        return None;
    }
    let (hidden, intermediate) = (shape.hidden, shape.intermediate);
    let (query, key) = (shape.heads * shape.head_dim(), shape.kv_heads() * shape.head_dim());
    let attention = 2 * (hidden + query) + 2 * (hidden + key);
    let mlp = if shape.gated_mlp { 3 } else { 2 } * (hidden + intermediate);
    Some((shape.layers * (attention + mlp)) as f64 * Width::TWO.high)
}
