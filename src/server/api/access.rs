use std::sync::Arc;

use axum::extract::{Query, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::server::access::{Entry, Scope, Token, Visitor};
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Entries of the audit log, unless told, and at most.
const SOME: usize = 100;
const MOST: usize = 10_000;

/// Whoever asks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Me {
    /// What the token is called; absent where nobody says.
    name: Option<String>,
    /// What they may do.
    scope: Option<Scope>,
    /// Of the server.
    version: &'static str,
}

/// How many.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Last {
    /// As many; 100 unless told.
    pub limit: Option<usize>,
}

/// Says who asks.
pub async fn me(Extension(visitor): Extension<Visitor>) -> Json<Me> {
    Json(Me { name: visitor.name, scope: visitor.scope, version: env!("CARGO_PKG_VERSION") })
}

/// Who did what, the newest first.
pub async fn audit(State(server): State<Arc<Server>>, Query(last): Query<Last>) -> Result<Json<Vec<Entry>>, Problem> {
    let most = last.limit.unwrap_or(SOME).min(MOST);
    let read = tokio::task::spawn_blocking(move || server.access.audit.last(most));
    let entries = read.await.map_err(|error| Problem::internal(&error))?;
    Ok(Json(entries.map_err(|error| Problem::internal(&error))?))
}

/// All tokens.
pub async fn tokens(State(server): State<Arc<Server>>) -> Result<Json<Vec<Token>>, Problem> {
    Ok(Json(server.access.tokens.list().map_err(|error| Problem::internal(&error))?))
}
