//! Outcomes of earlier remedies move causes and patches, within bounds.

use super::UNKNOWN;
use super::rank::Ranked;
use crate::model::{Experience, Kind, Outcomes, Patch, Phase};

/// Adjusts the shares of `ranked` by the outcomes of each cause's remedies in incidents of this kind and phase, and sorts them again; their
/// sum stays. A cause without evidence may fall but never rises, and failures of another cause's remedies do not put it above that cause.
/// [`UNKNOWN`] has no remedies.
pub fn learn(ranked: &mut [Ranked<'_>], kind: Kind, phase: Phase, experience: &Experience) {
    let before: f64 = ranked.iter().map(|found| found.share).sum();
    let is_known = |found: &Ranked<'_>| &*found.rule.cause != UNKNOWN;
    let is_spoken_for = |found: &Ranked<'_>| is_known(found) && found.speaking().next().is_some();
    let log_odds = |found: &Ranked<'_>| experience.outcomes(kind, phase, &found.rule.cause, None).log_odds();
    // Shares of the causes without evidence, before and after.
    let mut unspoken: Vec<(f64, f64)> = Vec::new();
    for found in ranked.iter_mut().filter(|found| !is_spoken_for(found)) {
        let before = found.share;
        found.share *= if is_known(found) { log_odds(found).min(0.0).exp() } else { 1.0 };
        unspoken.push((before, found.share));
    }
    for found in ranked.iter_mut().filter(|found| is_spoken_for(found)) {
        let below = unspoken.iter().filter(|(before, _)| *before <= found.share).map(|(_, then)| *then);
        let least = below.fold(0.0, f64::max);
        found.share = (found.share * log_odds(found).exp()).max(least);
    }
    let after: f64 = ranked.iter().map(|found| found.share).sum();
    for found in ranked.iter_mut().filter(|_| after > 0.0) {
        found.share *= before / after;
        found.confidence = found.share;
    }
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share));
}

/// The patches for `cause` with their outcomes, best first.
pub fn best_first(patches: Vec<Patch>, kind: Kind, phase: Phase, cause: &str, experience: &Experience) -> Vec<Patch> {
    let told = |patch: Patch| {
        let outcomes = experience.outcomes(kind, phase, cause, Some(&patch.knob));
        Patch { outcomes: said(outcomes), ..patch }
    };
    let mut patches: Vec<Patch> = patches.into_iter().map(told).collect();
    let merit = |patch: &Patch| patch.outcomes.unwrap_or_default().log_odds();
    patches.sort_by(|a, b| merit(b).total_cmp(&merit(a)));
    patches
}

