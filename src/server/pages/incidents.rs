//! The list of incidents that match a query, and the facets that narrow it.

use maud::{Markup, html};

use super::Viewer;
use super::layout::{Tab, page};
use super::links::{address, clause, contains_clause, toggle_clause};
use super::parts::{IncidentRow, badge, csrf, empty, incident_path, model_name, requested, short, state, tags, time};
use super::words::{Words, words};
use crate::history::{Order, QueryError};
use crate::knowledge::Language;
use crate::report;

/// Values shown per facet.
const VALUES: usize = 8;

/// A query and a page of its results.
#[derive(Debug, Clone)]
pub struct IncidentList<'a> {
    /// The query as typed.
    pub query: &'a str,
    /// Why the query cannot be read, if it cannot.
    pub error: Option<&'a QueryError>,
    /// The order of the rows.
    pub order: Order,
    /// The incidents on this page.
    pub rows: Vec<IncidentRow<'a>>,
    /// The number of matching incidents on all pages.
    pub total: u64,
    /// The facets by which the results can be narrowed.
    pub facets: Vec<Facet>,
    /// All saved queries.
    pub saved: &'a [SavedQuery],
    /// The cursor of this page; absent on the first.
    pub cursor: Option<&'a str>,
    /// The cursor of the next page; absent on the last.
    pub next: Option<&'a str>,
    /// Whether the history has no incident at all.
    pub is_empty: bool,
}

/// Values of a field, each with the number of incidents that have it.
#[derive(Debug, Clone)]
pub struct Facet {
    /// The field's name in queries; the values of `week` are Mondays.
    pub field: &'static str,
    /// The most frequent value first.
    pub values: Vec<(String, u64)>,
}

/// A saved query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedQuery {
    /// Its name.
    pub name: String,
    /// The query itself.
    pub query: String,
}

/// The page of incidents.
pub fn incidents(viewer: &Viewer<'_>, list: &IncidentList<'_>) -> Markup {
    let words = words(viewer.language);
    let content = html! {
        h1.hidden { (words.incidents) }
        (search(viewer, list))
        div.with-side {
            (side(viewer, list))
            section #results aria-label=(words.incidents) {
                (results(viewer, list))
            }
        }
    };
    page(viewer, Tab::Incidents, words.incidents, content)
}

fn search(viewer: &Viewer<'_>, list: &IncidentList<'_>) -> Markup {
    let words = words(viewer.language);
    html! {
        form.search role="search" method="get" action="/" {
            label.hidden for="q" { (words.search_label) }
            div.field {
                input #q type="search" name="q" value=(list.query) placeholder=(words.search_hint) autocomplete="off" spellcheck="false"
                    aria-invalid=[list.error.map(|_| "true")] aria-describedby=[list.error.map(|_| "query-error")];
                kbd aria-hidden="true" { "/" }
            }
            button.primary { (words.search) }
        }
        div #query-problem { @if let Some(error) = list.error { (query_error(words, error)) } }
    }
}

/// What is wrong with a query, with the place marked.
fn query_error(words: &Words, error: &QueryError) -> Markup {
    let (before, after) = {
        let at = error.query.char_indices().nth(error.column.saturating_sub(1)).map_or(error.query.len(), |(at, _)| at);
        error.query.split_at(at)
    };
    // Mark the whole word at the error's column.
    let end = after.find(char::is_whitespace).unwrap_or(after.len());
    let (word, rest) = after.split_at(end);
    html! {
        div.query-error #query-error role="alert" {
            p { strong { (words.no_such_query) } ": " (error.problem) " " span.dim { "(" (words.at_column(error.column)) ")" } }
            pre { (before) mark { (if word.is_empty() { " " } else { word }) } (rest) }
            p.dim { (error.advice()) }
        }
    }
}

fn side(viewer: &Viewer<'_>, list: &IncidentList<'_>) -> Markup {
    let words = words(viewer.language);
    html! {
        div.side #facets {
            @if !list.saved.is_empty() || viewer.may_write && !list.query.is_empty() { (saved(viewer, list)) }
            nav.facets aria-label=(words.narrow) {
                @for facet in list.facets.iter().filter(|facet| !facet.values.is_empty()) { (one_facet(viewer, list, facet)) }
            }
        }
    }
}

fn saved(viewer: &Viewer<'_>, list: &IncidentList<'_>) -> Markup {
    let words = words(viewer.language);
    html! {
        section.saved {
            h2 { (words.saved) }
            ul {
                @for saved in list.saved {
                    @let is_asked = saved.query == list.query;
                    li { a href=(address("/", &[("q", &saved.query)])) title=(saved.query) aria-current=[is_asked.then_some("true")] { (saved.name) } }
                }
            }
            @if viewer.may_write && !list.query.is_empty() && list.error.is_none() && !list.saved.iter().any(|saved| saved.query == list.query) {
                details {
                    summary { (words.save_query) }
                    form.inline method="post" action="/saved" {
                        (csrf(viewer))
                        input type="hidden" name="query" value=(list.query);
                        label.hidden for="saved-name" { (words.name) }
                        input #saved-name name="name" required maxlength="60" placeholder=(words.name);
                        button { (words.save) }
                    }
                }
            }
        }
    }
}

