//! Group bots of WeCom: Markdown.
//!
//! <https://developer.work.weixin.qq.com/document/path/91770>: at most 4096 bytes, 20 messages a minute. Errors come as
//! 200 with an `errcode`; 45009 means that too much was sent, -1 that the system is busy.

use serde_json::{Value, json};

use super::{Message, cut, whole_lines, without_markup};
use crate::bot::error::StepError;

const BUSY: &[i64] = &[45009, -1];
const MOST: usize = 4096;

pub(super) fn body(message: &Message<'_>) -> Value {
    let alert = message.alert;
    let link = alert.page.as_ref().map(|page| format!("[{}]({page})", message.words().page));
    let last: Vec<String> = message.more().into_iter().chain(link).collect();
    let room = MOST.saturating_sub(last.iter().map(|line| line.len() + 1).sum());
    let lines =
        [format!("### {}", cut(&without_markup(&alert.title), 120)), format!("**{}**", without_markup(&alert.job))];
    let told = alert.lines.iter().map(|line| format!("> {}", without_markup(line)));
    let text = whole_lines(lines.into_iter().chain(told), room);
    let content: Vec<String> = std::iter::once(text).chain(last).collect();
    json!({ "msgtype": "markdown", "markdown": { "content": content.join("\n") } })
}

pub(super) fn judge(answer: &Value) -> Result<(), StepError> {
    super::judge(answer, "errcode", "errmsg", BUSY)
}
