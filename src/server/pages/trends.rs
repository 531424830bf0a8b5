//! The page of trends: counts by week, and what fixed what.

use maud::{Markup, html};

use super::Viewer;
use super::chart::{Weeks, bars, table};
use super::layout::{Tab, page};
use super::links::{address, clause};
use super::parts::{day, empty, model_name};
use super::words::words;
use crate::knowledge::titles;

/// Charts per section: nobody compares more.
const CHARTS: usize = 8;

/// What the page of trends shows.
#[derive(Debug, Clone, Default)]
pub struct TrendsPage {
    /// All incidents by week.
    pub all: Vec<(String, u64)>,
    /// By likeliest cause, the most frequent first.
    pub causes: Vec<Series>,
    /// By cluster.
    pub clusters: Vec<Series>,
    /// By model.
    pub models: Vec<Series>,
    /// What was tried against what, the most successful first.
    pub fixes: Vec<Fix>,
}

/// Counts of one cause, cluster or model by week, the oldest first. All series cover the same weeks.
#[derive(Debug, Clone)]
pub struct Series {
    /// The cause, cluster or model.
    pub name: String,
    /// Each week by its Monday.
    pub weeks: Vec<(String, u64)>,
}

/// A change, and how often it made a cause go away.
#[derive(Debug, Clone)]
pub struct Fix {
    /// The cause; absent where the change was tried against none in particular.
    pub cause: Option<String>,
    /// The change.
    pub change: String,
    /// How often it helped.
    pub worked: u64,
    /// How often it did not.
    pub failed: u64,
    /// When this was last reported, RFC 3339.
    pub last: String,
}

/// The page of trends.
pub fn trends(viewer: &Viewer<'_>, shown: &TrendsPage) -> Markup {
    let words = words(viewer.language);
    let all = Weeks(&shown.all);
    let sorts = [
        ("cause", words.by_cause, &shown.causes),
        ("cluster", words.by_cluster, &shown.clusters),
        ("model", words.by_model, &shown.models),
    ];
    let content = html! {
        h1 { (words.trends) }
        @if all.total() == 0 { (empty(words.no_trends, html! { (words.nothing_yet_how) " " a href="/upload" { (words.upload) } })) } @else {
            section.trend {
                h2 { (words.incidents_a_week) }
                div.chart.wide { (bars(words.incidents_a_week, all, all.most(), viewer)) output.hint aria-live="off" { (words.in_weeks(all.total(), all.0.len())) } }
                (table(words.incidents_a_week, &[(words.incidents, all)], viewer))
            }
            @for (field, heading, series) in sorts {
                @if !series.is_empty() { (multiples(viewer, field, heading, series)) }
            }
        }
        section.trend {
            h2 { (words.what_fixed_what) }
            (fixes(viewer, &shown.fixes))
        }
    };
    page(viewer, Tab::Trends, words.trends, content)
}

/// Small charts on one scale, so that their heights can be compared.
fn multiples(viewer: &Viewer<'_>, field: &str, heading: &str, series: &[Series]) -> Markup {
    let shown = &series[..series.len().min(CHARTS)];
    let most = shown.iter().map(|series| Weeks(&series.weeks).most()).max().unwrap_or(0);
    let names: Vec<String> = shown.iter().map(|series| named(viewer, field, &series.name)).collect();
    let rows: Vec<(&str, Weeks<'_>)> =
        names.iter().zip(shown).map(|(name, series)| (name.as_str(), Weeks(&series.weeks))).collect();
    html! {
        section.trend {
            h2 { (heading) }
            ul.multiples {
                @for ((name, weeks), series) in rows.iter().zip(shown) {
                    li.chart {
                        h3 {
                            a href=(address("/", &[("q", &clause(field, &series.name))])) title=(series.name) { (name) }
                            span.count { (weeks.total()) }
                        }
                        (bars(name, *weeks, most, viewer))
                        output.hint aria-live="off" {}
                    }
                }
            }
            (table(heading, &rows, viewer))
        }
    }
}

fn named(viewer: &Viewer<'_>, field: &str, name: &str) -> String {
    match field {
        "cause" => titles(name).map_or(name, |title| title.in_language(viewer.language)).to_owned(),
        "model" => model_name(name).to_owned(),
        _ => name.to_owned(),
    }
}

fn fixes(viewer: &Viewer<'_>, fixes: &[Fix]) -> Markup {
    let words = words(viewer.language);
    html! {
        @if fixes.is_empty() { p.dim { (words.no_fixes) } } @else {
            div.scrolls tabindex="0" role="region" aria-label=(words.what_fixed_what) {
                table.rows {
                    thead {
                        tr {
                            th scope="col" { (words.cause) }
                            th scope="col" { (words.change) }
                            th.number scope="col" { (words.worked) }
                            th.number scope="col" { (words.failed) }
                            th.number scope="col" { (words.last_seen) }
                        }
                    }
                    tbody {
                        @for fix in fixes {
                            tr {
                                td { @if let Some(cause) = &fix.cause { a href=(address("/", &[("q", &clause("cause", cause))])) { (named(viewer, "cause", cause)) } } @else { span.nothing { "–" } } }
                                td { code { (fix.change) } }
                                td.number.good { (fix.worked) }
                                td.number { (fix.failed) }
                                td.number { (day(&fix.last)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