/// `None` if nothing was tried.
pub(super) fn said(outcomes: Outcomes) -> Option<Outcomes> {
    (outcomes.tried() > 0).then_some(outcomes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::knowledge::{CauseRule, EvidenceRow};
    use crate::model::Tally;

    /// A rule with one row of evidence, which speaks for it if `log_odds` is above 0.
    fn rule(cause: &str, log_odds: f64) -> Result<CauseRule, toml::de::Error> {
        let words = "{ en = 'x', zh = 'x' }";
        toml::from_str(&format!(
            "id = '{cause}'\ncause = '{cause}'\nkinds = ['gpu_oom']\nprior = 0.0\nreferences = []\n\
             title = {words}\nexplanation = {words}\nnot_concluded = {words}\n\
             [[evidence]]\ngroup = 'x'\nwhen = 'true'\nlog_odds = {log_odds:?}\nwhy = {words}\n"
        ))
    }

    fn ranked<'k>(rules: &'k [CauseRule], shares: &[f64]) -> Vec<Ranked<'k>> {
        let holds = |rule: &'k CauseRule| rule.evidence.iter().collect::<Vec<&EvidenceRow>>();
        rules
            .iter()
            .zip(shares)
            .map(|(rule, share)| Ranked {
                rule,
                score: 0.0,
                learned: 0.0,
                share: *share,
                confidence: *share,
                holds: holds(rule),
            })
            .collect()
    }

    fn tally(cause: &str, knob: &str, worked: u64, failed: u64) -> Tally {
        let (kind, phase) = (Kind::GpuOom, Phase::Forward);
        Tally { kind, phase, cause: cause.into(), knob: knob.to_owned(), outcomes: Outcomes { worked, failed } }
    }

    fn learned(rules: &[CauseRule], shares: &[f64], tallies: Vec<Tally>) -> Vec<(String, f64)> {
        let mut ranked = ranked(rules, shares);
        learn(&mut ranked, Kind::GpuOom, Phase::Forward, &Experience { tallies, ..Experience::default() });
        ranked.iter().map(|found| (found.rule.cause.to_string(), found.share)).collect()
    }

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn what_worked_rises_by_its_odds() -> Outcome {
        let rules = [rule("a", 1.0)?, rule("b", 1.0)?];
        // One success makes b twice as likely: 0.4 × 2 against 0.6.
        let order = learned(&rules, &[0.6, 0.4], vec![tally("b", "--knob", 1, 0)]);
        assert_eq!(order[0].0, "b");
        assert!((order[0].1 - 0.8 / 1.4).abs() < 1e-12);
        // Outcomes in another phase do not count.
        let elsewhere = Tally { phase: Phase::Backward, ..tally("b", "--knob", 9, 0) };
        assert_eq!(learned(&rules, &[0.6, 0.4], vec![elsewhere])[0].0, "a");
        Ok(())
    }

    #[test]
    fn without_evidence_nothing_rises() -> Outcome {
        let rules = [rule("a", 1.0)?, rule("b", -0.5)?, rule(UNKNOWN, 1.0)?];
        let order = learned(&rules, &[0.5, 0.3, 0.2], vec![tally("b", "x", 1000, 0), tally(UNKNOWN, "x", 1000, 0)]);
        assert_eq!(order, [("a".to_owned(), 0.5), ("b".to_owned(), 0.3), (UNKNOWN.to_owned(), 0.2)]);
        let order = learned(&rules, &[0.3, 0.5, 0.2], vec![tally("b", "x", 0, 1000)]);
        assert_eq!(order[0].0, "a", "what failed falls");
        Ok(())
    }

    #[test]
    fn failures_lift_nothing_without_evidence_to_the_top() -> Outcome {
        let rules = [rule("a", 1.0)?, rule("b", -0.5)?, rule("c", 1.0)?, rule(UNKNOWN, 1.0)?];
        let shares = [0.4, 0.3, 0.1, 0.2];
        let order = |tallies| Ok::<_, toml::de::Error>(learned(&rules, &shares, tallies));
        assert_eq!(order(vec![tally("a", "x", 0, 1000)])?[0].0, "a");
        // A cause with evidence may take its place.
        let order = order(vec![tally("a", "x", 0, 1000), tally("c", "y", 1000, 0)])?;
        let place = |cause: &str| order.iter().position(|(known, _)| known == cause);
        assert!(place("b") > place("a") && place(UNKNOWN) > place("c"), "{order:?}");
        Ok(())
    }

    proptest! {
        #[test]
        fn odds_move_by_three_at_most(
            share in 0.01..0.99_f64, worked in 0u64..200, failed in 0u64..200,
        ) {
            let rules = [rule("a", 1.0), rule("b", 1.0)];
            let rules: Result<Vec<CauseRule>, _> = rules.into_iter().collect();
            let rules = rules.map_err(|error| TestCaseError::fail(error.to_string()))?;
            let order = learned(&rules, &[share, 1.0 - share], vec![tally("a", "x", worked, failed)]);
            let now = order.iter().find(|(cause, _)| cause == "a").map_or(0.0, |(_, share)| *share);
            let factor = (now / (1.0 - now)) / (share / (1.0 - share));
            prop_assert!(factor < Outcomes::MOST + 1e-6 && factor > 1.0 / Outcomes::MOST - 1e-6, "{}", factor);
            prop_assert!((order.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
