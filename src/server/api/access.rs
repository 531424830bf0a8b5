use std::sync::Arc;

use axum::extract::{Query, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::server::access::{Entry, Scope, Token, Visitor};
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Entries of the audit log that are returned by default, and at most.
const SOME: usize = 100;
const MOST: usize = 10_000;

/// The sender of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Me {
    /// The token's name; absent for an anonymous visitor.
    name: Option<String>,
    /// What the sender may do.
    scope: Option<Scope>,
    /// The server's version.
    version: &'static str,
}

/// How many entries of the audit log to return.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditQuery {
    /// At most this many; 100 by default.
    pub limit: Option<usize>,
}

/// Says who the sender is.
pub async fn me(Extension(visitor): Extension<Visitor>) -> Json<Me> {
    Json(Me { name: visitor.name, scope: visitor.scope, version: env!("CARGO_PKG_VERSION") })
}

/// The audit log, the newest entry first.
pub async fn audit(
    State(server): State<Arc<Server>>,
    Query(last): Query<AuditQuery>,
) -> Result<Json<Vec<Entry>>, Problem> {
    let most = last.limit.unwrap_or(SOME).min(MOST);
    let read = tokio::task::spawn_blocking(move || server.access.audit.last(most));
    let entries = read.await.map_err(|error| Problem::internal(&error))?;
    Ok(Json(entries.map_err(|error| Problem::internal(&error))?))
}

/// All tokens.
pub async fn tokens(State(server): State<Arc<Server>>) -> Result<Json<Vec<Token>>, Problem> {
    Ok(Json(server.access.tokens.list().map_err(|error| Problem::internal(&error))?))
}
