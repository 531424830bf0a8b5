//! Whether memory grew step by step or jumped.

use std::collections::BTreeMap;

use super::facts::{Facts, Value};
use crate::model::{Citation, FigureName, Incident, Phase, TimelinePoint};

/// Fewer moments than this show no trend.
const FEWEST: usize = 5;

/// How one series went.
struct Trend {
    /// From the first moment to the last, in bytes.
    growth: f64,
    /// Mean change from one moment to the next.
    slope: f64,
    /// Share of the moments that were higher than the one before.
    rising: f64,
    /// How much of the growth the largest single step is.
    jump: f64,
    moments: usize,
    cites: Vec<Citation>,
}

/// `trend.host.…` and `trend.gpu.…` of the series that grew most.
pub(super) fn add(facts: &mut Facts, incident: &Incident) {
    let mut series: BTreeMap<(&str, FigureName), Vec<&TimelinePoint>> = BTreeMap::new();
    for point in incident.timeline.iter().filter(|point| !is_start(point)) {
        series.entry((&point.series, point.name)).or_default().push(point);
    }
    for (place, names) in [
        ("host", &[FigureName::HostUsed, FigureName::WorkerUsed, FigureName::NodeUsed, FigureName::Other][..]),
        ("gpu", &[FigureName::TorchAllocated, FigureName::TorchReserved, FigureName::ProcessInUse][..]),
    ] {
        let of_place = series.iter().filter(|((_, name), _)| names.contains(name));
        let steepest = of_place.filter_map(|(_, points)| trend(points)).max_by(|a, b| a.rank().total_cmp(&b.rank()));
        if let Some(trend) = steepest {
            let mut say = |name: &str, value: f64| {
                facts.cite(&format!("trend.{place}.{name}"), Value::Number(value), trend.cites.clone())
            };
            say("growth", trend.growth);
            say("slope", trend.slope);
            say("rising_share", trend.rising);
            say("jump_share", trend.jump);
            say("count", trend.moments as f64);
        }
    }
}

/// Whether the job was still being made: memory always rises then.
fn is_start(point: &TimelinePoint) -> bool {
    matches!(point.phase, Some(Phase::Setup | Phase::ModelLoad | Phase::EngineInit))
}

fn trend(points: &[&TimelinePoint]) -> Option<Trend> {
    if points.len() < FEWEST {
        return None;
    }
    let (first, last) = (points.first()?, points.last()?);
    let steps: Vec<f64> = points.windows(2).map(|pair| (pair[1].bytes.0 - pair[0].bytes.0) as f64).collect();
    let growth = (last.bytes.0 - first.bytes.0) as f64;
    let rises = steps.iter().filter(|step| **step > 0.0).count();
    let largest = steps.iter().copied().fold(0.0, f64::max);
    let cite = |point: &TimelinePoint| Citation { location: point.source.clone(), text: point.text.clone() };
    Some(Trend {
        growth,
        slope: growth / steps.len() as f64,
        rising: rises as f64 / steps.len() as f64,
        jump: if growth > 0.0 { largest / growth } else { 1.0 },
        moments: points.len(),
        cites: vec![cite(first), cite(last)],
    })
}

impl Trend {
    /// Steady growth before large growth.
    fn rank(&self) -> f64 {
        self.rising * self.growth.max(0.0).sqrt()
    }
}
