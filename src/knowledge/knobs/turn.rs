//! How a knob turns a lever.

use std::sync::Arc;

use serde::Deserialize;

use super::To;
use crate::knowledge::causes::Condition;
use crate::knowledge::language::Words;
use crate::model::Phase;

/// What a knob does to a lever.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The lever.
    pub name: Arc<str>,
    /// The direction, if the lever goes both ways.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// How to turn it, as a first step.
    pub to: To,
    /// The value is never turned beyond this.
    #[serde(default)]
    pub limit: Option<f64>,
    /// The limit as an expression, which counts where its facts are known: the longest prompt and answer together.
    #[serde(default)]
    pub limit_by: Option<Box<str>>,
    /// Other values in place of `to`, of which the first counts whose condition holds: `float16` where there is no `bfloat16`.
    #[serde(default)]
    pub instead: Vec<Instead>,
    /// The value to begin with where it is not set and has no known default, so that it cannot be stepped.
    #[serde(default)]
    pub unset: Option<String>,
    /// The value where it is explicitly nothing, `null`, which is no limit at all.
    #[serde(default)]
    pub open: Option<String>,
    /// The cost of this turn, if it is not the knob's own.
    #[serde(default)]
    pub cost: Option<Words>,
    /// The phases in which it frees memory, to choose among several knobs; empty: all.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// Knobs that must be set with it, or it is refused or has no effect.
    #[serde(default)]
    pub with: Vec<With>,
}

/// A value for jobs that cannot take the usual one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    /// When it is the better one.
    pub when: Condition,
    /// The value.
    pub to: String,
}

/// A knob of the same framework that another one needs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct With {
    /// Its id; of another framework's, that name and a dot before it.
    pub knob: Arc<str>,
    /// Only where this holds; absent: always.
    #[serde(default)]
    pub when: Option<Condition>,
    /// Its value; absent: raised by the factor by which the other one is lowered, if the user set it.
    #[serde(default)]
    pub to: Option<String>,
    /// Whether it may be no larger than the other one's new value, and is lowered to it where it is set higher.
    #[serde(default)]
    pub at_most: bool,
    /// Whether it had the other one's old value and follows it to the new one.
    #[serde(default)]
    pub as_before: bool,
    /// Whether it may be no smaller than the other one's new value, and is raised to it where it is set lower.
    #[serde(default)]
    pub at_least: bool,
    /// Whether it only matters where the user set it, as what contradicts the other one and must go.
    #[serde(default)]
    pub where_set: bool,
    /// Whether it must go where the user set it, since what the other one chooses does not know it.
    #[serde(default)]
    pub remove: bool,
    /// Whether it is a list of numbers that must have as many items as the other one's new value says.
    #[serde(default)]
    pub as_many: bool,
    /// Other values that also satisfy the need.
    #[serde(default)]
    pub fits: Vec<String>,
}

impl With {
    /// Its framework and its id, as the partner of a knob of `framework`.
    pub fn full_name<'w>(&'w self, framework: &'w str) -> (&'w str, &'w str) {
        self.knob.split_once('.').unwrap_or((framework, &self.knob))
    }
}

/// The direction in which a lever is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To more.
    Raise,
    /// To less.
    Lower,
}

impl Direction {
    /// The word for it in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Raise => "raise",
            Direction::Lower => "lower",
        }
    }
}
