//! What only administrators see: work that the bot gave up, and the audit log.

use maud::{Markup, html};

use super::Viewer;
use super::layout::{Tab, page};
use super::parts::{csrf, empty, time};
use super::words::words;

/// Work that was given up after several attempts.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// Its key.
    pub id: String,
    /// What it was about: `github owner/name job 12`.
    pub hook: String,
    /// Why it failed the last time.
    pub problem: String,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was given up, RFC 3339.
    pub time: String,
}

/// One row of the audit log.
#[derive(Debug, Clone)]
pub struct AuditRow {
    /// When, RFC 3339.
    pub time: String,
    /// The name of the token or the person.
    pub who: String,
    /// The action: `resolve`, `token.add`.
    pub action: String,
    /// What it was done to.
    pub target: String,
    /// From which address.
    pub from: String,
}

/// The page of work that was given up, each with a button to try it again.
pub fn dead_letters(viewer: &Viewer<'_>, letters: &[DeadLetter]) -> Markup {
    let words = words(viewer.language);
    let content = html! {
        h1 { (words.dead_letters) }
        @if letters.is_empty() { (empty(words.no_letters, html! { (words.no_letters_how) })) } @else {
            div.scrolls tabindex="0" role="region" aria-label=(words.dead_letters) {
                table.rows {
                    thead {
                        tr {
                            th { (words.when) }
                            th { (words.hook) }
                            th { (words.problem) }
                            th.number { (words.attempts) }
                            th { span.hidden { (words.actions) } }
                        }
                    }
                    tbody {
                        @for letter in letters {
                            tr {
                                td { (time(&letter.time)) }
                                td { (letter.hook) }
                                td { (letter.problem) }
                                td.number { (letter.attempts) }
                                td {
                                    form method="post" action="/dead-letters/retry" {
                                        (csrf(viewer))
                                        button name="id" value=(letter.id) { (words.retry) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    page(viewer, Tab::DeadLetters, words.dead_letters, content)
}

/// The page of the audit log, the newest row first; `next` is the address of older rows.
pub fn audit(viewer: &Viewer<'_>, rows: &[AuditRow], next: Option<&str>) -> Markup {
    let words = words(viewer.language);
    let content = html! {
        h1 { (words.audit) }
        @if rows.is_empty() { (empty(words.no_audit, html! {})) } @else {
            div.scrolls tabindex="0" role="region" aria-label=(words.audit) {
                table.rows {
                    thead {
                        tr {
                            th { (words.when) }
                            th { (words.who) }
                            th { (words.did) }
                            th { (words.on) }
                            th { (words.from_where) }
                        }
                    }
                    tbody {
                        @for row in rows {
                            tr {
                                td { (time(&row.time)) }
                                td { (row.who) }
                                td { code { (row.action) } }
                                td { (row.target) }
                                td.dim { (row.from) }
                            }
                        }
                    }
                }
            }
            @if let Some(next) = next { nav.paging { a.button rel="next" href=(next) { (words.next_page) } } }
        }
    };
    page(viewer, Tab::Audit, words.audit, content)
}
