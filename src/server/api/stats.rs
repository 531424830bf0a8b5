use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as Asking, State};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::history::{
    Cursor, Fix, FixFilter, GroupFilter, GroupOrder, GroupPage, GroupState, HistoryError, Query, Stats, Trend, TrendBy,
};
use crate::model::Kind;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Groups per page by default, and at most.
const SOME: usize = 50;
const MOST: usize = 100;
/// Weeks in a trend, by default and at most.
const WEEKS: usize = 26;
/// How many names of a trend get a series of their own.
const SERIES: usize = 8;

/// Parameters of the statistics.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatsQuery {
    /// A query, as for a search; all incidents by default.
    pub q: String,
}

/// Counts the incidents that match.
pub async fn stats(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<StatsQuery>,
) -> Result<Json<Stats>, Problem> {
    let query: Query = asked.q.parse().map_err(HistoryError::from)?;
    Ok(Json(Arc::unwrap_or_clone(server.find(move |live| live.stats(&query)).await?)))
}

/// Parameters of a list of groups.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GroupsQuery {
    /// A query, as for a search; all incidents by default.
    pub q: String,
    /// Which groups: `all`, `new` this week, or those that `came_back` after they were resolved.
    pub only: Only,
    /// The order of the groups.
    pub order: Sorted,
    /// At most this many per page; 50 by default, 100 at most.
    pub limit: Option<usize>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
}

/// Which groups to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Only {
    /// All.
    #[default]
    All,
    /// Groups whose first incident was this week.
    New,
    /// Groups that nobody resolved.
    Open,
    /// Groups that were resolved and have had no incident since.
    Resolved,
    /// Groups with an incident after they were resolved.
    CameBack,
}

impl Only {
    fn filter(self) -> GroupFilter {
        match self {
            Only::All => GroupFilter::All,
            Only::New => GroupFilter::New,
            Only::Open => GroupFilter::In(GroupState::Open),
            Only::Resolved => GroupFilter::In(GroupState::Resolved),
            Only::CameBack => GroupFilter::In(GroupState::CameBack),
        }
    }
}

/// The order of groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sorted {
    /// The most recent incident first.
    #[default]
    Last,
    /// The most recent first incident first.
    First,
    /// The most incidents first.
    Count,
}

impl Sorted {
    fn order(self) -> GroupOrder {
        match self {
            Sorted::Last => GroupOrder::Last,
            Sorted::First => GroupOrder::First,
            Sorted::Count => GroupOrder::Count,
        }
    }
}

/// Groups of incidents with one fingerprint, each with its counts over time.
pub async fn groups(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<GroupsQuery>,
) -> Result<Json<GroupPage>, Problem> {
    let GroupsQuery { q, only, order, limit, cursor } = asked;
    let query: Query = q.parse().map_err(HistoryError::from)?;
    let cursor: Option<Cursor> = cursor.as_deref().map(str::parse).transpose()?;
    let most = limit.unwrap_or(SOME).clamp(1, MOST);
    let page =
        server.find(move |live| live.groups(&query, only.filter(), order.order(), cursor.as_ref(), most)).await?;
    Ok(Json(Arc::unwrap_or_clone(page)))
}

/// Parameters of a trend.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrendQuery {
    /// A query, as for a search; all incidents by default.
    #[serde(default)]
    pub q: String,
    /// What is counted separately.
    pub by: By,
    /// How many weeks back; 26 by default and at most.
    pub weeks: Option<usize>,
}

/// What a trend counts separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The likeliest cause.
    Cause,
    /// The cluster, where it is known.
    Cluster,
    /// The model, where it is known.
    Model,
    /// What ran out.
    Kind,
}

impl By {
    fn of_history(self) -> TrendBy {
        match self {
            By::Cause => TrendBy::Cause,
            By::Cluster => TrendBy::Cluster,
            By::Model => TrendBy::Model,
            By::Kind => TrendBy::Kind,
        }
    }
}

/// Counts incidents by week.
pub async fn trend(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<TrendQuery>,
) -> Result<Json<Trend>, Problem> {
    let query: Query = asked.q.parse().map_err(HistoryError::from)?;
    let (by, weeks) = (asked.by.of_history(), asked.weeks.unwrap_or(WEEKS).clamp(1, WEEKS));
    let trend = server.find(move |live| live.trends(&query, by, weeks, SERIES)).await?;
    Ok(Json(Arc::unwrap_or_clone(trend)))
}

/// Parameters of a list of fixes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FixesQuery {
    /// What ran out.
    pub kind: Option<Kind>,
    /// The cause that the change was tried against.
    pub cause: Option<String>,
    /// The key of a group of incidents.
    pub group: Option<String>,
}

/// What was tried, and how often it worked.
pub async fn fixes(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<FixesQuery>,
) -> Result<Json<Vec<Fix>>, Problem> {
    let FixesQuery { kind, cause, group } = asked;
    let filter = FixFilter { kind, cause, group };
    Ok(Json(server.find(move |live| Ok(live.fixes(&filter))).await?))
}
