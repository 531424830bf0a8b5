//! Turns what the history answers into what the pages show: facets, group rows, trends, saved queries.

use super::super::{Facet, Fix, GroupRow, SavedQuery, Series, TrendsPage};
use crate::history::{
    FixFilter, FoundPage, GroupFilter, GroupOrder, GroupState, GroupSummary, HistoryError, Live, Query, State, Trend,
    TrendBy,
};
use crate::knowledge::Language;
use crate::server::problem::Problem;
use crate::server::state::Server;
use crate::store::Store;

/// The key prefix of saved queries; the digest of the name follows.
pub const SAVED: &str = "saved/";
/// Charts per trend, and weeks per chart.
const CHARTS: usize = 8;
const WEEKS: usize = 26;
/// Fixes on the page of trends.
const FIXES: usize = 100;

/// The facets by which search results can be narrowed.
pub fn facets(found: &FoundPage) -> Vec<Facet> {
    let values = |facet: &crate::history::Facet| facet.values.iter().map(|it| (it.value.clone(), it.count)).collect();
    found.facets.iter().map(|facet| Facet { field: facet.name, values: values(facet) }).collect()
}

/// A group as lists show it.
pub fn group_row(group: &GroupSummary, language: Language) -> GroupRow {
    let newest = group.newest.clone().in_language(language);
    let state = match group.state {
        GroupState::Open => State::Open,
        GroupState::Resolved => State::Resolved,
        GroupState::CameBack => State::Reopened,
    };
    GroupRow {
        key: group.group.clone(),
        title: newest.title,
        kind: newest.kind,
        phase: newest.phase,
        count: group.count,
        first: group.first.clone(),
        last: group.last.clone(),
        weeks: group.weeks.clone(),
        state,
        is_new: group.is_new,
        solved_by: newest.change.filter(|_| newest.worked == Some(true)),
    }
}

/// The query for the incidents of a group; `None` where `key` cannot be a group's.
pub fn group_query(key: &str) -> Option<Query> {
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    format!("group:{key}").parse().ok().filter(|_| is_key)
}

/// Counts of incidents by week, and what fixed what.
pub fn trends(live: &Live) -> Result<TrendsPage, HistoryError> {
    let by = |by| live.trends(&Query::default(), by, WEEKS, CHARTS);
    let causes = by(TrendBy::Cause)?;
    let in_week =
        |place: usize| causes.others[place] + causes.series.iter().map(|series| series.counts[place]).sum::<u64>();
    let fixes = live.fixes(&FixFilter::default()).into_iter().take(FIXES);
    Ok(TrendsPage {
        all: causes.weeks.iter().enumerate().map(|(place, week)| (week.clone(), in_week(place))).collect(),
        causes: series(&causes),
        clusters: series(&*by(TrendBy::Cluster)?),
        models: series(&*by(TrendBy::Model)?),
        fixes: fixes
            .map(|fix| Fix {
                cause: fix.cause.as_deref().map(str::to_owned),
                change: fix.change,
                worked: fix.worked,
                failed: fix.failed,
                last: fix.last,
            })
            .collect(),
    })
}

fn series(trend: &Trend) -> Vec<Series> {
    let named = |series: &crate::history::Series| Series {
        name: series.name.clone(),
        weeks: trend.weeks.iter().cloned().zip(series.counts.iter().copied()).collect(),
    };
    trend.series.iter().map(named).collect()
}

impl Server {
    /// The group of that key and the id of its newest incident; `None` where no incident is in it.
    pub async fn group(&self, key: &str) -> Result<Option<(GroupSummary, String)>, Problem> {
        let Some(query) = group_query(key) else { return Ok(None) };
        let found = self.find(move |live| live.groups(&query, GroupFilter::All, GroupOrder::Last, None, 1)).await?;
        Ok(found.groups.first().map(|group| (group.clone(), group.newest.id.clone())))
    }

    /// All saved queries, by name.
    pub async fn saved_queries(&self) -> Result<Vec<SavedQuery>, Problem> {
        let asked = self.keeper.ask(|store| {
            let mut saved = Vec::new();
            store.scan(SAVED, &mut |_, value| saved.extend(serde_json::from_slice::<[String; 2]>(value).ok()))?;
            Ok::<_, HistoryError>(saved)
        });
        let mut saved: Vec<SavedQuery> =
            asked.await??.into_iter().map(|[name, query]| SavedQuery { name, query }).collect();
        saved.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(saved)
    }
}
