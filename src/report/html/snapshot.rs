//! Memory snapshots: pictures of memory in use over the trace by purpose and of the fill of each segment, and tables of
//! the rest.

use maud::{Markup, html};

use super::super::details::place_of;
use super::super::snapshot::{self, SnapshotWords, category, words};
use super::super::wording;
use super::plain;
use crate::knowledge::Language;
use crate::model::{Bytes, HistoryPoint, Report, SegmentUse, Snapshot, SnapshotMoment};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 260.0;
/// The margins around the plot; the left one is for the scale.
const LEFT: f64 = 70.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
/// The number of purposes with a colour of their own; the last colour is for the others.
const COLORS: usize = 5;
/// The most snapshots that are shown; the first is open.
const SHOWN: usize = 8;
/// The most segments that are shown.
const SEGMENTS: usize = 24;
const SEGMENT: f64 = 16.0;

/// Everything that the snapshots of `report` show.
pub(super) fn snapshots(report: &Report, language: Language) -> Markup {
    let snapshots = snapshot::ordered(report);
    let words = words(language);
    html! {
        @if !snapshots.is_empty() {
            h2 { (words.heading) }
            @for (place, shown) in snapshots.iter().take(SHOWN).enumerate() {
                details open[place == 0] {
                    summary { (snapshot::headline(shown, language)) " " code.dim { (plain(&shown.path)) } }
                    (one(shown, language))
                }
            }
            @if snapshots.len() > SHOWN { p.dim { ((wording::labels(language).more_in_json)(snapshots.len() - SHOWN)) } }
        }
    }
}

fn one(shown: &Snapshot, language: Language) -> Markup {
    let words = words(language);
    let labels = wording::labels(language);
    html! {
        @if let Some(fragmented) = snapshot::fragmented(shown, language) { p { strong { (fragmented) } } }
        (history(shown, language))
        h3 { (words.categories) }
        table {
            @for used in shown.categories.iter().filter(|used| used.bytes > Bytes(0)) {
                tr {
                    td { (category(&used.name, language)) }
                    td.number { (used.bytes) }
                    td.dim { ((words.times)(used.count)) }
                }
            }
        }
        @if !shown.lines.is_empty() {
            h3 { (words.lines) }
            table {
                @for line in &shown.lines {
                    tr {
                        td { code { (plain(&snapshot::place(line, language))) } }
                        td { (category(&line.category, language)) }
                        td.number { (line.bytes) }
                        td.dim { ((words.times)(line.count)) }
                    }
                }
            }
        }
        (segments(shown, words))
        @if !shown.largest.is_empty() {
            h3 { (words.largest) }
            @for largest in &shown.largest {
                details {
                    summary {
                        @if largest.count > 1 { (largest.count) " × " }
                        (largest.bytes) " " (category(&largest.category, language)) " "
                        code.dim { (plain(&snapshot::callers(largest, language))) }
                    }
                    pre.stack {
                        @for call in &largest.stack {
                            @if call.folded_before > 0 { span.dim { ((labels.folded)(call.folded_before)) } "\n" }
                            span class=(if call.is_own { "own" } else { "dim" }) { (plain(&place_of(call))) " " (plain(&call.function)) }
                            "\n"
                        }
                    }
                }
            }
        }
        (last_events(shown, words))
        @if let Some(settings) = &shown.settings { p.dim { code { "PYTORCH_CUDA_ALLOC_CONF=" (plain(settings)) } } }
    }
}

fn last_events(shown: &Snapshot, words: &SnapshotWords) -> Markup {
    html! {
        @if !shown.last_events.is_empty() {
            h3 { (words.last_events) }
            table {
                @for last in &shown.last_events {
                    tr {
                        td { code { (plain(&last.action)) } }
                        td.number { (last.bytes) }
                        td { code.dim { (plain(&last.line.as_deref().map(snapshot::event_line).unwrap_or_default())) } }
                        td.dim { @if let Some(seconds) = last.seconds_before { ((words.before_end)(seconds)) } }
                    }
                }
            }
        }
    }
}

