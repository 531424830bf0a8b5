use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Query;
use crate::history::index::{Column, Counts};
use crate::history::outcome::told;
use crate::history::{Document, HistoryError, records};
use crate::knowledge::Language;
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// In order.
    pub incidents: Vec<Document>,
    /// How many there are, on all pages.
    pub total: usize,
    /// How many there are of each kind, phase, cause, framework, model, host and cluster, and in each week, on all pages.
    pub facets: BTreeMap<Cow<'static, str>, BTreeMap<String, usize>>,
}

impl Page {
    /// The same with titles in `language`.
    pub fn in_language(mut self, language: Language) -> Page {
        self.incidents = self.incidents.into_iter().map(|document| document.in_language(language)).collect();
        self
    }

    /// Counts `count` more of a facet's value.
    pub(in crate::history) fn count(&mut self, facet: &'static str, value: &str, count: usize) {
        let values = self.facets.entry(Cow::Borrowed(facet)).or_default();
        match values.get_mut(value) {
            Some(known) => *known += count,
            None => drop(values.insert(value.to_owned(), count)),
        }
    }
}

/// The incidents that `query` asks for, without the first `skip`, `most` at most. Reads all records.
pub fn search(store: &dyn Store, query: &Query, order: Order, skip: usize, most: usize) -> Result<Page, HistoryError> {
    let told = told(store)?;
    let (mut found, mut counts) = (Vec::new(), Counts::default());
    records(store, &mut |record| {
        let told = told.get(&record.incident.id);
        if let Some(relevance) = query.relevance(&record, told) {
            found.push((relevance, Document::new(&record, told)));
            counts.add(&record);
        }
        Ok(())
    })?;
    found.sort_by(|(a_fits, a), (b_fits, b)| match order {
        Order::Time => newest(a, b),
        Order::Relevance => b_fits.total_cmp(a_fits).then_with(|| newest(a, b)),
    });
    counts.take(Column::Job);
    let incidents = found.into_iter().skip(skip).take(most).map(|(_, document)| document).collect();
    let mut page = Page { incidents, total: 0, facets: BTreeMap::new() };
    page.add(&counts);
    Ok(page)
}

/// Which of two incidents stands first in the order of time.
pub(in crate::history) fn newest(a: &Document, b: &Document) -> Ordering {
    b.time.cmp(&a.time).then_with(|| a.id.cmp(&b.id))
}
