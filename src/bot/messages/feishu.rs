//! Custom bots of Feishu and Lark: an interactive card, signed where the bot asks for it.
//!
//! <https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot>: the signature is an HMAC of nothing with the
//! key `timestamp\nsecret`; a message may have 20 KB. Errors come as 200 with a `code`; 11232 means that the limit of 5
//! messages a second or 100 a minute was exceeded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Message, cut, without_mentions};
use crate::bot::error::StepError;
use crate::bot::secret::Secret;
use crate::bot::signature;
use crate::bot::work::Moment;

const BUSY: &[i64] = &[11232, 11233];

pub(super) fn body(message: &Message<'_>, secret: Option<&Secret>, now: Moment) -> Value {
    let alert = message.alert;
    // Elements of plain text are never parsed as markup or mentions.
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

pub(super) fn judge(answer: &Value) -> Result<(), StepError> {
    // Some answers have only the field's older name.
    let code = if answer["code"].is_i64() { "code" } else { "StatusCode" };
    super::judge(answer, code, "msg", BUSY)
}
