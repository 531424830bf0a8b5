//! Numbers of incidents, week by week.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Live, by_count};
use crate::history::index::{Column, FACETS, IndexError, SEPARATOR, Weekly};
use crate::history::stats::{day_name, monday};
use crate::history::{HistoryError, Query};

/// Two years.
const MOST_WEEKS: usize = 104;

/// The property that a trend has one series for each value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrendBy {
    /// The likeliest cause.
    Cause,
    /// The cluster, where known.
    Cluster,
    /// The model, where known.
    Model,
    /// The kind.
    Kind,
}

/// The number of incidents in each week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trend {
    /// The weeks, named by their Mondays, oldest first; the last one is the current week.
    pub weeks: Vec<String>,
    /// The most frequent first.
    pub series: Vec<Series>,
    /// The number of incidents outside of the series, for each week.
    pub others: Vec<u64>,
    /// The generation of the history that the trend shows.
    pub generation: u64,
}

/// The number of incidents with one value, week by week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Series {
    /// The cause, the cluster, the model or the kind.
    pub name: String,
    /// For each week of the trend.
    pub counts: Vec<u64>,
    /// The sum of all weeks.
    pub total: u64,
}

impl Live {
    /// The number of incidents that match `query` in each of the last `weeks` weeks, with a series for each of the
    /// `most` most frequent values.
    pub fn trends(&self, query: &Query, by: TrendBy, weeks: usize, most: usize) -> Result<Arc<Trend>, HistoryError> {
        let current = self.current();
        let week = monday(jiff::Timestamp::now().as_second());
        let weeks = weeks.clamp(1, MOST_WEEKS);
        self.ask(&current, format!("trends {by:?} {week} {weeks} {most} {query:?}"), || {
            let days: Vec<i64> = weeks_until(week, weeks).collect();
            let first = days.first().copied().unwrap_or(week);
            let column = match by {
                TrendBy::Cause | TrendBy::Kind => FACETS,
                TrendBy::Cluster => Column::Cluster.name(),
                TrendBy::Model => Column::Model.name(),
            };
            let weekly = current.reader.weekly(query, column, first..=week, &self.segments)?;
            Ok::<Trend, IndexError>(trend(named(weekly, by), &days, most, current.generation))
        })
    }
}

/// For kind and cause, picks that part of the facets.
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

/// The first days of the last `weeks` weeks, up to the week that begins on `last`.
pub(super) fn weeks_until(last: i64, weeks: usize) -> impl Iterator<Item = i64> {
    (0..weeks as i64).rev().map(move |back| last - 7 * back)
}
