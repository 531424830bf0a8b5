use serde::{Deserialize, Serialize};

use super::outcome::told;
use super::query::newest;
use super::record::is_alone;
use super::{Document, HistoryError, Record, records};
use crate::model::{Bytes, Phase};
use crate::store::Store;

/// Less is not alike.
pub(super) const LEAST: f64 = 0.4;

/// An incident that is like another one, and in what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// The other one.
    pub incident: Document,
    /// 0–1; 1 is the same trouble.
    pub score: f64,
    /// What both have.
    pub alike: Vec<String>,
}

/// What an incident may have in common with others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trait {
    pub name: &'static str,
    pub word: String,
    /// What having it in common is worth.
    pub weight: f64,
}

impl Document {
    /// What others may have in common with it, the same trouble first.
    pub(super) fn traits(&self) -> Vec<Trait> {
        let known = |word: &str, unknown: &str| Some(word.to_owned()).filter(|word| word != unknown);
        let all = [
            ("group", Some(self.group.clone()), 1.0),
            ("kind", Some(self.kind.to_string()), 0.25),
            ("cause", known(&self.cause, crate::diagnosis::UNKNOWN), 0.25),
            ("phase", known(self.phase.as_str(), Phase::Unknown.as_str()), 0.15),
            ("framework", self.framework.clone(), 0.1),
            ("model", self.model.clone(), 0.1),
            ("role", self.role.clone(), 0.05),
            ("site", self.site.clone(), 0.05),
            ("requested", self.requested.map(|bytes| bytes.0.to_string()), 0.05),
        ];
        all.into_iter().filter_map(|(name, word, weight)| Some(Trait { name, word: word?, weight })).collect()
    }
}

/// How alike two incidents are, and in what.
fn likeness(a: &Record, traits: &[Trait], b: &Document) -> (f64, Vec<String>) {
    if a.group() == b.group {
        return (1.0, vec![format!("the same trouble: {}", a.incident.fingerprint.parts.join(", "))]);
    }
    let (mut score, mut alike) = (0.0, Vec::new());
    let others = b.traits();
    for Trait { name, word, weight } in traits.iter().filter(|each| each.name != "group") {
        let Some(other) = others.iter().find(|other| other.name == *name) else { continue };
        let (is_same, word) = match (*name, word.parse::<f64>(), other.word.parse::<f64>()) {
            ("requested", Ok(a), Ok(b)) => ((a - b).abs() <= 0.05 * a.max(b), Bytes(a as i64).to_string()),
            _ => (*word == other.word, word.clone()),
        };
        if is_same {
            score += weight;
            alike.push(format!("{name} {word}"));
        }
    }
    (score, alike)
}

/// Which of `others` are most like `record`, at most `most`; of equals the newest first.
pub(super) fn ranked(record: &Record, others: Vec<Document>, most: usize) -> Vec<Likeness> {
    let traits = Document::new(record, None).traits();
    let mut found: Vec<Likeness> = Vec::new();
    for other in others {
        // Of two that nobody can tell from others nobody can say how alike they are.
        if is_alone(&record.group()) && is_alone(&other.group) {
            continue;
        }
        let (score, alike) = likeness(record, &traits, &other);
        if other.id != record.incident.id && score >= LEAST - 1e-9 {
            found.push(Likeness { incident: other, score, alike });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| newest(&a.incident, &b.incident)));
    found.truncate(most);
    found
}

/// The incidents most like `record`, at most `most`, without itself; of equals the newest first. Reads all records.
pub fn similar(store: &dyn Store, record: &Record, most: usize) -> Result<Vec<Likeness>, HistoryError> {
    let told = told(store)?;
    let mut others = Vec::new();
    records(store, &mut |other| {
        others.push(Document::new(&other, told.get(&other.incident.id)));
        Ok(())
    })?;
    Ok(ranked(record, others, most))
}
