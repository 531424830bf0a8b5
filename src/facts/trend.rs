//! Tells whether memory grew step by step or jumped, and when growth would reach the limit.

use std::collections::BTreeMap;

use super::known::{Facts, Value};
use crate::model::{Citation, FigureName, Incident, Kind, Phase, TimelinePoint};

/// Fewest moments of a trend.
const FEWEST: usize = 4;
/// Fewest moments that can be divided into quarters.
const FEWEST_FOR_QUARTERS: usize = 8;

/// The trend of one series.
struct Trend {
    series: String,
    measures: FigureName,
    /// From the first moment to the last, in bytes.
    growth: f64,
    /// Change from one moment to the next in bytes, by linear regression.
    slope: f64,
    /// The regression line's value at the first moment, in bytes.
    start: f64,
    /// Share of the steps that rise.
    rising: f64,
    /// The largest step as a share of the growth.
    jump: f64,
    /// Whether it grew step by step.
    steady: bool,
    moments: usize,
    cites: Vec<Citation>,
}

/// `trend.host.…` and `trend.gpu.…` of the series that grew most.
pub(super) fn add(facts: &mut Facts, incident: &Incident) {
    let mut series: BTreeMap<(&str, FigureName), Vec<&TimelinePoint>> = BTreeMap::new();
    for point in incident.timeline.iter().filter(|point| !is_start(point)) {
        series.entry((&point.series, point.name)).or_default().push(point);
    }
    if incident.kind == Kind::HostOomCgroup {
        series.retain(|(name, measures), _| is_below_the_limit(facts, name, *measures));
    }
    say_peak(facts, incident);
    let is_device = |name: &str| series.contains_key(&(name, FigureName::GpuTotal));
    for place in [Place::Host, Place::Gpu] {
        let of_place = series.iter().filter(|((series, name), _)| {
            let unnamed = if is_device(series) { Place::Gpu } else { Place::named(series, incident.kind) };
            Place::of(*name, unnamed) == Some(place)
        });
        let trends = of_place.filter_map(|((series, name), points)| trend(series, *name, points));
        if let Some(trend) = trends.max_by(|a, b| a.rank().total_cmp(&b.rank())) {
            say(facts, incident.kind, place, &trend);
        }
    }
}

/// `trend.gpu.peak`: the most that steps before the failure took of a device, as far as a print of a peak says it. What the allocator
/// reserves never shrinks by itself, so it is one too.
fn say_peak(facts: &mut Facts, incident: &Incident) {
    let is_peak = |point: &&TimelinePoint| {
        matches!(point.name, FigureName::AllocatedPeak | FigureName::TorchReserved) && !is_start(point)
    };
    if let Some(most) = incident.timeline.iter().filter(is_peak).max_by_key(|point| point.bytes) {
        let cite = Citation::new(most.source.clone(), most.text.clone());
        facts.cite("trend.gpu.peak", Value::Number(most.bytes.0 as f64), vec![cite]);
    }
}

/// Whether a series may belong to the cgroup whose limit was reached, if that is known: the machine's and other cgroups' memory does not
/// matter then.
fn is_below_the_limit(facts: &Facts, series: &str, measures: FigureName) -> bool {
    let Some(limited) = facts.text("kernel.oom_memcg") else { return true };
    match series.strip_prefix("cgroup ") {
        Some(path) => path == limited,
        None => !matches!(measures, FigureName::HostUsed | FigureName::NodeUsed),
    }
}

/// Whether the job was still starting, when memory always rises.
fn is_start(point: &TimelinePoint) -> bool {
    point.phase.is_some_and(Phase::is_start)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Host,
    Gpu,
}

impl Place {
    /// Whose memory a series of `name` measures; `unnamed` if the name does not tell.
    fn of(name: FigureName, unnamed: Place) -> Option<Place> {
        match name {
            FigureName::HostUsed | FigureName::WorkerUsed | FigureName::NodeUsed => Some(Place::Host),
            FigureName::TorchAllocated | FigureName::TorchReserved | FigureName::ProcessInUse => Some(Place::Gpu),
            FigureName::Other => Some(unnamed),
            _ => None,
        }
    }

