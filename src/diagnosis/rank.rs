//! Ranks the causes of an incident.
//!
//! Every rule for the incident's kind starts from its prior. Each group of its evidence adds the log-odds of the strongest row that holds,
//! weighted by the probability of the phases in which it holds; every signal adds its weight for the cause. A rule's share is its part of
//! the odds of all rules, `unknown` included; a rule whose condition does not hold has none. Shares decide the order; the confidence is how
//! often a first diagnosis with such a share is right.

use std::collections::BTreeMap;

use super::UNKNOWN;
use super::weigh::{shares, sums};
use crate::facts::{Answer, Evaluator, Facts, Value, names};
use crate::knowledge::{Calibration, CauseRule, EvidenceRow, Weights};
use crate::model::{Kind, Phase};
use crate::signals::Signals;

/// A rule that applies, with the evidence that holds.
pub struct Ranked<'k> {
    /// The rule.
    pub rule: &'k CauseRule,
    /// Its log-odds.
    pub score: f64,
    /// The part of the score that signals added.
    pub learned: f64,
    /// Its share of all odds, 0–1.
    pub share: f64,
    /// The confidence, 0–1; the same as the share until [`calibrate`] sets it.
    pub confidence: f64,
    /// The rows that hold, strongest first.
    pub holds: Vec<&'k EvidenceRow>,
}

impl<'k> Ranked<'k> {
    /// The rows that hold and speak for it.
    pub fn speaking(&self) -> impl Iterator<Item = &'k EvidenceRow> {
        self.holds.iter().copied().filter(|row| row.log_odds > 0.0)
    }
}

/// The inputs of ranking: the facts under each likely phase, the signals, and their weights.
pub struct Scene<'a> {
    phases: Vec<(Phase, f64, Evaluator<'a>)>,
    signals: &'a Signals,
    weights: &'a Weights,
}

impl<'a> Scene<'a> {
    /// A scene with the possible `phases`, each with its share.
    pub fn new(facts: &'a Facts, phases: &[(Phase, f64)], signals: &'a Signals, weights: &'a Weights) -> Scene<'a> {
        let evaluator = |phase: Phase| Evaluator::new(facts).assuming("phase", &Value::Text(phase.as_str().to_owned()));
        let phases = phases.iter().map(|(phase, share)| (*phase, *share, evaluator(*phase))).collect();
        Scene { phases, signals, weights }
    }

    /// The evaluator for the likeliest phase.
    pub fn evaluator(&self) -> &Evaluator<'a> {
        &self.phases[0].2
    }
}

/// Rows that hold, with the name of each among fitted weights and the share of the phases in which it holds.
pub type Held<'k> = Vec<(&'k EvidenceRow, String, f64)>;

/// The name of a row's fitted weight: the rule, the group, and the index of the row in the group.
fn name_of(rule: &CauseRule, row: &EvidenceRow) -> String {
    let of_group = rule.evidence.iter().filter(|other| other.group == row.group);
    let place = of_group.take_while(|other| !std::ptr::eq(*other, row)).count();
    format!("{}/{}#{place}", rule.id, row.group)
}

/// The rules that apply to an incident of `kind`, each with its rows that hold. Conditions that could not be evaluated are added to
/// `not_checked`.
pub fn holding<'k>(
    rules: &'k [CauseRule],
    kind: Kind,
    scene: &Scene<'_>,
    not_checked: &mut Vec<String>,
) -> Vec<(&'k CauseRule, Held<'k>)> {
    let mut applicable = Vec::new();
    for rule in rules.iter().filter(|rule| rule.kinds.contains(&kind)) {
        let applies = rule.when.as_deref().map_or(Answer::Yes, |when| scene.evaluator().ask(when));
        match applies {
            Answer::Yes => applicable.push((rule, rows(rule, scene, not_checked))),
            Answer::No => {}
            Answer::Missing(fact) => not_checked.push(format!("{}: needs {fact}", rule.id)),
            Answer::Nonsense(problem) => not_checked.push(format!("{}: {problem}", rule.id)),
        }
    }
    applicable
}

