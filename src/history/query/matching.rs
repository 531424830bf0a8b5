use super::{Clause, Name, Query, What};
use crate::history::stats::monday;
use crate::history::tokens::{is_ideograph, is_like, may_be_mistyped, tokens};
use crate::history::{OutcomeSummary, Record, State};

/// A word with a slip counts as much.
pub(in crate::history) const MISTYPED: f64 = 0.3;

impl Query {
    /// How well `record` fits, above 0; `None` where it does not. `told` is what was tried.
    pub(in crate::history) fn relevance(&self, record: &Record, told: Option<&OutcomeSummary>) -> Option<f64> {
        // Splitting the text into words costs most, so that names and figures go first.
        let of_fields = |clause: &&Clause| !matches!(clause.what, What::Words(_));
        let fits = |clause: &Clause| clause.what.holds(record, told) != clause.negated;
        if !self.clauses.iter().filter(of_fields).all(fits) {
            return None;
        }
        let mut relevance = 1.0;
        let mut words: Option<Vec<String>> = None;
        for clause in &self.clauses {
            if let What::Words(wanted) = &clause.what {
                let words = words.get_or_insert_with(|| tokens(&record.text()));
                match (exactly(words, wanted), clause.negated) {
                    (0, true) => {}
                    (_, true) => return None,
                    (0, false) => relevance += (1.0 + Some(nearly(words, wanted)).filter(|found| *found > 0.0)?).ln(),
                    (found, false) => relevance += (1.0 + found as f64).ln(),
                }
            }
        }
        Some(relevance)
    }
}

impl What {
    fn holds(&self, record: &Record, told: Option<&OutcomeSummary>) -> bool {
        let incident = &record.incident;
        match self {
            What::Words(_) => true,
            What::Kind(kind) => incident.kind == *kind,
            What::Phase(phase) => incident.phase.name == *phase,
            What::Name(name, letters) => name.holds(record, letters),
            What::Figure(name, low, high) => record.figure(*name).is_some_and(|it| *low <= it && it <= *high),
            What::After(time) => record.seconds() >= *time,
            What::Before(time) => record.seconds() < *time,
            What::Week(day) => monday(record.seconds()) == *day,
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