    /// Whose memory a series in a program's own words measures: `mem=4.5G` or `allocated 4.5 GB` beside a refusal by the device is the device's.
    fn named(series: &str, kind: Kind) -> Place {
        let series = series.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| series.contains(word));
        let is_word =
            |words: &[&str]| series.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| words.contains(&word));
        let of_device = says(&["mem"]) || is_word(&["alloc", "allocated", "reserved"]);
        match kind {
            _ if says(&["gpu", "cuda", "vram"]) => Place::Gpu,
            Kind::GpuOom if of_device && !says(&["cpu", "host", "ram", "rss", "malloc", "heap"]) => Place::Gpu,
            _ => Place::Host,
        }
    }
}

fn say(facts: &mut Facts, kind: Kind, place: Place, trend: &Trend) {
    let place_name = if place == Place::Host { "host" } else { "gpu" };
    let limit = limit(facts, kind, place, trend.measures);
    let mut cite = |name: &str, value: Value, cites: Vec<Citation>| {
        facts.cite(&format!("trend.{place_name}.{name}"), value, cites);
    };
    for (name, value) in [
        ("growth", trend.growth),
        ("slope", trend.slope),
        ("rising_share", trend.rising),
        ("jump_share", trend.jump),
        ("count", trend.moments as f64),
    ] {
        cite(name, Value::Number(value), trend.cites.clone());
    }
    cite("steady", Value::Flag(trend.steady), trend.cites.clone());
    cite("series", Value::Text(trend.series.clone()), trend.cites.clone());
    if let Some((limit, from)) = limit.filter(|_| trend.steady && trend.slope > 0.0) {
        let cites: Vec<Citation> = trend.cites.iter().cloned().chain(from.clone()).collect();
        // The moment, counted from 1, at which the line reaches the limit.
        let moment = ((limit - trend.start) / trend.slope).ceil().max(0.0) + 1.0;
        cite("limit", Value::Number(limit), from);
        cite("limit_count", Value::Number(moment), cites.clone());
        cite("limit_ratio", Value::Number(moment / trend.moments as f64), cites);
    }
}

/// The limit of such a series in bytes, if one is stated: the device's capacity; the cgroup's limit for a process killed in it; the node's
/// memory, or the share of it at which a monitor kills.
fn limit(facts: &Facts, kind: Kind, place: Place, measures: FigureName) -> Option<(f64, Vec<Citation>)> {
    let known = |name: &str| Some((facts.number(name)?, facts.get(name)?.cites.clone()));
    if place == Place::Gpu {
        return known("figures.gpu_total");
    }
    let is_machine = matches!(measures, FigureName::HostUsed | FigureName::NodeUsed);
    if kind == Kind::HostOomCgroup && !is_machine {
        return known("figures.memcg_limit");
    }
    let total = known("figures.node_total").or_else(|| known("host.memory"));
    match known("figures.node_threshold") {
        // The threshold is a share of all memory or a number of bytes.
        Some((threshold, cites)) if threshold > 1.0 => Some((threshold, cites)),
        Some((share, cites)) => total.map(|(total, more)| (share * total, [more, cites].concat())),
        None => total,
    }
}

fn trend(series: &str, measures: FigureName, points: &[&TimelinePoint]) -> Option<Trend> {
    let (first, last) = (points.first()?, points.last()?);
    let amounts: Vec<f64> = points.iter().map(|point| point.bytes.0 as f64).collect();
    let steps: Vec<f64> = amounts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if points.len() < FEWEST && !is_large_and_even(amounts[0], &steps) {
        return None;
    }
    let growth = (last.bytes.0 - first.bytes.0) as f64;
    let rises = steps.iter().filter(|step| **step > 0.0).count();
    let rising = rises as f64 / steps.len() as f64;
    let largest = steps.iter().copied().fold(0.0, f64::max);
    let jump = if growth > 0.0 { largest / growth } else { 1.0 };
    let (start, slope) = line(&amounts);
    let cite = |point: &TimelinePoint| Citation::new(point.source.clone(), point.text.clone());
    Some(Trend {
        series: series.to_owned(),
        measures,
        growth,
        slope,
        start,
        rising,
        jump,
        steady: growth > 0.0
            && ((rising > 0.8 && jump < 0.6) || floor_rises(&amounts) || climb(&amounts).is_some_and(floor_rises)),
        moments: points.len(),
        cites: vec![cite(first), cite(last)],
    })
}

