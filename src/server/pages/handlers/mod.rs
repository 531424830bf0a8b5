//! The handlers of pages. In: requests; out: pages, or redirects after a form. They gather from the server what a view
//! shows; no markup is made here.

mod admin;
mod change;
mod gather;
mod history;
mod page_request;
mod session;
mod upload;

use axum::extract::{DefaultBodyLimit, Path};
use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};

use crate::server::access::Scope;
use crate::server::problem::Problem;
use crate::server::routes::Route;
use crate::server::state::Server;
pub use page_request::PageRequest;
pub use upload::Uploads;

type PageResult = Result<Response, Problem>;
type To = MethodRouter<std::sync::Arc<Server>>;

/// All routes of pages and their forms.
pub fn routes() -> Vec<Route> {
    let look = |path, to: To| Route { path, method: Method::GET, need: Some(Scope::Read), about: None, to };
    let tell = |path, to: To| Route { path, method: Method::POST, need: Some(Scope::Write), about: None, to };
    let open = |path, method, to: To| Route { path, method, need: None, about: None, to };
    let rule = |route: Route| Route { need: Some(Scope::Admin), ..route };
    let write = |route: Route| Route { need: Some(Scope::Write), ..route };
    vec![
        open("/static/{file}", Method::GET, get(file)),
        open("/login", Method::GET, get(session::form)),
        open("/login", Method::POST, post(session::sign_in)),
        open("/logout", Method::POST, post(session::sign_out)),
        open("/preferences", Method::POST, post(session::prefer)),
        look("/", get(history::incidents)),
        look("/incidents/{id}", get(history::incident)),
        tell("/incidents/{id}/resolve", post(change::resolve)),
        tell("/incidents/{id}/reopen", post(change::reopen)),
        tell("/incidents/{id}/assign", post(change::assign)),
        tell("/incidents/{id}/tags", post(change::tag)),
        tell("/incidents/{id}/notes", post(change::note)),
        tell("/saved", post(change::save)),
        look("/groups", get(history::groups)),
        look("/groups/{key}", get(history::group)),
        look("/trends", get(history::trends)),
        look("/diff", get(history::diff)),
        write(look("/upload", get(upload::form))),
        // The handler counts the bytes while they arrive.
        tell("/upload", post(upload::from_form).layer(DefaultBodyLimit::disable())),
        tell("/upload/stream", post(upload::from_script)),
        write(look("/upload/{id}", get(upload::shown))),
        write(look("/upload/{id}/progress", get(upload::progress))),
        tell("/upload/{id}/keep", post(upload::keep)),
        rule(look("/dead-letters", get(admin::letters))),
        rule(tell("/dead-letters/retry", post(admin::retried))),
        rule(look("/audit", get(admin::audited))),
    ]
}

/// A stylesheet or script. Its name contains a digest of its content, so browsers may cache it for ever.
async fn file(Path(file): Path<String>) -> Result<Response, Problem> {
    let asset = super::asset(&format!("/static/{file}")).ok_or_else(|| Problem::not_found("there is no such file"))?;
    let kind = HeaderValue::from_static(asset.media_type);
    let keep = HeaderValue::from_static("public, max-age=31536000, immutable");
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, keep)], asset.text.as_str()).into_response())
}

/// A redirect that makes the browser GET `path`.
fn to(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// `path`, if it is a path on this server; otherwise `/`, so that a form cannot redirect elsewhere.
fn local(path: &str) -> &str {
    let is_ours =
        path.starts_with('/') && !path.starts_with("//") && !path.chars().any(|sign| sign == '\\' || sign.is_control());
    if is_ours { path } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for path in ["/", "/groups?show=new", "/incidents/1#resolve"] {
            assert_eq!(local(path), path);
        }
        for path in [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "",
            "javascript:alert(1)",
            "/a\r\nb",
            "/\t/evil.example",
        ] {
            assert_eq!(local(path), "/");
        }
    }
}
