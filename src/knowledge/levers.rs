use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;
use super::language::Words;
use crate::model::Phase;

/// `rules/levers.toml`: what a change turns, independent of a framework's knobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeverFile {
    #[serde(default)]
    pub advice: AdviceWords,
    pub lever: Vec<Lever>,
}

/// Beginnings of words, in lower case, with which programs advise their users to turn an option.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdviceWords {
    /// Of advice to turn it to less.
    pub lower: Vec<Box<str>>,
    /// Of advice to turn it to more.
    pub raise: Vec<Box<str>>,
    /// Phrases of lines that only name an option, whatever happened.
    #[serde(default)]
    pub idle: Vec<Box<str>>,
}

impl AdviceWords {
    /// The words of both directions.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.lower.iter().chain(&self.raise).map(|word| &**word)
    }
}

/// A word of the vocabulary of levers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lever {
    /// The word.
    pub name: Arc<str>,
    /// Whether either direction may help, so that each turn must name one.
    #[serde(default)]
    pub both_ways: bool,
    /// The word that reports use where it is the host's memory that is granted: to them a heap is a limit like any other.
    #[serde(default)]
    pub on_host: Option<Arc<str>>,
    /// Whether turning it may use more of the memory that ran out: an engine that may take more has room for its cache.
    #[serde(default)]
    pub may_fill: bool,
    /// Whether a knob that can turn it does so whatever else it is turned for: states that move to the host fill it.
    #[serde(default)]
    pub always: bool,
    /// What turning it costs, compared with other levers that have a price; the unit is that of `rules/prices.toml`.
    #[serde(default)]
    pub price: Option<u32>,
    /// So many steps may be proposed at once; absent: as many as the job needs. Of a sequence cut to a fraction little is learned.
    #[serde(default)]
    pub most_steps: Option<usize>,
    /// Whether it cuts what the job works on: of a shorter sequence or a smaller image less is learned or answered.
    #[serde(default)]
    pub cuts: bool,
    /// The value to lower a knob to that asks for as many as the machine has cores, and what does so besides an expression that counts
    /// them.
    #[serde(default)]
    pub few: Option<Few>,
    /// A condition (CEL) under which no turn of it helps.
    #[serde(default)]
    pub unless: Option<Condition>,
    /// By the facts that knobs set, the phases in which what these move is not there yet, so that no turn of them helps.
    #[serde(default)]
    pub not_yet: BTreeMap<String, Vec<Phase>>,
    /// When turning it takes something that the job's own files do not give; absent: never.
    #[serde(default)]
    pub by_hand: Option<ByHand>,
    /// What it is and which memory it moves.
    pub meaning: Words,
}

/// How many processes there should be instead of one for each core.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Few {
    /// Values that mean all cores: `-1` of joblib.
    pub all: Vec<Box<str>>,
    /// The value to take instead.
    pub to: Box<str>,
}

/// A lever that editing a file does not turn alone: such a change is proposed last, and no edit is made.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByHand {
    /// A condition (CEL) on the facts before the change.
    pub when: Condition,
    /// A condition under which editing suffices all the same.
    #[serde(default)]
    pub unless: Option<Condition>,
    /// What must be done first, with facts in braces.
    pub text: Words,
}
