//! What people look at: pages that the server writes whole, with one style and one script of our own.
//!
//! In go plain values of the history and who looks ([`Viewer`]); out comes [`Markup`]. Nothing here reads a store, and whatever
//! stems from people or logs passes through maud's escaping: no page has a style or a script of its own.

mod admin;
mod answers;
mod assets;
mod chart;
mod compare;
mod groups;
mod incident;
mod incidents;
mod layout;
mod login;
mod narrow;
mod parts;
mod problem;
mod trends;
mod upload;
mod words;

pub use admin::{AuditRow, DeadLetter, audit, dead_letters};
pub use answers::{Asker, Uploads, routes};
pub use assets::asset;
pub use compare::{compare, compare_none};
pub use groups::{GroupList, GroupPage, GroupRow, GroupTab, group, groups};
pub use incident::{GroupOf, IncidentPage, incident};
pub use incidents::{Facet, IncidentList, Saved, incidents};
pub use login::login;
pub use parts::Row;
pub use problem::{Problem, problem};
pub use trends::{Fix, Series, TrendsPage, trends};
pub use upload::{Keeping, result, upload};

use crate::knowledge::Language;

/// Who looks at a page, and how they want it.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<'a> {
    /// What they read.
    pub language: Language,
    /// Their name, where they signed in.
    pub name: Option<&'a str>,
    /// Whether forms that change something are shown.
    pub may_write: bool,
    /// Whether pages for administrators are.
    pub is_admin: bool,
    /// What every form carries, so that no other site can send one.
    pub csrf: &'a str,
    /// Light or dark.
    pub theme: Theme,
    /// The page's own path and query, to come back to.
    pub path: &'a str,
}

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// As the system has it.
    #[default]
    System,
    /// Light, whatever the system has.
    Light,
    /// Dark, whatever the system has.
    Dark,
}

impl Theme {
    /// As the cookie says it.
    pub fn of(word: &str) -> Theme {
        match word {
            "light" => Theme::Light,
            "dark" => Theme::Dark,
            _ => Theme::System,
        }
    }

    /// As the page and the cookie say it; absent where the system decides.
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
