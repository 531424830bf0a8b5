use serde::{Deserialize, Serialize};

use super::outcome::told;
use super::query::newest;
use super::record::is_alone;
use super::{Document, HistoryError, Record, records};
use crate::model::{Bytes, Phase};
use crate::store::Store;

/// Incidents with a lower score do not count as similar.
pub(super) const MIN_SCORE: f64 = 0.4;

/// A similar incident and what it has in common with the given one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// The similar incident.
    pub incident: Document,
    /// 0–1; 1 means the same group.
    pub score: f64,
    /// What the two have in common.
    pub alike: Vec<String>,
}

/// A property that an incident may share with others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trait {
    pub name: &'static str,
    pub word: String,
    /// What sharing it adds to the score.
    pub weight: f64,
}

impl Document {
    /// The properties by which it is compared with others, the group first.
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

/// The score of two incidents and what they have in common.
fn likeness(a: &Record, traits: &[Trait], b: &Document) -> (f64, Vec<String>) {
    if a.group() == b.group {
        return (1.0, vec![format!("the same trouble: {}", a.incident.fingerprint.parts.join(", "))]);
    }
    let (mut score, mut alike) = (0.0, Vec::new());
    let others = b.traits();
    for Trait { name, word, weight } in traits.iter().filter(|each| each.name != "group") {
        let Some(other) = others.iter().find(|other| other.name == *name) else { continue };
        let (is_same, word) = match (*name, word.parse::<f64>(), other.word.parse::<f64>()) {
            ("requested", Ok(a), Ok(b)) => ((a - b).abs() <= 0.05 * a.max(b), Bytes(a as i128).to_string()),
            _ => (*word == other.word, word.clone()),
        };
        if is_same {
            score += weight;
            alike.push(format!("{name} {word}"));
        }
    }
    (score, alike)
}

/// The up to `most` incidents of `others` that are most similar to `record`; newest first among equals.
pub(super) fn ranked(record: &Record, others: Vec<Document>, most: usize) -> Vec<Likeness> {
    let traits = Document::new(record, None).traits();
    let mut found: Vec<Likeness> = Vec::new();
    for other in others {
        // If neither can be told from other incidents, nobody can say how similar they are.
        if is_alone(&record.group()) && is_alone(&other.group) {
            continue;
        }
        let (score, alike) = likeness(record, &traits, &other);
        if other.id != record.incident.id && score >= MIN_SCORE - 1e-9 {
            found.push(Likeness { incident: other, score, alike });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| newest(&a.incident, &b.incident)));
    found.truncate(most);
    found
}

/// The up to `most` incidents most similar to `record`, without itself; newest first among equals. Reads all records.
pub fn similar(store: &dyn Store, record: &Record, most: usize) -> Result<Vec<Likeness>, HistoryError> {
    let told = told(store)?;
    let mut others = Vec::new();
    records(store, &mut |other| {
        others.push(Document::new(&other, told.get(&other.incident.id)));
        Ok(())
    })?;
    Ok(ranked(record, others, most))
}