/// Whether memory rose by much and about equally from each of at least three moments to the next: a leak of that size needs no more. Of four
/// moments a share of what there was is also much, if that is no small process.
fn is_large_and_even(start: f64, steps: &[f64]) -> bool {
    /// What a process holds that has its model and its libraries.
    const GROWN: f64 = 2.0e9;
    let least = steps.iter().copied().fold(f64::INFINITY, f64::min);
    let most = steps.iter().copied().fold(0.0, f64::max);
    let is_far = least >= TimelinePoint::FAR.0 as f64;
    let is_part = start >= GROWN && least >= 0.05 * start && steps.len() >= 3;
    steps.len() >= 2 && (is_far || is_part) && most <= 1.25 * least
}

/// Whether the minimum of each quarter lies above that of the quarter before, and no single rise is most of the growth. Memory that is
/// allocated and freed in every step hides growth except in the minima; a spike or a plateau raises only one quarter.
fn floor_rises(amounts: &[f64]) -> bool {
    if amounts.len() < FEWEST_FOR_QUARTERS {
        return false;
    }
    let border = |quarter: usize| amounts.len() * quarter / 4;
    let least =
        |quarter: usize| amounts[border(quarter)..border(quarter + 1)].iter().copied().fold(f64::INFINITY, f64::min);
    let floors: Vec<f64> = (0..4).map(least).collect();
    let all = floors[3] - floors[0];
    floors.windows(2).all(|pair| pair[1] > pair[0] && pair[1] - pair[0] < 0.6 * all)
}

/// The part of a series after its start and up to its final level, if reaching that took most of the time and was a large rise. A job may
/// run at its limit for long, because the kernel reclaims what it can.
fn climb(amounts: &[f64]) -> Option<&[f64]> {
    let most = amounts.iter().copied().fold(0.0, f64::max);
    let arrived = amounts.iter().position(|amount| *amount >= 0.97 * most)?;
    let climb = amounts.get(amounts.len() / 8..=arrived)?;
    let risen = climb.last()? - climb.first()?;
    (arrived >= amounts.len() / 2 && risen > 0.2 * most).then_some(climb)
}

/// Start and slope of the regression line through `amounts`.
fn line(amounts: &[f64]) -> (f64, f64) {
    let middle = (amounts.len() as f64 - 1.0) / 2.0;
    let mean = amounts.iter().sum::<f64>() / amounts.len() as f64;
    let (mut together, mut alone) = (0.0, 0.0);
    for (place, amount) in amounts.iter().enumerate() {
        let off = place as f64 - middle;
        together += off * (amount - mean);
        alone += off * off;
    }
    let slope = if alone > 0.0 { together / alone } else { 0.0 };
    (mean - slope * middle, slope)
}

impl Trend {
    /// Weight among trends: steady growth before other growth, and frequent rises before large growth.
    fn rank(&self) -> f64 {
        let steady = if self.steady { 2.0 } else { 1.0 };
        steady * self.rising * self.growth.max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1u64 << 30) as f64;

    fn trend_of(gib: &[f64]) -> Option<Trend> {
        use crate::model::{Bytes, Column, LineNumber, Location};
        let point = |(place, gib): (usize, &f64)| TimelinePoint {
            series: "process".into(),
            time: None,
            phase: None,
            name: FigureName::WorkerUsed,
            bytes: Bytes((gib * GIB) as i128),
            source: Location { path: "job.log".into(), line: LineNumber(place as u64 + 1), column: Column(1) },
            text: format!("{gib} GiB"),
        };
        let points: Vec<TimelinePoint> = gib.iter().enumerate().map(point).collect();
        trend("process", FigureName::WorkerUsed, &points.iter().collect::<Vec<_>>())
    }

    fn is_steady(gib: &[f64]) -> bool {
        trend_of(gib).is_some_and(|trend| trend.steady)
    }

