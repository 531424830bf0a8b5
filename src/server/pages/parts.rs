//! Small things that many pages show: times, badges, states, an incident in a row.

use maud::{Markup, html};

use super::Viewer;
use super::links::{address, clause};
use super::words::words;
use crate::history::{Document, State};
use crate::model::{Bytes, Kind};

/// An incident as lists show it.
#[derive(Debug, Clone, Copy)]
pub struct IncidentRow<'a> {
    /// What the history's index says of it.
    pub document: &'a Document,
    /// The number of incidents in its group; absent without a group.
    pub count: Option<u64>,
}

/// The state as a word with a dot.
pub(super) fn state(state: State, viewer: &Viewer<'_>) -> Markup {
    let words = words(viewer.language);
    let (class, word) = match state {
        State::Open => ("open", words.open),
        State::Resolved => ("resolved", words.resolved),
        State::Reopened => ("reopened", words.reopened),
    };
    html! { span.state.(class) { (word) } }
}

/// What ran out, as a badge.
pub(super) fn badge(kind: Kind, viewer: &Viewer<'_>) -> Markup {
    html! { span.badge.(family(kind)) title=(kind.as_str()) { (words(viewer.language).badge(kind)) } }
}

/// The style class of a badge: whose memory ran out.
fn family(kind: Kind) -> &'static str {
    match kind {
        Kind::GpuOom => "of-gpu",
        Kind::ShmExhausted => "of-shm",
        Kind::SigkillUnattributed | Kind::None => "of-none",
        _ => "of-host",
    }
}

/// A moment in UTC, to the minute.
pub(super) fn time(time: &str) -> Markup {
    html! { time datetime=(time) title=(time) { (time.get(..16).unwrap_or(time).replace('T', " ")) } }
}

/// The day of a moment.
pub(super) fn day(time: &str) -> Markup {
    html! { time datetime=(time) title=(time) { (time.get(..10).unwrap_or(time)) } }
}

/// The hidden field with the CSRF token.
pub(super) fn csrf(viewer: &Viewer<'_>) -> Markup {
    html! { input type="hidden" name="csrf" value=(viewer.csrf); }
}

/// The first eight characters of an id, as people write it.
pub(super) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// The path of an incident's page.
pub(super) fn incident_path(id: &str) -> String {
    format!("/incidents/{}", super::links::encoded(id))
}

/// The path of a group's page.
pub(super) fn group_path(key: &str) -> String {
    format!("/groups/{}", super::links::encoded(key))
}

/// A model's name without its publisher.
pub(super) fn model_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// The requested bytes, or a dash where the log does not state them.
pub(super) fn requested(bytes: Option<Bytes>) -> Markup {
    html! { @if let Some(bytes) = bytes { (bytes) } @else { span.nothing { "–" } } }
}

/// Tags, each a link to the incidents that have it.
pub(super) fn tags(tags: &[String]) -> Markup {
    html! {
        @if !tags.is_empty() {
            span.tags { @for tag in tags { a.tag href=(address("/", &[("q", &clause("tag", tag))])) { "#" (tag) } } }
        }
    }
}

/// A notice that there is nothing to show, and what to do.
pub(super) fn empty(what: &str, how: Markup) -> Markup {
    html! { div.empty { h2 { (what) } p { (how) } } }
}

/// A link that people wrote; plain text unless its scheme is http or https.
pub(super) fn outward(link: &str) -> Markup {
    let is_web = ["https://", "http://"].iter().any(|scheme| link.starts_with(scheme));
    html! { @if is_web { a href=(link) rel="noreferrer noopener" { (link) } } @else { (link) } }
}
