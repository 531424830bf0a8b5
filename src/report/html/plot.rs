//! Memory over time: one plot per source, with its limit as a line and the phases as bands.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::super::wording;
use super::plain;
use crate::knowledge::Language;
use crate::model::{Bytes, FigureName, Incident, Phase, TimelinePoint};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 260.0;
/// The margins around the plot; the left one is for the scale.
const LEFT: f64 = 70.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
/// The most points that are drawn as dots.
const DOTS: usize = 200;
const COLORS: usize = 6;
/// The most points that respond to the pointer.
const POINTED: usize = 600;

/// The plots of an incident; empty if no figure was printed twice.
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
            h2 { (wording::labels(language).timeline) }
            @for plots in [gpu, host] { (side(&plots, language)) }
        }
    }
}

/// The plots of the GPUs or of the host, on a scale of their own. If scripts run, one is shown at a time.
fn side(plots: &[Plot<'_>], language: Language) -> Markup {
    html! {
        @if !plots.is_empty() {
            div.plots {
                @if plots.len() > 1 {
                    select hidden aria-label=(wording::labels(language).timeline) {
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

/// The plot of one source.
struct Plot<'a> {
    name: &'a str,
    limit: Option<Bytes>,
    /// The points in order of time, each with its position on the x axis.
    points: Vec<(f64, &'a TimelinePoint)>,
    /// The highest amount, including the limit.
    most: Bytes,
    /// The first and the last moment.
    span: (f64, f64),
}

impl<'a> Plot<'a> {
    /// Moments are seconds if every line has a time, else the order of the lines.
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
        // Leaves a twentieth free above the highest amount.
        let share = bytes.0.max(0) as f64 / (self.most.0 as f64 * 1.05);
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share
    }

    fn peak(&self) -> Bytes {
        self.points.iter().map(|(_, point)| point.bytes).max().unwrap_or_default()
    }

    fn figure(&self, language: Language) -> Markup {
        let labels = wording::labels(language);
        let mut names: Vec<FigureName> = self.points.iter().map(|(_, point)| point.name).collect();
        names.sort_unstable();
        names.dedup();
        let floor = HEIGHT - BOTTOM;
        html! {
            figure {
                figcaption {
                    b { (plain(self.name)) } " "
                    @for (place, name) in names.iter().enumerate() {
                        span class=(format!("key s{}", place % COLORS)) { (wording::figure(*name, language)) }
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

    /// The texts for points under the pointer, with their positions on the x axis, as JSON.
    fn pointed(&self, language: Language) -> String {
        let step = self.points.len().div_ceil(POINTED).max(1);
        let peak = self.peak();
        let is_kept = |(place, (_, point)): &(usize, &(f64, &TimelinePoint))| place % step == 0 || point.bytes == peak;
        let said = |(_, (moment, point)): (usize, &(f64, &TimelinePoint))| {
            let phase = point.phase.map(|phase| format!(", {}", wording::phase(phase, language))).unwrap_or_default();
            let time = point.time.as_deref().map(|time| format!("{time}  ")).unwrap_or_default();
            let name = wording::figure(point.name, language);
            let words = format!("{time}{} {name}{phase}  {}", point.bytes, point.source);
            ((self.x(*moment) * 10.0).round() / 10.0, plain(&words))
        };
        let points: Vec<(f64, String)> = self.points.iter().enumerate().filter(is_kept).map(said).collect();
        // A list of numbers and texts always serialises.
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

    /// The bands of the phases, each from its first point to that of the next phase.
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
                    title { (wording::phase(*phase, language)) }
                }
                // The name is shown only if there is room.
                @if to - from > 70.0 {
                    text x=(format!("{:.1}", from + 3.0)) y=(HEIGHT - BOTTOM + 14.0) { (wording::phase(*phase, language)) }
                }
            }
        }
    }
}

/// The order of the lines; figures of one line share a moment.
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

/// A date and time in seconds; `None` for other clocks, which are not drawn to scale.
fn seconds(time: &str) -> Option<f64> {
    let civil: jiff::civil::DateTime = time.parse().ok()?;
    Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond() as f64 / 1e3)
}
