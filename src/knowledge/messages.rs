//! `rules/messages/`: messages of one line, as their programs print them, and what they state.
//!
//! One file a producer. A row is found by literals; patterns with named slots say what the numbers and words in it are;
//! the row says what the message proves: that memory ran out, that a process ended, that something else failed, or
//! nothing but figures and facts.

mod template;

use std::sync::OnceLock;

use serde::{Deserialize, Deserializer};

use super::name::Name;
use crate::model::{Kind, OtherFailureName, Phase, Severity};

pub use template::{Piece, SlotName, SlotType, Template, VictimPart};

/// The messages of one producer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageFile {
    /// Its name in reports.
    pub producer: Name,
    /// What its series of figures are called; its own name where that does not say it better.
    #[serde(default)]
    pub series: Option<Box<str>>,
    /// Which files of which versions print so.
    #[serde(default)]
    pub source: Option<Box<str>>,
    /// The messages.
    #[serde(default)]
    pub message: Vec<Message>,
    /// Messages of each version, and what must be read in them.
    #[serde(default)]
    pub example: Vec<MessageExample>,
    /// Lines that look like them and state nothing.
    #[serde(default)]
    pub near_miss: Vec<NearMiss>,
}

/// One message, or several that state things alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Literals of which one stands on the line; where there are none, the first words of each pattern.
    #[serde(default, deserialize_with = "one_or_many")]
    pub text: Vec<Box<str>>,
    /// One of these must stand there, too.
    #[serde(default, deserialize_with = "one_or_many")]
    pub within: Vec<Box<str>>,
    /// None of these may: then it is somebody else's, or means something else.
    #[serde(default, deserialize_with = "one_or_many")]
    pub without: Vec<Box<str>>,
    /// Where the values stand. Each is read by itself; of several values of one name the first counts.
    #[serde(default, deserialize_with = "one_or_many")]
    pub pattern: Vec<Box<str>>,
    /// Whether it is the message only where one of the patterns is read in whole.
    #[serde(default)]
    pub exact: bool,
    /// Memory ran out: whose.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// How that ended.
    #[serde(default = "fatal")]
    pub severity: Severity,
    /// A process ended: how.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// Something else failed: what.
    #[serde(default)]
    pub failure: Option<OtherFailureName>,
    /// Whether that failure tends to follow the death of another process.
    #[serde(default)]
    pub follows: bool,
    /// Whether its figures are memory at this moment: points of the timeline.
    #[serde(default)]
    pub moment: bool,
    /// What was being done, where the message says so.
    #[serde(default)]
    pub phase: Option<Phase>,
    /// Who was killed or refused, where no slot says it.
    #[serde(default)]
    pub who: Who,
    /// Where the words must stand to be the message and no mention of it.
    #[serde(default)]
    pub said: Option<Said>,
    /// Literals by which it is found in gigabytes, each within one of its texts or examples. There are few of them in all:
    /// prefer one that is searched for already.
    #[serde(default, deserialize_with = "one_or_many")]
    pub anchor: Vec<Box<str>>,
    #[serde(skip)]
    templates: OnceLock<Vec<Template>>,
}

/// How a process ended, as a row says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// By SIGKILL.
    Killed,
    /// By the signal in the slot `signal`.
    Signal,
    /// With the status in the slot `status`.
    Status,
    /// It was gone.
    Vanished,
    /// Its launcher stopped it because another one had died.
    Stopped,
}

/// Who was killed or refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// Whoever printed the message.
    #[default]
    Speaker,
    /// Another process, of which no more is known than the slots say.
    Another,
}

/// Where words must stand to be the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// Anywhere.
    Anywhere,
    /// Not in quotes or the arguments of a call.
    Unquoted,
    /// At the beginning of a message, or behind words that report a failure.
    Reported,
    /// At the beginning of a message: of the line, or behind a label.
    First,
}

