//! GitHub's workflow commands: a line that the runner turns into an annotation.
//!
//! Format: <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>; escapes as in `@actions/core`.

use std::path::Path;

use super::annotation_place::annotation_place;
use super::brief::brief;
use super::phrases::title;
use crate::knowledge::Language;
use crate::model::Report;

/// One annotation, on the line of the launch configuration under `root` or on no file; empty for a healthy job.
pub fn github(report: &Report, language: Language, root: &Path) -> String {
    let root_incident = report.subject();
    let level = match root_incident {
        Some(incident) if incident.ignored.is_some() => "notice",
        Some(incident) if !incident.recovered => "error",
        Some(_) => "warning",
        None if report.other_failure.is_some() => "warning",
        None => return String::new(),
    };
    let place =
        annotation_place(report, root).map(|place| format!("file={},line={},", property(&place.file), place.line));
    let title = title(report, language);
    format!("::{level} {}title={}::{}\n", place.unwrap_or_default(), property(&title), data(&brief(report, language)))
}

/// Escapes the message behind `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a value before `::`, where colons and commas have a meaning.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_end_the_command() {
        assert_eq!(property("a::error,b\n%"), "a%3A%3Aerror%2Cb%0A%25");
        assert_eq!(data("x\r\n::stop-commands::y"), "x%0D%0A::stop-commands::y");
    }
}
