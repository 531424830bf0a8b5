//! Pages of incidents.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{CurrentIndex, Live, by_count};
use crate::history::index::{Column, Counts, IndexError, KEPT, Moment, SEPARATOR};
use crate::history::stats::day_name;
use crate::history::{Cursor, Document, HistoryError, Order, Query};

/// The most values listed for a facet.
const VALUES: usize = 30;
/// How many matches can be paged through by relevance; more are no longer relevant.
const DEEPEST: usize = 1000;

/// A page of matching incidents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundPage {
    /// The incidents of this page, in the requested order.
    pub incidents: Vec<Document>,
    /// The number of matches on all pages.
    pub total: u64,
    /// The matches on all pages, counted by facet.
    pub facets: Arc<Vec<Facet>>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
    /// The generation of the history that the page shows.
    pub generation: u64,
    /// Whether the previous page showed another generation, so that the order of relevance may have shifted between the
    /// two.
    pub has_shifted: bool,
}

/// Numbers of incidents by the values of a property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facet {
    /// `kind`, `cause`, `phase`, `framework`, `model`, `cluster` or `week`, as in queries.
    pub name: &'static str,
    /// The most frequent values first; weeks, named by their Mondays, newest first.
    pub values: Vec<FacetValue>,
    /// How many incidents have other values.
    pub others: u64,
}

/// A value and its number of incidents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FacetValue {
    /// The value as it is written in queries.
    pub value: String,
    /// How many incidents have it.
    pub count: u64,
}

impl Live {
    /// A page of the incidents that match `query`: at most `most` (capped at 100) of those after `after`.
    pub fn search(
        &self,
        query: &Query,
        order: Order,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Arc<FoundPage>, HistoryError> {
        let current = self.current();
        let most = most.min(KEPT);
        let order = if query.is_ranked() { order } else { Order::Time };
        let begin = Begin::of(order, after)?;
        let question = format!("search {begin:?} {most} {query:?}");
        self.ask(&current, question, || self.page(&current, query, begin, most))
    }

    fn page(&self, current: &CurrentIndex, query: &Query, begin: Begin, most: usize) -> Result<FoundPage, IndexError> {
        let pages = current.reader.pages(query, &[Column::Model, Column::Cluster], &self.segments)?;
        let mut counts = Counts::default();
        pages.iter().for_each(|page| counts += &page.counts);
        let total = counts.total;
        // One more than requested shows whether there is a next page.
        let (places, next, has_shifted) = match begin {
            Begin::Newest(after) => {
                let mut found = current.reader.newest(query, &pages, after, most + 1)?;
                let is_more = found.len() > most;
                found.truncate(most);
                let last = found.last().filter(|_| is_more).map(|(last, _)| last);
                let next = last.map(|last| Cursor::Incident { time: last.time, number: last.number.0 });
                (found.into_iter().map(|(_, place)| place).collect::<Vec<_>>(), next, false)
            }
            Begin::Best { skip, generation } => {
                let all = current.reader.best(query, skip + most + 1)?;
                let mut found: Vec<_> = all.into_iter().skip(skip).collect();
                let is_more = found.len() > most && skip + most < DEEPEST;
                found.truncate(most);
                let next = Cursor::Best { generation: current.generation, skip: skip + found.len() };
                let has_shifted = generation.is_some_and(|generation| generation != current.generation);
                (found, Some(next).filter(|_| is_more), has_shifted)
            }
        };
        let incidents = places.into_iter().map(|place| current.reader.document(place)).collect::<Result<_, _>>()?;
        let facets = Arc::new(facets(counts));
        Ok(FoundPage { incidents, total, facets, next, generation: current.generation, has_shifted })
    }
}

/// Where a page begins.
#[derive(Debug, Clone, Copy)]
enum Begin {
    Newest(Option<Moment>),
    Best { skip: usize, generation: Option<u64> },
}

impl Begin {
    fn of(order: Order, after: Option<&Cursor>) -> Result<Begin, HistoryError> {
        match (order, after) {
            (Order::Time, None) => Ok(Begin::Newest(None)),
            (Order::Time, Some(Cursor::Incident { time, number })) => {
                Ok(Begin::Newest(Some(Moment { time: *time, number: std::cmp::Reverse(*number) })))
            }
            (Order::Relevance, None) => Ok(Begin::Best { skip: 0, generation: None }),
            (Order::Relevance, Some(Cursor::Best { generation, skip })) if *skip <= DEEPEST => {
                Ok(Begin::Best { skip: *skip, generation: Some(*generation) })
            }
            (_, Some(other)) => Err(HistoryError::Cursor { cursor: other.to_string() }),
        }
    }
}

fn facets(mut counts: Counts) -> Vec<Facet> {
    let names = ["kind", "phase", "cause", "framework"];
    let mut of: BTreeMap<&'static str, BTreeMap<String, u64>> = BTreeMap::new();
    for (facets, count) in &counts.facets {
        for (name, value) in names.into_iter().zip(facets.split(SEPARATOR)).filter(|(_, value)| !value.is_empty()) {
            *of.entry(name).or_default().entry(value.to_owned()).or_default() += count;
        }
    }
    let mut facet = |name: &'static str| most_frequent(name, of.remove(name).unwrap_or_default());
    let mut facets = vec![facet("kind"), facet("cause"), facet("phase"), facet("framework")];
    for column in [Column::Model, Column::Cluster] {
        facets.push(most_frequent(column.name(), counts.take(column)));
    }
    let weeks = counts.weeks.into_iter().rev();
    let weeks = weeks.filter_map(|(day, count)| Some(FacetValue { value: day_name(day)?, count })).collect();
    facets.push(shortened("week", weeks));
    facets
}

fn most_frequent(name: &'static str, counts: BTreeMap<String, u64>) -> Facet {
    shortened(name, by_count(counts).into_iter().map(|(value, count)| FacetValue { value, count }).collect())
}

fn shortened(name: &'static str, mut values: Vec<FacetValue>) -> Facet {
    let others = values.iter().skip(VALUES).map(|value| value.count).sum();
    values.truncate(VALUES);
    Facet { name, values, others }
}