/// A message as its producer writes it, and what it states.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageExample {
    /// Which versions write so.
    pub version: String,
    /// The message.
    pub text: String,
    /// What must come out, as in `oomdoc::parse::Example`.
    pub states: Vec<(String, String)>,
}

/// A line that looks like a message of the file and states nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearMiss {
    /// The line.
    pub text: String,
}

const fn fatal() -> Severity {
    Severity::Fatal
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Box<str>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(Box<str>),
        Many(Vec<Box<str>>),
    }
    Ok(match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    })
}

impl MessageFile {
    /// What its series of figures are called.
    pub fn series(&self) -> &str {
        self.series.as_deref().unwrap_or(self.producer.as_str())
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        self.message.iter().find_map(Message::problem)
    }

    /// The facts that its messages state, and whether each is words; `None` where it may be either.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, Option<bool>)> {
        self.message.iter().flat_map(Message::templates).flat_map(Template::slots).filter_map(
            |(name, value)| match name {
                SlotName::Fact(fact) => Some((fact, value.map_or(Some(true), SlotType::is_text))),
                _ => None,
            },
        )
    }
}

impl Message {
    /// Literals of which one stands on its line.
    pub fn triggers(&self) -> impl Iterator<Item = &str> {
        let first_words = self.pattern.iter().filter_map(|pattern| Template::first_words(pattern));
        let is_silent = self.text.is_empty();
        self.text.iter().map(|text| &**text).chain(first_words.filter(move |_| is_silent))
    }

    /// Its patterns, read when it is first met.
    pub fn templates(&self) -> &[Template] {
        self.templates.get_or_init(|| self.pattern.iter().filter_map(|text| Template::read(text).ok()).collect())
    }

    /// Whether it proves something, rather than only telling of it.
    pub fn is_statement(&self) -> bool {
        self.kind.is_some() || self.exit.is_some() || self.failure.is_some()
    }

    /// Where its words must stand.
    pub fn said(&self) -> Said {
        self.said.unwrap_or(match (self.is_statement(), self.failure) {
            (_, Some(_)) => Said::Reported,
            (true, None) => Said::Unquoted,
            (false, None) => Said::Anywhere,
        })
    }

    fn problem(&self) -> Option<String> {
        let name = self.triggers().next().or(self.pattern.first().map(|pattern| &**pattern)).unwrap_or_default();
        let of_it = |problem: &str| Some(format!("the message `{name}` {problem}"));
        if let Some(problem) = self.pattern.iter().find_map(|text| Template::read(text).err()) {
            return Some(problem);
        }
        if self.triggers().next().is_none() {
            return of_it("has neither a `text` nor a pattern with words, so no line is it");
        }
        if self.triggers().chain(self.within.iter().map(|text| &**text)).any(|text| text.trim().is_empty()) {
            return of_it("has a text without a letter, which nearly every line contains");
        }
        let claims = [self.kind.is_some(), self.exit.is_some(), self.failure.is_some(), self.moment]
            .iter()
            .filter(|is| **is)
            .count();
        let has = |wanted: SlotName| self.templates().iter().flat_map(Template::slots).any(|(name, _)| name == wanted);
        match self.exit {
            _ if claims > 1 => of_it("is more than one of `kind`, `exit`, `failure` and `moment`"),
            _ if claims == 0 && self.pattern.is_empty() => {
                of_it("states nothing: give it a `kind`, an `exit`, a `failure` or a `pattern`")
            }
            _ if self.kind == Some(Kind::None) => {
                of_it("is of kind `none`; what is no shortage is a `failure`, or nothing")
            }
            _ if self.exact && self.pattern.is_empty() => of_it("is `exact` without a pattern"),
            Some(Exit::Signal) if !has(SlotName::Signal) => of_it("needs a slot `signal`"),
            Some(Exit::Status) if !has(SlotName::Status) => of_it("needs a slot `status`"),
            _ => None,
        }
    }
}
