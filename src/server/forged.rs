//! Requests that a page elsewhere makes a browser send: what our own pages send carries what the session was given.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header;

use super::access::Visitor;
use super::problem::Problem;

/// The header in which our script carries it.
pub const HEADER: &str = "x-csrf-token";
/// The field in which our forms do.
pub const FIELD: &str = "csrf";

/// `request` as it came, if it is one of our own pages'; `most` are the bytes that a form may have.
pub async fn refuse(request: Request, visitor: &Visitor, most: usize) -> Result<Request, Problem> {
    if !visitor.must_carry(request.method()) {
        return Ok(request);
    }
    let foreign = || {
        Problem::forbidden("this was not sent by a page of this server")
            .advised("load the page again, and send it again")
    };
    if let Some(carried) = request.headers().get(HEADER) {
        return match carried.to_str().is_ok_and(|carried| visitor.gave(carried)) {
            true => Ok(request),
            false => Err(foreign()),
        };
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("multipart/form-data") {
        // Files are not read before it is known whose they are. Browsers say of these where they come from, which was compared.
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
    // It is of hexadecimal digits, which no form writes otherwise.
    let fields = body.split(|byte| *byte == b'&').filter_map(|field| field.strip_prefix(b"csrf="));
    let is_theirs = fields.filter_map(|value| std::str::from_utf8(value).ok()).any(|carried| visitor.gave(carried));
    match is_theirs {
        true => Ok(Request::from_parts(parts, Body::from(body))),
        false => Err(foreign()),
    }
}
