//! Memory over time: one plot a source, its limit as a line, the phases as bands.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::super::texts;
use super::plain;
use crate::knowledge::Language;
use crate::model::{Bytes, FigureName, Incident, Phase, TimelinePoint};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 260.0;
/// Left for the scale, above and below the plot.
const LEFT: f64 = 70.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
/// More points than this are a line without dots.
const DOTS: usize = 200;
const COLORS: usize = 6;
/// As many points can be pointed at.
const POINTED: usize = 600;

/// The plots of an incident; nothing where no figure was printed twice.
pub(super) fn timeline(incident: &Incident, language: Language) -> Markup {
    let mut sources: BTreeMap<(&str, bool), Vec<&TimelinePoint>> = BTreeMap::new();
    for point in &incident.timeline {
        sources.entry((&point.series, is_host(point.name))).or_default().push(point);
    }
    let (mut gpu, mut host): (Vec<Plot<'_>>, Vec<Plot<'_>>) = (Vec::new(), Vec::new());
    for ((name, is_host), points) in sources {
        let side = if is_host { &mut host } else { &mut gpu };
        side.extend(Plot::of(incident, name, is_host, points));
    }
    html! {
        @if !(gpu.is_empty() && host.is_empty()) {
            h2 { (texts::labels(language).timeline) }
            @for plots in [gpu, host] { (side(&plots, language)) }
        }
    }
}

