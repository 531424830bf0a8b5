//! Slack's incoming webhooks: blocks, with the text for notifications beside them.
//!
//! <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>,
//! <https://docs.slack.dev/reference/block-kit/blocks>: a header takes 150 characters, a section 3000, and of all characters `&`, `<`
//! and `>` begin markup or a mention.

use serde_json::{Value, json};

use super::{Message, cut, without_mentions};
use crate::bot::error::Trouble;

const HEADER: usize = 149;

pub(super) fn body(message: &Message<'_>) -> Value {
    let alert = message.alert;
    // Plain text knows no escapes: nothing in it is markup or a mention.
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

/// `ok` is all that it says; errors have a status.
pub(super) fn judge(answer: &Value) -> Result<(), Trouble> {
    match answer.as_str() {
        Some("ok") => Ok(()),
        _ => Err(Trouble::passing("an answer without `ok`")),
    }
}
