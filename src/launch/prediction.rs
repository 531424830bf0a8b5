//! What the job should have needed, beside what it did.

use std::cmp::Ordering;

use super::JobConfig;
use crate::facts::{Facts, Value};
use crate::memory::{self, Amount, Explanation, Layout, ModelSize, Moment, MomentPlan, Observed, Plan, States, Step};
use crate::model::{
    Bytes, Citation, Derivation, Figure, FigureName, Incident, Kind, Need, PatchNeeds, Phase, TimelinePoint,
};

/// What the arithmetic says of a job.
pub struct Prediction {
    model: ModelSize,
    layout: Layout,
    plan: Plan,
    /// The words that it is computed from.
    from: Vec<Citation>,
}

/// What should have been needed beside what was printed.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// Of the incident's moment.
    pub predicted: Vec<Figure>,
    /// Printed figures, each with the sum of parts that it is.
    pub explained: Vec<(Figure, Explanation)>,
    /// The states of training and the device that cannot hold them.
    pub beyond: Option<(States, Bytes)>,
    /// What refutes the rest, which is left out then.
    pub contradiction: Option<Contradiction>,
}

/// Bytes that a change moves on each device and on each host, where that is known; negative frees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// On each device.
    pub device: Option<Bytes>,
    /// On each host.
    pub host: Option<Bytes>,
}

/// The moments of which training prints figures.
const TRAINING: [Moment; 4] = [Moment::AfterPrepare, Moment::Forward, Moment::Backward, Moment::OptimizerStep];
/// As many figures are explained.
const MOST: usize = 3;
/// A sum of parts explains a figure this near, as a share of it.
const NEAR: f64 = 0.05;
/// Bounds wider than this share of an amount say too little to print.
const WIDE: f64 = 0.5;
/// An observed figure this far beyond all that is predicted, as a share of it, refutes the layout.
const FAR: f64 = 0.25;
/// A diagnosis keeps this share of its confidence where the log refutes what is thought of the job.
const KEPT: f64 = 0.85;

/// An observed figure that no part of the prediction allows: the job is not laid out as thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// As the log says.
    pub observed: Bytes,
    /// The nearest that is predicted.
    pub predicted: Bytes,
    /// Whether more was observed than predicted.
    pub is_more: bool,
}

impl Contradiction {
    /// Confidence in a diagnosis that was found believing the configuration.
    pub fn lowers(self, confidence: f64) -> f64 {
        confidence * KEPT
    }
}

impl JobConfig<'_> {
    /// What the job that `facts` describe should need; `None` where too little is known.
    pub fn predict(&self, facts: &Facts) -> Option<Prediction> {
        let (model, from) = self.model(facts)?;
        let layout = self.layout(facts, &model, self.trains()?)?;
        let plan = Plan::of(&model, &layout);
        Some(Prediction { model, layout, plan, from })
    }
}

impl Prediction {
    /// Adds what the arithmetic says before anything is ranked: `plan.states` and `plan.weights` in bytes and as shares of the
    /// device, whether the hungriest moment fits (`plan.fits`), and `observed.over_plan`, what PyTorch held as a share of that.
    pub fn state(&self, facts: &mut Facts) {
        let number = |bytes: Bytes| Value::Number(bytes.0 as f64);
        let told = facts.number("figures.gpu_total").map(|total| Bytes(total as i64));
        let capacity = self.layout.cluster.device_memory.or(told).filter(|capacity| *capacity > Bytes(0));
        let most = self.plan.moments.iter().map(MomentPlan::device).max_by_key(|amount| amount.low);
        let weights = self.plan.moments.iter().find_map(|plan| plan.on_device("weights")).map(|part| part.bytes);
        let states = memory::states(&self.model, &self.layout).bytes;
        let (offloads, alone) = (self.layout.offload.optimizer.is_some(), self.layout.cluster.devices() == 1);
        let amounts = [
            ("plan.states", "plan.states_share", Some(states).filter(|_| alone && !offloads)),
            ("plan.weights", "plan.weights_share", weights),
            ("plan.most", "plan.most_share", most),
        ];
        for (name, share_name, amount) in amounts {
            let Some(amount) = amount else { continue };
            facts.cite(name, number(amount.low), self.from.clone());
            if let Some(capacity) = capacity {
                facts.cite(share_name, Value::Number(amount.low.gib() / capacity.gib()), self.from.clone());
            }
        }
        if let (Some(most), Some(capacity)) = (most, capacity) {
            facts.cite("plan.fits", Value::Flag(most.low <= capacity), self.from.clone());
        }
        if let (Some(most), Some(held)) = (most, facts.number("figures.torch_allocated")) {
            facts.cite("observed.over_plan", Value::Number(held / (most.high.0.max(1) as f64)), self.from.clone());
        }
    }

