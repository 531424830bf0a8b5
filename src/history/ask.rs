//! Queries to a history, answered from the index and the spool, so that nobody waits for a writer. If the index cannot
//! be trusted, the store is read instead, and the answer says so.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::alike::{Likeness, ranked, similar};
use super::index::{Column, Counts, IndexError, Reader, SEPARATOR};
use super::query::newest;
use super::stats::day_name;
use super::{Document, HistoryError, Order, Page, Query, Record, Stats, add, look, records, search, spool, stats};
use crate::store::{DiskStore, MemoryStore, Store, quietly};

/// A new index replaces the old one in two steps; a reader that comes between them tries again after this pause.
const PAUSE: Duration = Duration::from_millis(20);

/// The answer to a query.
#[derive(Debug)]
pub struct Answer<T> {
    /// What was found.
    pub found: T,
    /// Why the store was read instead of the index, if it was.
    pub without_index: Option<IndexError>,
}

/// The incidents in `home` that match `query`: up to `most`, after skipping `skip`. Incidents that wait in the spool
/// come first in the order of relevance.
pub fn ask(home: &Path, query: &Query, order: Order, skip: usize, most: usize) -> Result<Answer<Page>, HistoryError> {
    let order = if query.is_ranked() { order } else { Order::Time };
    let of_index = |index: &Reader, waiting: &MemoryStore| {
        let mut page = search(waiting, query, order, 0, usize::MAX)?;
        let (found, counts) = index.search(query, order, skip.saturating_add(most))?;
        page.incidents.extend(found);
        if order == Order::Time {
            page.incidents.sort_by(newest);
        }
        page.incidents = page.incidents.into_iter().skip(skip).take(most).collect();
        page.add(&counts);
        Ok(page)
    };
    either(home, of_index, |store| search(store, query, order, skip, most))
}

impl Page {
    /// Adds the counts of the index.
    pub(super) fn add(&mut self, counts: &Counts) {
        self.total += counts.total as usize;
        for (facets, count) in &counts.facets {
            let names = ["kind", "phase", "cause", "framework"];
            for (name, value) in names.into_iter().zip(facets.split(SEPARATOR)).filter(|(_, value)| !value.is_empty()) {
                self.count(name, value, *count as usize);
            }
        }
        for (column, values) in &counts.columns {
            values.iter().for_each(|(value, count)| self.count(column.name(), value, *count as usize));
        }
        let weeks = counts.weeks.iter().filter_map(|(day, count)| Some((day_name(*day)?, count)));
        weeks.for_each(|(week, count)| self.count("week", &week, *count as usize));
    }
}

/// Counts the incidents in `home` that match `query`.
pub fn ask_stats(home: &Path, query: &Query) -> Result<Answer<Stats>, HistoryError> {
    let of_index = |index: &Reader, waiting: &MemoryStore| {
        let mut counts = super::stats::counts(waiting, query)?;
        counts += &index.count(query, &[Column::Host, Column::Model, Column::Cluster, Column::Job])?;
        Ok(Stats::of(counts))
    };
    either(home, of_index, |store| stats(store, query))
}

/// The up to `most` incidents in `home` that are most similar to `record`, without itself; newest first among equals.
pub fn ask_similar(home: &Path, record: &Record, most: usize) -> Result<Answer<Vec<Likeness>>, HistoryError> {
    let of_index = |index: &Reader, waiting: &MemoryStore| {
        let mut others = index.alike(&Document::new(record, None).traits(), &record.incident.id, most)?;
        records(waiting, &mut |other| {
            others.push(Document::new(&other, None));
            Ok(())
        })?;
        Ok(ranked(record, others, most))
    };
    either(home, of_index, |store| similar(store, record, most))
}

/// Asks the index together with what waits in the spool; falls back to the store.
fn either<T>(
    home: &Path,
    of_index: impl Fn(&Reader, &MemoryStore) -> Result<T, IndexError>,
    of_store: impl Fn(&dyn Store) -> Result<T, HistoryError>,
) -> Result<Answer<T>, HistoryError> {
    if !DiskStore::is_in(home) {
        return Ok(Answer { found: of_store(&look(home)?)?, without_index: None });
    }
    // Read the spool before the index: a record that is drained in between is then known to at least one of them.
    let (waiting, _) = spool::look(home)?;
    let asked = || -> Result<T, IndexError> {
        let index = Reader::open(home)?;
        let mut store = MemoryStore::default();
        let mut fresh = Vec::new();
        for record in &waiting {
            if !index.knows(&record.incident.id)? {
                fresh.push(record.clone());
            }
        }
        add(&mut store, &fresh)?;
        of_index(&index, &store)
    };
    let ask = || quietly(asked).unwrap_or_else(|| Err(IndexError::Damaged("nothing makes sense of it".to_owned())));
    let index = match ask() {
        Err(_) => {
            sleep(PAUSE);
            ask()
        }
        answer => answer,
    };
    match index {
        Ok(found) => Ok(Answer { found, without_index: None }),
        Err(error) => Ok(Answer { found: of_store(&look(home)?)?, without_index: Some(error) }),
    }
}

/// Whether the index in `home` exists and is up to date with the store.
pub fn is_indexed(home: &Path) -> bool {
    !DiskStore::is_in(home) || quietly(|| Reader::open(home).is_ok()).unwrap_or(false)
}
