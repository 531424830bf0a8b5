//! What all answers have in common.

use axum::body::{Body, HttpBody, to_bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

use super::problem::Problem;

/// Longer answers have no tag: they are written while they are sent.
const TAGGED: u64 = 8 << 20;
/// Nothing is fetched from elsewhere, framed, or run that stands in a page.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers that keep browsers from taking an answer for something else.
pub fn guard(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` browsers would not say that our own forms come from us.
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
}

/// `response`, or as a problem where it says in plain words what was wrong with the request: whoever reads a request for us answers so.
pub async fn explained(response: Response) -> Response {
    let is_plain =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let status = response.status();
    if !status.is_client_error() || !is_plain {
        return response;
    }
    let words = to_bytes(response.into_body(), TAGGED as usize).await.unwrap_or_default();
    Problem::refused(status, String::from_utf8_lossy(&words)).into_response()
}

/// `response` with a tag of what stands in it, or no more than that nothing changed for whoever has it already.
pub async fn tagged(response: Response, asked: &HeaderMap) -> Response {
    let is_short = response.body().size_hint().exact().is_some_and(|bytes| bytes <= TAGGED);
    if response.status() != StatusCode::OK || !is_short || response.headers().contains_key(header::ETAG) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, TAGGED as usize).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let tag = format!("\"{}\"", hexadecimal(&Sha256::digest(&bytes)[..12]));
    let is_known =
        asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|value| {
            value.split(',').any(|known| known.trim().trim_start_matches("W/") == tag || known.trim() == "*")
        });
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, tag);
    }
    if is_known {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}