    /// The predicted figures of the incident's moment beside the observed ones, and how the one explains the other.
    pub fn beside(&self, incident: &Incident) -> Comparison {
        if let Some(contradiction) = self.contradicted(incident) {
            return Comparison { contradiction: Some(contradiction), ..Comparison::default() };
        }
        let mut explained: Vec<(Figure, Explanation)> = Vec::new();
        let at_the_end = Moment::of_phase(incident.phase.name).filter(|_| incident.kind == Kind::GpuOom);
        for (figure, is_last) in device_figures(incident) {
            let moments = if is_last { at_the_end.as_slice() } else { &TRAINING };
            let Some(found) = figure.bytes.and_then(|bytes| self.explain(bytes, moments)) else { continue };
            if explained.len() < MOST && !explained.iter().any(|(_, known)| known.parts == found.parts) {
                explained.push((figure, found));
            }
        }
        let capacity = self.layout.cluster.device_memory;
        let is_alone = self.layout.cluster.devices() == 1 && self.layout.offload.optimizer.is_none();
        let states = memory::states(&self.model, &self.layout);
        let beyond = capacity.filter(|capacity| is_alone && states.bytes.low > *capacity);
        let predicted = self.moment(incident.phase.name).map(|moment| self.figures(moment)).unwrap_or_default();
        Comparison { predicted, explained, beyond: beyond.map(|capacity| (states, capacity)), contradiction: None }
    }

    /// What a change of the layout to `after` moves at the incident's moment.
    pub fn moved(&self, after: &Prediction, phase: Phase) -> Moved {
        let (Some(before), Some(after)) = (self.moment(phase), after.moment(phase)) else { return Moved::default() };
        let difference = |amount: fn(&MomentPlan) -> Amount| {
            let (before, after) = (amount(before), amount(after));
            let moved = after.middle() - before.middle();
            let spread = (after.high - after.low).max(before.high - before.low);
            let is_telling = moved != Bytes(0) && spread.gib() * WIDE <= moved.gib().abs();
            is_telling.then_some(moved)
        };
        Moved { device: difference(MomentPlan::device), host: difference(MomentPlan::host) }
    }

    /// What the incident's moment needs on a device and on a host, of what there is; nothing where the bounds are wide.
    pub fn needs(&self, phase: Phase) -> PatchNeeds {
        let Some(plan) = self.moment(phase) else { return PatchNeeds::default() };
        let cluster = &self.layout.cluster;
        let need = |amount: Amount, capacity: Option<Bytes>| {
            is_narrow(amount).then_some(Need { bytes: amount.middle(), capacity })
        };
        PatchNeeds { gpu: need(plan.device(), cluster.device_memory), host: need(plan.host(), cluster.host_memory) }
    }

