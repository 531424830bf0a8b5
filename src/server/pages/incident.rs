//! The page of an incident: its report, and beside it what people and the history say about it.

use maud::{Markup, html};

use super::Viewer;
use super::chart::{Weeks, sparkline};
use super::layout::{Tab, page};
use super::links::{address, clause};
use super::parts::{
    IncidentRow, badge, csrf, day, group_path, incident_path, model_name, outward, short, state, tags, time,
};
use super::words::{Words, words};
use crate::history::{Annotations, Likeness, Outcome, State};
use crate::model::Report;
use crate::report;

/// What the page of an incident shows.
#[derive(Debug, Clone)]
pub struct IncidentPage<'a> {
    /// The incident as lists show it.
    pub row: IncidentRow<'a>,
    /// Its report, in the reader's language.
    pub report: &'a Report,
    /// Tags, notes, assignee and the like.
    pub annotations: &'a Annotations,
    /// What was tried, the newest first.
    pub outcomes: &'a [Outcome],
    /// Similar incidents, the most similar first.
    pub similar: &'a [Likeness],
    /// Its group; absent where too little is known to group it.
    pub group: Option<IncidentGroup<'a>>,
}

/// The group of an incident.
#[derive(Debug, Clone, Copy)]
pub struct IncidentGroup<'a> {
    /// Its key.
    pub key: &'a str,
    /// What the incidents have in common: the parts of their fingerprint.
    pub parts: &'a [String],
    /// When the first one happened, RFC 3339.
    pub first: &'a str,
    /// When the last one did.
    pub last: &'a str,
    /// Counts by week, the oldest first.
    pub weeks: &'a [(String, u64)],
}

/// The page of an incident.
pub fn incident(viewer: &Viewer<'_>, shown: &IncidentPage<'_>) -> Markup {
    let words = words(viewer.language);
    let document = shown.row.document;
    let content = html! {
        p.crumbs { a href="/" { (words.incidents) } " / " code { (short(&document.id)) } }
        p.badges {
            (state(shown.row.document.state, viewer)) (badge(document.kind, viewer))
            span { (report::phase_name(document.phase, viewer.language).replace('_', " ")) }
            @for word in [document.model.as_deref().map(model_name), document.host.as_deref(), document.cluster.as_deref()].into_iter().flatten() { span { (word) } }
            (time(&document.time))
        }
        div.with-about {
            article.report { (report::embedded(shown.report, viewer.language)) }
            aside aria-label=(words.about_it) {
                (status(viewer, shown))
                (group(viewer, shown))
                (similar(viewer, shown))
                (outcomes(viewer, shown.outcomes))
                (annotations(viewer, shown))
                p { a href=(format!("/api/v1{}", incident_path(&document.id))) { (words.raw) } }
            }
        }
    };
    page(viewer, Tab::Incidents, &shown.report.summary, content)
}

fn status(viewer: &Viewer<'_>, shown: &IncidentPage<'_>) -> Markup {
    let words = words(viewer.language);
    let action = incident_path(&shown.row.document.id);
    html! {
        section {
            h2 { (words.state) }
            p { (state(shown.row.document.state, viewer)) @if let Some(change) = &shown.row.document.change { " " span.dim { (change) } } }
            p { span.dim { (words.assignee) ": " } @if let Some(assignee) = &shown.row.document.assignee { (assignee) } @else { span.dim { (words.nobody) } } }
            @if viewer.may_write {
                (resolve(viewer, shown, &action))
                @if shown.row.document.state == State::Resolved {
                    form method="post" action=(format!("{action}/reopen")) { (csrf(viewer)) button { (words.reopen) } }
                }
                details.action {
                    summary { (words.assign) }
                    form.inline method="post" action=(format!("{action}/assign")) {
                        (csrf(viewer))
                        label.hidden for="assignee" { (words.assignee) }
                        input #assignee name="assignee" maxlength="80" value=[shown.row.document.assignee.as_deref().or(viewer.name)];
                        button { (words.assign) }
                    }
                }
            }
        }
    }
}

/// The form that records what was done: one of the report's patches, or something in the user's own words.
fn resolve(viewer: &Viewer<'_>, shown: &IncidentPage<'_>, action: &str) -> Markup {
    let words = words(viewer.language);
    let patches = shown.report.incidents.first().map(report::numbered).unwrap_or_default();
    html! {
        details.action #resolve {
            summary { (words.resolve) }
            form.card method="post" action=(format!("{action}/resolve")) {
                (csrf(viewer))
                fieldset {
                    legend { (words.what_was_done) }
                    @for (number, patch) in (1..).zip(patches) {
                        label.choice { input type="radio" name="patch" value=(number) checked[number == 1]; code { (report::change(patch)) } }
                    }
                    label.choice { input type="radio" name="patch" value="" checked[shown.report.incidents.first().is_none_or(|incident| report::numbered(incident).is_empty())]; (words.in_own_words) }
                    label.hidden for="did" { (words.in_own_words) }
                    input #did name="did" maxlength="400";
                }
                fieldset.side-by-side {
                    legend.hidden { (words.tried) }
                    label.choice { input type="radio" name="worked" value="yes" checked; (words.it_worked) }
                    label.choice { input type="radio" name="worked" value="no"; (words.it_did_not) }
                }
                label for="outcome-note" { (words.note) }
                input #outcome-note name="note" maxlength="2000";
                label for="outcome-link" { (words.link) }
                input #outcome-link name="link" type="url" maxlength="2000" placeholder="https://";
                button.primary { (words.save) }
            }
        }
    }
}

