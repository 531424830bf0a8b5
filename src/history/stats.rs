use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::index::{Column, Counts, SEPARATOR};
use super::outcome::told;
use super::{HistoryError, Query, Record, records};
use crate::store::Store;

/// The most weeks that are counted, up to the last incident's week.
const WEEKS: usize = 26;
pub(super) const DAY: i64 = 86_400;

/// Numbers of incidents by property.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// All incidents.
    pub total: u64,
    /// By kind.
    pub kinds: BTreeMap<String, u64>,
    /// By likeliest cause.
    pub causes: BTreeMap<String, u64>,
    /// By phase.
    pub phases: BTreeMap<String, u64>,
    /// By model, where known.
    pub models: BTreeMap<String, u64>,
    /// By framework, where known.
    pub frameworks: BTreeMap<String, u64>,
    /// By host, where known.
    pub hosts: BTreeMap<String, u64>,
    /// By cluster ([`cluster`](super::cluster)), where known.
    pub clusters: BTreeMap<String, u64>,
    /// By the job's name, if people gave one.
    pub jobs: BTreeMap<String, u64>,
    /// By week, named by its Monday, oldest first; weeks without an incident have 0.
    pub weeks: Vec<(String, u64)>,
}

/// Counts the incidents that match `query`. Reads all records.
pub fn stats(store: &dyn Store, query: &Query) -> Result<Stats, HistoryError> {
    counts(store, query).map(Stats::of)
}

pub(super) fn counts(store: &dyn Store, query: &Query) -> Result<Counts, HistoryError> {
    let told = told(store)?;
    let mut counts = Counts::default();
    records(store, &mut |record| {
        if query.relevance(&record, told.get(&record.incident.id)).is_none() {
            return Ok(());
        }
        counts.add(&record);
        Ok(())
    })?;
    Ok(counts)
}

impl Counts {
    /// Counts one more.
    pub(super) fn add(&mut self, record: &Record) {
        let framework = record.job.framework.as_deref().unwrap_or("");
        let incident = &record.incident;
        let facets = [incident.kind.as_str(), incident.phase.name.as_str(), record.cause(), framework];
        *self.facets.entry(facets.join(SEPARATOR)).or_default() += 1;
        let host = incident.victim.host.as_deref().map(str::to_owned);
        let names = [
            (Column::Host, host),
            (Column::Model, record.job.model.clone()),
            (Column::Cluster, record.cluster()),
            (Column::Job, record.annotations.job.clone()),
        ];
        for (column, name) in names.into_iter().filter_map(|(column, name)| Some((column, name?))) {
            *self.columns.entry(column).or_default().entry(name).or_default() += 1;
        }
        *self.weeks.entry(monday(record.seconds())).or_default() += 1;
        self.total += 1;
    }
}

impl Stats {
    pub(super) fn of(mut counts: Counts) -> Stats {
        let mut stats = Stats {
            total: counts.total,
            hosts: counts.take(Column::Host),
            models: counts.take(Column::Model),
            clusters: counts.take(Column::Cluster),
            jobs: counts.take(Column::Job),
            ..Stats::default()
        };
        for (facets, count) in counts.facets {
            let by = [&mut stats.kinds, &mut stats.phases, &mut stats.causes, &mut stats.frameworks];
            for (names, name) in by.into_iter().zip(facets.split(SEPARATOR)).filter(|(_, name)| !name.is_empty()) {
                *names.entry(name.to_owned()).or_default() += count;
            }
        }
        if let (Some((first, _)), Some((last, _))) = (counts.weeks.first_key_value(), counts.weeks.last_key_value()) {
            let mondays = (0..WEEKS as i64).rev().map(|weeks| last - 7 * weeks).filter(|monday| monday >= first);
            let count = |monday: i64| counts.weeks.get(&monday).copied().unwrap_or(0);
            stats.weeks = mondays.filter_map(|monday| Some((day_name(monday)?, count(monday)))).collect();
        }
        stats
    }
}

/// The day on which the week of a moment begins, counted from 1970 (January 1 of that year was a Thursday).
pub(super) fn monday(seconds: i64) -> i64 {
    (seconds.div_euclid(DAY) + 3).div_euclid(7) * 7 - 3
}

/// A day, counted from 1970, as `YYYY-MM-DD`.
pub(super) fn day_name(day: i64) -> Option<String> {
    Some(date(day)?.to_string())
}

fn date(day: i64) -> Option<Date> {
    jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().try_days(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_mondays() {
        let of = |seconds: i64| date(monday(seconds)).map(|date| date.to_string());
        assert_eq!(of(0).as_deref(), Some("1969-12-29"));
        // 2026-11-15 is a Sunday.
        assert_eq!(of(1_794_700_800 + 86_399).as_deref(), Some("2026-11-09"));
        assert_eq!(of(1_794_700_800 + 86_400).as_deref(), Some("2026-11-16"));
    }
}
