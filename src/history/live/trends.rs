//! How often what came up, week by week.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Live, by_count};
use crate::history::index::{Column, FACETS, IndexError, SEPARATOR, Weekly};
use crate::history::stats::{day_name, monday};
use crate::history::{HistoryError, Query};

/// Two years.
const MOST_WEEKS: usize = 104;

/// What the lines of a trend are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrendBy {
    /// The likeliest cause.
    Cause,
    /// The cluster, where it is known.
    Cluster,
    /// The model, where it is known.
    Model,
    /// What ran out.
    Kind,
}

/// How many incidents there were in each week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trend {
    /// The weeks, named by their Mondays, the oldest first; the last one is this week.
    pub weeks: Vec<String>,
    /// The most frequent first.
    pub series: Vec<Series>,
    /// How many others there were in each week.
    pub others: Vec<u64>,
    /// Which state of the history was asked.
    pub generation: u64,
}

/// How many incidents of a name there were in each week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Series {
    /// The cause, the cluster, the model or the kind.
    pub name: String,
    /// In each of the weeks.
    pub counts: Vec<u64>,
    /// In all of them.
    pub total: u64,
}

impl Live {
    /// How many incidents for which `query` asks there were in each of the last `weeks` weeks: a line for each of the `most`
    /// most frequent.
    pub fn trends(&self, query: &Query, by: TrendBy, weeks: usize, most: usize) -> Result<Arc<Trend>, HistoryError> {
        let now = self.now();
        let week = monday(jiff::Timestamp::now().as_second());
        let weeks = weeks.clamp(1, MOST_WEEKS);
        self.ask(&now, format!("trends {by:?} {week} {weeks} {most} {query:?}"), || {
            let days: Vec<i64> = weeks_until(week, weeks).collect();
            let first = days.first().copied().unwrap_or(week);
            let column = match by {
                TrendBy::Cause | TrendBy::Kind => FACETS,
                TrendBy::Cluster => Column::Cluster.name(),
                TrendBy::Model => Column::Model.name(),
            };
            let weekly = now.reader.weekly(query, column, first..=week, &self.segments)?;
            Ok::<Trend, IndexError>(trend(named(weekly, by), &days, most, now.generation))
        })
    }
}

/// The parts of the facets that are asked for.
fn named(weekly: Weekly, by: TrendBy) -> Weekly {
    let place = match by {
        TrendBy::Kind => 0,
        TrendBy::Cause => 2,
        TrendBy::Cluster | TrendBy::Model => return weekly,
    };
    let mut named = Weekly::new();
    for (facets, weeks) in weekly {
        let name = facets.split(SEPARATOR).nth(place).unwrap_or_default();
        let known = named.entry(name.to_owned()).or_default();
        weeks.into_iter().for_each(|(week, count)| *known.entry(week).or_default() += count);
    }
    named
}

fn trend(mut weekly: Weekly, days: &[i64], most: usize, generation: u64) -> Trend {
    let totals: BTreeMap<String, u64> =
        weekly.iter().map(|(name, weeks)| (name.clone(), weeks.values().sum())).collect();
    let in_weeks = |weeks: BTreeMap<i64, u64>| -> Vec<u64> {
        days.iter().map(|day| weeks.get(day).copied().unwrap_or(0)).collect()
    };
    let mut series = Vec::new();
    for (name, total) in by_count(totals).into_iter().take(most) {
        let counts = in_weeks(weekly.remove(&name).unwrap_or_default());
        series.push(Series { name, counts, total });
    }
    let mut others: BTreeMap<i64, u64> = BTreeMap::new();
    for (week, count) in weekly.into_values().flatten() {
        *others.entry(week).or_default() += count;
    }
    Trend {
        weeks: days.iter().filter_map(|day| day_name(*day)).collect(),
        series,
        others: in_weeks(others),
        generation,
    }
}

/// The first days of so many weeks up to the one that begins on `last`.
pub(super) fn weeks_until(last: i64, weeks: usize) -> impl Iterator<Item = i64> {
    (0..weeks as i64).rev().map(move |back| last - 7 * back)
}
