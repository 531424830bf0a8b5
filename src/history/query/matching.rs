use std::cell::OnceCell;

use super::{Clause, Name, Query, What};
use crate::history::tokens::{is_ideograph, is_like, may_be_mistyped, tokens};
use crate::history::{OutcomeSummary, Record, State};

/// A word with a slip counts as much.
pub(in crate::history) const MISTYPED: f64 = 0.3;

impl Query {
    /// How well `record` fits, above 0; `None` where it does not. `told` is what was tried.
    pub(in crate::history) fn relevance(&self, record: &Record, told: Option<&OutcomeSummary>) -> Option<f64> {
        let seen = Seen { record, told, words: OnceCell::new() };
        self.asked.fits(&seen).map(|fits| 1.0 + fits)
    }
}

/// What is held against a query.
struct Seen<'r> {
    record: &'r Record,
    told: Option<&'r OutcomeSummary>,
    /// Splitting the text into words costs most, and is put off.
    words: OnceCell<Vec<String>>,
}

impl Clause {
    /// What it adds to how well a record fits; `None` where it does not hold.
    fn fits(&self, seen: &Seen) -> Option<f64> {
        match self {
            Clause::All(clauses) => clauses.iter().map(|clause| clause.fits(seen)).sum(),
            Clause::Any(clauses) => clauses.iter().filter_map(|clause| clause.fits(seen)).reduce(|a, b| a + b),
            Clause::Not(clause) => clause.fits(seen).is_none().then_some(0.0),
            Clause::One(What::Words { words: wanted, as_spelled }) => {
                let words = seen.words.get_or_init(|| tokens(&seen.record.text()));
                let found = match exactly(words, wanted) {
                    0 if !as_spelled => nearly(words, wanted),
                    found => found as f64,
                };
                Some((1.0 + found).ln()).filter(|fits| *fits > 0.0)
            }
            Clause::One(what) => what.holds(seen.record, seen.told).then_some(0.0),
        }
    }
}

impl What {
    fn holds(&self, record: &Record, told: Option<&OutcomeSummary>) -> bool {
        let incident = &record.incident;
        match self {
            What::Words { .. } => true,
            What::Kind(kind) => incident.kind == *kind,
            What::Phase(phase) => incident.phase.name == *phase,
            What::Name { name, letters, .. } => name.holds(record, letters),
            What::Figure(name, low, high) => record.figure(*name).is_some_and(|it| *low <= it && it <= *high),
            What::Time(from, to) => (*from..*to).contains(&record.seconds()),
            What::Resolved(resolved) => told.is_some_and(|told| told.worked) == *resolved,
            What::Is(asked) => match (asked, State::of(record.annotations.verdict(told).as_ref())) {
                (State::Open, State::Reopened) => true,
                (asked, state) => *asked == state,
            },
        }
    }
}

impl Name {
    fn holds(self, record: &Record, letters: &str) -> bool {
        let within = |text: &str| text.to_lowercase().contains(letters);
        let job = &record.job;
        let within_any = |text: &Option<String>| text.as_deref().is_some_and(within);
        match self {
            Name::Id => record.incident.id.starts_with(letters),
            Name::Group => record.group() == letters,
            Name::Cause => within(record.cause()),
            Name::Framework => within_any(&job.framework),
            Name::Model => within_any(&job.model),
            Name::Gpu => within_any(&job.gpu),
            Name::Host => record.incident.victim.host.as_deref().is_some_and(within),
            Name::Role => record.incident.victim.role.as_deref().is_some_and(within),
            Name::Job => within_any(&record.annotations.job),
            Name::Tag => record.annotations.tags.iter().any(|tag| tag.to_lowercase() == letters),
            Name::Cluster => within_any(&record.cluster()),
            Name::Assignee => within_any(&record.annotations.assignee),
            Name::File => record.inputs.iter().any(|input| within(&input.path)),
        }
    }
}

/// How often `wanted` stands in `words`, in a row; one word also as a part of others.
fn exactly(words: &[String], wanted: &[String]) -> usize {
    match wanted {
        [one] => {
            // `optimizer` is a word of `optimizer_step`, 显 one of 显存.
            let is_part = |word: &String| match one.chars().all(is_ideograph) {
                true => word.contains(one.as_str()),
                false => word == one || word.split('_').any(|part| part == one),
            };
            words.iter().filter(|word| is_part(word)).count()
        }
        _ => words.windows(wanted.len()).filter(|row| *row == wanted).count(),
    }
}

/// How often a word with slips stands there, for what that is worth.
fn nearly(words: &[String], wanted: &[String]) -> f64 {
    match wanted {
        [one] if may_be_mistyped(one) => words.iter().filter(|word| is_like(word, one)).count() as f64 * MISTYPED,
        _ => 0.0,
    }
}
