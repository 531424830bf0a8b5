use maud::{Markup, html};

use super::Viewer;
use super::layout::{Tab, page};
use super::words::words;

/// Why there is no page.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, in a few words.
    pub title: &'a str,
    /// What to do about it, where anything can be done.
    pub advice: Option<&'a str>,
    /// By what the server's log has it.
    pub request: Option<&'a str>,
}

/// A page that says what went wrong.
pub fn problem(viewer: &Viewer<'_>, problem: &Problem<'_>) -> Markup {
    let content = html! {
        div.narrow.problem-page {
            p.status aria-hidden="true" { (problem.status) }
            h1 { (problem.title) }
            @if let Some(advice) = problem.advice { p { (advice) } }
            @if let Some(request) = problem.request { p.dim { code { (request) } } }
            p { a.button href="/" { (words(viewer.language).to_incidents) } }
        }
    };
    page(viewer, Tab::Other, problem.title, content)
}
