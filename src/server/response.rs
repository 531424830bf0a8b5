//! What all responses have in common: security headers, entity tags, problems as JSON.

use axum::body::{Body, HttpBody, to_bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

use super::problem::Problem;

/// Longer responses get no entity tag: they are streamed.
const TAGGED: u64 = 8 << 20;
/// Allows nothing from other hosts, no inline script or style, and no framing.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds the headers that keep browsers from misusing a response.
pub fn add_security_headers(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` browsers would not send the `Origin` of our own forms.
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
}

/// Turns a plain-text refusal of one of axum's extractors into a [`Problem`]; returns any other response unchanged.
pub async fn as_problem(response: Response) -> Response {
    let is_plain =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let status = response.status();
    if !status.is_client_error() || !is_plain {
        return response;
    }
    let words = to_bytes(response.into_body(), TAGGED as usize).await.unwrap_or_default();
    Problem::refused(status, String::from_utf8_lossy(&words)).into_response()
}

/// Adds an entity tag to a short successful response, or answers 304 if the client already has that entity.
pub async fn with_etag(response: Response, asked: &HeaderMap) -> Response {
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
