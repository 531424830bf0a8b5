//! Every address that the server answers, who may ask, and what comes back: the router and the OpenAPI document are both made of it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::access::Scope;
use super::problem::Problem;
use super::state::Server;
use super::{answer, api, body, bot, forged, health, pages};

/// Where a request comes from, as the listener knows it.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// An address, and what it takes to ask it.
pub struct Route {
    /// As OpenAPI writes it: `/api/v1/incidents/{id}`.
    pub path: &'static str,
    /// The method.
    pub method: Method,
    /// What it takes; `None` is open to everybody.
    pub need: Option<Scope>,
    /// What it does; absent where it is a page, which no program asks.
    pub about: Option<About>,
    /// Who answers.
    pub to: MethodRouter<Arc<Server>>,
}

/// What the OpenAPI document says of an address.
pub struct About {
    /// What it does.
    pub summary: &'static str,
    /// What stands behind the question mark.
    pub query: Option<Describe>,
    /// What is sent.
    pub body: Sent,
    /// What comes back.
    pub answer: Answered,
}

/// Describes a type.
pub type Describe = fn(&mut SchemaGenerator) -> Schema;

/// What is sent with a request.
pub enum Sent {
    Nothing,
    Json(Describe),
    /// Any bytes, of such a type.
    Bytes(&'static str),
}

/// What comes back.
pub enum Answered {
    Nothing,
    Json(Describe),
    /// Of such a type.
    Bytes(&'static str),
}

/// Describes `T`.
pub fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Whose routes are told in metrics and checked.
#[derive(Clone)]
struct Guard {
    server: Arc<Server>,
    path: &'static str,
    need: Option<Scope>,
}

/// All of them.
pub fn routes() -> Vec<Route> {
    let plain = |path, need, to| Route { path, method: Method::GET, need, about: None, to };
    let mut all = vec![
        plain("/healthz", None, axum::routing::get(health::live)),
        plain("/readyz", None, axum::routing::get(health::ready)),
        plain("/metrics", Some(Scope::Read), axum::routing::get(health::metrics)),
    ];
    all.extend(api::routes());
    all.extend(bot::routes());
    #[cfg(feature = "mcp")]
    all.push(Route {
        path: "/mcp",
        method: Method::POST,
        need: Some(Scope::Read),
        about: None,
        to: axum::routing::post(super::mcp::answer),
    });
    all.extend(pages::routes());
    all
}

/// Who answers all of them.
pub fn router(server: &Arc<Server>) -> Router {
    let mut router: Router<Arc<Server>> = Router::new();
    for Route { path, need, to, .. } in routes() {
        let guard = Guard { server: Arc::clone(server), path, need };
        router = router.route(path, to.layer(from_fn_with_state(guard, admit)));
    }
    router
        .fallback(|| async { Problem::not_found("there is no such address") })
        .method_not_allowed_fallback(|| async { StatusCode::METHOD_NOT_ALLOWED })
        .layer(DefaultBodyLimit::max(server.config.limits.body))
        .layer(from_fn_with_state(Arc::clone(server), surround))
        .with_state(Arc::clone(server))
}

/// The OpenAPI document of the interface.
pub fn openapi() -> Value {
    api::openapi(&routes())
}

/// What holds for every request: it comes to us, and its answer is nothing but what it says it is.
async fn surround(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let idle = server.config.limits.idle;
    let request = request.map(|body| body::steady(body, idle));
    let asker = pages::Asker::of(&server, &request);
    let mut response = match is_ours(&server, &request) {
        true => next.run(request).await,
        false => Problem::misdirected().into_response(),
    };
    if let Some(page) = asker.and_then(|asker| asker.told(&response)) {
        response = page;
    }
    answer::guard(&mut response);
    response
}

/// Whether the request names us. A page elsewhere can have its own name point to this machine (DNS rebinding), and would read what only
/// this machine may.
fn is_ours(server: &Server, request: &Request) -> bool {
    if !server.config.listen.ip().is_loopback() && server.config.public_url.is_none() {
        return true;
    }
    let Some(host) = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let is_local = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let is_public = server.config.public_host().is_some_and(|public| public.eq_ignore_ascii_case(host));
    // Probes ask by whatever address the machine has.
    is_local || is_public || matches!(request.uri().path(), "/healthz" | "/readyz" | "/metrics")
}

/// Lets a request through to its route, or not.
async fn admit(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let Guard { server, path, need } = guard;
    let address = request.extensions().get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
    let (method, asked) = (request.method().clone(), request.headers().clone());
    let admitted = server.access.visitor(&asked, address).and_then(|visitor| {
        server.access.admit(&visitor, need, &method, &asked)?;
        Ok(visitor)
    });
    let name = admitted.as_ref().ok().and_then(|visitor| visitor.name.clone());
    let response = match admitted {
        Ok(visitor) => match forged::refuse(request, &visitor, server.config.limits.body).await {
            Ok(mut request) => {
                request.extensions_mut().insert(visitor);
                next.run(request).await
            }
            Err(problem) => problem.into_response(),
        },
        Err(problem) => problem.into_response(),
    };
    let response = if path.starts_with("/api/") { answer::explained(response).await } else { response };
    let is_tagged = method == Method::GET && path.starts_with("/api/");
    let response = if is_tagged { answer::tagged(response, &asked).await } else { response };
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    server.metrics.answered(path, status, took);
    if !matches!(path, "/healthz" | "/readyz" | "/metrics") {
        let who = name.as_deref().unwrap_or("-");
        tracing::info!(%method, path, status, who, %address, milliseconds = took.as_millis() as u64, "answered");
    }
    if method == Method::HEAD { response.map(|_| Body::empty()) } else { response }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_address_is_answered_by_one() {
        let mut known = BTreeSet::new();
        for Route { path, method, .. } in routes() {
            assert!(known.insert((path, method.to_string())), "{method} {path} is there twice");
        }
    }
}
