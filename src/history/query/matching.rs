use super::{Clause, Name, Query, What};
use crate::history::Record;
use crate::history::tokens::{is_ideograph, is_like, may_be_mistyped, tokens};

/// A word with a slip counts as much.
const MISTYPED: f64 = 0.3;

impl Query {
    /// How well `record` fits, above 0; `None` where it does not. `worked` is what was told of it.
    pub(super) fn relevance(&self, record: &Record, worked: Option<bool>) -> Option<f64> {
        // Splitting the text into words costs most, so that names and figures go first.
        let of_fields = |clause: &&Clause| !matches!(clause.what, What::Words(_));
        let fits = |clause: &Clause| clause.what.holds(record, worked) != clause.negated;
        if !self.clauses.iter().filter(of_fields).all(fits) {
            return None;
        }
        let mut relevance = 1.0;
        let mut words: Option<Vec<String>> = None;
        for clause in &self.clauses {
            if let What::Words(wanted) = &clause.what {
                let words = words.get_or_insert_with(|| tokens(&record.text()));
                match (count(words, wanted), clause.negated) {
                    (found, false) if found > 0.0 => relevance += (1.0 + found).ln(),
                    (found, true) if found < 1.0 => {}
                    _ => return None,
                }
            }
        }
        Some(relevance)
    }
}

impl What {
    fn holds(&self, record: &Record, worked: Option<bool>) -> bool {
        let incident = &record.incident;
        match self {
            What::Words(_) => true,
            What::Kind(kind) => incident.kind == *kind,
            What::Phase(phase) => incident.phase.name == *phase,
            What::Name(name, letters) => name.holds(record, letters),
            What::Figure(name, low, high) => record.figure(*name).is_some_and(|it| *low <= it && it <= *high),
            What::After(time) => record.time.as_str() >= time.as_str(),
            What::Before(time) => record.time.as_str() < time.as_str(),
            What::Resolved(resolved) => (worked == Some(true)) == *resolved,
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
            Name::Group => record.incident.fingerprint.group() == letters,
            Name::Cause => within(record.cause()),
            Name::Framework => within_any(&job.framework),
            Name::Model => within_any(&job.model),
            Name::Gpu => within_any(&job.gpu),
            Name::Host => record.incident.victim.host.as_deref().is_some_and(within),
            Name::Role => record.incident.victim.role.as_deref().is_some_and(within),
            Name::File => record.inputs.iter().any(|input| within(&input.path)),
        }
    }
}

/// How often `wanted` stands in `words`, in a row; slips count less.
fn count(words: &[String], wanted: &[String]) -> f64 {
    let exact = words.windows(wanted.len()).filter(|row| *row == wanted).count() as f64;
    match wanted {
        _ if exact > 0.0 => exact,
        [one] if one.chars().all(is_ideograph) => {
            words.iter().filter(|word| word.contains(one.as_str())).count() as f64
        }
        // `optimizer` is a word of `optimizer_step`.
        [one] if words.iter().any(|word| word.split('_').any(|part| part == one)) => {
            words.iter().filter(|word| word.split('_').any(|part| part == one)).count() as f64
        }
        [one] if may_be_mistyped(one) => words.iter().filter(|word| is_like(word, one)).count() as f64 * MISTYPED,
        _ => 0.0,
    }
}
