use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::Markup;

use super::super::narrow::address;
use super::super::{Problem as Shown, Theme, Viewer, problem};
use super::to;
use crate::knowledge::Language;
use crate::server::access::{Scope, Visitor, cookie};
use crate::server::problem::Problem;
use crate::server::routes::Peer;
use crate::server::state::Server;

/// The cookies in which is kept how people want their pages.
pub const THEME: &str = "oomdoc_theme";
pub const LANGUAGE: &str = "oomdoc_language";

/// Whoever asks for a page, and how they want it.
pub struct Asker {
    /// Who; absent where that is refused.
    pub visitor: Option<Visitor>,
    pub language: Language,
    theme: Theme,
    path: String,
    is_get: bool,
}

impl Asker {
    /// Of a request that wants a page; `None` of any other.
    pub fn of(server: &Server, request: &Request) -> Option<Asker> {
        let accepted = request.headers().get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
        let wants_page = accepted.is_some_and(|accepted| accepted.contains("text/html"));
        let path = request.uri().path();
        if !wants_page || path.starts_with("/api/") {
            return None;
        }
        let peer = request.extensions().get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
        let visitor = server.access.visitor(request.headers(), peer).ok();
        let path = request.uri().path_and_query().map_or(path, |path| path.as_str());
        Some(Asker::new(server, visitor, request.headers(), request.method(), path))
    }

    fn new(server: &Server, visitor: Option<Visitor>, headers: &HeaderMap, method: &Method, path: &str) -> Asker {
        let chosen = match cookie(headers, LANGUAGE) {
            Some("en") => Some(Language::En),
            Some("zh") => Some(Language::Zh),
            _ => accepted(headers),
        };
        Asker {
            visitor,
            language: chosen.unwrap_or(server.config.language),
            theme: cookie(headers, THEME).map(Theme::of).unwrap_or_default(),
            path: path.to_owned(),
            is_get: matches!(*method, Method::GET | Method::HEAD),
        }
    }

    /// As views know them.
    pub fn viewer(&self) -> Viewer<'_> {
        let visitor = self.visitor.as_ref();
        Viewer {
            language: self.language,
            name: visitor.and_then(|visitor| visitor.name.as_deref()),
            may_write: visitor.is_some_and(|visitor| visitor.may(Scope::Write)),
            is_admin: visitor.is_some_and(|visitor| visitor.may(Scope::Admin)),
            csrf: visitor.map_or("", Visitor::csrf),
            theme: self.theme,
            // After a form there is nothing to come back to.
            path: if self.is_get { &self.path } else { "/" },
        }
    }

    /// A page.
    pub fn page(&self, page: impl FnOnce(&Viewer<'_>) -> Markup) -> Response {
        Html(page(&self.viewer()).into_string()).into_response()
    }

    /// A page in place of a problem that programs read; `None` where `response` is none.
    pub fn told(&self, response: &Response) -> Option<Response> {
        let told = response.extensions().get::<Problem>()?;
        let status = told.status();
        if status == StatusCode::UNAUTHORIZED && self.is_get {
            return Some(to(&address("/login", &[("back", &self.path)])));
        }
        let (detail, advice) = told.words();
        let shown = Shown { status: status.as_u16(), detail, advice };
        let mut page = self.page(|viewer| problem(viewer, &shown));
        *page.status_mut() = status;
        for (name, value) in response.headers().iter().filter(|(name, _)| *name == header::RETRY_AFTER) {
            page.headers_mut().insert(name, value.clone());
        }
        Some(page)
    }
}

impl FromRequestParts<Arc<Server>> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Asker, Problem> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Asker::new(server, visitor, &parts.headers, &parts.method, path))
    }
}

/// The first language of ours that a browser wants.
fn accepted(headers: &HeaderMap) -> Option<Language> {
    let wanted = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
    wanted.split(',').find_map(|tag| match tag.trim().get(..2)?.to_ascii_lowercase().as_str() {
        "en" => Some(Language::En),
        "zh" => Some(Language::Zh),
        _ => None,
    })
}