/// The rows of `rule` that hold, each with the share of the phases in which it is the strongest of its group.
fn rows<'k>(rule: &'k CauseRule, scene: &Scene<'_>, not_checked: &mut Vec<String>) -> Held<'k> {
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    // Most conditions do not depend on the phase and are evaluated only once.
    let mut same: Vec<Option<bool>> = vec![None; rule.evidence.len()];
    for (_, share, evaluator) in &scene.phases {
        let mut strongest: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, row) in rule.evidence.iter().enumerate() {
            let holds = same[place].unwrap_or_else(|| {
                let holds = match evaluator.ask(&row.when) {
                    Answer::Yes => true,
                    Answer::No => false,
                    Answer::Missing(fact) => {
                        note(not_checked, format!("{}/{}: needs {fact}", rule.id, row.group));
                        false
                    }
                    Answer::Nonsense(problem) => {
                        note(not_checked, format!("{}/{}: {problem}", rule.id, row.group));
                        false
                    }
                };
                if !row.when.contains("phase") || !names(&row.when).contains(&"phase") {
                    same[place] = Some(holds);
                }
                holds
            });
            let is_stronger = |known: &usize| rule.evidence[*known].log_odds.abs() < row.log_odds.abs();
            if holds && strongest.get(&*row.group).is_none_or(is_stronger) {
                strongest.insert(&row.group, place);
            }
        }
        for place in strongest.into_values() {
            *shares.entry(place).or_default() += share;
        }
    }
    let row = |(place, share): (usize, f64)| (&rule.evidence[place], name_of(rule, &rule.evidence[place]), share);
    shares.into_iter().map(row).collect()
}

/// Whether a row holds in likely phases, or is the likeliest of a group that speaks in the same way in likely phases: of an engine that starts
/// or serves.
fn is_likely((row, _, share): &(&EvidenceRow, String, f64), all: &[(&EvidenceRow, String, f64)]) -> bool {
    const LIKELY: f64 = 0.5;
    let alike = || {
        let is_alike = |other: &EvidenceRow| other.group == row.group && (other.log_odds > 0.0) == (row.log_odds > 0.0);
        all.iter().filter(move |(other, _, _)| is_alike(other)).map(|(_, _, share)| *share)
    };
    *share >= LIKELY || alike().sum::<f64>() >= LIKELY && alike().all(|other| other <= *share)
}

/// The rules that apply, likeliest first, and the conditions that could not be evaluated.
pub fn rank<'k>(rules: &'k [CauseRule], kind: Kind, scene: &Scene<'_>) -> (Vec<Ranked<'k>>, Vec<String>) {
    let mut not_checked = Vec::new();
    let weights = scene.weights;
    let mut learned = sums(scene.signals, weights);
    for (phase, share, _) in &scene.phases {
        for (cause, weight) in weights.signal(&format!("phase:{phase}")) {
            *learned.entry(cause).or_default() += share * weight;
        }
    }
    let mut ranked: Vec<Ranked<'k>> = holding(rules, kind, scene, &mut not_checked)
        .into_iter()
        .map(|(rule, rows)| {
            let learned = learned.get(&*rule.cause).copied().unwrap_or(0.0) + weights.bias(&rule.cause);
            let weigh =
                |(row, name, share): &(&EvidenceRow, String, f64)| share * (row.log_odds + weights.vote(name, 0.0));
            let score = rule.prior + learned + rows.iter().map(weigh).sum::<f64>();
            let mut holds: Vec<&EvidenceRow> =
                rows.iter().filter(|held| is_likely(held, &rows)).map(|(row, _, _)| *row).collect();
            holds.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()));
            Ranked { rule, score, learned, share: 0.0, confidence: 0.0, holds }
        })
        .collect();
    let scores: Vec<f64> = ranked.iter().map(|found| found.score).collect();
    for (found, share) in ranked.iter_mut().zip(shares(&scores)) {
        found.share = share;
        found.confidence = share;
    }
    // Of equals, a known cause comes before `unknown`.
    let order = |found: &Ranked<'k>| (&*found.rule.cause == UNKNOWN, found.rule.id.clone());
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| order(a).cmp(&order(b))));
    (ranked, not_checked)
}

