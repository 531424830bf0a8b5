//! Bar charts of weekly counts as SVG. A table or text beside each has the same numbers.

use maud::{Markup, html};

use super::Viewer;
use super::words::words;

/// How many incidents there were in each week, the oldest first, each named by its Monday.
#[derive(Debug, Clone, Copy)]
pub struct Weeks<'a>(pub &'a [(String, u64)]);

impl Weeks<'_> {
    /// Of all weeks.
    pub(super) fn total(self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn most(self) -> u64 {
        self.0.iter().map(|(_, count)| *count).max().unwrap_or(0)
    }
}

/// A chart for a row of a list; the last week stands out.
pub(super) fn sparkline(weeks: Weeks<'_>, viewer: &Viewer<'_>) -> Markup {
    const STEP: usize = 4;
    const HEIGHT: u64 = 20;
    let most = weeks.most().max(1);
    let label = words(viewer.language).in_weeks(weeks.total(), weeks.0.len());
    html! {
        svg.spark viewBox=(format!("0 0 {} {HEIGHT}", STEP * weeks.0.len().max(1))) preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (place, (monday, count)) in weeks.0.iter().enumerate() {
                // An empty week gets a bar of height 1.
                @let height = if *count == 0 { 1 } else { (count * (HEIGHT - 2)).div_ceil(most) + 1 };
                rect.none[*count == 0].last[place + 1 == weeks.0.len()] x=(STEP * place) y=(HEIGHT - height) width="3" height=(height) {
                    title { (monday) ": " (count) }
                }
            }
        }
    }
}

/// A chart of its own, scaled to `most`. The script shows a bar's number when it is pointed at; the table below has
/// them all.
pub(super) fn bars(name: &str, weeks: Weeks<'_>, most: u64, viewer: &Viewer<'_>) -> Markup {
    const STEP: usize = 12;
    const HEIGHT: u64 = 64;
    let words = words(viewer.language);
    let width = STEP * weeks.0.len().max(1);
    let most = most.max(1);
    let label = format!("{name}: {}", words.in_weeks(weeks.total(), weeks.0.len()));
    html! {
        svg.weeks viewBox=(format!("0 0 {width} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(label) {
            @for part in [2, 1] {
                @let height = HEIGHT - HEIGHT * part / 2;
                line.grid x1="0" x2=(width) y1=(height) y2=(height) {}
            }
            @for (place, (monday, count)) in weeks.0.iter().enumerate() {
                @let height = (count * (HEIGHT - 2)).div_ceil(most);
                g.week data-week=(words.week_of(monday)) data-count=(count) {
                    rect.room x=(STEP * place) y="0" width=(STEP) height=(HEIGHT) {}
                    rect.count x=(STEP * place + 1) y=(HEIGHT - height) width=(STEP - 2) height=(height) {}
                }
            }
        }
    }
}

/// The numbers of several charts as a table, for people who cannot see or point.
pub(super) fn table(caption: &str, rows: &[(&str, Weeks<'_>)], viewer: &Viewer<'_>) -> Markup {
    let words = words(viewer.language);
    let weeks = rows.first().map_or(&[][..], |(_, weeks)| weeks.0);
    html! {
        details.values {
            summary { (words.values) }
            div.scrolls tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption.hidden { (caption) }
                    thead {
                        tr {
                            th scope="col" { (words.week) }
                            @for (name, _) in rows { th.number scope="col" { (name) } }
                        }
                    }
                    tbody {
                        @for (place, (monday, _)) in weeks.iter().enumerate() {
                            tr {
                                th scope="row" { (monday) }
                                @for (_, weeks) in rows {
                                    td.number { @if let Some((_, count)) = weeks.0.get(place) { (count) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
