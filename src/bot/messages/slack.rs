//! Slack's incoming webhooks: blocks, and a plain text for notifications.
//!
//! <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>,
//! <https://docs.slack.dev/reference/block-kit/blocks>: a header may have 150 characters, a section 3000; only `&`, `<`
//! and `>` can begin markup or a mention.

use serde_json::{Value, json};

use super::{Message, cut, without_mentions};
use crate::bot::error::StepError;

const HEADER: usize = 149;

pub(super) fn body(message: &Message<'_>) -> Value {
    let alert = message.alert;
    // Elements of plain text are never parsed as markup or mentions.
    let plain = |text: &str| json!({ "type": "plain_text", "text": without_mentions(text), "emoji": false });
    let section = |text: &str| json!({ "type": "section", "text": plain(text) });
    let mut blocks = vec![json!({ "type": "header", "text": plain(&cut(&alert.title, HEADER)) })];
    blocks.extend(std::iter::once(&alert.job).chain(&alert.lines).map(|line| section(line)));
    let link = alert.page.as_ref().map(|page| format!("<{page}|{}>", message.words().page));
    let last: Vec<String> = message.more().into_iter().chain(link).collect();
    if !last.is_empty() {
        blocks.push(json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": last.join(" · ") }] }));
    }
    json!({ "text": escape(&format!("{}: {}", alert.title, alert.job)), "blocks": blocks })
}

fn escape(words: &str) -> String {
    without_mentions(&words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Slack answers `ok`; errors have a status of their own.
pub(super) fn judge(answer: &Value) -> Result<(), StepError> {
    match answer.as_str() {
        Some("ok") => Ok(()),
        _ => Err(StepError::temporary("an answer without `ok`")),
    }
}
