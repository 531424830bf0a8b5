//! The tools of `oomdoc mcp` over HTTP, with the team's history. The caller does not share this machine's files, so
//! logs are pasted and no tool reads a path. Sessions are not kept: each request stands by itself.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::runtime::Handle;

use super::access::{Scope, Visitor};
use super::state::Server;
use crate::Options;
use crate::history::{self, HistoryError, Likeness, Order, Outcome, Page, Query, Record};
use crate::knowledge::Language;
use crate::mcp::{Backend, KeptIncident, Problem, Reach, Tools};
use crate::redact::Redactor;

/// Answers one message. Analyses of a visitor who may only read are not kept.
pub async fn answer(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Response {
    // Host and origin were checked before the request came here.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(server.config.limits.body);
    let (saves, seats) = (visitor.may(Scope::Write), Arc::clone(&server.analyses));
    let tools = Tools::new(Arc::new(Team { server, visitor }), saves).seated(seats);
    let service =
        StreamableHttpService::new(move || Ok(tools.clone()), Arc::new(NeverSessionManager::default()), config);
    service.handle(request).await.map(Body::new)
}

/// The team's rules and history, on behalf of one visitor.
struct Team {
    server: Arc<Server>,
    visitor: Visitor,
}

impl Backend for Team {
    fn options(&self) -> Result<Options, Problem> {
        Ok(Options { threads: Some(1), ..self.server.options(Language::default()) })
    }

    fn redactor(&self) -> &Redactor {
        &self.server.redactor
    }

    fn reach(&self) -> &Reach {
        &Reach::Pasted
    }

    fn search(&self, query: &str, order: Order, skip: usize, most: usize) -> Result<Page, Problem> {
        let query: Query = query.parse().map_err(HistoryError::from)?;
        Ok(history::ask(&self.server.home, &query, order, skip, most)?.found)
    }

    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, Problem> {
        Ok(Arc::unwrap_or_clone(self.server.live.similar(record, most)?))
    }

    fn find(&self, id: &str) -> Result<KeptIncident, Problem> {
        let id = id.to_owned();
        let asked = self.server.keeper.wait(move |store| {
            let record = history::find(store, &id)?;
            let outcomes: Vec<Outcome> = history::outcomes(store, Some(&record.incident.id))?;
            Ok::<_, HistoryError>(KeptIncident { record, outcomes })
        });
        Ok(asked.map_err(|error| error.into_history())??)
    }

    fn keep(&self, record: &Record) -> Result<(), Problem> {
        let added = Handle::current().block_on(self.server.keeper.add(record.clone()));
        added.map_err(|error| error.into_history())?;
        self.server.metrics.incidents.inc();
        self.server.audit(&self.visitor, "analyze", &record.incident.id);
        Ok(())
    }
}
