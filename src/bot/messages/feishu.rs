//! Custom bots of Feishu and Lark: an interactive card, signed where the bot asks for it.
//!
//! <https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot>: the key of the signature is `timestamp\nsecret`, of nothing; a
//! message has 20 KB at most. Answers are 200 with a `code`; 11232 says that too much was sent: 5 messages a second, 100 a minute.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Message, cut, without_mentions};
use crate::bot::error::Trouble;
use crate::bot::secret::Secret;
use crate::bot::signature;
use crate::bot::work::Moment;

const BUSY: &[i64] = &[11232, 11233];

pub(super) fn body(message: &Message<'_>, secret: Option<&Secret>, now: Moment) -> Value {
    let alert = message.alert;
    // Text that is plain mentions nobody and is no markup.
    let plain =
        |text: &str| json!({ "tag": "div", "text": { "tag": "plain_text", "content": without_mentions(text) } });
    let mut elements = vec![plain(&alert.job)];
    elements.extend(alert.lines.iter().map(|line| plain(line)));
    elements.extend(message.more().map(|more| plain(&more)));
    if let Some(page) = &alert.page {
        elements.push(json!({ "tag": "action", "actions": [{
            "tag": "button",
            "type": "default",
            "text": { "tag": "plain_text", "content": message.words().page },
            "url": page,
        }] }));
    }
    let mut body = json!({
        "msg_type": "interactive",
        "card": {
            "config": { "wide_screen_mode": true },
            "header": { "template": "red", "title": { "tag": "plain_text", "content": without_mentions(&cut(&alert.title, 200)) } },
            "elements": elements,
        },
    });
    if let Some(secret) = secret {
        let timestamp = (now / 1000).to_string();
        let key = format!("{timestamp}\n{}", secret.expose());
        body["sign"] = STANDARD.encode(signature::sign(key.as_bytes(), b"").unwrap_or_default()).into();
        body["timestamp"] = timestamp.into();
    }
    body
}

pub(super) fn judge(answer: &Value) -> Result<(), Trouble> {
    // Some answers have the name of an earlier version only.
    let code = if answer["code"].is_i64() { "code" } else { "StatusCode" };
    super::judge(answer, code, "msg", BUSY)
}
