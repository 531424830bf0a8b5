//! Sums of memory in words: the parts that explain a figure.

use super::component_names::part_name;
use super::wording;
use crate::knowledge::{Language, in_terms};
use crate::launch::{Comparison, Contradiction};
use crate::memory::{Explanation, Moment, States};
use crate::model::{Bytes, Memory};

/// The comparison of predicted and observed memory, as reports keep it.
pub fn memory(comparison: Comparison, language: Language) -> Memory {
    let Comparison { predicted, explained, beyond, contradiction } = comparison;
    let sums = explained.iter().filter_map(|(figure, found)| Some(sum(figure.bytes?, found, language)));
    let words: Vec<String> =
        sums.chain(beyond.map(|(states, capacity)| too_much(&states, capacity, language))).collect();
    let words = contradiction.map_or(words, |contradiction| vec![refuted(contradiction, language)]);
    let observed = explained.into_iter().map(|(figure, _)| figure).collect();
    Memory { predicted, observed, explains: (!words.is_empty()).then(|| words.join("\n")) }
}

/// `44.87 GiB after setup = weights 14.96 GiB + master weights 29.92 GiB`, followed by the error of the sum.
fn sum(observed: Bytes, found: &Explanation, language: Language) -> String {
    let off = match found.error {
        error if error.abs() < 0.0005 => String::new(),
        error => format!(" = {} ({:+.1}%)", found.sum, error * 100.0),
    };
    let parts: Vec<String> =
        found.parts.iter().map(|part| format!("{} {}", part_name(part, language), part.bytes)).collect();
    let (moment, parts) = (at(found.moment, language), parts.join(" + "));
    match language {
        Language::En => format!("{observed} {moment} = {parts}{off}"),
        Language::Zh => format!("{moment} {observed} = {parts}{off}"),
    }
}

/// `Training states alone: 8.03 B × 16 bytes = 119.66 GiB, more than the GPU's 79.15 GiB`
fn too_much(states: &States, capacity: Bytes, language: Language) -> String {
    let (formula, bytes) = (in_terms(&states.formula, language), states.bytes);
    match language {
        Language::En => format!("Training states alone: {formula} = {bytes}, more than the GPU's {capacity}"),
        Language::Zh => format!("仅训练状态就有 {formula} = {bytes}，超过显存 {capacity}"),
    }
}

/// The sentence that what was held differs from what was predicted; either may be what was read wrong.
fn refuted(Contradiction { observed, predicted, is_more }: Contradiction, language: Language) -> String {
    match (language, is_more) {
        (Language::En, true) => {
            format!(
                "{observed} was held, of which the configuration explains at most {predicted}: something else is not counted"
            )
        }
        (Language::En, false) => {
            format!(
                "{observed} was held, but the configuration that was read would need at least {predicted}: something in it is read wrong or differs"
            )
        }
        (Language::Zh, true) => format!("实际占用 {observed}，其中配置最多能解释 {predicted}：其余未计入"),
        (Language::Zh, false) => {
            format!("实际占用 {observed}，而按所读配置至少需要 {predicted}：配置读取有误或实际不同")
        }
    }
}

fn at(moment: Moment, language: Language) -> String {
    match (moment.phase(), language) {
        (Some(phase), Language::En) => wording::during(phase, language).trim_start().to_owned(),
        (Some(phase), Language::Zh) => format!("{}时", wording::phase(phase, language)),
        (None, Language::En) => "after setup".to_owned(),
        (None, Language::Zh) => "初始化完成后".to_owned(),
    }
}
