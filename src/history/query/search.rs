use std::collections::BTreeMap;

use serde::Serialize;

use super::Query;
use crate::history::{Document, HistoryError, outcomes, records};
use crate::store::Store;

/// What stands first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The newest.
    #[default]
    Time,
    /// What fits best, of equals the newest.
    Relevance,
}

/// Some of what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    /// In order.
    pub incidents: Vec<Document>,
    /// How many there are, on all pages.
    pub total: usize,
    /// How many there are of each kind, phase, cause, framework and host, on all pages.
    pub facets: BTreeMap<&'static str, BTreeMap<String, usize>>,
}

/// The incidents that `query` asks for, without the first `skip`, `most` at most.
pub fn search(store: &dyn Store, query: &Query, order: Order, skip: usize, most: usize) -> Result<Page, HistoryError> {
    let mut told: BTreeMap<String, bool> = BTreeMap::new();
    for outcome in outcomes(store, None)? {
        *told.entry(outcome.incident).or_default() |= outcome.worked;
    }
    let mut found: Vec<(f64, Document)> = Vec::new();
    records(store, &mut |record| {
        let worked = told.get(&record.incident.id).copied();
        found.extend(query.relevance(&record, worked).map(|relevance| (relevance, Document::new(&record, worked))));
        Ok(())
    })?;
    let newest = |a: &Document, b: &Document| b.time.cmp(&a.time).then_with(|| a.id.cmp(&b.id));
    found.sort_by(|(a_fits, a), (b_fits, b)| match order {
        Order::Time => newest(a, b),
        Order::Relevance => b_fits.total_cmp(a_fits).then_with(|| newest(a, b)),
    });
    let mut facets: BTreeMap<&'static str, BTreeMap<String, usize>> = BTreeMap::new();
    for (_, document) in &found {
        let values = [
            ("kind", Some(document.kind.as_str())),
            ("phase", Some(document.phase.as_str())),
            ("cause", Some(document.cause.as_str())),
            ("framework", document.framework.as_deref()),
            ("host", document.host.as_deref()),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                *facets.entry(name).or_default().entry(value.to_owned()).or_default() += 1;
            }
        }
    }
    let total = found.len();
    let incidents = found.into_iter().skip(skip).take(most).map(|(_, document)| document).collect();
    Ok(Page { incidents, total, facets })
}
