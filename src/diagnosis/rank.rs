//! Which causes explain an incident, and how surely.
//!
//! Every rule asked of the incident's kind starts from its prior. Each group of its evidence adds the log-odds of the
//! strongest row that holds. What a rule has of all rules' odds, `unknown` among them, is its share; a rule whose condition
//! does not hold has none. Shares rank; how often a first diagnosis with such a share is right is its confidence.

use std::sync::Arc;

use super::UNKNOWN;
use crate::facts::{Answer, Asker};
use crate::knowledge::{Calibration, CauseRule, EvidenceRow};
use crate::model::Kind;

/// A rule that applies, and what of its evidence holds.
pub struct Ranked<'k> {
    /// The rule.
    pub rule: &'k CauseRule,
    /// Its log-odds.
    pub score: f64,
    /// Its share of all odds, 0–1.
    pub share: f64,
    /// How sure to be of it, 0–1: its share until [`calibrate`] was asked.
    pub confidence: f64,
    /// The rows that hold, the weightiest first.
    pub holds: Vec<&'k EvidenceRow>,
}

/// The rules that apply, likeliest first, and what could not be asked.
pub fn rank<'k>(rules: &'k [CauseRule], kind: Kind, asker: &Asker<'_>) -> (Vec<Ranked<'k>>, Vec<String>) {
    let (mut ranked, mut not_checked) = (Vec::new(), Vec::new());
    for rule in rules.iter().filter(|rule| rule.kinds.contains(&kind)) {
        match rule.when.as_deref().map_or(Answer::Yes, |when| asker.ask(when)) {
            Answer::Yes => ranked.push(weigh(rule, asker, &mut not_checked)),
            Answer::No => {}
            Answer::Missing(fact) => not_checked.push(format!("{}: needs {fact}", rule.id)),
            Answer::Nonsense(problem) => not_checked.push(format!("{}: {problem}", rule.id)),
        }
    }
    let highest = ranked.iter().map(|found| found.score).fold(f64::NEG_INFINITY, f64::max);
    let odds = |found: &Ranked<'_>| (found.score - highest).exp();
    let all: f64 = ranked.iter().map(odds).sum();
    for found in &mut ranked {
        found.share = odds(found) / all;
        found.confidence = found.share;
    }
    // What is as likely as not to be known is worth naming.
    let order = |found: &Ranked<'k>| (&*found.rule.cause == UNKNOWN, found.rule.id.clone());
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| order(a).cmp(&order(b))));
    (ranked, not_checked)
}

/// Sets how sure to be of each of `ranked`, likeliest first: of the first what `calibration` says, of the others what that
/// leaves, in the proportion of their shares. The order stays, and so does a sum of at most 1.
pub fn calibrate(ranked: &mut [Ranked<'_>], kind: Kind, calibration: &Calibration) {
    let Some((first, others)) = ranked.split_first_mut() else { return };
    let rest = 1.0 - first.share;
    let second = others.first().map_or(0.0, |found| found.share);
    // Less would set the second before the first.
    let least = if second > 0.0 { second / (rest + second) } else { 0.0 };
    let sure = calibration.confidence(first.share, kind, &*first.rule.cause == UNKNOWN);
    first.confidence = sure.max(least);
    for found in others.iter_mut().filter(|_| rest > 0.0) {
        found.confidence = found.share * (1.0 - first.confidence) / rest;
    }
}

fn weigh<'k>(rule: &'k CauseRule, asker: &Asker<'_>, not_checked: &mut Vec<String>) -> Ranked<'k> {
    let mut strongest: Vec<(Arc<str>, &EvidenceRow)> = Vec::new();
    for row in &rule.evidence {
        match asker.ask(&row.when) {
            Answer::Yes => match strongest.iter_mut().find(|(group, _)| *group == row.group) {
                Some((_, known)) if known.log_odds.abs() >= row.log_odds.abs() => {}
                Some((_, known)) => *known = row,
                None => strongest.push((row.group.clone(), row)),
            },
            Answer::No => {}
            Answer::Missing(fact) => note(not_checked, format!("{}/{}: needs {fact}", rule.id, row.group)),
            Answer::Nonsense(problem) => note(not_checked, format!("{}/{}: {problem}", rule.id, row.group)),
        }
    }
    let mut holds: Vec<&EvidenceRow> = strongest.into_iter().map(|(_, row)| row).collect();
    holds.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()));
    let score = rule.prior + holds.iter().map(|row| row.log_odds).sum::<f64>();
    Ranked { rule, score, share: 0.0, confidence: 0.0, holds }
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
        rank(rules, Kind::GpuOom, &Asker::new(&Facts::default())).0
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
