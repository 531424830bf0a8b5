use maud::{Markup, html};

use super::Viewer;
use super::layout::{Tab, page};
use super::words::words;

/// Why there is no page.
#[derive(Debug, Clone, Copy)]
pub struct ProblemPage<'a> {
    /// The HTTP status.
    pub status: u16,
    /// What went wrong.
    pub detail: &'a str,
    /// What to do about it, where anything can be done.
    pub advice: Option<&'a str>,
}

/// The page that says what went wrong.
pub fn problem(viewer: &Viewer<'_>, problem: &ProblemPage<'_>) -> Markup {
    let title = words(viewer.language).status(problem.status);
    let content = html! {
        div.narrow.problem-page {
            p.status aria-hidden="true" { (problem.status) }
            h1 { (title) }
            p { (problem.detail) }
            @if let Some(advice) = problem.advice { p.dim { (advice) } }
            p { a.button href="/" { (words(viewer.language).to_incidents) } }
        }
    };
    page(viewer, Tab::Other, title, content)
}
