//! The interface for programs, `/api/v1`: requests become calls of the history and the analysis, answers are JSON. It
//! offers what the command line does.

mod access;
mod analyze;
mod export;
mod incident;
mod incidents;
mod openapi;
mod rules;
mod stats;

use axum::Json;
use axum::http::Method;
use axum::routing::{get, post};
use serde_json::Value;

use super::access::Scope;
use super::routes::{Description, RequestBody, ResponseBody, Route, describe};
pub(super) use analyze::name as file_name;
pub(super) use incident::{IncidentDetails, Noted, Tried, bounded};
pub use openapi::openapi;

/// The media type of a log's text or an archive of logs.
const LOG: &str = "application/octet-stream";
/// The media type of what `oomdoc history export` writes.
const LINES: &str = "application/x-ndjson";

/// All routes below `/api/v1`.
pub fn routes() -> Vec<Route> {
    let open = |path, summary, to| Route {
        path,
        method: Method::GET,
        need: None,
        about: Some(Description {
            summary,
            query: None,
            body: RequestBody::Nothing,
            answer: ResponseBody::Json(describe::<Value>),
        }),
        to,
    };
    let ask = |path, summary, query, answer, to| Route {
        path,
        method: Method::GET,
        need: Some(Scope::Read),
        about: Some(Description { summary, query, body: RequestBody::Nothing, answer: ResponseBody::Json(answer) }),
        to,
    };
    let tell = |path, summary, body, answer, to| Route {
        path,
        method: Method::POST,
        need: Some(Scope::Write),
        about: Some(Description {
            summary,
            query: None,
            body: RequestBody::Json(body),
            answer: ResponseBody::Json(answer),
        }),
        to,
    };
    vec![
        open("/api/v1/openapi.json", "This document", get(|| async { Json(super::routes::openapi()) })),
        Route {
            path: "/api/v1/analyze",
            method: Method::POST,
            need: Some(Scope::Write),
            about: Some(Description {
                summary: "Analyse a log, or an archive of logs, of any size",
                query: Some(describe::<analyze::AnalyzeQuery>),
                body: RequestBody::Bytes(LOG),
                answer: ResponseBody::Json(describe::<analyze::Analyzed>),
            }),
            to: post(analyze::analyze),
        },
        ask(
            "/api/v1/incidents",
            "Search incidents",
            Some(describe::<incidents::SearchQuery>),
            describe::<incidents::Page>,
            get(incidents::search),
        ),
        Route {
            path: "/api/v1/incidents",
            method: Method::POST,
            need: Some(Scope::Write),
            about: Some(Description {
                summary: "Hand over incidents and outcomes, as `oomdoc history export` writes them",
                query: None,
                body: RequestBody::Bytes(LINES),
                answer: ResponseBody::Json(describe::<incidents::Taken>),
            }),
            to: post(incidents::take),
        },
        ask(
            "/api/v1/incidents/{id}",
            "Show an incident, and what was tried after it",
            None,
            describe::<Value>,
            get(incident::show),
        ),
        ask(
            "/api/v1/incidents/{id}/similar",
            "Incidents that are like one, and in what",
            None,
            describe::<Value>,
            get(incident::similar),
        ),
        Route {
            path: "/api/v1/similar",
            method: Method::POST,
            need: Some(Scope::Read),
            about: Some(Description {
                summary: "Incidents that are like one that need not be kept here",
                query: Some(describe::<incident::SimilarQuery>),
                body: RequestBody::Json(describe::<Value>),
                answer: ResponseBody::Json(describe::<Value>),
            }),
            to: post(incident::similar_to),
        },
        tell(
            "/api/v1/incidents/{id}/outcomes",
            "Say what was tried after an incident and how it went",
            describe::<incident::Tried>,
            describe::<Value>,
            post(incident::resolve),
        ),
        tell(
            "/api/v1/incidents/{id}/notes",
            "Write something down about an incident",
            describe::<incident::Noted>,
            describe::<Value>,
            post(incident::note),
        ),
        ask(
            "/api/v1/stats",
            "Count incidents",
            Some(describe::<stats::StatsQuery>),
            describe::<Value>,
            get(stats::stats),
        ),
        ask(
            "/api/v1/groups",
            "Troubles, each with its occurrences over time",
            Some(describe::<stats::GroupsQuery>),
            describe::<Value>,
            get(stats::groups),
        ),
        ask(
            "/api/v1/trends",
            "Incidents by week, for each cause, cluster, model or kind",
            Some(describe::<stats::TrendQuery>),
            describe::<Value>,
            get(stats::trend),
        ),
        ask(
            "/api/v1/fixes",
            "What was tried against what, and how that went",
            Some(describe::<stats::FixesQuery>),
            describe::<Value>,
            get(stats::fixes),
        ),
        ask("/api/v1/rules", "The causes that rules know", None, describe::<Vec<rules::Cause>>, get(rules::list)),
        Route {
            path: "/api/v1/rules/check",
            method: Method::POST,
            need: Some(Scope::Write),
            about: Some(Description {
                summary: "Check a rule of one's own",
                query: Some(describe::<rules::CheckQuery>),
                body: RequestBody::Bytes("application/toml"),
                answer: ResponseBody::Json(describe::<rules::Checked>),
            }),
            to: post(rules::check),
        },
        ask("/api/v1/me", "Who asks, and what they may do", None, describe::<access::Me>, get(access::me)),
        Route {
            path: "/api/v1/export",
            method: Method::GET,
            need: Some(Scope::Admin),
            about: Some(Description {
                summary: "The history, or what changed in it, a line of JSON each; the header `oomdoc-next` says where the next export goes on",
                query: Some(describe::<export::ExportQuery>),
                body: RequestBody::Nothing,
                answer: ResponseBody::Bytes(LINES),
            }),
            to: get(export::export),
        },
        Route {
            need: Some(Scope::Admin),
            ..ask(
                "/api/v1/audit",
                "Who did what",
                Some(describe::<access::AuditQuery>),
                describe::<Vec<super::access::Entry>>,
                get(access::audit),
            )
        },
        Route {
            need: Some(Scope::Admin),
            ..ask(
                "/api/v1/tokens",
                "All tokens, without their secrets",
                None,
                describe::<Vec<super::access::Token>>,
                get(access::tokens),
            )
        },
    ]
}
