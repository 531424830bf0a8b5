//! Custom bots of DingTalk: Markdown, with a signature in the address where the bot asks for it.
//!
//! <https://open.dingtalk.com/document/robots/custom-robot-access>,
//! <https://open.dingtalk.com/document/robots/customize-robot-security-settings>: the secret signs `timestamp\nsecret`,
//! with the timestamp in milliseconds. Errors come as 200 with an `errcode`; a bot may send 20 messages a minute,
//! beyond which the code is 130101 or 410100.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Message, cut, whole_lines, without_markup};
use crate::bot::error::StepError;
use crate::bot::secret::Secret;
use crate::bot::signature;
use crate::bot::work::Moment;

const BUSY: &[i64] = &[130_101, 410_100, 90_030];
/// Bytes of text that we send; DingTalk allows 20,000.
const MOST: usize = 12_000;

pub(super) fn body(message: &Message<'_>) -> Value {
    let alert = message.alert;
    let title = without_markup(&alert.title);
    // DingTalk joins consecutive lines, so they become list items.
    let lines = [format!("### {title}"), String::new(), format!("**{}**", without_markup(&alert.job)), String::new()];
    let told = alert.lines.iter().map(|line| format!("- {}", without_markup(line)));
    let more = message.more().into_iter().flat_map(|more| [String::new(), more]);
    let link = alert.page.iter().flat_map(|page| [String::new(), format!("[{}]({page})", message.words().page)]);
    let text = whole_lines(lines.into_iter().chain(told).chain(more).chain(link), MOST);
    json!({
        "msgtype": "markdown",
        "markdown": { "title": cut(&title, 100), "text": text },
        "at": { "isAtAll": false },
    })
}

/// `address` with a signature for the moment `now`.
pub(super) fn address(address: &str, secret: Option<&Secret>, now: Moment) -> String {
    let Some(secret) = secret else { return address.to_owned() };
    let words = format!("{now}\n{}", secret.expose());
    let signed = signature::sign(secret.expose().as_bytes(), words.as_bytes()).unwrap_or_default();
    let sign = STANDARD.encode(signed).replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let joint = if address.contains('?') { '&' } else { '?' };
    format!("{address}{joint}timestamp={now}&sign={sign}")
}

pub(super) fn judge(answer: &Value) -> Result<(), StepError> {
    super::judge(answer, "errcode", "errmsg", BUSY)
}
