//! Small things that many pages show: times, badges, states, an incident in a row.

use maud::{Markup, html};

use super::Viewer;
use super::narrow::{address, clause};
use super::words::words;
use crate::history::{Document, State};
use crate::model::{Bytes, Kind};

/// An incident as lists show it.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// What the history says of it.
    pub document: &'a Document,
    /// How often its group was seen; absent where it has none.
    pub count: Option<u64>,
}

/// The state, as a word with a dot.
pub(super) fn state(state: State, viewer: &Viewer<'_>) -> Markup {
    let words = words(viewer.language);
    let (class, word) = match state {
        State::Open => ("open", words.open),
        State::Resolved => ("resolved", words.resolved),
        State::Reopened => ("reopened", words.reopened),
    };
    html! { span.state.(class) { (word) } }
}

/// What ran out.
pub(super) fn badge(kind: Kind, viewer: &Viewer<'_>) -> Markup {
    html! { span.badge.(family(kind)) title=(kind.as_str()) { (words(viewer.language).badge(kind)) } }
}

/// Whose memory it was.
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

/// Its day.
pub(super) fn day(time: &str) -> Markup {
    html! { time datetime=(time) title=(time) { (time.get(..10).unwrap_or(time)) } }
}

/// What every form carries.
pub(super) fn csrf(viewer: &Viewer<'_>) -> Markup {
    html! { input type="hidden" name="csrf" value=(viewer.csrf); }
}

/// The beginning of an id, as people write it.
pub(super) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// Where an incident is shown.
pub(super) fn incident_path(id: &str) -> String {
    format!("/incidents/{}", super::narrow::encoded(id))
}

/// Where a group is shown.
pub(super) fn group_path(key: &str) -> String {
    format!("/groups/{}", super::narrow::encoded(key))
}

/// A model without who published it.
pub(super) fn model_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// What was asked for, where the log states it: the figure and what it is.
pub(super) fn requested(bytes: Option<Bytes>) -> Markup {
    html! { @if let Some(bytes) = bytes { (bytes) } @else { span.nothing { "–" } } }
}

/// Tags, each a link to all that have it.
pub(super) fn tags(tags: &[String]) -> Markup {
    html! {
        @if !tags.is_empty() {
            span.tags { @for tag in tags { a.tag href=(address("/", &[("q", &clause("tag", tag))])) { "#" (tag) } } }
        }
    }
}

/// Nothing is there: that, and what to do.
pub(super) fn empty(what: &str, how: Markup) -> Markup {
    html! { div.empty { h2 { (what) } p { (how) } } }
}

/// A link that people wrote, where it is one that a browser may follow.
pub(super) fn outward(link: &str) -> Markup {
    let is_web = ["https://", "http://"].iter().any(|scheme| link.starts_with(scheme));
    html! { @if is_web { a href=(link) rel="noreferrer noopener" { (link) } } @else { (link) } }
}
