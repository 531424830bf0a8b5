//! The layout as JSON, with the values that the configuration states and without those that it leaves open.

use serde_json::{Map, Value, json};

use crate::facts::{Facts, Value as Known};
use crate::launch::rolls_out;
use crate::memory::{Layout, Quantised};

/// Facts that JSON shows as they were read, each with its path in the layout.
const READ: &[(&str, &[&str])] = &[
    ("config.expert_parallel", &["parallel", "expert"]),
    ("config.sharding", &["sharding"]),
    ("config.optimizer_kind", &["optimizer", "kind"]),
    ("config.max_tokens_per_gpu", &["batch", "token_budget"]),
    ("config.micro_batch", &["batch", "micro_batch"]),
    ("config.sequence_length", &["batch", "sequence"]),
    ("config.gradient_accumulation", &["batch", "accumulation"]),
];

/// The factor by which scales enlarge quantised weights at most.
const QUANTISED: f64 = 1.125;

/// `layout` as JSON. If it was read from a configuration (`is_read`), stated `facts` are shown as stated, and machines
/// and batches that are left open are `null`.
pub(super) fn layout_json(layout: &Layout, facts: &Facts, is_read: bool) -> Value {
    let Ok(mut shown) = serde_json::to_value(layout) else { return Value::Null };
    if !is_read {
        return shown;
    }
    let is_said = || facts.get("config.dynamic_batch").is_some_and(|known| known.value == Known::Flag(true));
    let is_dynamic = layout.batch.map_or_else(is_said, |batch| batch.token_budget.is_some());
    for (name, path) in READ {
        let known = facts.get(name).and_then(|known| json_of(&known.value));
        match (known, path) {
            // Batches filled up by tokens have no number of sequences.
            (_, [.., "micro_batch" | "accumulation"]) if is_dynamic => put(&mut shown, path, Value::Null),
            (_, [.., "token_budget"]) if !is_dynamic => {}
            (Some(value), _) => put(&mut shown, path, value),
            (None, [.., "accumulation"]) => put(&mut shown, path, Value::Null),
            (None, _) => {}
        }
    }
    let is_counted = |name: &str| facts.get(name).is_some() || facts.get("job.world_size").is_some();
    for (name, path) in [("config.nodes", "nodes"), ("config.processes_per_node", "devices_per_node")] {
        if !is_counted(name) {
            put(&mut shown, &["cluster", path], Value::Null);
        }
    }
    // The layout has the average over all weights; the configuration states the width of the quantised ones.
    if let Some(nominal) = facts.text("config.quantization").and_then(Quantised::named).map(Quantised::nominal) {
        let average = json!(layout.precision.weights);
        put(&mut shown, &["precision", "average"], average);
        put(&mut shown, &["precision", "weights"], json!({ "low": nominal, "high": nominal * QUANTISED }));
    }
    if let (Some(adapter), Some(Value::Object(object))) = (facts.text("config.adapter"), shown.get_mut("adapter")) {
        object.insert("kind".to_owned(), json!(adapter));
    }
    // An engine on separate devices is not part of the layout.
    if layout.engine.is_none() && facts.text("config.job").is_some_and(rolls_out) {
        let share = facts.number("config.kv_cache_share");
        let tensor = facts.number("config.engine_tensor_parallel").map(|ranks| ranks as u64);
        if share.is_some() || tensor.is_some() {
            let engine = json!({ "colocated": false, "memory_share": share, "tensor_parallel": tensor });
            put(&mut shown, &["engine"], engine);
        }
    }
    shown
}

fn json_of(value: &Known) -> Option<Value> {
    Some(match value {
        Known::Number(number) if number.fract() == 0.0 && *number >= 0.0 => json!(*number as u64),
        Known::Number(number) => json!(number),
        Known::Text(text) => json!(text),
        Known::Flag(flag) => json!(flag),
        Known::List(_) => return None,
    })
}

/// Sets the value at `path`, creating missing objects on the way.
fn put(tree: &mut Value, path: &[&str], value: Value) {
    let Some((last, above)) = path.split_last() else { return };
    let mut at = tree;
    for step in above {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(object) = at else { return };
        at = object.entry(*step).or_insert(Value::Null);
    }
    if at.is_null() && value.is_null() {
        return;
    }
    if !at.is_object() {
        *at = Value::Object(Map::new());
    }
    if let Value::Object(object) = at {
        object.insert((*last).to_owned(), value);
    }
}
