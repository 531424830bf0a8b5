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

/// Groups on a page, unless told, and at most.
const SOME: usize = 50;
const MOST: usize = 100;
/// As many weeks are told.
const WEEKS: usize = 26;
/// As many names are told by themselves in a trend.
const SERIES: usize = 8;

/// What is counted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// As for a search. All, unless told.
    pub q: String,
}

/// Counts.
pub async fn stats(State(server): State<Arc<Server>>, Asking(asked): Asking<Asked>) -> Result<Json<Stats>, Problem> {
    let query: Query = asked.q.parse().map_err(HistoryError::from)?;
    Ok(Json(Arc::unwrap_or_clone(server.find(move |live| live.stats(&query)).await?)))
}

/// Which groups.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AskedGroups {
    /// As for a search. All, unless told.
    pub q: String,
    /// Which of them: `all`, `new` this week, or those that `came_back` after they were resolved.
    pub only: Only,
    /// What stands first.
    pub order: Sorted,
    /// As many at a time; 50 unless told, 100 at most.
    pub limit: Option<usize>,
    /// Where the page before said that the next one begins.
    pub cursor: Option<String>,
}

/// Which groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Only {
    /// All.
    #[default]
    All,
    /// Those that came up this week for the first time.
    New,
    /// Those that nobody resolved.
    Open,
    /// Those that were resolved, and did not come up since.
    Resolved,
    /// Those that came up again after they were resolved.
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

/// Which group stands first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sorted {
    /// The one that came up last.
    #[default]
    Last,
    /// The one that came up for the first time last.
    First,
    /// The one that came up most.
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

/// Troubles, each with its occurrences over time.
pub async fn groups(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<AskedGroups>,
) -> Result<Json<GroupPage>, Problem> {
    let AskedGroups { q, only, order, limit, cursor } = asked;
    let query: Query = q.parse().map_err(HistoryError::from)?;
    let cursor: Option<Cursor> = cursor.as_deref().map(str::parse).transpose()?;
    let most = limit.unwrap_or(SOME).clamp(1, MOST);
    let page =
        server.find(move |live| live.groups(&query, only.filter(), order.order(), cursor.as_ref(), most)).await?;
    Ok(Json(Arc::unwrap_or_clone(page)))
}

/// What is counted over time.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedTrend {
    /// As for a search. All, unless told.
    #[serde(default)]
    pub q: String,
    /// By what.
    pub by: By,
    /// Up to which week back; 26 unless told, and at most.
    pub weeks: Option<usize>,
}

/// What is counted by itself.
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

/// Counts by week.
pub async fn trend(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<AskedTrend>,
) -> Result<Json<Trend>, Problem> {
    let query: Query = asked.q.parse().map_err(HistoryError::from)?;
    let (by, weeks) = (asked.by.of_history(), asked.weeks.unwrap_or(WEEKS).clamp(1, WEEKS));
    let trend = server.find(move |live| live.trends(&query, by, weeks, SERIES)).await?;
    Ok(Json(Arc::unwrap_or_clone(trend)))
}

/// Of what.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AskedFixes {
    /// What ran out.
    pub kind: Option<Kind>,
    /// The cause against which something was tried.
    pub cause: Option<String>,
    /// The trouble.
    pub group: Option<String>,
}

/// What was tried, and how that went.
pub async fn fixes(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<AskedFixes>,
) -> Result<Json<Vec<Fix>>, Problem> {
    let AskedFixes { kind, cause, group } = asked;
    let filter = FixFilter { kind, cause, group };
    Ok(Json(server.find(move |live| Ok(live.fixes(&filter))).await?))
}
