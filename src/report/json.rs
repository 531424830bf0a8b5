use serde::Serialize;

use crate::model::Report;

/// The name of the format for several reports in one answer.
const SCHEMA: &str = "oomdoc.reports/1";

/// Reports of several jobs.
#[derive(Serialize)]
struct Several<'a> {
    schema: &'static str,
    reports: &'a [Report],
}

/// The whole report as JSON.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report)
}

/// The reports of several jobs as one JSON object; a single report is written as itself.
pub fn json_of_jobs(reports: &[Report]) -> Result<String, serde_json::Error> {
    match reports {
        [report] => json(report),
        reports => serde_json::to_string_pretty(&Several { schema: SCHEMA, reports }),
    }
}
