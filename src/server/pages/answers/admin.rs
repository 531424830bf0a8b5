use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, Path, State};
use axum::response::Response;

use serde::Deserialize;

use super::super::{AuditRow, DeadLetter, audit, dead_letters};
use super::{Asker, to};
use crate::server::access::Visitor;
use crate::server::bot::{Answering, letters as undone, retry};
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Rows of the audit log.
const ROWS: usize = 500;

/// Who did what.
pub async fn audited(State(server): State<Arc<Server>>, asker: Asker) -> Result<Response, Problem> {
    let read = tokio::task::spawn_blocking(move || server.access.audit.last(ROWS)).await;
    let entries = read.map_err(|error| Problem::internal(&error))?.map_err(|error| Problem::internal(&error))?;
    let rows: Vec<AuditRow> = entries
        .into_iter()
        .map(|entry| AuditRow {
            time: entry.time,
            who: entry.who,
            action: entry.what,
            target: entry.whom,
            from: entry.address,
        })
        .collect();
    Ok(asker.page(|viewer| audit(viewer, &rows, None)))
}

/// Which to try again.
#[derive(Deserialize)]
pub struct Named {
    id: String,
}

/// What the bot could not do.
pub async fn letters(asker: Asker, answering: Extension<Answering>) -> Result<Response, Problem> {
    let letters: Vec<DeadLetter> = undone(answering)
        .await?
        .0
        .into_iter()
        .map(|letter| DeadLetter {
            id: letter.id,
            hook: format!("{} {}", letter.project, letter.about),
            problem: letter.error.unwrap_or_default(),
            attempts: letter.attempts,
            time: letter.since,
        })
        .collect();
    Ok(asker.page(|viewer| dead_letters(viewer, &letters)))
}

/// Has the bot try one again.
pub async fn retried(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    answering: Extension<Answering>,
    Form(named): Form<Named>,
) -> Result<Response, Problem> {
    retry(answering, Path(named.id.clone())).await?;
    server.audit(&visitor, "retry", &named.id);
    Ok(to("/dead-letters"))
}