    /// What PyTorch held when it failed, where that cannot be what this layout held: a quarter more than it needs at any
    /// moment, or in training a quarter less than what lies on the device from the start.
    fn contradicted(&self, incident: &Incident) -> Option<Contradiction> {
        let observed = incident.figures.iter().find(|figure| figure.name == FigureName::TorchAllocated)?.bytes?;
        if incident.kind != Kind::GpuOom {
            return None;
        }
        let is_counted =
            self.model.shape.as_ref().is_some_and(|shape| shape.vision == 0) && self.layout.batch.is_some();
        let most = self.plan.moments.iter().map(|plan| plan.device().high).max()?;
        let is_more = is_counted && observed.gib() > most.gib() * (1.0 + FAR);
        let is_in_training = matches!(incident.phase.name, Phase::Forward | Phase::Backward | Phase::OptimizerStep);
        let least = self.plan.at(Moment::AfterPrepare)?.device().low;
        let is_less = is_in_training && observed.gib() < least.gib() * (1.0 - FAR);
        (is_more || is_less).then_some(Contradiction {
            observed,
            predicted: if is_more { most } else { least },
            is_more,
        })
    }

    /// The moment of an incident in `phase`; the hungriest where that is not known.
    fn moment(&self, phase: Phase) -> Option<&MomentPlan> {
        match Moment::of_phase(phase) {
            Some(Moment::OptimizerStep) => self.plan.at_step(Moment::OptimizerStep, Step::First),
            Some(moment) => self.plan.at(moment),
            None => self.plan.moments.iter().max_by_key(|plan| plan.device().middle()),
        }
    }

    /// The sum of parts that explains `observed` at one of `moments`; of several the nearest.
    fn explain(&self, observed: Bytes, moments: &[Moment]) -> Option<Explanation> {
        let is_sound = |found: &Explanation| {
            let spread = (found.sum.high - found.sum.low).gib();
            let is_near = found.error.abs() <= NEAR && spread <= NEAR * observed.gib();
            is_near && found.parts.len() > 1
        };
        let at = |moment: &Moment| memory::explain(observed, Observed::Device, Some(*moment), &self.plan);
        let sound = moments.iter().flat_map(at).filter(is_sound);
        // Of equally near ones the one with the narrower bounds says more.
        let rank = |found: &Explanation| (found.error.abs(), (found.sum.high - found.sum.low).gib());
        sound.min_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal))
    }

    fn figures(&self, plan: &MomentPlan) -> Vec<Figure> {
        let figure = |name: FigureName, amount: Amount, at: Observed| {
            let cite = self.from.first()?;
            let is_here = |place: crate::memory::Place| place.is_host() == (at == Observed::Host);
            let parts: Vec<String> =
                plan.components.iter().filter(|part| is_here(part.place)).map(ToString::to_string).collect();
            is_narrow(amount).then(|| Figure {
                name,
                bytes: Some(amount.middle()),
                value: None,
                text: cite.text.clone(),
                source: cite.location.clone(),
                derived: Some(Derivation { formula: parts.join(" + "), from: self.from.clone() }),
            })
        };
        let device = figure(FigureName::TorchAllocated, plan.device(), Observed::Device);
        let host = figure(FigureName::HostUsed, plan.host(), Observed::Host);
        device.into_iter().chain(host).collect()
    }
}

/// Whether `amount` is something, and known well enough to print.
fn is_narrow(amount: Amount) -> bool {
    amount.middle() > Bytes(0) && (amount.high - amount.low).gib() <= WIDE * amount.middle().gib()
}

/// What PyTorch held on a device, over time and, last, when it failed.
fn device_figures(incident: &Incident) -> Vec<(Figure, bool)> {
    let of_point = |point: &TimelinePoint| Figure {
        name: point.name,
        bytes: Some(point.bytes),
        value: None,
        text: point.text.clone(),
        source: point.source.clone(),
        derived: None,
    };
    let over_time = incident.timeline.iter().filter(|point| point.name == FigureName::TorchAllocated).map(of_point);
    let at_the_end = incident.figures.iter().find(|figure| figure.name == FigureName::TorchAllocated).cloned();
    over_time.map(|figure| (figure, false)).chain(at_the_end.map(|figure| (figure, true))).collect()
}
