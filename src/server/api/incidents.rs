use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query as Asking, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::{self, Cursor, Document, Facet, Found, HistoryError, Live, Order, Query};
use crate::knowledge::Language;
use crate::server::access::Visitor;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Incidents on a page, unless told, and at most.
const SOME: usize = 50;
const MOST: usize = 100;

/// What is looked for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// As for `oomdoc history search`: `phase:optimizer_step requested:>2GiB "pinned memory"`. All, unless told.
    pub q: String,
    /// What stands first.
    pub order: Sort,
    /// As many at a time; 50 unless told, 100 at most.
    pub limit: Option<usize>,
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
pub struct Page {
    /// In order.
    #[schemars(with = "Vec<serde_json::Value>")]
    incidents: Vec<Document>,
    /// How many there are, on all pages.
    total: u64,
    /// How many there are of what, on all pages: the most frequent values.
    facets: BTreeMap<&'static str, BTreeMap<String, u64>>,
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
pub async fn search(State(server): State<Arc<Server>>, Asking(asked): Asking<Asked>) -> Result<Json<Page>, Problem> {
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
        // First: whoever goes away now has it kept all the same.
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
    /// The incidents that `query` asks for, behind `after`.
    pub(in crate::server) async fn search(
        &self,
        query: Query,
        order: Order,
        after: Option<Cursor>,
        most: usize,
    ) -> Result<Arc<Found>, Problem> {
        self.find(move |live| live.search(&query, order, after.as_ref(), most)).await
    }

    /// What `ask` finds, on a thread that may take its time.
    pub(in crate::server) async fn find<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Live) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, Problem> {
        let live = Arc::clone(&self.live);
        let asked = tokio::task::spawn_blocking(move || ask(&live));
        Ok(asked.await.map_err(|error| Problem::internal(&error))??)
    }
}
