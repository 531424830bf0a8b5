use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query as Asking, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::{self, Cursor, Document, Facet, FoundPage, HistoryError, Live, Order, Query};
use crate::knowledge::Language;
use crate::server::access::Visitor;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Incidents per page by default, and at most.
const SOME: usize = 50;
const MOST: usize = 100;

/// Parameters of a search.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchQuery {
    /// The query, as in `oomdoc history search`: `phase:optimizer_step requested:>2GiB "pinned memory"`. All incidents
    /// by default.
    pub q: String,
    /// The order of the incidents.
    pub order: Sort,
    /// At most this many per page; 50 by default, 100 at most.
    pub limit: Option<usize>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The language of the titles.
    pub language: Option<Language>,
}

/// The order of incidents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// The newest first.
    #[default]
    Time,
    /// The best match first.
    Relevance,
}

/// A page of search results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Page {
    /// The incidents, in the order that was asked for.
    #[schemars(with = "Vec<serde_json::Value>")]
    incidents: Vec<Document>,
    /// The number of matching incidents on all pages.
    total: u64,
    /// The most frequent values of each field among all matching incidents, with their counts.
    facets: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// The cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// How much was taken over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Taken {
    /// The number of incidents, including those that were known already.
    incidents: usize,
    /// The number of outcomes.
    outcomes: usize,
}

/// Searches incidents.
pub async fn search(
    State(server): State<Arc<Server>>,
    Asking(asked): Asking<SearchQuery>,
) -> Result<Json<Page>, Problem> {
    let query: Query = asked.q.parse().map_err(HistoryError::from)?;
    let limit = asked.limit.unwrap_or(SOME).clamp(1, MOST);
    let cursor: Option<Cursor> = asked.cursor.as_deref().map(str::parse).transpose()?;
    let order = match asked.order {
        Sort::Time => Order::Time,
        Sort::Relevance => Order::Relevance,
    };
    let found = server.search(query, order, cursor, limit).await?;
    let language = asked.language.unwrap_or(server.config.language);
    let counts = |facet: &Facet| facet.values.iter().map(|value| (value.value.clone(), value.count)).collect();
    Ok(Json(Page {
        incidents: found.incidents.iter().map(|document| document.clone().in_language(language)).collect(),
        total: found.total,
        facets: found.facets.iter().map(|facet| (facet.name, counts(facet))).collect(),
        next: found.next.as_ref().map(Cursor::to_string),
    }))
}

/// Takes over incidents and outcomes from a client's spool.
pub async fn take(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    lines: Bytes,
) -> Result<Json<Taken>, Problem> {
    let (records, outcomes) = history::read_lines(&lines, &server.redactor)?;
    let taken = Taken { incidents: records.len(), outcomes: outcomes.len() };
    for record in records {
        let id = record.incident.id.clone();
        // Audited first: if the client disconnects now, the keeper still adds the record.
        server.audit(&visitor, "hand over", &id);
        server.keeper.add(record).await?;
        server.metrics.incidents.inc();
    }
    if !outcomes.is_empty() {
        outcomes.iter().for_each(|outcome| server.audit(&visitor, "resolve", &outcome.incident));
        server.keeper.ask(move |store| history::resolve_all(store, &outcomes)).await??;
    }
    Ok(Json(taken))
}

impl Server {
    /// The incidents that match `query`, after the cursor `after`.
    pub(in crate::server) async fn search(
        &self,
        query: Query,
        order: Order,
        after: Option<Cursor>,
        most: usize,
    ) -> Result<Arc<FoundPage>, Problem> {
        self.find(move |live| live.search(&query, order, after.as_ref(), most)).await
    }

    /// Runs `ask` on the live index, on a thread where blocking is allowed.
    pub(in crate::server) async fn find<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Live) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, Problem> {
        let _turn = self.searches.acquire().await.map_err(|error| Problem::internal(&error))?;
        let live = Arc::clone(&self.live);
        let asked = tokio::task::spawn_blocking(move || ask(&live));
        Ok(asked.await.map_err(|error| Problem::internal(&error))??)
    }
}
