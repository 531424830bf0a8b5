//! The pages for people, rendered whole by the server, with one stylesheet and one script.
//!
//! In: plain values and the [`Viewer`]. Out: [`Markup`]. Views read no store, and whatever comes from people or logs
//! passes through maud's escaping: no page has a style or a script of its own.

mod admin;
mod assets;
mod chart;
mod compare;
mod groups;
mod handlers;
mod incident;
mod incidents;
mod layout;
mod links;
mod login;
mod parts;
mod problem;
mod trends;
mod upload;
mod words;

pub use admin::{AuditRow, DeadLetter, audit, dead_letters};
pub use assets::asset;
pub use compare::{compare, compare_none};
pub use groups::{GroupList, GroupPage, GroupRow, GroupTab, group, groups};
pub use handlers::{PageRequest, Uploads, routes};
pub use incident::{IncidentGroup, IncidentPage, incident};
pub use incidents::{Facet, IncidentList, SavedQuery, incidents};
pub use login::login;
pub use parts::IncidentRow;
pub use problem::{ProblemPage, problem};
pub use trends::{Fix, Series, TrendsPage, trends};
pub use upload::{Keeping, result, upload};

use crate::knowledge::Language;

/// Who looks at a page, and in which language and theme.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<'a> {
    /// The language of the page.
    pub language: Language,
    /// The name of the token or person; absent for an anonymous viewer.
    pub name: Option<&'a str>,
    /// Whether to show forms that change something.
    pub may_write: bool,
    /// Whether to show the pages for administrators.
    pub is_admin: bool,
    /// The CSRF token for every form.
    pub csrf: &'a str,
    /// The chosen theme.
    pub theme: Theme,
    /// The page's path and query, to come back to after a form.
    pub path: &'a str,
}

/// The colours of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// What the system prefers.
    #[default]
    System,
    /// Light, whatever the system prefers.
    Light,
    /// Dark, whatever the system prefers.
    Dark,
}

impl Theme {
    /// The theme that the cookie names.
    pub fn of(word: &str) -> Theme {
        match word {
            "light" => Theme::Light,
            "dark" => Theme::Dark,
            _ => Theme::System,
        }
    }

    /// The theme's name in the page and the cookie; absent where the system decides.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Theme::System => None,
            Theme::Light => Some("light"),
            Theme::Dark => Some("dark"),
        }
    }
}

#[cfg(test)]
mod tests;
