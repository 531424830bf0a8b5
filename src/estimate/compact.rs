//! The estimate in a few thousand bytes, for assistants with a limited context.

use serde::Serialize;

use super::text::{amount, least};
use super::{Estimate, Fit, Fits, Need, wording};
use crate::knowledge::{Language, in_terms};
use crate::memory::Amount;
use crate::report::part_name;

/// What is left of an estimate, told in one language.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compact {
    /// The model and how large it is.
    model: String,
    /// How it is spread.
    layout: String,
    /// Whether amounts are only the least: the model's shape or its batch is unknown.
    is_least: bool,
    /// The moment that needs most of each GPU.
    gpu_peak: Option<Peak>,
    /// The moment that needs most of each host.
    host_peak: Option<Peak>,
    /// What each moment needs.
    moments: Vec<MomentOnly>,
    /// What makes it fit, where that was asked for.
    fit: Option<FitOnly>,
    /// What was taken for granted, and what is not counted.
    assumptions: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Peak {
    moment: String,
    bytes: Amount,
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Part {
    name: String,
    text: String,
    formula: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MomentOnly {
    name: String,
    gpu: String,
    host: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FitOnly {
    fits: Fits,
    /// The same in words.
    text: String,
    /// What is left then.
    spare: Option<String>,
    /// What to change, one building on the other, as `oomdoc estimate` spells it.
    changes: Vec<ChangeOnly>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ChangeOnly {
    flag: String,
    gpu: String,
    host: String,
    cost: String,
}

/// `estimate` in `language`.
pub fn compact(estimate: &Estimate, language: Language) -> Compact {
    let on_gpu = |need: Amount| if estimate.is_least { least(need) } else { amount(need) };
    let peak = |need: &Need, is_host: bool| {
        let bytes = if is_host { need.host } else { need.gpu };
        let parts = need.parts(is_host).map(|part| Part {
            name: part_name(part, language).into_owned(),
            text: amount(part.bytes),
            formula: in_terms(&part.formula, language).into_owned(),
        });
        let text = if is_host { amount(bytes) } else { on_gpu(bytes) };
        Peak { moment: estimate.name(need, language), bytes, text, parts: parts.collect() }
    };
    let moment = |need: &Need| MomentOnly {
        name: estimate.name(need, language),
        gpu: on_gpu(need.gpu),
        host: amount(need.host),
    };
    Compact {
        model: wording::model(estimate, language),
        layout: wording::layout(&estimate.layout, language),
        is_least: estimate.is_least,
        gpu_peak: estimate.peak_of_gpu().map(|need| peak(need, false)),
        host_peak: estimate.peak_of_host().map(|need| peak(need, true)),
        moments: estimate.telling().map(moment).collect(),
        fit: estimate.fit.as_ref().map(|fit| FitOnly::of(fit, language)),
        assumptions: estimate.assumptions.iter().map(|words| in_terms(words, language).into_owned()).collect(),
    }
}

impl Compact {
    /// Drops what the rest implies: first the moments below the highest, then the parts of the host's peak.
    pub fn shorter(mut self, step: usize) -> Compact {
        if step > 0 {
            self.moments.clear();
        }
        if step > 1 {
            self.host_peak.iter_mut().for_each(|peak| peak.parts.clear());
        }
        self
    }
}

impl FitOnly {
    fn of(fit: &Fit, language: Language) -> FitOnly {
        let change = |change: &super::Change| ChangeOnly {
            flag: change.flag.clone(),
            gpu: amount(change.then.gpu),
            host: amount(change.then.host),
            cost: change.cost.in_language(language).to_owned(),
        };
        FitOnly {
            fits: fit.fits,
            text: wording::verdict(fit.fits, !fit.changes.is_empty(), language).to_owned(),
            spare: wording::spare(fit, language),
            changes: fit.changes.iter().map(change).collect(),
        }
    }
}
