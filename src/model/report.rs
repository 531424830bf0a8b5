use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bytes, Citation, Collapse, Incident, Kind, Location, OtherFailureName, Ranks, Snapshot};

/// Name of the report's format. Fields may be added, but never renamed.
pub const SCHEMA: &str = "oomdoc.report/1";

/// The analysis of a failed job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The name of this format, [`SCHEMA`].
    pub schema: String,
    /// The version of oomdoc.
    pub version: String,
    /// Kind of the root incident; `none` if there is none or all recovered.
    pub verdict: Kind,
    /// The inputs that were read.
    pub inputs: Vec<InputSummary>,
    /// What is known of the job.
    pub job: Job,
    /// The root incident first, then those that followed from it.
    pub incidents: Vec<Incident>,
    /// What failed instead, if the job did not fail because of memory.
    pub other_failure: Option<OtherFailure>,
    /// The call in which the job failed, and how its processes ended.
    #[serde(default)]
    pub failure: Collapse,
    /// What happened and why, as one sentence in the report's language.
    #[serde(default)]
    pub summary: String,
    /// What PyTorch's memory snapshots show, one entry per device; absent if none was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<Snapshot>,
    /// Lines around the evidence, for a report that is read without the log; absent if they were not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Citation>,
    /// The nodes on which the inputs were read; absent if they were read on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// Every rank of a large job; absent if fewer than eight are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
}

impl Report {
    /// The incident that the report is about: none if the job outlived it and failed of something else.
    pub fn subject(&self) -> Option<&Incident> {
        self.incidents.first().filter(|root| !root.recovered || self.other_failure.is_none())
    }
}

/// The nodes of a job whose logs were read on the nodes themselves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Nodes {
    /// Number of nodes that were asked.
    pub count: u64,
    /// The nodes that returned nothing; what happened on them is not part of the report.
    pub unanswered: Vec<String>,
    /// The nodes whose clocks differ from the others', found by when each gave up the same collective operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<ClockSkew>,
}

/// A node whose clock differs from the others'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClockSkew {
    /// The node.
    pub node: String,
    /// Seconds by which its clock is ahead; negative if it is behind.
    pub seconds: f64,
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InputSummary {
    /// The name that the user gave.
    pub path: Arc<str>,
    /// What kind of input it is, judged by its content.
    pub role: Role,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of physical lines.
    pub lines: u64,
    /// The programs whose messages it contains.
    pub producers: Vec<String>,
    /// What could not be read, or looks unusual.
    pub warning: Option<String>,
}

/// What kind of input something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The output of a job.
    Log,
    /// The log of a kernel.
    Kernel,
    /// A configuration file: DeepSpeed JSON, YAML.
    Config,
    /// A launch script.
    Script,
    /// A memory snapshot of PyTorch.
    Snapshot,
    /// Anything else.
    Other,
}

/// What is known about the job; a field is `null` if the inputs do not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Job {
    /// Training or serving framework.
    pub framework: Option<String>,
    /// Version of the framework.
    pub framework_version: Option<String>,
    /// The last version that has all options the job was launched with, if no line states the version.
    #[serde(default)]
    pub framework_version_at_most: Option<String>,
    /// Name of the model.
    pub model: Option<String>,
    /// Number of the model's parameters.
    pub parameters: Option<u64>,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// Accelerator.
    pub gpu: Option<String>,
    /// Digest of the configuration.
    pub config_digest: Option<String>,
    /// Versions of what the job stands on, by the name that its knobs have: as the logs state them, else the newest that still prints
    /// what was printed. Patches are chosen by them.
    #[serde(skip)]
    pub(crate) versions: BTreeMap<Arc<str>, Arc<str>>,
}

/// What a job failed of, if it was not memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OtherFailure {
    /// The kind of failure.
    pub name: OtherFailureName,
    /// The lines that show it.
    pub evidence: Vec<Citation>,
}

/// One memory figure at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimelinePoint {
    /// The allocator, process or host that it belongs to.
    pub series: Arc<str>,
    /// When it was written, if the line says so.
    pub time: Option<String>,
    /// What the writer was doing, by the last sign of a phase.
    pub phase: Option<super::Phase>,
    /// What the figure measures.
    pub name: super::FigureName,
    /// The amount.
    pub bytes: Bytes,
    /// Where it stands.
    pub source: Location,
    /// The words that state it.
    pub text: String,
}

impl TimelinePoint {
    /// A rise from one moment to the next that says something by itself, where fewer moments than usual were printed.
    pub const FAR: Bytes = Bytes(8_000_000_000);
}
