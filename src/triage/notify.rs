//! One message to a chat or any other program.

use serde_json::{Value, json};
use ureq::http::Method;

use super::http::{Client, HttpError, Patience};
use crate::knowledge::Language;
use crate::model::Report;
use crate::report;

/// Posts what happened to `url` as JSON: `text` for chats (Slack, Mattermost, Rocket.Chat …), `oomdoc` for programs.
/// `report` is what may leave the machine; `run` is the address of the run, where it has one.
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
    let root = report.incidents.first();
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

/// What Slack's text means as markup and as mentions all begins with one of the first three. Mattermost, Rocket.Chat and Discord call whoever
/// stands behind an `@`: something that cannot be seen stands between.
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
