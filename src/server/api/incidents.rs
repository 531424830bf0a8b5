use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query as Asking, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::{self, HistoryError, Order, Page, Query};
use crate::knowledge::Language;
use crate::server::access::Visitor;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Incidents on a page, unless told, and at most.
const SOME: usize = 50;
const MOST: usize = 500;

/// What is looked for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// As for `oomdoc history search`: `phase:optimizer_step requested:>2GiB "pinned memory"`. All, unless told.
    pub q: String,
    /// What stands first.
    pub order: Sort,
    /// As many at a time; 50 unless told, 500 at most.
    pub limit: Option<usize>,
    /// As many are skipped, for who counts pages.
    pub offset: Option<usize>,
    /// Where the page before said that the next one begins.
    pub cursor: Option<String>,
    /// The language of titles.
    pub language: Option<Language>,
}

/// What stands first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// The newest.
    #[default]
    Time,
    /// What fits best.
    Relevance,
}

/// A page of what was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    #[serde(flatten)]
    #[schemars(with = "serde_json::Value")]
    page: Page,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// What was taken over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Taken {
    /// Incidents, also those that were known.
    incidents: usize,
    /// Outcomes.
    outcomes: usize,
}

/// Searches.
pub async fn search(State(server): State<Arc<Server>>, Asking(asked): Asking<Asked>) -> Result<Json<Found>, Problem> {
    let query: Query = asked.q.parse().map_err(HistoryError::from)?;
    let limit = asked.limit.unwrap_or(SOME).clamp(1, MOST);
    let skip = match &asked.cursor {
        None => asked.offset.unwrap_or(0),
        Some(cursor) => cursor.parse().map_err(|_| Problem::bad_request("the cursor is none of ours"))?,
    };
    let order = match asked.order {
        Sort::Time => Order::Time,
        Sort::Relevance => Order::Relevance,
    };
    let page = server.search(query, order, skip, limit).await?;
    let end = skip + page.incidents.len();
    let next = (end < page.total && !page.incidents.is_empty()).then(|| end.to_string());
    let page = page.in_language(asked.language.unwrap_or(server.config.language));
    Ok(Json(Found { page, next }))
}

/// Takes over what a client's spool held.
pub async fn take(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    lines: Bytes,
) -> Result<Json<Taken>, Problem> {
    let (records, outcomes) = history::read_lines(&lines, &server.redactor)?;
    let taken = Taken { incidents: records.len(), outcomes: outcomes.len() };
    for record in records {
        let id = record.incident.id.clone();
        server.keeper.add(record).await?;
        server.metrics.incidents.inc();
        server.audit(&visitor, "hand over", &id);
    }
    if !outcomes.is_empty() {
        let named: Vec<String> = outcomes.iter().map(|outcome| outcome.incident.clone()).collect();
        server.keeper.ask(move |store| history::resolve_all(store, &outcomes)).await??;
        named.iter().for_each(|id| server.audit(&visitor, "resolve", id));
    }
    Ok(Json(taken))
}

impl Server {
    /// The incidents that `query` asks for.
    pub(in crate::server) async fn search(
        &self,
        query: Query,
        order: Order,
        skip: usize,
        most: usize,
    ) -> Result<Page, Problem> {
        let home = self.home.clone();
        let asked = tokio::task::spawn_blocking(move || history::ask(&home, &query, order, skip, most));
        Ok(asked.await.map_err(|error| Problem::internal(&error))??.found)
    }
}
