//! The part of SARIF 2.1.0 that a post-mortem needs.
//!
//! Names and structure: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html>.

use std::collections::BTreeMap;

use serde::Serialize;

/// `sarifLog` (§3.13).
#[derive(Debug, Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    pub version: &'static str,
    pub runs: Vec<Run>,
}

/// `run` (§3.14).
#[derive(Debug, Serialize)]
pub(super) struct Run {
    pub tool: Tool,
    pub results: Vec<Finding>,
}

/// `tool` (§3.18).
#[derive(Debug, Serialize)]
pub(super) struct Tool {
    pub driver: Driver,
}

/// `toolComponent` (§3.19).
#[derive(Debug, Serialize)]
pub(super) struct Driver {
    pub name: &'static str,
    pub version: String,
    pub rules: Vec<Rule>,
}

/// `reportingDescriptor` (§3.49).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub id: String,
    pub short_description: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_description: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Message>,
}

/// `message` (§3.11).
#[derive(Debug, Serialize)]
pub(super) struct Message {
    pub text: String,
}

/// `result` (§3.27).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub rule_id: String,
    pub rule_index: usize,
    pub level: &'static str,
    pub message: Message,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub partial_fingerprints: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppressions: Vec<Suppression>,
    pub properties: BTreeMap<&'static str, serde_json::Value>,
}

/// `suppression` (§3.35).
#[derive(Debug, Serialize)]
pub(super) struct Suppression {
    pub kind: &'static str,
    pub status: &'static str,
    pub justification: String,
}

/// `location` (§3.28).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    pub physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logical_locations: Vec<LogicalLocation>,
}

/// `logicalLocation` (§3.33).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub fully_qualified_name: String,
    pub kind: &'static str,
}

/// `physicalLocation` (§3.29).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
}

/// `artifactLocation` (§3.4).
#[derive(Debug, Serialize)]
pub(super) struct ArtifactLocation {
    pub uri: String,
}

/// `region` (§3.30). Columns are left out: SARIF counts characters, oomdoc bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub start_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Message>,
}
