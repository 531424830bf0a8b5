use std::collections::BTreeMap;

use serde::Serialize;

use super::{HistoryError, records};
use crate::store::Store;

/// As many weeks are counted, up to the last incident's.
const WEEKS: usize = 26;

/// How many incidents there are of what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Of all.
    pub total: u64,
    /// Of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Of each likeliest cause.
    pub causes: BTreeMap<String, u64>,
    /// In each phase.
    pub phases: BTreeMap<String, u64>,
    /// With each model, where it is known.
    pub models: BTreeMap<String, u64>,
    /// With each framework, where it is known.
    pub frameworks: BTreeMap<String, u64>,
    /// In each week, named by its Monday, oldest first; weeks without an incident have 0.
    pub weeks: Vec<(String, u64)>,
}

/// Counts all incidents.
pub fn stats(store: &dyn Store) -> Result<Stats, HistoryError> {
    let mut stats = Stats::default();
    let mut weeks: BTreeMap<jiff::civil::Date, u64> = BTreeMap::new();
    records(store, &mut |record| {
        let mut count = |counts: fn(&mut Stats) -> &mut BTreeMap<String, u64>, name: Option<&str>| {
            if let Some(name) = name {
                *counts(&mut stats).entry(name.to_owned()).or_default() += 1;
            }
        };
        count(|stats| &mut stats.kinds, Some(record.incident.kind.as_str()));
        count(|stats| &mut stats.causes, Some(record.cause()));
        count(|stats| &mut stats.phases, Some(record.incident.phase.name.as_str()));
        count(|stats| &mut stats.models, record.job.model.as_deref());
        count(|stats| &mut stats.frameworks, record.job.framework.as_deref());
        stats.total += 1;
        if let Some(monday) = monday(&record.time) {
            *weeks.entry(monday).or_default() += 1;
        }
        Ok(())
    })?;
    if let Some(last) = weeks.keys().next_back().copied() {
        let mut week = last;
        for _ in 0..WEEKS {
            stats.weeks.push((week.to_string(), weeks.get(&week).copied().unwrap_or(0)));
            match week.checked_sub(jiff::Span::new().days(7)) {
                Ok(before) if weeks.keys().next().is_some_and(|first| *first <= before) => week = before,
                _ => break,
            }
        }
        stats.weeks.reverse();
    }
    Ok(stats)
}

fn monday(time: &str) -> Option<jiff::civil::Date> {
    let date: jiff::civil::Date = time.get(..10)?.parse().ok()?;
    date.checked_sub(jiff::Span::new().days(i64::from(date.weekday().to_monday_zero_offset()))).ok()
}
