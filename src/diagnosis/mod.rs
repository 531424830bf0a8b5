//! Decides why memory ran out.
//!
//! The input is an incident's facts and signals and the rules of `rules/causes/`; the output is diagnoses, likeliest first, each with the
//! lines that support it and the reason why it comes before the next. Nothing here knows a particular cause; the rules do.

mod outcomes;
mod phase;
mod rank;
mod weigh;

use std::sync::Arc;

pub use outcomes::{best_first, learn};
pub use phase::{NOT_KNOWING, likely, phase, votes};
pub use rank::{Ranked, Scene, calibrate, holding, rank};

use crate::facts::{Evaluator, Facts, alternatives, names};
use crate::knowledge::{CauseRule, EvidenceRow, Knowledge, LESS_LIKELY, Language, Words};
use crate::model::{Basis, Citation, Diagnosis, Experience, Incident};
use crate::signals::Signals;
pub(crate) use weigh::shares;
use weigh::spoke_for;

/// The cause that means that no cause is known.
pub const UNKNOWN: &str = "unknown";
/// Smallest share of all odds with which a cause is named, unless it is the likeliest.
const LEAST: f64 = 0.02;
/// Most causes named.
const MOST: usize = 6;
/// For the first causes, up to this many, a share of [`LEAST`] suffices; further ones need a confidence of [`LEAST`].
const SURELY_NAMED: usize = 3;
/// From these log-odds on, signals count as evidence for a cause.
const LEARNED: f64 = 0.3;
/// How many of the lines whose words weighed most are shown.
const MOST_LEARNED: usize = 2;
/// Most lines of evidence for a cause.
const MOST_EVIDENCE: usize = 6;
/// Most causes without evidence that are named if the cause is unknown.
const MOST_GUESSES: usize = 2;

/// The diagnoses of an incident.
pub struct Diagnosed<'k> {
    /// Likeliest first, without their patches.
    pub diagnoses: Vec<Concluded<'k>>,
    /// The likeliest cause by the evidence alone, without outcomes of earlier remedies.
    pub by_evidence: Option<Arc<str>>,
    /// Conditions that could not be evaluated.
    pub not_checked: Vec<String>,
}

/// A diagnosis with the rule that concludes it.
pub struct Concluded<'k> {
    /// Without its patches.
    pub diagnosis: Diagnosis,
    /// Its rule.
    pub rule: &'k CauseRule,
    /// Whether only its prior speaks for it, which is no reason to change anything.
    pub is_guess: bool,
}

/// Diagnoses an incident by its facts and signals, and by the outcomes of earlier remedies.
pub fn diagnose<'k>(
    incident: &Incident,
    facts: &Facts,
    signals: &Signals,
    knowledge: &'k Knowledge,
    experience: &Experience,
    language: Language,
) -> Diagnosed<'k> {
    let weights = &knowledge.ranking.causes;
    let scene = Scene::new(facts, &likely(&incident.phase), signals, weights);
    let evaluator = scene.evaluator();
    let (mut ranked, not_checked) = rank(&knowledge.causes, incident.kind, &scene);
    let mut named: Vec<Arc<str>> = Vec::new();
    // Two rules may conclude the same cause; the likelier one is kept.
    ranked.retain(|found| {
        !named.contains(&found.rule.cause) && {
            named.push(found.rule.cause.clone());
            true
        }
    });
    // A cause without evidence is a guess, unless its prior makes it the usual cause of a kind. `unknown` is no guess.
    let spoken_for = |found: &Ranked<'_>| {
        found.rule.prior >= 0.0
            || found.learned > LEARNED
            || &*found.rule.cause == UNKNOWN
            || found.speaking().next().is_some()
    };
    // If the cause is unknown, the likeliest guesses are worth looking into.
    let mut guesses = match ranked.first() {
        Some(first) if &*first.rule.cause == UNKNOWN => MOST_GUESSES,
        _ => 0,
    };
    ranked.retain(|found| {
        let is_guess = !spoken_for(found);
        let is_kept = !is_guess || guesses > 0;
        guesses -= usize::from(is_guess && is_kept);
        is_kept
    });
    let by_evidence = ranked.first().map(|found| found.rule.cause.clone());
    let (kind, phase) = (incident.kind, incident.phase.name);
    learn(&mut ranked, kind, phase, experience);
    calibrate(&mut ranked, kind, &knowledge.calibration);
    let shown = ranked
        .iter()
        .enumerate()
        .take_while(|(place, found)| match place {
            0 => true,
            _ if *place < SURELY_NAMED => found.share >= LEAST,
            _ => *place < MOST && found.confidence >= LEAST,
        })
        .count();
    let diagnoses = (0..shown)
        .map(|place| {
            let found = &ranked[place];
            let diagnosis = Diagnosis {
                cause: found.rule.cause.clone(),
                rule: found.rule.id.clone(),
                confidence: found.confidence,
                title: title(found.rule, evaluator).in_language(language).to_owned(),
                why: why(found, ranked.get(place + 1).filter(|_| place == 0), incident, facts, evaluator, language),
                evidence: evidence(
                    found,
                    facts,
                    evaluator,
                    incident,
                    spoke_for(&found.rule.cause, signals, weights, MOST_LEARNED),
                ),
                basis: if found.speaking().next().is_some() { Basis::Grammar } else { Basis::Reader },
                patches: Vec::new(),
                set: None,
                not_advised: Vec::new(),
                outcomes: outcomes::said(experience.outcomes(kind, phase, &found.rule.cause, None)),
            };
            Concluded { diagnosis, rule: found.rule, is_guess: !spoken_for(found) }
        })
        .collect();
    Diagnosed { diagnoses, by_evidence, not_checked }
}

