//! Estimates what a job needs before it runs, and what to change so that it fits.
//!
//! In go the user's description of a job, its configuration, or both ([`PlannedJob`]). Out come the needs of each
//! moment on a device and on a host ([`Estimate`]), and the cheapest changes that make it fit ([`Fit`]). `memory` does
//! the arithmetic and `launch` reads configurations, so that an estimate never differs from an analysis.

#[cfg(feature = "mcp")]
mod compact;
mod compute;
mod fit;
mod layout_json;
#[cfg(feature = "render")]
mod markdown;
mod planned_job;
#[cfg(feature = "render")]
mod text;
#[cfg(feature = "render")]
mod wording;

use serde::Serialize;
use thiserror::Error;

use crate::knowledge::{HfConfigError, Language};
use crate::memory::{Amount, Component, Layout, ModelSize, Moment, MomentPlan, Step};
use crate::model::Bytes;
use crate::report::phase_name;

#[cfg(feature = "mcp")]
pub use compact::{Compact, compact};
pub use compute::estimate;
pub use fit::{Change, Fit, Fits, Limits, Spare};
#[cfg(feature = "render")]
pub use markdown::markdown;
pub use planned_job::PlannedJob;
#[cfg(feature = "render")]
pub use text::text;

/// The format of `--format json`; fields may be added, never renamed.
pub const SCHEMA: &str = "oomdoc.estimate/1";

/// Why there is no estimate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// Nothing says how large the model is.
    #[error("no model was given")]
    NoModel,
    /// No model of this name is known.
    #[error("no model is called `{0}`, and it names no size")]
    UnknownModel(String),
    /// A `config.json` could not be read.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// A `config.json` is none of a transformer.
    #[error("{path}: {error}")]
    Config {
        /// Which.
        path: String,
        /// What is wrong.
        #[source]
        error: HfConfigError,
    },
    /// The job names a model of which neither shape nor size is known.
    #[error("model `{0}` is named but unknown: give --parameters or its config.json")]
    UnsizedModel(String),
    /// The launch names a file that says how states are shared out, and nobody gave it.
    #[error("`{0}` sets how the job is sharded, but was not given")]
    NotGiven(String),
    /// Quantised weights that are trained themselves.
    #[error("weights are quantised, but no adapter was given")]
    Unbounded,
    /// Nothing could be read.
    #[error(transparent)]
    Analysis(#[from] crate::Error),
}

/// What a job should need.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Estimate {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What it runs on, by its name in `rules/frameworks.toml`, where that is known.
    pub framework: Option<String>,
    /// What it is for: a word of the fact `config.job`, where that is known.
    pub job: Option<String>,
    /// How it serves, where nothing is trained.
    pub serving: Option<Serving>,
    /// The model as it was named.
    pub model: String,
    /// How large it is.
    pub size: ModelSize,
    /// How it is spread, as the arithmetic takes it.
    #[serde(skip)]
    pub layout: Layout,
    /// The same as JSON shows it: what was read stands as it was said, what was left open is `null`.
    #[serde(rename = "layout")]
    pub shown: serde_json::Value,
    /// What each moment needs.
    pub moments: Vec<Need>,
    /// Whether that is only the least, because activations are not counted: the model's shape or its batch is unknown.
    pub is_least: bool,
    /// What was taken for granted, and what is not counted.
    pub assumptions: Vec<String>,
    /// What to change so that it fits, where that was asked for.
    pub fit: Option<Fit>,
}

/// How a job serves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Serving {
    /// Share of each device's memory that the engine may take, where that is known.
    pub memory_share: Option<f64>,
}

/// What one moment needs.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Need {
    /// On each device within likely bounds: from the tensors alone to all that the driver counts for the process.
    pub gpu: Amount,
    /// On each host, page-locked memory included, less page cache.
    pub host: Amount,
    /// Of what it is made up.
    #[serde(flatten)]
    pub plan: MomentPlan,
}

impl From<MomentPlan> for Need {
    fn from(plan: MomentPlan) -> Need {
        Need { gpu: plan.device_in_use(), host: plan.host_kept(), plan }
    }
}

impl Need {
    /// What it is made up of, on a host or on a device with what the process takes besides.
    fn parts(&self, is_host: bool) -> impl Iterator<Item = &Component> {
        let process = self.plan.process.iter().filter(move |_| !is_host);
        self.plan.components.iter().filter(move |part| part.place.is_host() == is_host).chain(process)
    }
}

impl Estimate {
    /// The moment that needs most of a device.
    pub fn peak_of_gpu(&self) -> Option<&Need> {
        self.moments.iter().rev().max_by_key(|need| need.gpu.high)
    }

    /// The moment that needs most of a host, if any needs something.
    pub fn peak_of_host(&self) -> Option<&Need> {
        self.moments.iter().rev().max_by_key(|need| need.host.high).filter(|need| need.host.high > Bytes(0))
    }

    /// The moments worth showing: if a moment is the same before and after the first step, only the later one.
    fn telling(&self) -> impl Iterator<Item = &Need> {
        let is_repeated = |need: &&Need| {
            let mut others = self.moments.iter().filter(|other| other.plan.moment == need.plan.moment);
            need.plan.step == Step::First && others.any(|other| is_later(other) && is_alike(other, need))
        };
        self.moments.iter().filter(move |need| !is_repeated(need))
    }

    /// Whether this is the first-step variant of a moment that also has a later one.
    fn is_first(&self, need: &Need) -> bool {
        let moment = need.plan.moment;
        need.plan.step == Step::First && self.moments.iter().any(|other| other.plan.moment == moment && is_later(other))
    }

    /// A moment's name: `backward`, `first backward`.
    fn name(&self, need: &Need, language: Language) -> String {
        if language == Language::Zh {
            let name = need.plan.moment.phase().map_or("初始化完成后", |phase| phase_name(phase, language));
            return if self.is_first(need) { format!("首次{name}") } else { name.to_owned() };
        }
        let name = match need.plan.moment {
            Moment::AfterPrepare => "after setup",
            Moment::OptimizerStep => "optimizer step",
            Moment::WeightSync => "weight sync",
            Moment::CheckpointSave => "checkpoint save",
            Moment::CheckpointResume => "checkpoint resume",
            other => other.as_str(),
        };
        if self.is_first(need) { format!("first {name}") } else { name.to_owned() }
    }
}

fn is_later(need: &Need) -> bool {
    need.plan.step == Step::Later
}

fn is_alike(one: &Need, other: &Need) -> bool {
    (one.gpu, one.host) == (other.gpu, other.host)
}
