use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, Path, State};
use axum::response::Response;

use serde::Deserialize;

use super::super::{AuditRow, DeadLetter, audit, dead_letters};
use super::{PageRequest, to};
use crate::server::access::Visitor;
use crate::server::bot::{BotHandle, letters as undone, retry};
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Rows of the audit log on its page.
const ROWS: usize = 500;

/// The audit log.
pub async fn audited(State(server): State<Arc<Server>>, request: PageRequest) -> Result<Response, Problem> {
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
    Ok(request.page(|viewer| audit(viewer, &rows, None)))
}

/// The form that names the work to try again.
#[derive(Deserialize)]
pub struct RetryForm {
    id: String,
}

/// The work that the bot gave up.
pub async fn letters(request: PageRequest, bot: Extension<BotHandle>) -> Result<Response, Problem> {
    let letters: Vec<DeadLetter> = undone(bot)
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
    Ok(request.page(|viewer| dead_letters(viewer, &letters)))
}

/// Makes the bot try again a piece of work that it gave up.
pub async fn retried(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    bot: Extension<BotHandle>,
    Form(named): Form<RetryForm>,
) -> Result<Response, Problem> {
    retry(bot, Path(named.id.clone())).await?;
    server.audit(&visitor, "retry", &named.id);
    Ok(to("/dead-letters"))
}
