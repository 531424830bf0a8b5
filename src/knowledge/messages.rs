//! `rules/messages/`: one-line messages as their programs print them, and what they state.
//!
//! Each producer has one file. A row is found by literals; patterns with named slots tell what the numbers and words in it are; the row
//! tells what the message proves: that memory ran out, that a process ended, that something else failed, or only figures and facts.

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
    /// The name of its series of figures; the producer's name if absent.
    #[serde(default)]
    pub series: Option<Box<str>>,
    /// The upstream files and versions that print these messages.
    #[serde(default)]
    pub source: Option<Box<str>>,
    /// The messages.
    #[serde(default)]
    pub message: Vec<Message>,
    /// Messages of each version, and what must be read from them.
    #[serde(default)]
    pub example: Vec<MessageExample>,
    /// Lines that look like them and state nothing.
    #[serde(default)]
    pub near_miss: Vec<NearMiss>,
}

/// One message, or several that state the same.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Literals of which one must occur in the line; if empty, the first words of each pattern.
    #[serde(default, deserialize_with = "one_or_many")]
    pub text: Vec<Box<str>>,
    /// One of these must occur in the line, too.
    #[serde(default, deserialize_with = "one_or_many")]
    pub within: Vec<Box<str>>,
    /// None of these may occur: then the line belongs to another program or means something else.
    #[serde(default, deserialize_with = "one_or_many")]
    pub without: Vec<Box<str>>,
    /// Patterns of the values. Each is matched by itself; of several values of one name the first counts.
    #[serde(default, deserialize_with = "one_or_many")]
    pub pattern: Vec<Box<str>>,
    /// Whether the line is the message only if one of the patterns matches in full.
    #[serde(default)]
    pub exact: bool,
    /// Set if memory ran out: the kind.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// How the shortage ended.
    #[serde(default = "fatal")]
    pub severity: Severity,
    /// Set if a process ended: how.
    #[serde(default)]
    pub exit: Option<StatedExit>,
    /// Set if something else failed: what.
    #[serde(default)]
    pub failure: Option<OtherFailureName>,
    /// Whether that failure tends to follow the death of another process.
    #[serde(default)]
    pub follows: bool,
    /// Whether its figures measure memory at this moment and become points of the timeline.
    #[serde(default)]
    pub moment: bool,
    /// The phase, if the message tells it.
    #[serde(default)]
    pub phase: Option<Phase>,
    /// Who was killed or refused, if no slot tells it.
    #[serde(default)]
    pub who: Who,
    /// Where the words must stand to count as a statement and not as a mention.
    #[serde(default)]
    pub said: Option<Said>,
    /// Literals for which the whole input is searched, each part of one of its texts or examples. Their total number is limited: prefer one
    /// that is searched for already.
    #[serde(default, deserialize_with = "one_or_many")]
    pub anchor: Vec<Box<str>>,
    #[serde(skip)]
    templates: OnceLock<Vec<Template>>,
}

/// How a process ended, as a row writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatedExit {
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
    /// The process that printed the message.
    #[default]
    Speaker,
    /// Another process, known only by the slots.
    Another,
}

/// Where words must stand to count as a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// Anywhere.
    Anywhere,
    /// Not in quotes or the arguments of a call.
    Unquoted,
    /// At the beginning of a message, or after words that report a failure.
    Reported,
    /// At the beginning of a message: of the line, or after a label.
    First,
    /// The same, and nothing stands behind them: words so common that they are the message only if they are all of it.
    Alone,
}

/// A message as its producer writes it, and what it states.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageExample {
    /// The versions that print it.
    pub version: String,
    /// The message.
    pub text: String,
    /// What must be read from it, as in `oomdoc::parse::Example`.
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
    /// The name of its series of figures.
    pub fn series(&self) -> &str {
        self.series.as_deref().unwrap_or(self.producer.as_str())
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        self.message.iter().find_map(Message::problem)
    }

    /// The facts that its messages state, and whether the value is text; `None` if it may be either.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, Option<bool>)> {
        self.message.iter().flat_map(Message::templates).flat_map(Template::slots).filter_map(
            |(name, value)| match name {
                SlotName::Fact(fact) => Some((fact, value.map_or(Some(true), SlotType::is_text))),
                _ => None,
            },
        )
    }
}

/// What stands behind most amounts.
const UNITS: [&str; 9] = ["KB", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "bytes"];

impl Message {
    /// Literals of which one occurs in its line.
    pub fn triggers(&self) -> impl Iterator<Item = &str> {
        let first_words = self.pattern.iter().filter_map(|pattern| Template::first_words(pattern));
        let is_silent = self.text.is_empty();
        self.text.iter().map(|text| &**text).chain(first_words.filter(move |_| is_silent))
    }

    /// Whether each pattern has words by which its lines are found, and nothing else has: the literals of [`Message::triggers`] are then those
    /// of the patterns, in their order.
    pub fn is_found_by_patterns(&self) -> bool {
        self.text.is_empty() && self.pattern.iter().all(|pattern| Template::first_words(pattern).is_some())
    }

    /// Its patterns, parsed when first used. All are valid: [`MessageFile::problem`].
    pub fn templates(&self) -> &[Template] {
        self.templates.get_or_init(|| self.pattern.iter().filter_map(|text| Template::read(text).ok()).collect())
    }

    /// Whether it proves a shortage, an end or a failure.
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
        if self.triggers().any(|text| UNITS.contains(&text.trim())) {
            return of_it(
                "has a unit for its text: most lines with figures have it, and what knows no format reads none of them then",
            );
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
            Some(StatedExit::Signal) if !has(SlotName::Signal) => of_it("needs a slot `signal`"),
            Some(StatedExit::Status) if !has(SlotName::Status) => of_it("needs a slot `status`"),
            _ => None,
        }
    }
}