/// Memory in use over the trace, stacked by purpose, with reserved memory as a line.
fn history(shown: &Snapshot, language: Language) -> Markup {
    let words = words(language);
    let points = &shown.history;
    let most = points.iter().map(|point| point.reserved.max(point.in_use)).max().unwrap_or_default();
    let (first, last) = (points.first().map_or(0, |point| point.event), points.last().map_or(0, |point| point.event));
    if last <= first || most <= Bytes(0) {
        return html! {};
    }
    let x = |point: &HistoryPoint| LEFT + (WIDTH - LEFT - 10.0) * (point.event - first) as f64 / (last - first) as f64;
    // Leaves a twentieth free above the highest amount.
    let y = |bytes: Bytes| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * bytes.0.max(0) as f64 / (most.0 as f64 * 1.05);
    let layers = layers(shown);
    let area = |layer: usize| {
        let edge = |upto: usize, point: &HistoryPoint| {
            let sum: i128 = layers.iter().take(upto).flat_map(|(_, of)| of).map(|number| amount(point, *number)).sum();
            format!("{:.1},{:.1}", x(point), y(Bytes(sum)))
        };
        let upper = points.iter().map(|point| edge(layer + 1, point));
        let lower = points.iter().rev().map(|point| edge(layer, point));
        upper.chain(lower).collect::<Vec<_>>().join(" ")
    };
    let reserved: Vec<String> =
        points.iter().map(|point| format!("{:.1},{:.1}", x(point), y(point.reserved))).collect();
    let floor = HEIGHT - BOTTOM;
    let refused = shown.refused.as_ref().filter(|_| shown.moment == SnapshotMoment::Refusal);
    html! {
        figure {
            figcaption {
                b { (words.history) } " "
                @for (color, of) in &layers {
                    span class=(format!("key s{color}")) {
                        @match of.as_slice() {
                            [only] => { (shown.categories.get(*only).map_or("", |used| category(&used.name, language))) }
                            _ => { (words.others) }
                        }
                    }
                }
                span.key { (words.reserved) }
            }
            svg.snapshot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(words.history) data-most=(shown.peak.0) {
                @for part in 0..=4 {
                    @let bytes = Bytes(most.0 / 4 * part);
                    @let at = format!("{:.1}", y(bytes));
                    line.grid x1=(LEFT) x2=(WIDTH) y1=(at) y2=(at) {}
                    text x=(LEFT - 6.0) y=(at) text-anchor="end" { (bytes) }
                }
                @for (layer, (color, of)) in layers.iter().enumerate() {
                    g class=(format!("s{color}")) {
                        polygon.area points=(area(layer)) {
                            title {
                                @for number in of {
                                    (shown.categories.get(*number).map_or("", |used| category(&used.name, language))) " "
                                }
                            }
                        }
                    }
                }
                polyline.reserved points=(reserved.join(" ")) {}
                @if let Some(refused) = refused {
                    line.limit x1=(WIDTH - 10.0) x2=(WIDTH - 10.0) y1=(TOP) y2=(floor) {}
                    text.limit-label x=(WIDTH - 14.0) y=(TOP - 6.0) text-anchor="end" { (refused.requested) " " (words.refused_here) }
                }
                text x=(WIDTH - 10.0) y=(floor + 18.0) text-anchor="end" {
                    ((words.events)(shown.events_count))
                    @if let Some(seconds) = points.last().and_then(|point| point.seconds) { (words.comma) (format!("{seconds:.3} s")) }
                }
            }
        }
    }
}

/// The purposes with a colour of their own, and the others as one: each with its colour and the indices of its
/// categories.
fn layers(shown: &Snapshot) -> Vec<(usize, Vec<usize>)> {
    let most = |number: &usize| shown.history.iter().map(|point| amount(point, *number)).max().unwrap_or(0);
    let mut numbers: Vec<usize> = (0..shown.categories.len()).filter(|number| most(number) > 0).collect();
    numbers.sort_by_key(|number| std::cmp::Reverse(most(number)));
    let rest = numbers.split_off(numbers.len().min(COLORS));
    let mut layers: Vec<(usize, Vec<usize>)> = numbers.into_iter().map(|number| vec![number]).enumerate().collect();
    if !rest.is_empty() {
        layers.push((COLORS, rest));
    }
    layers
}

fn amount(point: &HistoryPoint, category: usize) -> i128 {
    point.categories.get(category).map_or(0, |bytes| bytes.0.max(0))
}

/// Each segment as a bar of proportional length, dark where it is full.
fn segments(shown: &Snapshot, words: &SnapshotWords) -> Markup {
    let segments = &shown.segments[..shown.segments.len().min(SEGMENTS)];
    let largest = segments.iter().map(|segment| segment.bytes.0).max().unwrap_or(0).max(1);
    let height = SEGMENT * segments.len() as f64;
    let rest = shown.segments_count.saturating_sub(segments.len() as u64);
    let wide = |segment: &SegmentUse| (WIDTH * segment.bytes.0.max(0) as f64 / largest as f64).max(2.0);
    html! {
        @if !segments.is_empty() {
            h3 { (words.segments) " " span.dim { ((words.segment)(shown.segments_count)) } }
            figure {
                svg.snapshot viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(words.segments) {
                    @for (place, segment) in segments.iter().enumerate() {
                        @let part = wide(segment) / segment.fill.len().max(1) as f64;
                        @let top = SEGMENT * place as f64 + 2.0;
                        g.s0 {
                            title { (about(segment, words)) }
                            rect.segment x="0" y=(top) width=(format!("{:.1}", wide(segment))) height=(SEGMENT - 4.0) {}
                            @for (start, length, fill) in runs(&segment.fill) {
                                rect.bar x=(format!("{:.1}", part * start as f64)) y=(top) width=(format!("{:.1}", part * length as f64))
                                    height=(SEGMENT - 4.0) opacity=(format!("{:.2}", f64::from(fill) / 100.0)) {}
                            }
                        }
                    }
                }
                @if rest > 0 { figcaption { "+ " ((words.segment)(rest)) } }
            }
        }
    }
}

/// Merges neighbouring parts that are equally full, without empty ones.
fn runs(fill: &[u8]) -> Vec<(usize, usize, u8)> {
    let mut runs: Vec<(usize, usize, u8)> = Vec::new();
    for (place, percent) in fill.iter().enumerate() {
        match runs.last_mut() {
            Some((start, length, known)) if known == percent && *start + *length == place => *length += 1,
            _ => runs.push((place, 1, *percent)),
        }
    }
    runs.retain(|(_, _, percent)| *percent > 0);
    runs
}

fn about(segment: &SegmentUse, words: &SnapshotWords) -> String {
    let unused = segment.bytes - segment.in_use;
    let in_use = (words.in_use)(&segment.in_use.to_string(), &segment.bytes.to_string());
    let unused = (words.unused)(&unused.to_string(), segment.pieces, &segment.largest_unused.to_string());
    let stream = (segment.stream != 0).then(|| format!("{} {}", words.stream, segment.stream));
    let private = segment.is_private.then(|| words.private.to_owned());
    let expandable = segment.is_expandable.then(|| words.expandable.to_owned());
    let parts: Vec<String> = [Some(in_use), Some(unused), stream, private, expandable].into_iter().flatten().collect();
    parts.join(words.comma)
}