/// Sets the confidence of each of `ranked`, likeliest first: of the first by `calibration`, of the others by dividing the rest in
/// proportion to their shares. The order stays, and the sum stays at most 1.
pub fn calibrate(ranked: &mut [Ranked<'_>], kind: Kind, calibration: &Calibration) {
    let Some((first, others)) = ranked.split_first_mut() else { return };
    let rest = 1.0 - first.share;
    let second = others.first().map_or(0.0, |found| found.share);
    // With less confidence the second would come before the first.
    let least = if second > 0.0 { second / (rest + second) } else { 0.0 };
    let sure = calibration.confidence(first.share, kind, &*first.rule.cause == UNKNOWN);
    first.confidence = sure.max(least);
    for found in others.iter_mut().filter(|_| rest > 0.0) {
        found.confidence = found.share * (1.0 - first.confidence) / rest;
    }
}

fn note(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::Facts;
    use crate::knowledge::Knowledge;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// A rule without evidence.
    fn rule(cause: &str, prior: f64) -> Result<CauseRule, toml::de::Error> {
        let words = "{ en = 'x', zh = 'x' }";
        toml::from_str(&format!(
            "id = '{cause}'\ncause = '{cause}'\nkinds = ['gpu_oom']\nprior = {prior:?}\nreferences = []\n\
             title = {words}\nexplanation = {words}\nnot_concluded = {words}\n"
        ))
    }

    fn ranked(rules: &[CauseRule]) -> Vec<Ranked<'_>> {
        let (signals, weights) = (Signals::default(), Weights::default());
        let facts = Facts::default();
        let scene = Scene::new(&facts, &[(Phase::Unknown, 1.0)], &signals, &weights);
        rank(rules, Kind::GpuOom, &scene).0
    }

    #[test]
    fn of_equals_the_known_cause_is_first() -> Outcome {
        let rules = [rule("unknown", 0.0)?, rule("weight_gather_spike", 0.0)?];
        assert_eq!(&*ranked(&rules)[0].rule.id, "weight_gather_spike");
        Ok(())
    }

    #[test]
    fn the_shipped_calibration_makes_surer() -> Outcome {
        let calibration = Knowledge::shipped()?.calibration;
        let rules = [rule("fragmentation", 0.4)?, rule("unknown", 0.0)?];
        let mut ranked = ranked(&rules);
        calibrate(&mut ranked, Kind::GpuOom, &calibration);
        assert!(ranked[0].share < 0.6 && ranked[0].confidence > 0.7, "{}", ranked[0].confidence);
        Ok(())
    }

    proptest! {
        #[test]
        fn calibrating_keeps_the_order_and_the_sum(
            priors in prop::collection::vec(-8.0..8.0_f64, 1..8),
            slope in 0.05..4.0_f64,
            offset in -6.0..6.0_f64,
        ) {
            let rules: Result<Vec<CauseRule>, _> =
                priors.iter().enumerate().map(|(place, prior)| rule(&format!("cause-{place}"), *prior)).collect();
            let rules = rules.map_err(|error| TestCaseError::fail(error.to_string()))?;
            let mut ranked = ranked(&rules);
            calibrate(&mut ranked, Kind::GpuOom, &Calibration { slope, offset, ..Calibration::default() });
            let sum: f64 = ranked.iter().map(|found| found.confidence).sum();
            prop_assert!(sum <= 1.0 + 1e-9, "the sum is {}", sum);
            let in_order = ranked.windows(2).all(|pair| pair[0].confidence >= pair[1].confidence - 1e-12);
            prop_assert!(in_order && ranked.iter().all(|found| (0.0..=1.0).contains(&found.confidence)));
        }
    }
}
