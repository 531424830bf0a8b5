//! For operators: metrics, liveness and readiness.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::problem::Problem;
use super::state::Server;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

/// Counters of the server.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram>,
    /// Logs that were analysed.
    pub analyses: Counter,
    /// Their bytes.
    pub bytes: Counter,
    /// Incidents that clients handed over or that analyses here found.
    pub incidents: Counter,
    /// Open connections.
    pub connections: Gauge,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("oomdoc");
        let (requests, analyses, bytes, incidents, connections) = Default::default();
        let seconds: Family<RouteLabels, Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 4.0, 9)));
        let metrics =
            Metrics { registry: Registry::default(), requests, seconds, analyses, bytes, incidents, connections };
        registry.register("http_requests", "Requests by route and status", metrics.requests.clone());
        registry.register("http_request_seconds", "How long answers took", metrics.seconds.clone());
        registry.register("analyses", "Logs that were analysed", metrics.analyses.clone());
        registry.register("analysed_bytes", "Bytes of logs that were analysed", metrics.bytes.clone());
        registry.register("incidents", "Incidents that were kept", metrics.incidents.clone());
        registry.register("connections", "Open connections", metrics.connections.clone());
        Metrics { registry, ..metrics }
    }
}

impl Metrics {
    /// Counts a request to `route` that was answered with `status`.
    pub fn answered(&self, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
        self.seconds.get_or_create(&RouteLabels { route }).observe(took.as_secs_f64());
    }
}

/// All metrics in OpenMetrics text format, which Prometheus reads.
pub async fn metrics(State(server): State<Arc<Server>>) -> Result<Response, Problem> {
    let mut text = String::new();
    encode(&mut text, &server.metrics.registry).map_err(|error| Problem::internal(&error))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Whether the process is alive.
pub async fn live() -> &'static str {
    "ok\n"
}

/// Whether the server takes requests: the store answers and the server is not stopping.
pub async fn ready(State(server): State<Arc<Server>>) -> Result<&'static str, Problem> {
    if server.is_stopping() {
        return Err(Problem::unavailable("the server is stopping"));
    }
    server.keeper.ask(|_| ()).await?;
    Ok("ready\n")
}
