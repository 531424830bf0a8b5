//! Protection against cross-site request forgery. In: a request and its visitor; out: the request, or a refusal if a
//! browser attached the credentials by itself and the CSRF token of the visitor's session is missing.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header;

use super::access::Visitor;
use super::problem::Problem;

/// The header in which our script sends the token.
pub const HEADER: &str = "x-csrf-token";
/// The form field in which our forms send it.
pub const FIELD: &str = "csrf";

/// `request` unchanged, if it needs no CSRF token or carries the right one. At most `most` bytes of a form are read.
pub async fn check(request: Request, visitor: &Visitor, most: usize) -> Result<Request, Problem> {
    if !visitor.needs_csrf_token(request.method()) {
        return Ok(request);
    }
    let foreign = || {
        Problem::forbidden("this was not sent by a page of this server")
            .advised("load the page again, and send it again")
    };
    if let Some(carried) = request.headers().get(HEADER) {
        return match carried.to_str().is_ok_and(|carried| visitor.matches_csrf_token(carried)) {
            true => Ok(request),
            false => Err(foreign()),
        };
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("multipart/form-data") {
        // An upload is not buffered here; its handler checks the token's field, which comes first. Browsers send
        // `Origin` with it, which was compared already.
        return match request.headers().contains_key(header::ORIGIN) {
            true => Ok(request),
            false => Err(foreign()),
        };
    }
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return Err(foreign());
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, most).await.map_err(|_| Problem::too_large(format!("a form may have {most} bytes")))?;
    // The token consists of hexadecimal digits, which no form encodes.
    let fields = body.split(|byte| *byte == b'&').filter_map(|field| field.strip_prefix(b"csrf="));
    let is_theirs =
        fields.filter_map(|value| std::str::from_utf8(value).ok()).any(|carried| visitor.matches_csrf_token(carried));
    match is_theirs {
        true => Ok(Request::from_parts(parts, Body::from(body))),
        false => Err(foreign()),
    }
}
