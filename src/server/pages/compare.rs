//! Two incidents side by side, with what differs marked.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::Viewer;
use super::layout::{Tab, page};
use super::parts::{incident_path, short};
use super::words::{Words, words};
use crate::history::Record;
use crate::knowledge::{Language, titles};
use crate::model::{Bytes, FigureName};
use crate::report;

/// One of the two incidents.
type Side<'a> = &'a Record;

/// A line of the comparison; a side is absent where its value is not known.
struct Line {
    name: String,
    a: Option<String>,
    b: Option<String>,
}

impl Line {
    fn differs(&self) -> bool {
        self.a != self.b
    }
}

/// The page that compares two incidents.
pub fn compare(viewer: &Viewer<'_>, a: Side<'_>, b: Side<'_>) -> Markup {
    let words = words(viewer.language);
    let sections = [
        (words.what, happened(viewer.language, words, a, b)),
        (words.job, job(words, a, b)),
        (words.settings, settings(a, b)),
        (words.figures, figures(viewer.language, a, b)),
    ];
    let differing = sections.iter().flat_map(|(_, lines)| lines).filter(|line| line.differs()).count();
    let content = html! {
        h1 { (words.compared) }
        p.dim { (words.rows_differ(differing)) }
        div.scrolls tabindex="0" role="region" aria-label=(words.compared) {
            table.rows.compared {
                thead {
                    tr {
                        th { span.hidden { (words.name) } }
                        @for (which, side) in [(words.first, a), (words.second, b)] {
                            th scope="col" { (which) " " a href=(incident_path(&side.incident.id)) { code { (short(&side.incident.id)) } } }
                        }
                    }
                }
                @for (heading, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
                    tbody {
                        tr { th.section colspan="3" scope="rowgroup" { (heading) } }
                        @for line in lines { (one(words, line)) }
                    }
                }
            }
        }
    };
    page(viewer, Tab::Incidents, words.compared, content)
}

/// A form for the ids of two incidents.
pub fn compare_none(viewer: &Viewer<'_>, a: &str, b: &str) -> Markup {
    let words = words(viewer.language);
    let content = html! {
        div.narrow {
            h1 { (words.choose_two) }
            form.card method="get" action="/diff" {
                label for="a" { (words.first) }
                input #a name="a" value=(a) required spellcheck="false";
                label for="b" { (words.second) }
                input #b name="b" value=(b) required spellcheck="false";
                button.primary { (words.compare) }
            }
        }
    };
    page(viewer, Tab::Incidents, words.choose_two, content)
}

fn one(words: &Words, line: &Line) -> Markup {
    let cell = |value: &Option<String>| html! { @if let Some(value) = value { (value) } @else { span.nothing { span.hidden { (words.not_known) } span aria-hidden="true" { "–" } } } };
    html! {
        tr.differs[line.differs()] {
            th scope="row" { (line.name) @if line.differs() { span.hidden { " (" (words.differs) ")" } } }
            td { (cell(&line.a)) }
            td { (cell(&line.b)) }
        }
    }
}

/// A line with what `of` says of both sides; none where it says nothing of either.
fn line(name: &str, a: Side<'_>, b: Side<'_>, of: impl Fn(Side<'_>) -> Option<String>) -> Option<Line> {
    let (a, b) = (of(a), of(b));
    (a.is_some() || b.is_some()).then(|| Line { name: name.to_owned(), a, b })
}

fn happened(language: Language, words: &Words, a: Side<'_>, b: Side<'_>) -> Vec<Line> {
    let cause = |side: Side<'_>| {
        let first = side.incident.diagnoses.first()?;
        let title = titles(&first.cause).map_or(first.title.as_str(), |title| title.in_language(language));
        Some(format!("{title} ({:.0}%)", first.confidence * 100.0))
    };
    let lines = [
        line(words.kind, a, b, |side| Some(words.badge(side.incident.kind).to_owned())),
        line(words.cause, a, b, cause),
        line(words.phase, a, b, |side| Some(report::phase_name(side.incident.phase.name, language).replace('_', " "))),
        line(words.site, a, b, |side| side.incident.phase.site.clone()),
        line(words.role, a, b, |side| side.incident.victim.role.as_deref().map(str::to_owned)),
        line(words.host, a, b, |side| side.incident.victim.host.as_deref().map(str::to_owned)),
        line(words.group, a, b, |side| Some(side.group())),
        line(words.when, a, b, |side| Some(side.time.clone())),
    ];
    lines.into_iter().flatten().collect()
}

fn job(words: &Words, a: Side<'_>, b: Side<'_>) -> Vec<Line> {
    let framework = |side: Side<'_>| {
        let version = side.job.framework_version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        Some(format!("{}{version}", side.job.framework.as_deref()?))
    };
    let lines = [
        line(words.job, a, b, |side| side.annotations.job.clone()),
        line(words.framework, a, b, framework),
        line(words.model, a, b, |side| side.job.model.clone()),
        line(words.parameters, a, b, |side| Some(side.job.parameters?.to_string())),
        line(words.world_size, a, b, |side| Some(side.job.world_size?.to_string())),
        line(words.gpu, a, b, |side| side.job.gpu.clone()),
        line(words.config_digest, a, b, |side| side.job.config_digest.clone()),
    ];
    lines.into_iter().flatten().collect()
}

/// The settings that the patches of either report name, with their values at the time.
fn settings(a: Side<'_>, b: Side<'_>) -> Vec<Line> {
    let of = |side: Side<'_>| -> BTreeMap<String, String> {
        let patches = side.incident.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
        patches.filter_map(|patch| Some((patch.knob.clone(), patch.from.clone()?))).collect()
    };
    let (of_a, of_b) = (of(a), of(b));
    let knobs: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    let line = |knob: &String| Line { name: knob.clone(), a: of_a.get(knob).cloned(), b: of_b.get(knob).cloned() };
    knobs.into_iter().map(line).collect()
}

fn figures(language: Language, a: Side<'_>, b: Side<'_>) -> Vec<Line> {
    let amount = |side: Side<'_>, name: FigureName| {
        let figure = side.incident.figures.iter().find(|figure| figure.name == name)?;
        figure.bytes.map(|bytes: Bytes| bytes.to_string()).or_else(|| figure.value.map(|value| value.to_string()))
    };
    let lines = FigureName::ALL.iter().filter(|name| **name != FigureName::Other);
    lines.filter_map(|name| line(report::figure_name(*name, language), a, b, |side| amount(side, *name))).collect()
}
