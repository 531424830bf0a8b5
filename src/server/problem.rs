use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::keeper::KeeperError;
use crate::history::{HistoryError, IndexError};

/// Seconds after which a client that was refused may try again.
const AGAIN: u32 = 2;

/// Why a request was refused or failed, as problem details (RFC 9457).
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// A page of the documentation about problems of this kind; `about:blank` where there is none.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The kind of problem, in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What was wrong with this request.
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Problem {
    fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem { kind: "about:blank", title, status: status.as_u16(), detail: detail.into(), advice: None }
    }

    /// A request that an extractor refused with `status` before a handler saw it.
    pub fn refused(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem::new(status, "The request cannot be read", detail)
    }

    pub fn advised(self, advice: impl Into<String>) -> Problem {
        Problem { advice: Some(advice.into()), ..self }
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// What was wrong, and the advice.
    pub fn words(&self) -> (&str, Option<&str>) {
        (&self.detail, self.advice.as_deref())
    }

    pub fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "The request makes no sense", detail)
    }

    pub fn unauthorized(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNAUTHORIZED, "Nobody knows who asks", detail)
            .advised("sign in, or send `Authorization: Bearer TOKEN`; `oomdoc serve token create` makes a token")
    }

    pub fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "Not allowed", detail)
    }

    /// A request whose `Host` is not this server's.
    pub fn misdirected() -> Problem {
        Problem::new(StatusCode::MISDIRECTED_REQUEST, "Not for this server", "the server is not called so")
            .advised("`public_url` in oomdoc.toml, or --public-url, says by which name people reach it")
    }

    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "Not found", detail)
    }

    pub fn gone(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::GONE, "No longer known", detail)
    }

    pub fn too_large(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Too large", detail)
    }

    pub fn too_slow() -> Problem {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "Too slow", "nothing more came for too long")
    }

    pub fn unprocessable(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Nothing can be made of it", detail)
    }

    pub fn too_many(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests", detail).advised("come again a little later")
    }

    pub fn unavailable(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Not now", detail).advised("come again a little later")
    }

    /// A fault of the server. `error` goes to the server's log only.
    pub fn internal(error: &dyn std::fmt::Display) -> Problem {
        tracing::error!(%error, "a request failed");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "The server failed", "the server's log says why")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            headers.insert(header::RETRY_AFTER, AGAIN.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Problem {
        Problem::from(&error)
    }
}

impl From<&HistoryError> for Problem {
    fn from(error: &HistoryError) -> Problem {
        match error {
            HistoryError::NotFound { id } => Problem::not_found(format!("there is no incident `{id}`")),
            HistoryError::Ambiguous { .. } => Problem::not_found(error.to_string()).advised(error.advice()),
            HistoryError::Cursor { .. } | HistoryError::Mark { .. } | HistoryError::IndexName { .. } => {
                Problem::bad_request(error.to_string()).advised(error.advice())
            }
            HistoryError::Forgotten { .. } => Problem::gone(error.to_string()).advised(error.advice()),
            HistoryError::Query(error) => Problem::bad_request(error.to_string()).advised(error.advice()),
            HistoryError::NoSuchPatch { .. } | HistoryError::TooManyNotes { .. } | HistoryError::Line { .. } => {
                Problem::unprocessable(error.to_string()).advised(error.advice())
            }
            HistoryError::TooLarge { .. } => Problem::too_large(error.to_string()).advised(error.advice()),
            HistoryError::Store(_)
            | HistoryError::Json(_)
            | HistoryError::File { .. }
            | HistoryError::Index(_)
            | HistoryError::Backup { .. }
            | HistoryError::NotEmpty { .. } => Problem::internal(error),
        }
    }
}

impl From<KeeperError> for Problem {
    fn from(error: KeeperError) -> Problem {
        match error {
            KeeperError::History(error) => Problem::from(&*error),
            KeeperError::Busy | KeeperError::Stopped => Problem::unavailable(error.to_string()),
            KeeperError::Failed => Problem::internal(&error),
        }
    }
}

impl From<IndexError> for Problem {
    fn from(error: IndexError) -> Problem {
        Problem::internal(&error)
    }
}
