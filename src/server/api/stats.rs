use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as Asking, State};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::history::{self, HistoryError, Query, Stats};
use crate::server::problem::Problem;
use crate::server::state::Server;

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
    let home = server.home.clone();
    let counted = tokio::task::spawn_blocking(move || history::ask_stats(&home, &query));
    Ok(Json(counted.await.map_err(|error| Problem::internal(&error))??.found))
}
