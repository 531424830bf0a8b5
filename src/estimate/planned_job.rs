use super::Limits;
use crate::facts::Value;
use crate::model::Bytes;

/// A job that has not run yet. What is not set here comes from its configuration, else from the estimate's assumptions.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PlannedJob {
    pub(crate) model: Option<String>,
    pub(crate) parameters: Option<u64>,
    pub(crate) from: Vec<String>,
    pub(crate) facts: Vec<(String, Value)>,
    pub(crate) limits: Option<Limits>,
}

impl PlannedJob {
    /// The model: a size (`8b`), a name (`Qwen2.5-7B`), a path of either, or its `config.json`.
    pub fn model(self, name: impl Into<String>) -> PlannedJob {
        PlannedJob { model: Some(name.into()), ..self }
    }

    /// The number of parameters of a model that is not known by name.
    pub fn parameters(self, count: u64) -> PlannedJob {
        PlannedJob { parameters: Some(count), ..self }
    }

    /// A configuration, a launch script or a log of it, or a folder of them; several may be given.
    pub fn from(mut self, path: impl Into<String>) -> PlannedJob {
        self.from.push(path.into());
        self
    }

    /// A fact as rules name it: `config.zero_stage` is `3`, `job.world_size` is `64`. The first value for a name
    /// counts.
    pub fn fact(mut self, name: impl Into<String>, value: &str) -> PlannedJob {
        self.facts.push((name.into(), Value::read(value)));
        self
    }

    /// Asks for the cheapest changes with which it fits devices, and hosts, with this much memory.
    pub fn fit(self, gpu: Bytes, host: Option<Bytes>) -> PlannedJob {
        PlannedJob { limits: Some(Limits { gpu, host }), ..self }
    }
}