fn one_facet(viewer: &Viewer<'_>, list: &IncidentList<'_>, facet: &Facet) -> Markup {
    let words = words(viewer.language);
    let most = facet.values.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    html! {
        section {
            h2 { (words.field(facet.field)) }
            ul {
                @for (value, count) in facet.values.iter().take(VALUES) {
                    @let asked = clause(facet.field, value);
                    @let is_chosen = contains_clause(list.query, &asked);
                    li {
                        a href=(address("/", &[("q", &toggle_clause(list.query, &asked)), ("order", order_name(list.order))]))
                            aria-current=[is_chosen.then_some("true")] title=(value) {
                            @if is_chosen { span.hidden { (words.remove_filter) " " } }
                            span.value { (facet_value(facet.field, value, viewer.language)) }
                            span.count { (count) }
                            svg.share viewBox="0 0 100 2" preserveAspectRatio="none" aria-hidden="true" { rect width=(count * 100 / most) height="2" {} }
                        }
                    }
                }
            }
        }
    }
}

/// A facet's value as people read it.
fn facet_value(field: &str, value: &str, language: Language) -> String {
    match field {
        "kind" => value.parse().map_or_else(|_| value.to_owned(), |kind| words(language).badge(kind).to_owned()),
        "phase" => value
            .parse()
            .map_or_else(|_| value.to_owned(), |phase| report::phase_name(phase, language).replace('_', " ")),
        "cause" => crate::knowledge::titles(value).map_or(value, |title| title.in_language(language)).to_owned(),
        "model" => model_name(value).to_owned(),
        _ => value.to_owned(),
    }
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Time => "",
        Order::Relevance => "relevance",
    }
}

fn results(viewer: &Viewer<'_>, list: &IncidentList<'_>) -> Markup {
    let words = words(viewer.language);
    html! {
        div.list-head {
            p.count role="status" { @if list.error.is_none() { (words.counted(list.total)) } }
            a.to-facets href="#facets" { (words.narrow) }
            nav.order aria-label=(words.order) {
                @for (order, name) in [(Order::Time, words.newest), (Order::Relevance, words.best)] {
                    a href=(address("/", &[("q", list.query), ("order", order_name(order))]))
                        aria-current=[(order == list.order).then_some("true")] { (name) }
                }
            }
        }
        @if list.is_empty {
            (empty(words.nothing_yet, html! {
                (words.nothing_yet_how) " " a href="/upload" { (words.upload) } br; code { "oomdoc analyze job.log --server URL" }
            }))
        } @else if list.rows.is_empty() && list.error.is_none() {
            (empty(words.nothing_found, html! { (words.nothing_found_how) " " a href="/" { (words.all_incidents) } }))
        } @else if !list.rows.is_empty() {
            (rows(viewer, &list.rows))
        }
        @if list.cursor.is_some() || list.next.is_some() {
            nav.paging {
                @if list.cursor.is_some() { a.button href=(address("/", &[("q", list.query), ("order", order_name(list.order))])) { (words.first_page) } }
                @if let Some(next) = list.next {
                    a.button rel="next" href=(address("/", &[("q", list.query), ("order", order_name(list.order)), ("cursor", next)])) { (words.next_page) }
                }
            }
        }
    }
}

/// Rows of incidents, with a head.
pub(super) fn rows(viewer: &Viewer<'_>, rows: &[IncidentRow<'_>]) -> Markup {
    let words = words(viewer.language);
    html! {
        div.row.head aria-hidden="true" {
            span { (words.what) }
            span.number { (words.requested) }
            span.number { (words.seen) }
            span { (words.state) }
            span { (words.assignee) }
            span.number { (words.when) }
        }
        ol.list { @for row in rows { (one_row(viewer, row)) } }
    }
}

fn one_row(viewer: &Viewer<'_>, row: &IncidentRow<'_>) -> Markup {
    let words = words(viewer.language);
    let IncidentRow { document, count, .. } = *row;
    html! {
        li.row {
            div.what {
                a.title href=(incident_path(&document.id)) { (document.title) }
                p.meta {
                    (badge(document.kind, viewer))
                    span.id { (short(&document.id)) }
                    span { (report::phase_name(document.phase, viewer.language).replace('_', " ")) }
                    @for word in [document.model.as_deref().map(model_name), document.host.as_deref(), document.job.as_deref()].into_iter().flatten() {
                        span { (word) }
                    }
                    (tags(&document.tags))
                }
            }
            span.number.requested { span.hidden { (words.requested) " " } (requested(document.requested)) }
            span.number.seen { span.hidden { (words.seen) " " } @if let Some(count) = count { (count) "×" } @else { span.nothing { "–" } } }
            span.of-state { (state(document.state, viewer)) }
            span.assignee { @if let Some(assignee) = &document.assignee { (assignee) } @else { span.nothing { span.hidden { (words.unassigned) } span aria-hidden="true" { "–" } } } }
            span.number.time { (time(&document.time)) }
        }
    }
}
