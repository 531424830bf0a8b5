//! Slack's incoming webhooks: blocks, with the text for notifications beside them.
//!
//! <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>,
//! <https://docs.slack.dev/reference/block-kit/blocks>: a header takes 150 characters, a section 3000, and of all characters `&`, `<`
//! and `>` begin markup or a mention.

use serde_json::{Value, json};

use super::{Message, cut, without_mentions};
use crate::bot::error::Trouble;

const HEADER: usize = 149;
/// Escapes make words up to five times as long.
const SECTION: usize = 550;

pub(super) fn body(message: &Message<'_>) -> Value {
    let alert = message.alert;
    let section =
        |text: String| json!({ "type": "section", "text": { "type": "mrkdwn", "text": text, "verbatim": true } });
    let mut blocks = vec![json!({
        "type": "header",
        // A header knows no escapes: nothing in it is markup.
        "text": { "type": "plain_text", "text": cut(&without_mentions(&alert.title), HEADER), "emoji": false },
    })];
    blocks.push(section(format!("*{}*", marked(&alert.job))));
    blocks.extend(alert.lines.iter().map(|line| section(marked(&cut(line, SECTION)))));
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

/// [`escape`], where stars and the like mark up.
fn marked(words: &str) -> String {
    let plain = words.chars().map(|c| match c {
        '*' => '∗',
        '_' => '＿',
        '~' => '∼',
        '`' => 'ˋ',
        c => c,
    });
    escape(&plain.collect::<String>())
}

/// `ok` is all that it says; errors have a status.
pub(super) fn judge(answer: &Value) -> Result<(), Trouble> {
    match answer.as_str() {
        Some("ok") => Ok(()),
        _ => Err(Trouble::passing("an answer without `ok`")),
    }
}
