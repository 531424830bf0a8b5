use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bytes, Citation, Collapse, Incident, Kind, Location, OtherFailureName, Ranks, Snapshot};

/// Name of the report's format. Fields may be added to it, never renamed.
pub const SCHEMA: &str = "oomdoc.report/1";

/// The post-mortem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Of oomdoc.
    pub version: String,
    /// Kind of the root incident; `none` when there is none or all are recovered.
    pub verdict: Kind,
    /// What was read.
    pub inputs: Vec<InputSummary>,
    /// What is known of the job.
    pub job: Job,
    /// Root first, then those that only followed.
    pub incidents: Vec<Incident>,
    /// What it was instead, when the job failed of something else.
    pub other_failure: Option<OtherFailure>,
    /// In which call it failed, and how its processes ended.
    #[serde(default)]
    pub failure: Collapse,
    /// What happened and why, in a sentence of the report's language.
    #[serde(default)]
    pub summary: String,
    /// What PyTorch's memory snapshots show, each device by itself; absent where none was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<Snapshot>,
    /// Lines beside those that prove it, for a page that is read away from the log; absent where nobody asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Citation>,
    /// The nodes on which the inputs were read; absent where they were read here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// Every rank of a large job; absent where fewer than eight are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
}

/// The nodes of a job whose logs were read where they lie.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Nodes {
    /// How many were asked.
    pub count: u64,
    /// Those that gave nothing: what happened there is not part of the report.
    pub unanswered: Vec<String>,
    /// Those whose clocks are apart from the others', by when each gave up the same collective operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<ClockSkew>,
}

/// A node whose clock is apart from the others'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClockSkew {
    /// The node.
    pub node: String,
    /// Seconds that its clock is ahead; negative where it is behind.
    pub seconds: f64,
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InputSummary {
    /// As the user named it.
    pub path: Arc<str>,
    /// What it is, by its content.
    pub role: Role,
    /// Its size.
    pub bytes: u64,
    /// Its physical lines.
    pub lines: u64,
    /// Whose messages stand in it.
    pub producers: Vec<String>,
    /// What could not be read, or looks odd.
    pub warning: Option<String>,
}

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// What a job printed.
    Log,
    /// What a kernel printed.
    Kernel,
    /// A configuration: DeepSpeed JSON, YAML.
    Config,
    /// A launch script.
    Script,
    /// A memory snapshot of PyTorch.
    Snapshot,
    /// Something else.
    Other,
}

/// What is known of the job; `None` is "the input does not say".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Job {
    /// Training or serving framework.
    pub framework: Option<String>,
    /// Its version.
    pub framework_version: Option<String>,
    /// The last version that has all the options the job was launched with, where nothing states its version.
    #[serde(default)]
    pub framework_version_at_most: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Its parameters.
    pub parameters: Option<u64>,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// Accelerator.
    pub gpu: Option<String>,
    /// Digest of the configuration.
    pub config_digest: Option<String>,
}

/// What a job died of when it was no lack of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OtherFailure {
    /// Which.
    pub name: OtherFailureName,
    /// The lines that say so.
    pub evidence: Vec<Citation>,
}

/// One moment of one series of memory figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimelinePoint {
    /// Of which allocator, process or host.
    pub series: Arc<str>,
    /// When, if the line said so.
    pub time: Option<String>,
    /// What its writer was doing, by the last sign of it.
    pub phase: Option<super::Phase>,
    /// What it measures.
    pub name: super::FigureName,
    /// How much.
    pub bytes: Bytes,
    /// Where it stands.
    pub source: Location,
    /// The words that state it.
    pub text: String,
}
