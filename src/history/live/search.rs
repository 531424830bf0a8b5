//! Pages of incidents.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Live, Now, by_count};
use crate::history::index::{Column, Counts, IndexError, KEPT, Moment, SEPARATOR};
use crate::history::stats::day_name;
use crate::history::{Cursor, Document, HistoryError, Order, Query};

/// As many values of a facet are named.
const VALUES: usize = 30;
/// Who asks for more of what fits best asks for something else.
const DEEPEST: usize = 1000;

/// A page of what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// In order.
    pub incidents: Vec<Document>,
    /// How many there are, on all pages.
    pub total: u64,
    /// How many there are of what, on all pages.
    pub facets: Arc<Vec<Facet>>,
    /// Where the next page begins, where there is one.
    pub next: Option<Cursor>,
    /// Which state of the history was asked.
    pub generation: u64,
    /// The page before this one was of another state, and the order of what fits best may have shifted between them.
    pub has_shifted: bool,
}

/// How many incidents there are of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facet {
    /// `kind`, `cause`, `phase`, `framework`, `model`, `cluster` or `week`, as queries call it.
    pub name: &'static str,
    /// The most frequent values first; weeks, named by their Mondays, the newest first.
    pub values: Vec<FacetValue>,
    /// How many incidents have other values.
    pub others: u64,
}

/// A value and how often it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FacetValue {
    /// As queries write it.
    pub value: String,
    /// How many incidents have it.
    pub count: u64,
}

impl Live {
    /// A page of the incidents that `query` asks for: at most `most` (100 are the most) of those behind `after`.
    pub fn search(
        &self,
        query: &Query,
        order: Order,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Arc<Found>, HistoryError> {
        let now = self.now();
        let most = most.min(KEPT);
        let order = if query.is_ranked() { order } else { Order::Time };
        let begin = Begin::of(order, after)?;
        let question = format!("search {begin:?} {most} {query:?}");
        self.ask(&now, question, || self.page(&now, query, begin, most))
    }

    fn page(&self, now: &Now, query: &Query, begin: Begin, most: usize) -> Result<Found, IndexError> {
        let pages = now.reader.pages(query, &[Column::Model, Column::Cluster], &self.segments)?;
        let mut counts = Counts::default();
        pages.iter().for_each(|page| counts += &page.counts);
        let total = counts.total;
        // One more says whether there is another page.
        let (places, next, has_shifted) = match begin {
            Begin::Newest(after) => {
                let mut found = now.reader.newest(query, &pages, after, most + 1)?;
                let is_more = found.len() > most;
                found.truncate(most);
                let last = found.last().filter(|_| is_more).map(|(last, _)| last);
                let next = last.map(|last| Cursor::Incident { time: last.time, number: last.number.0 });
                (found.into_iter().map(|(_, place)| place).collect::<Vec<_>>(), next, false)
            }
            Begin::Best { skip, generation } => {
                let all = now.reader.best(query, skip + most + 1)?;
                let mut found: Vec<_> = all.into_iter().skip(skip).collect();
                let is_more = found.len() > most && skip + most < DEEPEST;
                found.truncate(most);
                let next = Cursor::Best { generation: now.generation, skip: skip + found.len() };
                let has_shifted = generation.is_some_and(|generation| generation != now.generation);
                (found, Some(next).filter(|_| is_more), has_shifted)
            }
        };
        let incidents = places.into_iter().map(|place| now.reader.document(place)).collect::<Result<_, _>>()?;
        let facets = Arc::new(facets(counts));
        Ok(Found { incidents, total, facets, next, generation: now.generation, has_shifted })
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
