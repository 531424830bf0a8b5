//! An estimate as Markdown, for an issue or a pull request.

use std::fmt::{self, Write};

use super::text::{amount, least};
use super::wording::{self, Labels};
use super::{Estimate, Need};
use crate::knowledge::{Language, in_terms};
use crate::report::part_name;

/// `estimate` as Markdown: tables of moments, of the parts of the largest moment, and of changes.
pub fn markdown(estimate: &Estimate, language: Language) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, estimate, language);
    text
}

fn write(text: &mut String, estimate: &Estimate, language: Language) -> fmt::Result {
    let labels = wording::labels(language);
    let Labels { moment, gpu, host, costs, change, .. } = *labels;
    writeln!(text, "## {}\n\n{}\n", wording::model(estimate, language), wording::layout(&estimate.layout, language))?;
    writeln!(text, "| {moment} | {gpu} | {host} |\n|---|---:|---:|")?;
    for need in estimate.telling() {
        let on_gpu = if estimate.is_least { least(need.gpu) } else { amount(need.gpu) };
        writeln!(text, "| {} | {on_gpu} | {} |", estimate.name(need, language), amount(need.host))?;
    }
    let peaks = [(gpu, estimate.peak_of_gpu(), false), (host, estimate.peak_of_host(), true)];
    for (place, need, is_host) in peaks {
        if let Some(need) = need {
            writeln!(text, "\n### {}\n", (labels.made_of)(place, &estimate.name(need, language)))?;
            parts(text, need, is_host, language)?;
        }
    }
    if let Some(fit) = &estimate.fit {
        writeln!(text, "\n### {}\n", wording::verdict(fit.fits, !fit.changes.is_empty(), language))?;
        if let Some(spare) = wording::spare(fit, language) {
            writeln!(text, "{spare}\n")?;
        }
        if !fit.changes.is_empty() {
            writeln!(text, "| {change} | {gpu} | {host} | {costs} |\n|---|---:|---:|---|")?;
        }
        for change in &fit.changes {
            let (gpu, host) = (amount(change.then.gpu), amount(change.then.host));
            writeln!(text, "| `{}` | {gpu} | {host} | {} |", change.flag, change.cost.in_language(language))?;
        }
    }
    writeln!(text, "\n### {}\n", labels.assumptions)?;
    estimate.assumptions.iter().try_for_each(|words| writeln!(text, "- {}", in_terms(words, language)))
}

fn parts(text: &mut String, need: &Need, is_host: bool, language: Language) -> fmt::Result {
    let labels = wording::labels(language);
    writeln!(text, "| {} | | {} |\n|---|---:|---|", labels.part, labels.formula)?;
    for part in need.parts(is_host) {
        writeln!(
            text,
            "| {} | {} | {} |",
            part_name(part, language),
            amount(part.bytes),
            in_terms(&part.formula, language)
        )?;
    }
    Ok(())
}
