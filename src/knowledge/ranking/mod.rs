//! `rules/ranking/`: the weights of signals, as people wrote them for words and as learned from labelled incidents.

mod weights;

use std::sync::Arc;

use serde::Deserialize;

pub use weights::{Learned, Weights};

use super::Libraries;
use crate::model::Phase;

/// `rules/ranking/words.toml`: words with weights that people wrote.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RankingWords {
    /// Packages whose frames are not the user's own.
    #[serde(default)]
    pub library: Vec<Arc<str>>,
    #[serde(default)]
    pub words: Vec<WordRow>,
}

/// Words that speak for a phase or a cause.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordRow {
    /// Where they stand: the parts of a signal's name before the colon.
    #[serde(rename = "in")]
    pub places: Vec<Arc<str>>,
    /// The words.
    pub words: Vec<Arc<str>>,
    /// The phase that they speak for.
    #[serde(default)]
    pub phase: Option<Phase>,
    /// The cause that they speak for.
    #[serde(default)]
    pub cause: Option<Arc<str>>,
    /// Their weight, before anything is fitted.
    pub log_odds: f64,
}

/// The weights of signals.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// For phases.
    pub phases: Weights,
    /// For causes.
    pub causes: Weights,
    /// The rows that people wrote.
    pub written: Vec<WordRow>,
    /// Packages whose frames are not the user's own.
    pub libraries: Libraries,
}
