//! The interface for programs, `/api/v1`: the same as the command line, in JSON.

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
use super::routes::{About, Answered, Route, Sent, describe};
pub(super) use analyze::name as file_name;
pub(super) use incident::{Noted, Shown, Tried, bounded};
pub use openapi::openapi;

/// Text of a log, or an archive of logs.
const LOG: &str = "application/octet-stream";
/// What `history export` writes.
const LINES: &str = "application/x-ndjson";

/// All addresses of it.
pub fn routes() -> Vec<Route> {
    let open = |path, summary, to| Route {
        path,
        method: Method::GET,
        need: None,
        about: Some(About { summary, query: None, body: Sent::Nothing, answer: Answered::Json(describe::<Value>) }),
        to,
    };
    let ask = |path, summary, query, answer, to| Route {
        path,
        method: Method::GET,
        need: Some(Scope::Read),
        about: Some(About { summary, query, body: Sent::Nothing, answer: Answered::Json(answer) }),
        to,
    };
    let tell = |path, summary, body, answer, to| Route {
        path,
        method: Method::POST,
        need: Some(Scope::Write),
        about: Some(About { summary, query: None, body: Sent::Json(body), answer: Answered::Json(answer) }),
        to,
    };
    vec![
        open("/api/v1/openapi.json", "This document", get(|| async { Json(super::routes::openapi()) })),
        Route {
            path: "/api/v1/analyze",
            method: Method::POST,
            need: Some(Scope::Write),
            about: Some(About {
                summary: "Analyse a log, or an archive of logs, of any size",
                query: Some(describe::<analyze::Asked>),
                body: Sent::Bytes(LOG),
                answer: Answered::Json(describe::<analyze::Analyzed>),
            }),
            to: post(analyze::analyze),
        },
        ask(
            "/api/v1/incidents",
            "Search incidents",
            Some(describe::<incidents::Asked>),
            describe::<incidents::Page>,
            get(incidents::search),
        ),
        Route {
            path: "/api/v1/incidents",
            method: Method::POST,
            need: Some(Scope::Write),
            about: Some(About {
                summary: "Hand over incidents and outcomes, as `oomdoc history export` writes them",
                query: None,
                body: Sent::Bytes(LINES),
                answer: Answered::Json(describe::<incidents::Taken>),
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
            about: Some(About {
                summary: "Incidents that are like one that need not be kept here",
                query: Some(describe::<incident::Alike>),
                body: Sent::Json(describe::<Value>),
                answer: Answered::Json(describe::<Value>),
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
        ask("/api/v1/stats", "Count incidents", Some(describe::<stats::Asked>), describe::<Value>, get(stats::stats)),
        ask(
            "/api/v1/groups",
            "Troubles, each with its occurrences over time",
            Some(describe::<stats::AskedGroups>),
            describe::<Value>,
            get(stats::groups),
        ),
        ask(
            "/api/v1/trends",
            "Incidents by week, for each cause, cluster, model or kind",
            Some(describe::<stats::AskedTrend>),
            describe::<Value>,
            get(stats::trend),
        ),
        ask(
            "/api/v1/fixes",
            "What was tried against what, and how that went",
            Some(describe::<stats::AskedFixes>),
            describe::<Value>,
            get(stats::fixes),
        ),
        ask("/api/v1/rules", "The causes that rules know", None, describe::<Vec<rules::Cause>>, get(rules::list)),
        Route {
            path: "/api/v1/rules/check",
            method: Method::POST,
            need: Some(Scope::Write),
            about: Some(About {
                summary: "Check a rule of one's own",
                query: Some(describe::<rules::Named>),
                body: Sent::Bytes("application/toml"),
                answer: Answered::Json(describe::<rules::Checked>),
            }),
            to: post(rules::check),
        },
        ask("/api/v1/me", "Who asks, and what they may do", None, describe::<access::Me>, get(access::me)),
        Route {
            path: "/api/v1/export",
            method: Method::GET,
            need: Some(Scope::Admin),
            about: Some(About {
                summary: "The history, or what changed in it, a line of JSON each; the header `oomdoc-next` says where the next export goes on",
                query: Some(describe::<export::Asked>),
                body: Sent::Nothing,
                answer: Answered::Bytes(LINES),
            }),
            to: get(export::export),
        },
        Route {
            need: Some(Scope::Admin),
            ..ask(
                "/api/v1/audit",
                "Who did what",
                Some(describe::<access::Last>),
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
