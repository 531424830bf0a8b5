use serde::Serialize;

use super::{Document, HistoryError, Record, outcomes, records};
use crate::model::FigureName;
use crate::store::Store;

/// Less is not alike.
const LEAST: f64 = 0.4;

/// An incident that is like another one, and in what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Likeness {
    /// The other one.
    pub incident: Document,
    /// 0–1; 1 is the same trouble.
    pub score: f64,
    /// What both have.
    pub alike: Vec<String>,
}

/// How alike two incidents are, and in what.
pub fn likeness(a: &Record, b: &Record) -> (f64, Vec<String>) {
    let (one, other) = (&a.incident, &b.incident);
    if one.fingerprint.group() == other.fingerprint.group() {
        return (1.0, vec![format!("the same trouble: {}", one.fingerprint.parts.join(", "))]);
    }
    let mut score = 0.0;
    let mut alike = Vec::new();
    let mut add = |weight: f64, name: &str, value: Option<String>| {
        if let Some(value) = value {
            score += weight;
            alike.push(format!("{name} {value}"));
        }
    };
    fn same<T: PartialEq + ToString>(a: Option<T>, b: Option<T>) -> Option<String> {
        a.filter(|a| b.as_ref() == Some(a)).map(|value| value.to_string())
    }
    let cause = |record: &Record| Some(record.cause().to_owned()).filter(|cause| cause != crate::diagnosis::UNKNOWN);
    let role = |record: &Record| record.incident.victim.role.clone();
    add(0.25, "kind", same(Some(one.kind), Some(other.kind)));
    add(0.25, "cause", same(cause(a), cause(b)));
    let phase =
        |record: &Record| Some(record.incident.phase.name).filter(|phase| *phase != crate::model::Phase::Unknown);
    add(0.15, "phase", same(phase(a), phase(b)));
    add(0.1, "framework", same(a.job.framework.clone(), b.job.framework.clone()));
    add(0.1, "model", same(a.job.model.clone(), b.job.model.clone()));
    add(0.05, "role", same(role(a), role(b)));
    add(0.05, "site", same(one.phase.site.clone(), other.phase.site.clone()));
    let requested = |record: &Record| record.figure(FigureName::Requested);
    let near = requested(a).zip(requested(b)).filter(|(a, b)| (a - b).abs() <= 0.05 * a.max(*b));
    add(0.05, "requested", near.map(|(a, _)| crate::model::Bytes(a as i64).to_string()));
    (score, alike)
}

/// The incidents most like `record`, at most `most`, without itself; of equals the newest first.
pub fn similar(store: &dyn Store, record: &Record, most: usize) -> Result<Vec<Likeness>, HistoryError> {
    let told = outcomes(store, None)?;
    let mut found: Vec<Likeness> = Vec::new();
    records(store, &mut |other| {
        if other.incident.id != record.incident.id {
            let (score, alike) = likeness(record, &other);
            if score >= LEAST {
                let of_it = || told.iter().filter(|outcome| outcome.incident == other.incident.id);
                let worked = of_it().next().is_some().then(|| of_it().any(|outcome| outcome.worked));
                found.push(Likeness { incident: Document::new(&other, worked), score, alike });
            }
        }
        Ok(())
    })?;
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.incident.time.cmp(&a.incident.time)));
    found.truncate(most);
    Ok(found)
}