/// The plots of the GPUs, or of the host: one at a time where a script runs, on a scale of their own.
fn side(plots: &[Plot<'_>], language: Language) -> Markup {
    html! {
        @if !plots.is_empty() {
            div.plots {
                @if plots.len() > 1 {
                    select hidden aria-label=(texts::labels(language).timeline) {
                        @for (place, plot) in plots.iter().enumerate() { option value=(place) { (plain(plot.name)) } }
                    }
                }
                @for plot in plots { (plot.figure(language)) }
            }
        }
    }
}

/// The capacity of the device.
pub(super) fn device_limit(incident: &Incident) -> Option<Bytes> {
    first(incident, &[FigureName::GpuTotal])
}

/// Whether a figure is of the host's memory.
pub(super) fn is_host(name: FigureName) -> bool {
    !matches!(
        name,
        FigureName::Requested
            | FigureName::GpuTotal
            | FigureName::GpuFree
            | FigureName::ProcessInUse
            | FigureName::TorchAllocated
            | FigureName::TorchReserved
            | FigureName::TorchReservedUnallocated
            | FigureName::AllocatedPeak
            | FigureName::KvCacheAvailable
    )
}

fn first(incident: &Incident, names: &[FigureName]) -> Option<Bytes> {
    let of = |name: &FigureName| incident.figures.iter().find(|figure| figure.name == *name)?.bytes;
    names.iter().find_map(of)
}

/// What is drawn of one source.
struct Plot<'a> {
    name: &'a str,
    limit: Option<Bytes>,
    /// In the order of time, each with its moment on the x axis.
    points: Vec<(f64, &'a TimelinePoint)>,
    /// The highest amount, the limit included.
    most: Bytes,
    /// The first and last moment.
    span: (f64, f64),
}

impl<'a> Plot<'a> {
    /// Moments are seconds where every line says when it was written, else the order of the lines.
    fn of(incident: &Incident, name: &'a str, is_host: bool, mut points: Vec<&'a TimelinePoint>) -> Option<Plot<'a>> {
        points.sort_by_key(|point| (&point.source.path, point.source.line));
        let seconds: Option<Vec<f64>> = points.iter().map(|point| seconds(point.time.as_deref()?)).collect();
        let mut moments = seconds.unwrap_or_default();
        let spread = |moments: &[f64]| {
            moments.iter().copied().fold(f64::MIN, f64::max) - moments.iter().copied().fold(f64::MAX, f64::min)
        };
        if moments.is_empty() || spread(&moments) <= 0.0 {
            moments = orders(&points);
        }
        let mut points: Vec<(f64, &TimelinePoint)> = moments.into_iter().zip(points).collect();
        points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let span = (points.first()?.0, points.last()?.0);
        let limit = if is_host {
            first(incident, &[FigureName::MemcgLimit, FigureName::NodeTotal])
        } else {
            device_limit(incident)
        };
        let most = points.iter().map(|(_, point)| point.bytes).chain(limit).max()?;
        (span.1 > span.0 && most > Bytes(0)).then_some(Plot { name, limit, points, most, span })
    }

    fn x(&self, moment: f64) -> f64 {
        LEFT + (WIDTH - LEFT - 10.0) * (moment - self.span.0) / (self.span.1 - self.span.0)
    }

    fn y(&self, bytes: Bytes) -> f64 {
        // A twentieth is left above the highest.
        let share = bytes.0.max(0) as f64 / (self.most.0 as f64 * 1.05);
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share
    }

    fn peak(&self) -> Bytes {
        self.points.iter().map(|(_, point)| point.bytes).max().unwrap_or_default()
    }

    fn figure(&self, language: Language) -> Markup {
        let labels = texts::labels(language);
        let mut names: Vec<FigureName> = self.points.iter().map(|(_, point)| point.name).collect();
        names.sort_unstable();
        names.dedup();
        let floor = HEIGHT - BOTTOM;
        html! {
            figure {
                figcaption {
                    b { (plain(self.name)) } " "
                    @for (place, name) in names.iter().enumerate() {
                        span class=(format!("key s{}", place % COLORS)) { (texts::figure(*name, language)) }
                    }
                }
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(plain(self.name))
                    data-peak=(self.peak().0) data-limit=[self.limit.map(|limit| limit.0)] data-points=(self.pointed(language)) {
                    (self.bands(language))
                    @for part in 0..=4 {
                        @let bytes = Bytes(self.most.0 / 4 * part);
                        @let y = format!("{:.1}", self.y(bytes));
                        line.grid x1=(LEFT) x2=(WIDTH) y1=(y) y2=(y) {}
                        text x=(LEFT - 6.0) y=(y) text-anchor="end" { (bytes) }
                    }
                    @for (place, name) in names.iter().enumerate() { (self.line(*name, place % COLORS)) }
                    @if let Some(limit) = self.limit {
                        @let y = format!("{:.1}", self.y(limit));
                        line.limit x1=(LEFT) x2=(WIDTH) y1=(y) y2=(y) {}
                        text.limit-label x=(LEFT + 4.0) y=(format!("{:.1}", self.y(limit) - 3.0)) { (labels.limit) " " (limit) }
                    }
                    line.pointer y1=(TOP) y2=(floor) {}
                    @for (anchor, x, end) in [("start", LEFT, self.points.first()), ("end", WIDTH - 10.0, self.points.last())] {
                        @if let Some((_, point)) = end {
                            text x=(x) y=(floor + 30.0) text-anchor=(anchor) {
                                (plain(point.time.as_deref().unwrap_or_default())) " " (plain(&point.source.to_string()))
                            }
                        }
                    }
                }
                output.dim {}
            }
        }
    }

    /// What is said of the point that somebody points at: its place on the x axis and its words, as JSON.
    fn pointed(&self, language: Language) -> String {
        let step = self.points.len().div_ceil(POINTED).max(1);
        let peak = self.peak();
        let is_kept = |(place, (_, point)): &(usize, &(f64, &TimelinePoint))| place % step == 0 || point.bytes == peak;
        let said = |(_, (moment, point)): (usize, &(f64, &TimelinePoint))| {
            let phase = point.phase.map(|phase| format!(", {}", texts::phase(phase, language))).unwrap_or_default();
            let time = point.time.as_deref().map(|time| format!("{time}  ")).unwrap_or_default();
            let name = texts::figure(point.name, language);
            let words = format!("{time}{} {name}{phase}  {}", point.bytes, point.source);
            ((self.x(*moment) * 10.0).round() / 10.0, plain(&words))
        };
        let points: Vec<(f64, String)> = self.points.iter().enumerate().filter(is_kept).map(said).collect();
        // A list of numbers and words is always JSON.
        serde_json::to_string(&points).unwrap_or_default()
    }

    fn line(&self, name: FigureName, color: usize) -> Markup {
        let points: Vec<&(f64, &TimelinePoint)> = self.points.iter().filter(|(_, point)| point.name == name).collect();
        let at = |(moment, point): &(f64, &TimelinePoint)| (self.x(*moment), self.y(point.bytes));
        let path: Vec<String> = points.iter().map(|point| at(point)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        html! {
            g class=(format!("s{color}")) {
                polyline.series points=(path.join(" ")) {}
                @if points.len() <= DOTS {
                    @for point in points {
                        @let (x, y) = at(point);
                        circle.dot cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="3" {
                            title { (point.1.bytes) " " (plain(&point.1.source.to_string())) }
                        }
                    }
                }
            }
        }
    }

    /// Each phase from its first point to the next phase's.
    fn bands(&self, language: Language) -> Markup {
        let mut bands: Vec<(Phase, f64)> = Vec::new();
        for (moment, point) in &self.points {
            let is_new = |phase: &Phase| bands.last().is_none_or(|(last, _)| last != phase);
            if let Some(phase) = point.phase.filter(is_new) {
                bands.push((phase, *moment));
            }
        }
        let ends = bands.iter().skip(1).map(|(_, start)| *start).chain([self.span.1]);
        html! {
            @for (place, ((phase, start), end)) in bands.iter().zip(ends).enumerate() {
                @let (from, to) = (self.x(*start), self.x(end));
                rect class=(if place % 2 == 0 { "band" } else { "band odd" }) x=(format!("{from:.1}")) y=(TOP)
                    width=(format!("{:.1}", to - from)) height=(HEIGHT - BOTTOM - TOP) {
                    title { (texts::phase(*phase, language)) }
                }
                // As many as have room for their name.
                @if to - from > 70.0 {
                    text x=(format!("{:.1}", from + 3.0)) y=(HEIGHT - BOTTOM + 14.0) { (texts::phase(*phase, language)) }
                }
            }
        }
    }
}

/// The order of the lines: figures of one line share a moment.
fn orders(points: &[&TimelinePoint]) -> Vec<f64> {
    let mut order = 0.0;
    let mut before: Option<&TimelinePoint> = None;
    points
        .iter()
        .map(|point| {
            let is_same = before.is_none_or(|before| {
                before.source.line == point.source.line && before.source.path == point.source.path
            });
            if !is_same {
                order += 1.0;
            }
            before = Some(point);
            order
        })
        .collect()
}

/// A date and time in seconds; other clocks are not drawn to scale.
fn seconds(time: &str) -> Option<f64> {
    let civil: jiff::civil::DateTime = time.parse().ok()?;
    Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond() as f64 / 1e3)
}