/// What to record next time to be surer, as the named causes suggest, likeliest first.
pub fn capture(
    diagnoses: &[Concluded<'_>],
    facts: &Facts,
    evaluator: &Evaluator<'_>,
    language: Language,
) -> Vec<String> {
    const SURE: f64 = 0.92;
    const MOST: usize = 5;
    let is_sure = |first: &Diagnosis| first.confidence >= SURE && &*first.cause != UNKNOWN;
    let sure = diagnoses.first().is_some_and(|first| is_sure(&first.diagnosis));
    let mut hints: Vec<String> = Vec::new();
    for Concluded { rule, .. } in diagnoses.iter().filter(|_| !sure) {
        for row in &rule.capture {
            let asked = row.when.as_deref().is_none_or(|when| evaluator.holds(when));
            let hint =
                facts.fill(row.text.in_language(language), language).filter(|hint| asked && !hints.contains(hint));
            hints.extend(hint.filter(|_| hints.len() < MOST));
        }
    }
    hints
}

/// What a cause is called in this job.
fn title<'r>(rule: &'r CauseRule, evaluator: &Evaluator<'_>) -> &'r Words {
    let other = rule.titled.iter().find(|row| evaluator.holds(&row.when));
    other.map_or(&rule.title, |row| &row.words)
}

/// The evidence for a cause, then the evidence against the next one. A phase that is no more than possible is not named.
fn why(
    found: &Ranked<'_>,
    next: Option<&Ranked<'_>>,
    incident: &Incident,
    facts: &Facts,
    evaluator: &Evaluator<'_>,
    language: Language,
) -> String {
    let said = |row: &EvidenceRow| {
        let words = row.why.in_language(language);
        let is_told = incident.phase.is_likely() || !words.contains("{phase}");
        is_told.then(|| facts.fill(words, language)).flatten()
    };
    let mut sentences: Vec<String> = found.speaking().filter_map(said).collect();
    if sentences.is_empty() {
        sentences.push(found.rule.explanation.in_language(language).to_owned());
    }
    if let Some(next) = next.filter(|next| &*next.rule.cause != UNKNOWN) {
        let against = next.holds.iter().filter(|row| row.log_odds < 0.0).find_map(|row| said(row));
        let name = title(next.rule, evaluator).in_language(language);
        if let Some(against) = against {
            let (en, zh) = LESS_LIKELY;
            let less = if language == Language::Zh { zh } else { en };
            sentences.push(format!("{}{}{against}", less.replace("{title}", name), language.blank()));
        }
    }
    sentences.join(language.blank())
}

/// The lines that state the facts in its conditions.
fn evidence(
    found: &Ranked<'_>,
    facts: &Facts,
    evaluator: &Evaluator<'_>,
    incident: &Incident,
    learned: Vec<Citation>,
) -> Vec<Citation> {
    let mut cites: Vec<Citation> = Vec::new();
    let mut add = |cite: &Citation| {
        if cites.len() < MOST_EVIDENCE && !cites.contains(cite) {
            cites.push(cite.clone());
        }
    };
    for row in found.speaking() {
        // Only the alternatives that hold.
        let holds = alternatives(&row.when).into_iter().filter(|part| evaluator.holds(part));
        for name in holds.flat_map(names) {
            facts.get(name).iter().flat_map(|known| &known.cites).for_each(&mut add);
        }
    }
    incident.evidence.iter().take(1).for_each(&mut add);
    learned.iter().for_each(&mut add);
    cites
}
