//! The outputs of a step of GitHub Actions, for later steps.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::CliError;
use crate::model::{Report, one_line};

/// Writes the step's outputs, if GitHub Actions names a file for them. `folder` contains the report; `comment` is the
/// comment's URL.
pub(super) fn write(report: &Report, folder: &Path, comment: Option<&str>) -> Result<(), CliError> {
    let Some(path) = std::env::var_os("GITHUB_OUTPUT").map(PathBuf::from) else { return Ok(()) };
    let root = report.subject();
    let cause = root.and_then(|incident| incident.diagnoses.first()).map(|diagnosis| diagnosis.cause.to_string());
    let file = |name: &str| folder.join(name).display().to_string();
    let values = [
        ("verdict", report.verdict.to_string()),
        ("cause", cause.unwrap_or_default()),
        ("report-path", file("report.html")),
        ("sarif-path", file("report.sarif")),
        ("comment-url", comment.unwrap_or_default().to_owned()),
    ];
    // A line break in a value would begin another output.
    let lines: String = values.iter().map(|(name, value)| format!("{name}={}\n", one_line(value))).collect();
    let opened = OpenOptions::new().append(true).create(true).open(&path);
    opened.and_then(|mut file| file.write_all(lines.as_bytes())).map_err(|error| CliError::Write { path, error })
}
