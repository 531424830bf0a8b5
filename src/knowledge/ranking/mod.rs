//! How signals are weighed: `rules/ranking/`. What people wrote of words, and what was learned from labelled incidents.

mod weights;

use std::sync::Arc;

use serde::Deserialize;

pub use weights::{Learned, Weights};

use super::Libraries;
use crate::model::Phase;

/// A file of words that people know the meaning of: `rules/ranking/words.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WordFile {
    /// Packages whose frames are not the user's own.
    #[serde(default)]
    pub library: Vec<Arc<str>>,
    #[serde(default)]
    pub words: Vec<WordRow>,
}

/// Words that speak for a phase or a cause wherever they stand.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordRow {
    /// Where: the parts of a signal's name before the colon.
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
    /// How much, before anything is fitted.
    pub log_odds: f64,
}

/// How signals are weighed: `rules/ranking/`.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// For phases.
    pub phases: Weights,
    /// For causes.
    pub causes: Weights,
    /// What people wrote, before anything was fitted.
    pub written: Vec<WordRow>,
    /// Packages whose frames are not the user's own.
    pub libraries: Libraries,
}
