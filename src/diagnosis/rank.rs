//! Which causes explain an incident, and how surely.
//!
//! Every rule asked of the incident's kind starts from its prior. Each group of its evidence adds the log-odds of the
//! strongest row that holds. Confidences are the shares of all rules' odds, `unknown` among them, so that they sum to 1;
//! a rule whose condition does not hold has none.

use std::sync::Arc;

use super::condition::{Answer, Asker};
use crate::knowledge::{CauseRule, EvidenceRow};
use crate::model::Kind;

/// A rule that applies, and what of its evidence holds.
pub struct Ranked<'k> {
    /// The rule.
    pub rule: &'k CauseRule,
    /// Its log-odds.
    pub score: f64,
    /// Its share of all odds, 0–1.
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
        found.confidence = odds(found) / all;
    }
    ranked.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.rule.id.cmp(&b.rule.id)));
    (ranked, not_checked)
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
    Ranked { rule, score, confidence: 0.0, holds }
}

fn note(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}
