//! What the logs say of the job itself.

use super::Case;
use crate::model::{Event, FactValue, Job};

/// Frameworks by what stands in their source paths, the most telling first: a trainer runs on top of what it uses.
const FRAMEWORKS: &[(&str, &str)] = &[
    ("openrlhf", "openrlhf"),
    ("EasyR1", "easyr1"),
    ("verl/", "verl"),
    ("llamafactory", "llamafactory"),
    ("llmtuner", "llamafactory"),
    ("trl/", "trl"),
    ("megatron/", "megatron"),
    ("vllm/", "vllm"),
    ("sglang/", "sglang"),
    ("transformers/", "transformers"),
    ("deepspeed/", "deepspeed"),
    ("accelerate/", "accelerate"),
];

pub(super) fn of(case: &Case) -> Job {
    let text = |key: &str| {
        facts(case, key).find_map(|value| match value {
            FactValue::Text(text) => Some(text.clone()),
            FactValue::Number(_) => None,
        })
    };
    let number = |key: &str| {
        facts(case, key).find_map(|value| match value {
            FactValue::Number(number) => Some(*number),
            FactValue::Text(_) => None,
        })
    };
    let files = || case.stacks().flat_map(|(_, frames)| frames).map(|frame| frame.file.as_str());
    let framework =
        FRAMEWORKS.iter().find(|(path, _)| files().any(|file| file.contains(path))).map(|(_, name)| (*name).to_owned());
    Job {
        framework,
        framework_version: None,
        model: text("job.model"),
        parameters: number("job.parameters").map(|count| count as u64),
        world_size: number("job.world_size").map(|size| size as u32),
        gpu: text("job.gpu"),
        config_digest: None,
    }
}

fn facts<'a>(case: &'a Case, key: &'a str) -> impl Iterator<Item = &'a FactValue> {
    case.events
        .iter()
        .flat_map(|event: &Event| &event.facts)
        .filter(move |fact| fact.key == key)
        .map(|fact| &fact.value)
}
