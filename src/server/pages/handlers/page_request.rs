use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::Markup;

use super::super::links::address;
use super::super::{ProblemPage, Theme, Viewer, problem};
use super::to;
use crate::knowledge::Language;
use crate::server::access::{Scope, Visitor, cookie};
use crate::server::problem::Problem;
use crate::server::routes::Peer;
use crate::server::state::Server;

/// The cookies that keep a browser's theme and language.
pub const THEME: &str = "oomdoc_theme";
pub const LANGUAGE: &str = "oomdoc_language";

/// A request for a page: its visitor, and the language and theme to answer in.
pub struct PageRequest {
    /// The visitor; absent where identifying one was refused.
    pub visitor: Option<Visitor>,
    pub language: Language,
    theme: Theme,
    path: String,
    is_get: bool,
}

impl PageRequest {
    /// The request for a page that `request` is; `None` for one that does not accept HTML or goes to the API.
    pub fn of(server: &Server, request: &Request) -> Option<PageRequest> {
        let accepted = request.headers().get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
        let wants_page = accepted.is_some_and(|accepted| accepted.contains("text/html"));
        let path = request.uri().path();
        if !wants_page || path.starts_with("/api/") {
            return None;
        }
        let peer = request.extensions().get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
        let visitor = server.access.visitor(request.headers(), peer).ok();
        let path = request.uri().path_and_query().map_or(path, |path| path.as_str());
        Some(PageRequest::new(server, visitor, request.headers(), request.method(), path))
    }

    fn new(server: &Server, visitor: Option<Visitor>, headers: &HeaderMap, method: &Method, path: &str) -> PageRequest {
        let chosen = match cookie(headers, LANGUAGE) {
            Some("en") => Some(Language::En),
            Some("zh") => Some(Language::Zh),
            _ => accepted(headers),
        };
        PageRequest {
            visitor,
            language: chosen.unwrap_or(server.config.language),
            theme: cookie(headers, THEME).map(Theme::of).unwrap_or_default(),
            path: path.to_owned(),
            is_get: matches!(*method, Method::GET | Method::HEAD),
        }
    }

    /// What the views need to know of the visitor.
    pub fn viewer(&self) -> Viewer<'_> {
        let visitor = self.visitor.as_ref();
        Viewer {
            language: self.language,
            name: visitor.and_then(|visitor| visitor.name.as_deref()),
            may_write: visitor.is_some_and(|visitor| visitor.may(Scope::Write)),
            is_admin: visitor.is_some_and(|visitor| visitor.may(Scope::Admin)),
            csrf: visitor.map_or("", Visitor::csrf),
            theme: self.theme,
            // A form's own path cannot be fetched again.
            path: if self.is_get { &self.path } else { "/" },
        }
    }

    /// Answers with the page that `page` makes.
    pub fn page(&self, page: impl FnOnce(&Viewer<'_>) -> Markup) -> Response {
        Html(page(&self.viewer()).into_string()).into_response()
    }

    /// A page in place of the [`Problem`] that `response` carries; `None` where it carries none.
    pub fn page_for_problem(&self, response: &Response) -> Option<Response> {
        let told = response.extensions().get::<Problem>()?;
        let status = told.status();
        if status == StatusCode::UNAUTHORIZED && self.is_get {
            return Some(to(&address("/login", &[("back", &self.path)])));
        }
        let (detail, advice) = told.words();
        let shown = ProblemPage { status: status.as_u16(), detail, advice };
        let mut page = self.page(|viewer| problem(viewer, &shown));
        *page.status_mut() = status;
        for (name, value) in response.headers().iter().filter(|(name, _)| *name == header::RETRY_AFTER) {
            page.headers_mut().insert(name, value.clone());
        }
        Some(page)
    }
}

impl FromRequestParts<Arc<Server>> for PageRequest {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<PageRequest, Problem> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(PageRequest::new(server, visitor, &parts.headers, &parts.method, path))
    }
}

/// The first language in `Accept-Language` that the pages have.
fn accepted(headers: &HeaderMap) -> Option<Language> {
    let wanted = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
    wanted.split(',').find_map(|tag| match tag.trim().get(..2)?.to_ascii_lowercase().as_str() {
        "en" => Some(Language::En),
        "zh" => Some(Language::Zh),
        _ => None,
    })
}