    #[test]
    fn tells_growth_from_a_spike_and_from_a_plateau() {
        assert!(is_steady(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        assert!(!is_steady(&[1.0, 1.0, 1.0, 1.0, 1.0, 9.0]), "a spike");
        assert!(!is_steady(&[1.0, 8.0, 8.0, 8.1, 8.0, 8.1, 8.0, 8.1, 8.0]), "a plateau");
        assert!(!is_steady(&[1.0, 1.1, 1.2, 1.3, 1.4, 9.0]), "a spike after small growth");
        assert!(!is_steady(&[6.0, 5.0, 4.0, 3.0, 2.0]), "a fall");
        assert!(!is_steady(&[1.0, 2.0, 3.0]), "too few to tell");
        assert!(is_steady(&[5.11, 41.2, 77.31]), "a leak that fills the device in three prints");
        assert!(!is_steady(&[5.0, 41.0, 51.0]), "warming up");
    }

    #[test]
    fn who_climbs_for_most_of_the_time_and_then_lives_at_the_limit_grew() {
        let of = |climbing: usize, resting: usize| {
            let climb = (0..climbing).map(|at| 5.0 + 4.0 * at as f64 / climbing as f64);
            let amounts =
                [0.1, 3.0].into_iter().chain(climb).chain((0..resting).map(|at| 9.0 + 0.01 * (at % 2) as f64));
            is_steady(&amounts.collect::<Vec<f64>>())
        };
        assert!(of(60, 20));
        assert!(!of(10, 70), "loading that takes a while, then all that the job needs");
        assert!(!of(0, 80));
    }

    #[test]
    fn sees_growth_below_what_each_step_gives_back() {
        let saw: Vec<f64> = (0..6).flat_map(|step| [20.0, 61.0, 44.0].map(|gib| gib + f64::from(step))).collect();
        let trend = trend_of(&saw);
        assert!(trend.as_ref().is_some_and(|trend| trend.rising < 0.8 && trend.steady));
        let level: Vec<f64> = (0..6).flat_map(|_| [20.0, 61.0, 44.0]).collect();
        assert!(!is_steady(&level));
    }

    #[test]
    fn the_line_says_when_a_limit_is_reached() -> Result<(), &'static str> {
        let (start, slope) = line(&[2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!((start, slope), (2.0, 2.0));
        let mut facts = Facts::default();
        facts.say("figures.memcg_limit", Value::Number(16.0 * GIB));
        let trend = trend_of(&[2.0, 4.0, 6.0, 8.0, 10.0]).ok_or("no trend")?;
        say(&mut facts, Kind::HostOomCgroup, Place::Host, &trend);
        // 2, 4, 6, 8, 10, 12, 14, 16: the eighth moment.
        assert_eq!(facts.number("trend.host.limit_count"), Some(8.0));
        assert_eq!(facts.number("trend.host.slope"), Some(2.0 * GIB));
        assert_eq!(facts.number("trend.host.limit_ratio"), Some(1.6));
        Ok(())
    }

    #[test]
    fn a_monitor_kills_at_its_share_of_the_node() {
        let mut facts = Facts::default();
        facts.say("figures.node_total", Value::Number(100.0 * GIB));
        facts.say("figures.node_threshold", Value::Number(0.95));
        let limit = |kind, measures| limit(&facts, kind, Place::Host, measures).map(|(limit, _)| (limit / GIB).round());
        assert_eq!(limit(Kind::HostOomRay, FigureName::NodeUsed), Some(95.0));
        // Nobody states the limit of the cgroup.
        assert_eq!(limit(Kind::HostOomCgroup, FigureName::WorkerUsed), None);
    }

    #[test]
    fn used_memory_beside_a_capacity_is_a_devices() {
        assert_eq!(Place::of(FigureName::Other, Place::Gpu), Some(Place::Gpu));
        assert_eq!(Place::of(FigureName::Requested, Place::Gpu), None);
    }

    #[test]
    fn memory_of_a_progress_bar_is_of_what_ran_out() {
        assert_eq!(Place::named("train mem", Kind::GpuOom), Place::Gpu);
        assert_eq!(Place::named("train mem", Kind::HostOomCgroup), Place::Host);
        assert_eq!(Place::named("cpu mem", Kind::GpuOom), Place::Host);
        assert_eq!(Place::named("gpu_mem", Kind::SigkillUnattributed), Place::Gpu);
    }
}
