//! The one table of routes: path, scope, handler and description of each. The router and the OpenAPI document are both
//! made from it.

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
use super::{api, body, bot, csrf, health, pages, response};

/// The client's address, as the listener saw it.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// A route of the server.
pub struct Route {
    /// The path, with parameters as OpenAPI writes them: `/api/v1/incidents/{id}`.
    pub path: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The scope that a visitor needs; `None` is open to everybody.
    pub need: Option<Scope>,
    /// Its description for OpenAPI; absent for pages, which are not part of the interface for programs.
    pub about: Option<Description>,
    /// The handler.
    pub to: MethodRouter<Arc<Server>>,
}

/// The description of a route in the OpenAPI document.
pub struct Description {
    /// What the route does.
    pub summary: &'static str,
    /// The type of the query parameters.
    pub query: Option<Describe>,
    /// The request's body.
    pub body: RequestBody,
    /// The response's body.
    pub answer: ResponseBody,
}

/// Adds a type to a generator and returns its schema.
pub type Describe = fn(&mut SchemaGenerator) -> Schema;

/// The body of a request.
pub enum RequestBody {
    Nothing,
    Json(Describe),
    /// Bytes of this media type.
    Bytes(&'static str),
}

/// The body of a response.
pub enum ResponseBody {
    Nothing,
    Json(Describe),
    /// Bytes of this media type.
    Bytes(&'static str),
}

/// The schema of `T`.
pub fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What the middleware around a route needs to authorize and count its requests.
#[derive(Clone)]
struct Guard {
    server: Arc<Server>,
    path: &'static str,
    need: Option<Scope>,
}

/// All routes of the server.
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

/// The router for all routes, with the middleware around them.
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

/// The OpenAPI document of the interface for programs.
pub fn openapi() -> Value {
    api::openapi(&routes())
}

/// Middleware for every request: refuses those for another host, and adds the security headers to every response.
async fn surround(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let idle = server.config.limits.idle;
    let request = request.map(|body| body::steady(body, idle));
    let page_request = pages::PageRequest::of(&server, &request);
    let mut response = match is_ours(&server, &request) {
        true => next.run(request).await,
        false => Problem::misdirected().into_response(),
    };
    if let Some(page) = page_request.and_then(|page| page.page_for_problem(&response)) {
        response = page;
    }
    response::add_security_headers(&mut response);
    response
}

/// Whether `Host` names this server. With DNS rebinding another site's name resolves to this machine, and its page
/// would read what only this machine may.
fn is_ours(server: &Server, request: &Request) -> bool {
    if !server.config.listen.ip().is_loopback() && server.config.public_url.is_none() {
        return true;
    }
    let Some(host) = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let is_local = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let is_public = server.config.public_host().is_some_and(|public| public.eq_ignore_ascii_case(host));
    // Probes use whatever address the machine has.
    is_local || is_public || matches!(request.uri().path(), "/healthz" | "/readyz" | "/metrics")
}

/// Authorizes a request, passes it to its route, and counts and logs the response.
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
        Ok(visitor) => match csrf::check(request, &visitor, server.config.limits.body).await {
            Ok(mut request) => {
                request.extensions_mut().insert(visitor);
                next.run(request).await
            }
            Err(problem) => problem.into_response(),
        },
        Err(problem) => problem.into_response(),
    };
    let response = if path.starts_with("/api/") { response::as_problem(response).await } else { response };
    let is_tagged = method == Method::GET && path.starts_with("/api/");
    let response = if is_tagged { response::with_etag(response, &asked).await } else { response };
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
