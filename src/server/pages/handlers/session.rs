use std::sync::Arc;

use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::super::{Theme, login};
use super::page_request::{LANGUAGE, PageRequest, THEME};
use super::{local, to};
use crate::server::access::{COOKIE, LIFETIME, Visitor};
use crate::server::problem::Problem;
use crate::server::state::Server;

/// How long the cookies of theme and language last, in seconds: a year.
const YEAR: i64 = 365 * 86_400;

/// Where to go after signing in.
#[derive(Deserialize)]
pub struct LoginQuery {
    #[serde(default)]
    back: String,
}

/// A token, and where to go after signing in.
#[derive(Deserialize)]
pub struct LoginForm {
    token: String,
    #[serde(default)]
    back: String,
}

/// A theme or language that was chosen, and where to go then.
#[derive(Deserialize)]
pub struct PreferenceForm {
    theme: Option<String>,
    language: Option<String>,
    #[serde(default)]
    back: String,
}

/// The form to sign in.
pub async fn form(request: PageRequest, Query(wanted): Query<LoginQuery>) -> Response {
    request.page(|viewer| login(viewer, local(&wanted.back), false))
}

/// Begins a session.
pub async fn sign_in(
    State(server): State<Arc<Server>>,
    request: PageRequest,
    axum::Extension(visitor): axum::Extension<Visitor>,
    Form(presented): Form<LoginForm>,
) -> Result<Response, Problem> {
    let LoginForm { token, back } = presented;
    let asked = Arc::clone(&server);
    let address = visitor.address;
    // Verifying a token takes long on purpose.
    let begun = tokio::task::spawn_blocking(move || asked.access.sign_in(&token, address)).await;
    match begun.map_err(|error| Problem::internal(&error))? {
        Ok(value) => Ok(with_cookie(to(local(&back)), &server, COOKIE, &value, LIFETIME)),
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            let page = request.page(|viewer| login(viewer, local(&back), true));
            Ok((StatusCode::UNAUTHORIZED, page).into_response())
        }
        Err(problem) => Err(problem),
    }
}

/// Ends a session.
pub async fn sign_out(State(server): State<Arc<Server>>, headers: HeaderMap) -> Result<Response, Problem> {
    server.access.sign_out(&headers)?;
    Ok(with_cookie(to("/login"), &server, COOKIE, "", 0))
}

/// Keeps a theme or language in a cookie.
pub async fn prefer(State(server): State<Arc<Server>>, Form(preferred): Form<PreferenceForm>) -> Response {
    let mut response = to(local(&preferred.back));
    if let Some(theme) = preferred.theme.as_deref().and_then(|theme| Theme::of(theme).name()) {
        response = with_cookie(response, &server, THEME, theme, YEAR);
    }
    if let Some(language) = preferred.language.as_deref().filter(|language| ["en", "zh"].contains(language)) {
        response = with_cookie(response, &server, LANGUAGE, language, YEAR);
    }
    response
}

fn with_cookie(mut response: Response, server: &Server, name: &str, value: &str, seconds: i64) -> Response {
    let secure = if server.config.is_secure() { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    if let Ok(cookie) = cookie.parse() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
