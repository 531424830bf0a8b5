//! Messages about a failure, in the format of each chat.
//!
//! In: an [`Alert`], which contains words of a log. Out: the body that is posted. Words of a log must not become a
//! mention, markup or a link. What a chat would refuse as too long is cut.

mod dingtalk;
mod email;
mod feishu;
mod slack;
mod wecom;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::Method;

use super::config::{Channel, Destination};
use super::error::StepError;
use super::host::patience;
use super::texts::{Words, words};
use super::work::Moment;
use crate::knowledge::Language;
use crate::triage::Client;

/// What to report about a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// What ran out, in one line.
    pub title: String,
    /// The victim, the cause and the change.
    pub lines: Vec<String>,
    /// The project and the job.
    pub job: String,
    /// The job's page.
    pub page: Option<String>,
    /// The key that alerts about the same trouble share.
    pub group: String,
}

/// An alert, and how many like it were suppressed since the last.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The alert.
    pub alert: &'a Alert,
    /// How many alerts of the same group were suppressed.
    pub more: u32,
    /// The language of the words around the alert.
    pub language: Language,
}

/// At most this many lines of an alert.
const LINES: usize = 12;
/// At most this many characters per line.
const LINE: usize = 400;

impl Alert {
    /// An alert from a brief report, whose first line says what ran out.
    pub fn new(brief: &str, job: String, page: Option<String>, group: String) -> Alert {
        let mut lines = brief.lines().map(|line| cut(line, LINE)).filter(|line| !line.trim().is_empty());
        let title = lines.next().unwrap_or_default();
        // The page's address comes from the forge's data; markup characters in it could hide another address.
        let page = page.filter(|page| page.starts_with("http") && page.len() < 1000 && page.chars().all(is_plain));
        Alert { title, lines: lines.take(LINES).collect(), job: cut(&job, LINE), page, group }
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '\'' | '(' | ')' | '[' | ']' | '|' | '\\' | '`')
}

impl Message<'_> {
    fn words(&self) -> &'static Words {
        words(self.language)
    }

    /// The sentence about suppressed alerts, if there were any.
    fn more(&self) -> Option<String> {
        (self.more > 0).then(|| (self.words().more)(self.more))
    }
}

/// Sends `message` to `channel`.
pub fn send(channel: &Channel, message: &Message<'_>, now: Moment) -> Result<(), StepError> {
    match &channel.to {
        Destination::Slack { address } => {
            let answer = post(address.read()?.expose(), &slack::body(message))?;
            slack::judge(&answer)
        }
        Destination::Feishu { address, secret } => {
            let secret = secret.as_ref().map(|secret| secret.read()).transpose()?;
            feishu::judge(&post(address.read()?.expose(), &feishu::body(message, secret.as_ref(), now))?)
        }
        Destination::Dingtalk { address, secret } => {
            let secret = secret.as_ref().map(|secret| secret.read()).transpose()?;
            let address = dingtalk::address(address.read()?.expose(), secret.as_ref(), now);
            dingtalk::judge(&post(&address, &dingtalk::body(message))?)
        }
        Destination::Wecom { address } => wecom::judge(&post(address.read()?.expose(), &wecom::body(message))?),
        Destination::Email(mailbox) => email::send(mailbox, message),
    }
}

fn post(address: &str, body: &Value) -> Result<Value, StepError> {
    Ok(Client::new(Vec::new(), patience(), None)?.send_once(&Method::POST, address, Some(body))?)
}

/// Judges the answer of a chat that reports errors with status 200: `code` is the field with the error's number, 0
/// means success, and the numbers in `busy` are temporary.
fn judge(answer: &Value, code: &str, words: &str, busy: &[i64]) -> Result<(), StepError> {
    let said = answer[words].as_str().map(|said| cut(said, LINE)).unwrap_or_default();
    match answer[code].as_i64() {
        Some(0) => Ok(()),
        // All of them limit by the minute.
        Some(number) if busy.contains(&number) => {
            Err(StepError::Temporary { words: format!("{code} {number}: {said}"), wish: Some(60_000) })
        }
        Some(number) => Err(StepError::Permanent(format!("{code} {number}: {said}"))),
        None => Err(StepError::temporary(format!("an answer without `{code}`"))),
    }
}

/// The first `most` characters.
fn cut(words: &str, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// Whole lines, at most `most` bytes of them.
fn whole_lines(lines: impl Iterator<Item = String>, most: usize) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() + 1 > most {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}

/// Puts an invisible character behind each `@`, so that nobody is mentioned.
fn without_mentions(words: &str) -> String {
    words.replace('@', "@\u{200b}")
}

/// Words of a log for Markdown dialects without escapes: characters of markup are replaced by similar ones. Underscores
/// stay: they mark up nothing there, and people copy them with a setting's name.
fn without_markup(words: &str) -> String {
    let plain = words.chars().map(|c| match c {
        '<' => '‹',
        '>' => '›',
        '[' => '［',
        ']' => '］',
        '*' => '∗',
        '`' => 'ˋ',
        '#' => '＃',
        c => c,
    });
    let plain: String = plain.collect();
    without_mentions(&plain).replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}
