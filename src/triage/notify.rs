//! One message to a chat or another program.

use serde_json::{Value, json};
use ureq::http::Method;

use super::http::{Client, HttpError, Patience};
use crate::knowledge::Language;
use crate::model::Report;
use crate::report;

/// Posts a report to `url` as JSON: `text` for chats (Slack, Mattermost, Rocket.Chat …), `oomdoc` for programs.
/// `report` must be masked; `run` is the address of the run, if there is one.
pub fn notify(
    url: &str,
    report: &Report,
    language: Language,
    run: Option<&str>,
    patience: Patience,
) -> Result<(), HttpError> {
    Client::new(Vec::new(), patience, None)?.send(&Method::POST, url, Some(&message(report, language, run))).map(drop)
}

fn message(report: &Report, language: Language, run: Option<&str>) -> Value {
    let text = report::brief(report, language);
    let text = text.lines().map(escape).chain(run.map(escape)).collect::<Vec<_>>().join("\n");
    let root = report.subject();
    let cause = root.and_then(|incident| incident.diagnoses.first()).map(|diagnosis| &*diagnosis.cause);
    json!({
        "text": text,
        "oomdoc": {
            "schema": report.schema,
            "verdict": report.verdict,
            "phase": root.map(|incident| incident.phase.name),
            "cause": cause,
            "other_failure": report.other_failure.as_ref().map(|failure| failure.name),
            "id": root.map(|incident| &incident.id),
            "fingerprint": root.map(|incident| &incident.fingerprint.key),
            "run": run,
        },
    })
}

/// Escapes the three characters that begin all of Slack's markup and mentions. Mattermost, Rocket.Chat and Discord
/// notify the name behind an `@`, so an invisible character is put between.
fn escape(line: &str) -> String {
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('@', "@\u{200b}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_calls_nobody() {
        assert_eq!(escape("<!channel> & <@U1>"), "&lt;!channel&gt; &amp; &lt;@\u{200b}U1&gt;");
        assert_eq!(escape("@channel @here @all"), "@\u{200b}channel @\u{200b}here @\u{200b}all");
    }
}
