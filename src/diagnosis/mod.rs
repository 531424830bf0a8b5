//! Why memory ran out.
//!
//! In go an incident's facts and the rules of `rules/causes/`; out come diagnoses, likeliest first, each with the lines
//! that support it and why it comes before the next. Nothing here knows a cause: rules do.

mod outcomes;
mod phase;
mod rank;
mod weigh;

use std::sync::Arc;

pub use outcomes::{best_first, learn};
pub use phase::{NOT_KNOWING, likely, phase, votes};
pub use rank::{Ranked, Scene, calibrate, holding, rank};

use crate::facts::{Answer, Evaluator, Facts, alternatives, names};
use crate::knowledge::{CauseRule, EvidenceRow, Knowledge, LESS_LIKELY, Language};
use crate::model::{Basis, Citation, Diagnosis, Experience, Incident};
use crate::signals::Signals;
pub(crate) use weigh::shares;
use weigh::spoke_for;

/// The cause that says that none is known.
pub const UNKNOWN: &str = "unknown";
/// Causes with a smaller share of all odds are not named, unless they are the likeliest.
const LEAST: f64 = 0.02;
/// More causes than this help nobody.
const MOST: usize = 6;
/// Of so many the share of all odds is enough to be named; further ones must be as sure as that.
const SURELY_NAMED: usize = 3;
/// What signals add to a cause's log-odds speaks for it from here on.
const LEARNED: f64 = 0.3;
/// So many of the lines whose words weighed most are shown.
const MOST_LEARNED: usize = 2;
/// As many lines support a cause well enough.
const MOST_EVIDENCE: usize = 6;
/// As many causes for which nothing speaks are named where the cause cannot be told.
const MOST_GUESSES: usize = 2;

/// The diagnoses of an incident.
pub struct Diagnosed<'k> {
    /// Likeliest first, without their patches.
    pub diagnoses: Vec<Concluded<'k>>,
    /// The likeliest cause by the evidence alone, whatever was tried before.
    pub by_evidence: Option<Arc<str>>,
    /// What could not be asked.
    pub not_checked: Vec<String>,
}

/// A diagnosis, and the rule that concludes it.
pub struct Concluded<'k> {
    /// Without its patches.
    pub diagnosis: Diagnosis,
    /// Its rule.
    pub rule: &'k CauseRule,
    /// Whether nothing but how often it is the cause speaks for it: no reason to change anything.
    pub is_guess: bool,
}

/// The diagnoses of an incident of whose facts `evaluator` knows, in the light of what was tried before.
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
    // Two rules may conclude one cause; the surer speaks for it.
    ranked.retain(|found| {
        !named.contains(&found.rule.cause) && {
            named.push(found.rule.cause.clone());
            true
        }
    });
    // What nothing speaks for is a guess, save where a kind has one usual cause. Not knowing is none.
    let spoken_for = |found: &Ranked<'_>| {
        found.rule.prior >= 0.0
            || found.learned > LEARNED
            || &*found.rule.cause == UNKNOWN
            || found.speaking().next().is_some()
    };
    // Where nobody can tell, the likeliest guesses are what to look into.
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
                title: found.rule.title.in_language(language).to_owned(),
                why: why(found, ranked.get(place + 1).filter(|_| place == 0), facts, language),
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

/// What to record next time to be surer: what the likeliest causes ask for, then what not knowing does.
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
            let asked = row.when.as_deref().is_none_or(|when| evaluator.ask(when) == Answer::Yes);
            let hint =
                facts.fill(row.text.in_language(language), language).filter(|hint| asked && !hints.contains(hint));
            hints.extend(hint.filter(|_| hints.len() < MOST));
        }
    }
    hints
}

/// What speaks for it, then what sets it before the next one.
fn why(found: &Ranked<'_>, next: Option<&Ranked<'_>>, facts: &Facts, language: Language) -> String {
    let said = |row: &EvidenceRow| facts.fill(row.why.in_language(language), language);
    let mut sentences: Vec<String> = found.speaking().filter_map(said).collect();
    if sentences.is_empty() {
        sentences.push(found.rule.explanation.in_language(language).to_owned());
    }
    if let Some(next) = next.filter(|next| &*next.rule.cause != UNKNOWN) {
        let against = next.holds.iter().filter(|row| row.log_odds < 0.0).find_map(|row| said(row));
        let name = next.rule.title.in_language(language);
        if let Some(against) = against {
            let (en, zh) = LESS_LIKELY;
            let less = if language == Language::Zh { zh } else { en };
            sentences.push(format!("{}{}{against}", less.replace("{title}", name), language.blank()));
        }
    }
    sentences.join(language.blank())
}

/// The lines in which the facts stand that its conditions name.
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
        // Of alternatives those that hold.
        let holds = alternatives(&row.when).into_iter().filter(|part| evaluator.ask(part) == Answer::Yes);
        for name in holds.flat_map(names) {
            facts.get(name).iter().flat_map(|known| &known.cites).for_each(&mut add);
        }
    }
    incident.evidence.iter().take(1).for_each(&mut add);
    learned.iter().for_each(&mut add);
    cites
}
