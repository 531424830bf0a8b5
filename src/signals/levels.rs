//! Signals of facts and figures, as levels instead of numbers.

use super::Signals;
use crate::facts::{Facts, Value, tokens};
use crate::incident::FoundIncident;
use crate::model::Bytes;

/// Most bytes of a fact's text that is a choice and not a name.
const LONGEST_CHOICE: usize = 24;

/// Adds the signals of `found` that do not come from words.
pub(super) fn add(signals: &mut Signals, found: &FoundIncident, facts: &Facts) {
    let cite_of = |name: &str| facts.get(name).and_then(|known| known.cites.first());
    for sign in &found.signs {
        let name = format!("sign:{}:{}", sign.route.as_str(), sign.phase);
        signals.add(name, 1.0, sign.evidence.first());
    }
    for phase in &found.seen {
        signals.add(format!("seen:{phase}"), 1.0, None);
    }
    let progress = match found.progress {
        0 => "none",
        1..=4 => "few",
        _ => "many",
    };
    signals.add(format!("level:progress={progress}"), 1.0, None);
    amounts(signals, facts);
    for (name, known) in facts.iter().filter(|(name, _)| says(name)) {
        match &known.value {
            Value::Text(word) if word.len() <= LONGEST_CHOICE && !word.is_empty() => {
                signals.add(format!("fact:{name}={}", word.to_ascii_lowercase()), 1.0, cite_of(name));
            }
            Value::Flag(flag) => signals.add(format!("fact:{name}={flag}"), 1.0, cite_of(name)),
            Value::Number(_) => signals.add(format!("fact:{name}"), 1.0, cite_of(name)),
            Value::Text(_) | Value::List(_) => {}
        }
    }
    if let Some(role) = &found.incident.victim.role {
        tokens(role).for_each(|word| signals.add(format!("role:{word}"), 1.0, found.incident.evidence.first()));
    }
}

/// Whether a fact is the incident's own, and neither derived by ranking nor covered by other signals.
fn says(name: &str) -> bool {
    const NOT: &[&str] =
        &["phase", "site", "message", "frames", "code", "phase_confidence", "producers", "job.model", "job.gpu"];
    !NOT.contains(&name) && !name.starts_with("progress.") && !name.starts_with("version.")
}

/// Sizes by their order of magnitude, shares by thirds.
fn amounts(signals: &mut Signals, facts: &Facts) {
    let number = |name: &str| facts.number(name);
    let cite = |name: &str| facts.get(name).and_then(|known| known.cites.first());
    let total = number("gpu.limit").filter(|total| *total > 0.0);
    if let Some(requested) = number("figures.requested") {
        let gib = Bytes::GIB.0 as f64;
        let size = match requested / gib {
            size if size < 0.0625 => "tiny",
            size if size < 0.5 => "small",
            size if size < 4.0 => "large",
            size if size < 64.0 => "huge",
            _ => "absurd",
        };
        signals.add(format!("level:requested={size}"), 1.0, cite("figures.requested"));
        if let Some(free) = number("gpu.room").filter(|free| *free > requested) {
            let name = if free > 4.0 * requested { "level:free=plenty" } else { "level:free=enough" };
            signals.add(name.to_owned(), 1.0, cite("gpu.room"));
        }
    }
    for (name, part) in [
        ("requested_share", number("figures.requested")),
        ("unused_share", number("gpu.unused")),
        ("others_share", number("gpu.others")),
        ("own_share", number("gpu.own")),
        ("free_share", number("gpu.room")),
    ] {
        let Some(share) = part.zip(total).map(|(part, total)| part / total) else { continue };
        for (least, level) in [(0.02, "2%"), (0.1, "10%"), (0.25, "25%"), (0.5, "50%"), (0.8, "80%")] {
            if share >= least {
                signals.add(format!("level:{name}>{level}"), 1.0, None);
            }
        }
    }
    for (name, count) in [("victims", number("victims.count")), ("consumers", number("consumers.count"))] {
        let level = match count.unwrap_or(0.0) {
            count if count < 0.5 => "none",
            count if count < 1.5 => "one",
            count if count < 8.5 => "some",
            _ => "many",
        };
        signals.add(format!("level:{name}={level}"), 1.0, None);
    }
}
