use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

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

/// What signals weigh for the answers of one question. Written by `oomdoc rules fit`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// How likely each answer is before anything is seen.
    pub bias: BTreeMap<Arc<str>, f64>,
    /// What a sign of a rule adds to the answer that it names, by the kind of sign; for evidence of causes how much that is
    /// more than its file says.
    pub vote: BTreeMap<Arc<str>, f64>,
    /// What a signal adds to each answer.
    pub signal: HashMap<Arc<str>, BTreeMap<Arc<str>, f64>>,
}

impl Weights {
    /// What people wrote of `answer_of` the rows, as weights of signals.
    fn written<'r>(rows: &'r [WordRow], answer_of: impl Fn(&'r WordRow) -> Option<Arc<str>>) -> Weights {
        let mut weights = Weights::default();
        for row in rows {
            let Some(answer) = answer_of(row) else { continue };
            for (place, word) in row.places.iter().flat_map(|place| row.words.iter().map(move |word| (place, word))) {
                let of_signal = weights.signal.entry(Arc::from(format!("{place}:{word}"))).or_default();
                *of_signal.entry(answer.clone()).or_default() += row.log_odds;
            }
        }
        weights
    }

    /// What people wrote of phases.
    pub fn of_phases(rows: &[WordRow]) -> Weights {
        Weights::written(rows, |row| row.phase.map(|phase| Arc::from(phase.as_str())))
    }

    /// What people wrote of causes.
    pub fn of_causes(rows: &[WordRow]) -> Weights {
        Weights::written(rows, |row| row.cause.clone())
    }

    /// The same, with what `fitted` says in place of what is written.
    pub(super) fn overlaid(mut self, fitted: Weights) -> Weights {
        self.bias.extend(fitted.bias);
        self.vote.extend(fitted.vote);
        for (signal, weights) in fitted.signal {
            self.signal.entry(signal).or_default().extend(weights);
        }
        self
    }

    /// What the votes of `kind` weigh, `written` where nothing is fitted.
    pub fn vote(&self, kind: &str, written: f64) -> f64 {
        self.vote.get(kind).copied().unwrap_or(written)
    }
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
