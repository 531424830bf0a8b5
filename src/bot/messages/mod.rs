//! A message of a failure, in the shape that each chat takes.
//!
//! In goes an [`Alert`], which holds words of a log; out comes what is posted. Nothing of a log is obeyed: it mentions nobody, and is no
//! markup and no link. What is longer than a chat takes is cut.

mod dingtalk;
mod email;
mod feishu;
mod slack;
mod wecom;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::Method;

use super::config::{Channel, Destination};
use super::error::Trouble;
use super::host::patience;
use super::texts::{Words, words};
use super::work::Moment;
use crate::knowledge::Language;
use crate::triage::Client;

/// What is told of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// What ran out.
    pub title: String,
    /// Who was hit, why, and what to change.
    pub lines: Vec<String>,
    /// The project and the job.
    pub job: String,
    /// The page that shows it.
    pub page: Option<String>,
    /// What groups it with others.
    pub group: String,
}

/// An alert with what came since the last one.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// It.
    pub alert: &'a Alert,
    /// So many of the same were not told.
    pub more: u32,
    /// The language of what we add.
    pub language: Language,
}

/// Lines of an alert that are told.
const LINES: usize = 12;
/// Characters of a line.
const LINE: usize = 400;

impl Alert {
    /// An alert of a report in brief: what ran out stands in its first line.
    pub fn new(brief: &str, job: String, page: Option<String>, group: String) -> Alert {
        let mut lines = brief.lines().map(|line| cut(line, LINE)).filter(|line| !line.trim().is_empty());
        let title = lines.next().unwrap_or_default();
        // Whoever named the page could hide another in it.
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

    /// That there were more.
    fn more(&self) -> Option<String> {
        (self.more > 0).then(|| (self.words().more)(self.more))
    }
}

/// Sends `message` to `channel`.
pub fn send(channel: &Channel, message: &Message<'_>, now: Moment) -> Result<(), Trouble> {
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

fn post(address: &str, body: &Value) -> Result<Value, Trouble> {
    Ok(Client::new(Vec::new(), patience(), None)?.send_once(&Method::POST, address, Some(body))?)
}

/// What a chat says that answers 200 to everything: `code` is the error's number, 0 is none, and those of `busy` pass.
fn judge(answer: &Value, code: &str, words: &str, busy: &[i64]) -> Result<(), Trouble> {
    let said = answer[words].as_str().map(|said| cut(said, LINE)).unwrap_or_default();
    match answer[code].as_i64() {
        Some(0) => Ok(()),
        // A minute is what all of them count by.
        Some(number) if busy.contains(&number) => {
            Err(Trouble::Passing { words: format!("{code} {number}: {said}"), wish: Some(60_000) })
        }
        Some(number) => Err(Trouble::Lasting(format!("{code} {number}: {said}"))),
        None => Err(Trouble::passing(format!("an answer without `{code}`"))),
    }
}

/// At most so many characters.
fn cut(words: &str, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// At most so many bytes, whole lines.
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

/// Nobody is mentioned: something that cannot be seen stands behind an `@`.
fn without_mentions(words: &str) -> String {
    words.replace('@', "@\u{200b}")
}

/// Words of a log in the Markdown of chats that know no escapes: what would mark up becomes what looks like it. An underscore marks
/// nothing up there, and people copy it with a setting's name.
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