fn group(viewer: &Viewer<'_>, shown: &IncidentPage<'_>) -> Markup {
    let words = words(viewer.language);
    html! {
        section {
            h2 { (words.group) }
            @match shown.group {
                None => p.dim { (words.alone) },
                Some(group) => {
                    p { a href=(group_path(group.key)) { code { (short(group.key)) } } @if let Some(count) = shown.row.count { " · " (count) "×" } }
                    (sparkline(Weeks(group.weeks), viewer))
                    dl.pairs {
                        dt { (words.first_seen) } dd { (day(group.first)) }
                        dt { (words.last_seen) } dd { (day(group.last)) }
                        dt { (words.grouped_by) } dd { (group.parts.join(", ")) }
                    }
                },
            }
        }
    }
}

fn similar(viewer: &Viewer<'_>, shown: &IncidentPage<'_>) -> Markup {
    let words = words(viewer.language);
    let id = &shown.row.document.id;
    html! {
        section {
            h2 { (words.similar) }
            @if shown.similar.is_empty() { p.dim { (words.nothing_similar) } } @else {
                ol.similar {
                    @for likeness in shown.similar {
                        @let other = &likeness.incident;
                        li {
                            p {
                                a href=(incident_path(&other.id)) { (other.title) } " "
                                span.score { (format!("{:.0}%", likeness.score * 100.0)) }
                            }
                            p.meta { (day(&other.time)) @if let Some(host) = &other.host { span { (host) } } }
                            ul.why { @for alike in &likeness.alike { li { (in_common(words, alike, viewer)) } } }
                            @if let (Some(true), Some(change)) = (other.worked, &other.change) { p.good { (words.solved_by(change)) } }
                            p { a.more href=(address("/diff", &[("a", id), ("b", &other.id)])) { (words.compare) } }
                        }
                    }
                }
            }
        }
    }
}

/// What two incidents have in common, in the reader's language.
fn in_common(words: &Words, alike: &str, viewer: &Viewer<'_>) -> String {
    if let Some(parts) = alike.strip_prefix("the same trouble: ") {
        return format!("{}: {parts}", words.the_same);
    }
    match alike.split_once(' ') {
        Some(("cause", cause)) => {
            let title = crate::knowledge::titles(cause).map_or(cause, |title| title.in_language(viewer.language));
            format!("{}: {title}", words.cause)
        }
        Some(("phase", name)) => {
            let name = name.parse().map_or(name, |phase| report::phase_name(phase, viewer.language));
            format!("{}: {}", words.phase, name.replace('_', " "))
        }
        Some(("kind", name)) => {
            format!("{}: {}", words.kind, name.parse().map_or(name, |kind| words.badge(kind)))
        }
        Some((name, value)) => format!("{}: {value}", words.field(name)),
        None => alike.to_owned(),
    }
}

fn outcomes(viewer: &Viewer<'_>, outcomes: &[Outcome]) -> Markup {
    let words = words(viewer.language);
    html! {
        section {
            h2 { (words.tried) }
            @if outcomes.is_empty() { p.dim { (words.nothing_tried) } } @else {
                ul.outcomes {
                    @for outcome in outcomes {
                        li {
                            p { span class=(if outcome.worked { "good" } else { "bad" }) { (if outcome.worked { words.worked } else { words.failed }) } " " code { (outcome.change) } }
                            @if let Some(peak) = outcome.peak { p.meta { @for told in peak.descriptions() { span { (told) } } } }
                            @if let Some(note) = &outcome.note { p { (note) } }
                            p.meta { (day(&outcome.time)) @if let Some(link) = &outcome.link { span { (outward(link)) } } }
                        }
                    }
                }
            }
        }
    }
}

fn annotations(viewer: &Viewer<'_>, shown: &IncidentPage<'_>) -> Markup {
    let words = words(viewer.language);
    let action = incident_path(&shown.row.document.id);
    let Annotations { job, tags: names, notes, .. } = shown.annotations;
    html! {
        section {
            h2 { (words.tags) }
            @if let Some(job) = job { p { span.dim { (words.job) ": " } a href=(address("/", &[("q", &clause("job", job))])) { (job) } } }
            p { (tags(names)) }
            @if viewer.may_write {
                form.inline method="post" action=(format!("{action}/tags")) {
                    (csrf(viewer))
                    label.hidden for="tags" { (words.tags) }
                    input #tags name="tags" maxlength="200" placeholder=(words.tags_hint);
                    button { (words.add) }
                }
            }
        }
        section {
            h2 { (words.notes) }
            @if !notes.is_empty() {
                ul.notes {
                    @for note in notes {
                        li {
                            @if !note.text.is_empty() { p { (note.text) } }
                            p.meta { (day(&note.time)) @if let Some(link) = &note.link { span { (outward(link)) } } }
                        }
                    }
                }
            }
            @if viewer.may_write && notes.len() < Annotations::MOST_NOTES {
                details.action open[notes.is_empty()] {
                    summary { (words.add_note) }
                    form.card method="post" action=(format!("{action}/notes")) {
                        (csrf(viewer))
                        label for="note" { (words.note) }
                        textarea #note name="note" rows="3" maxlength="2000" {}
                        label for="link" { (words.link) }
                        input #link type="url" name="link" maxlength="2000" placeholder="https://";
                        button { (words.add) }
                    }
                }
            }
        }
    }
}
