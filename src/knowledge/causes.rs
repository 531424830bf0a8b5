use std::sync::Arc;

use serde::Deserialize;

use super::knobs::{Direction, Knob};
use super::language::Words;
use crate::model::Kind;

/// One file of `rules/causes/`: why memory ran out, how to tell, what to change.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CauseRule {
    /// Its name; unique among the shipped rules and among the user's.
    pub id: Arc<str>,
    /// Whether it is shipped or the user's; set when it is loaded.
    #[serde(skip)]
    pub origin: Origin,
    /// The word of the vocabulary of causes that it concludes.
    pub cause: Arc<str>,
    /// The kinds of incident that it is asked about.
    pub kinds: Vec<Kind>,
    /// In a few words.
    pub title: Words,
    /// What it is called in jobs to which the title does not apply; the first whose condition holds.
    #[serde(default)]
    pub titled: Vec<TitleRow>,
    /// In a sentence or two, for readers who never heard of it.
    pub explanation: Words,
    /// What does not follow from it.
    pub not_concluded: Words,
    /// A condition (CEL) without which it is not considered.
    #[serde(default)]
    pub when: Option<Condition>,
    /// How likely it is before any evidence, as log-odds.
    pub prior: f64,
    /// Evidence for or against it.
    #[serde(default)]
    pub evidence: Vec<EvidenceRow>,
    /// What to change, most useful first.
    #[serde(default)]
    pub patch: Vec<PatchRow>,
    /// Changes that people try and that do not help.
    #[serde(default)]
    pub not_advised: Vec<NotAdvisedRow>,
    /// What to record next time to be surer.
    #[serde(default)]
    pub capture: Vec<CaptureRow>,
    /// Where this can be read up.
    #[serde(default)]
    pub references: Vec<String>,
    /// Logs and what must come out.
    #[serde(default)]
    pub example: Vec<ExampleRow>,
}

impl CauseRule {
    /// All its titles.
    pub fn titles(&self) -> impl Iterator<Item = &Words> {
        [&self.title].into_iter().chain(self.titled.iter().map(|row| &row.words))
    }
}

/// Another title of a cause.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TitleRow {
    /// A condition (CEL): of which jobs.
    pub when: Condition,
    /// The title.
    pub words: Words,
}

/// Where a file of rules comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Part of the binary.
    #[default]
    Shipped,
    /// The user's own.
    Own,
}

/// An expression of the Common Expression Language over an incident's facts.
pub type Condition = Arc<str>;

/// A condition and how far it moves the log-odds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceRow {
    /// Rows of one group are the same evidence in several forms: only the strongest that holds counts.
    pub group: Arc<str>,
    /// The condition.
    pub when: Condition,
    /// Added to the log-odds.
    pub log_odds: f64,
    /// What it shows, with facts in braces: `{figures.requested}`.
    pub why: Words,
}

/// A change that helps against the cause.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchRow {
    /// The lever to turn.
    pub lever: Arc<str>,
    /// The direction, if the lever goes both ways.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// A particular knob (`framework.knob`), if the lever has several; absent: the framework's own.
    #[serde(default)]
    pub knob: Option<Arc<str>>,
    /// Only knobs whose value is this fact, whatever their frameworks call them; absent: all that turn the lever.
    #[serde(default)]
    pub fact: Option<Arc<str>>,
    /// The value to set; absent: the knob's own turn of this lever.
    #[serde(default)]
    pub to: Option<String>,
    /// The value as expressions (CEL) over facts, of which the first that yields a number counts; in bytes if the knob is a size.
    #[serde(default)]
    pub amount: Vec<Condition>,
    /// How often the knob's step is taken at once, as expressions (CEL) over facts, of which the first that yields a number counts; absent: once.
    #[serde(default)]
    pub steps: Vec<Condition>,
    /// A condition without which it is not proposed.
    #[serde(default)]
    pub when: Option<Condition>,
    /// Whether it goes before what the failing program itself advises.
    #[serde(default)]
    pub first: bool,
    /// A condition under which the change before all others does not suffice without this one, where no sum tells.
    #[serde(default)]
    pub with_first: Option<Condition>,
}

impl PatchRow {
    /// Whether `knob` is one of those that it means by the fact that they set.
    pub fn is_of_fact(&self, knob: &Knob) -> bool {
        self.fact.is_none() || self.fact == knob.fact
    }
}

/// A change that does not help.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotAdvisedRow {
    /// The knob or lever that people turn.
    pub knob: Arc<str>,
    /// The direction in which they turn it, if the other one helps.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// When to warn of it; absent: always.
    #[serde(default)]
    pub when: Option<Condition>,
    /// Why it does not help.
    pub why: Words,
}

/// Something to record next time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureRow {
    /// When it would help; absent: always.
    #[serde(default)]
    pub when: Option<Condition>,
    /// What to run or set, and what it would show.
    pub text: Words,
}

/// A log and what must come out of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleRow {
    /// In a few words.
    pub name: String,
    /// The log.
    pub log: String,
    /// The launch configuration beside it.
    #[serde(default)]
    pub config: Option<String>,
    /// What must be said of the rule's cause.
    pub must: Must,
    /// A lever that must be among its patches.
    #[serde(default)]
    pub lever: Option<Arc<str>>,
}

/// What an example's report must say of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Must {
    /// It is the first diagnosis.
    First,
    /// It is among the first three.
    TopThree,
    /// It is not the first diagnosis.
    NotFirst,
    /// It is not among the diagnoses.
    Absent,
}

impl Must {
    /// The word for it in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Must::First => "first",
            Must::TopThree => "top_three",
            Must::NotFirst => "not_first",
            Must::Absent => "absent",
        }
    }
}
