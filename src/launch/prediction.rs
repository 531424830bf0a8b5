//! Compares what a job should have needed with what it used.

use std::cmp::Ordering;

use super::JobConfig;
use crate::facts::{Facts, Value};
use crate::memory::{
    self, Amount, Component, Explanation, Layout, ModelSize, Moment, MomentPlan, Observed, Plan, States, Step,
};
use crate::model::{
    Bytes, Citation, Derivation, Figure, FigureName, Incident, Kind, Need, PatchNeeds, Phase, TimelinePoint,
};

/// The memory plan of a job.
pub struct Prediction {
    model: ModelSize,
    layout: Layout,
    plan: Plan,
    /// The citations of what it is computed from.
    from: Vec<Citation>,
}

/// The predicted amounts compared with the printed figures.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// Predicted figures for the moment of the incident.
    pub predicted: Vec<Figure>,
    /// Printed figures, each with the sum of parts that explains it.
    pub explained: Vec<(Figure, Explanation)>,
    /// The training states and the device memory that cannot hold them.
    pub beyond: Option<(States, Bytes)>,
    /// An observation that refutes the prediction; the other fields are then empty.
    pub contradiction: Option<Contradiction>,
}

/// The change in bytes on each device and each host, where it is known; negative numbers are freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryChange {
    /// On each device.
    pub device: Option<Bytes>,
    /// On each host.
    pub host: Option<Bytes>,
}

/// The moments at which training prints figures.
const TRAINING: [Moment; 4] = [Moment::AfterPrepare, Moment::Forward, Moment::Backward, Moment::OptimizerStep];
/// The moment before anything is trained.
const BEFORE_TRAINING: [Moment; 1] = [Moment::AfterPrepare];
/// The most figures that are explained.
const MOST: usize = 3;
/// The largest error, as a share of the figure, of a sum of parts that explains it.
const NEAR: f64 = 0.05;
/// Bounds that are further apart explain nothing.
const LOOSE: f64 = 1.5;
/// Amounts with bounds wider than this share are too vague to print.
const WIDE: f64 = 0.5;
/// An observed figure that exceeds every prediction by this share refutes the layout.
const FAR: f64 = 0.25;
/// The share of its confidence that a diagnosis keeps if the log refutes the layout.
const KEPT: f64 = 0.85;

/// An observed figure that the prediction cannot produce: the assumed layout of the job is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// The figure in the log.
    pub observed: Bytes,
    /// The nearest predicted amount.
    pub predicted: Bytes,
    /// Whether more was observed than predicted.
    pub is_more: bool,
}

impl Contradiction {
    /// The reduced confidence of a diagnosis that relied on the configuration.
    pub fn lowered(self, confidence: f64) -> f64 {
        confidence * KEPT
    }
}

impl JobConfig<'_> {
    /// Predicts what the job described by `facts` needs; `None` if too little is known.
    pub fn predict(&self, facts: &Facts) -> Option<Prediction> {
        let (model, from) = self.model(facts)?;
        let layout = self.layout(facts, &model, self.trains(facts)?)?;
        let plan = Plan::of(&model, &layout);
        Some(Prediction { model, layout, plan, from })
    }
}

impl Prediction {
    /// Adds facts of the plan for the rules: `plan.states`, `plan.weights`, `plan.gathered` and `plan.beside_engine` in bytes and as shares of the device,
    /// whether the largest moment fits (`plan.fits`), `observed.over_plan`, PyTorch's memory as a share of that
    /// moment, and `observed.gathered_share`.
    pub fn add_facts(&self, facts: &mut Facts) {
        let number = |bytes: Bytes| Value::Number(bytes.0 as f64);
        let told = facts.number("figures.gpu_total").map(|total| Bytes(total as i128));
        let capacity = self.layout.cluster.device_memory.or(told).filter(|capacity| *capacity > Bytes(0));
        let most = self.plan.moments.iter().map(MomentPlan::device).max_by_key(|amount| amount.low);
        let weights = self.plan.moments.iter().find_map(|plan| plan.on_device("weights")).map(|part| part.bytes);
        let gathered = self.plan.at(Moment::Forward).and_then(|plan| plan.on_device("gathered weights"));
        let states = memory::states(&self.model, &self.layout).bytes;
        let (offloads, alone) = (self.layout.offload.optimizer.is_some(), self.layout.cluster.devices() == 1);
        let amounts = [
            ("plan.states", "plan.states_share", Some(states).filter(|_| alone && !offloads)),
            ("plan.weights", "plan.weights_share", weights),
            ("plan.gathered", "plan.gathered_share", gathered.map(|part| part.bytes)),
            ("plan.most", "plan.most_share", most),
            ("plan.beside_engine", "plan.beside_engine_share", self.plan.beside_engine(&self.layout)),
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
        let held = facts.number("figures.torch_allocated");
        if let Some(share) = held.and_then(|held| self.gathered_share(Bytes(held as i128))) {
            facts.cite("observed.gathered_share", Value::Number(share), self.from.clone());
        }
        if let (Some(most), Some(held)) = (most, held) {
            facts.cite("observed.over_plan", Value::Number(held / (most.high.0.max(1) as f64)), self.from.clone());
        }
    }

    /// The share of what PyTorch held, `held`, that weights gathered whole take, where they and what else a pass has add up to it.
    fn gathered_share(&self, held: Bytes) -> Option<f64> {
        let passes = self.plan.moments.iter().filter(|plan| matches!(plan.moment, Moment::Forward | Moment::Backward));
        let is_it = |plan: &&MomentPlan| {
            let all = plan.device();
            // Bounds that are far apart hold whatever is held.
            all.high.gib() <= all.low.gib() * LOOSE
                && (all.low.gib() * (1.0 - NEAR)..=all.high.gib() * (1.0 + NEAR)).contains(&held.gib())
        };
        let gathered = passes.filter(is_it).find_map(|plan| plan.on_device("gathered weights"))?;
        Some((gathered.bytes.low.gib() / held.gib()).min(1.0))
    }

    /// Compares the prediction for the incident's moment with the observed figures.
    pub fn compare(&self, incident: &Incident) -> Comparison {
        if let Some(contradiction) = self.contradicted(incident) {
            return Comparison { contradiction: Some(contradiction), ..Comparison::default() };
        }
        let mut explained: Vec<(Figure, Explanation)> = Vec::new();
        let at_the_end = Moment::of_phase(incident.phase.name).filter(|_| incident.kind == Kind::GpuOom);
        for (figure, is_last) in device_figures(incident) {
            let moments = match is_last {
                true => at_the_end.as_slice(),
                // What failed before anything was trained printed no figure of training.
                false if incident.phase.name.is_start() => &BEFORE_TRAINING,
                false => &TRAINING,
            };
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

    /// The change at the incident's moment if the layout becomes that of `after`.
    pub fn change_to(&self, after: &Prediction, phase: Phase) -> MemoryChange {
        let (Some(before), Some(after)) = (self.moment(phase), after.moment(phase)) else {
            return MemoryChange::default();
        };
        let difference = |is_there: fn(&Component) -> bool| {
            let (before, after) = before.apart_from(after, is_there);
            let moved = after.middle() - before.middle();
            let spread = (after.high - after.low).max(before.high - before.low);
            let is_telling = moved != Bytes(0) && spread.gib() * WIDE <= moved.gib().abs();
            is_telling.then_some(moved)
        };
        MemoryChange { device: difference(|part| !part.place.is_host()), host: difference(Component::is_kept_on_host) }
    }

    /// The needs of the incident's moment on a device and on a host, with their capacities; `None` for amounts with
    /// wide bounds. What the kernel reclaims needs no room.
    pub fn needs(&self, phase: Phase) -> PatchNeeds {
        self.needs_by(phase, |amount| is_narrow(amount).then(|| amount.middle()))
    }

    /// The least that the incident's moment needs on a device and on a host.
    pub fn least(&self, phase: Phase) -> PatchNeeds {
        self.needs_by(phase, |amount| Some(amount.low))
    }

    fn needs_by(&self, phase: Phase, bytes: impl Fn(Amount) -> Option<Bytes>) -> PatchNeeds {
        let Some(plan) = self.moment(phase) else { return PatchNeeds::default() };
        let cluster = &self.layout.cluster;
        let need = |amount, capacity| Some(Need { bytes: bytes(amount)?, capacity });
        PatchNeeds {
            gpu: need(plan.device(), cluster.device_memory),
            host: need(plan.host_kept(), cluster.host_memory),
        }
    }

    /// The most that any moment needs of a device; `None` if not all is counted.
    pub fn most(&self) -> Option<Need> {
        let most = self.plan.moments.iter().map(|plan| plan.device().middle()).max();
        let bytes = most.filter(|_| Plan::is_whole(&self.model, &self.layout))?;
        Some(Need { bytes, capacity: self.layout.cluster.device_memory })
    }

    /// The memory that PyTorch held when it failed, if this layout cannot hold as much or as little: a quarter more
    /// than the largest moment, or, in training, a quarter less than what is on the device from the start.
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
        // An engine and other models may hold their parts in processes of their own.
        let is_alone = self.layout.engine.is_none() && self.layout.companions.is_empty();
        let is_less = is_in_training && is_alone && observed.gib() < least.gib() * (1.0 - FAR);
        (is_more || is_less).then_some(Contradiction {
            observed,
            predicted: if is_more { most } else { least },
            is_more,
        })
    }

    /// Whether updates passed although, by this prediction, the device cannot hold what the first one needs. Progress may count the passes that
    /// an update accumulates, and what fails in an update may never have had one.
    pub fn is_outlived(&self, facts: &Facts) -> bool {
        let capacity = self.layout.cluster.device_memory.or_else(|| super::device_memory(facts));
        let least = self.plan.at_step(Moment::OptimizerStep, Step::First).map(|plan| plan.device().low);
        let is_later = matches!(facts.text("phase"), Some("checkpoint_save" | "evaluation"));
        let passes = facts.number("config.gradient_accumulation").unwrap_or(1.0);
        let is_update = facts.text("phase") == Some("optimizer_step");
        let is_beyond = |name| facts.number(name).is_some_and(|steps| steps > passes);
        let is_in_pass = matches!(facts.text("phase"), Some("forward" | "backward"));
        let has_trained =
            is_later || !is_update && is_beyond("progress.steps") || is_in_pass && is_beyond("progress.done_steps");
        has_trained && least.zip(capacity).is_some_and(|(least, capacity)| least > capacity)
    }

    /// The moment of an incident in `phase`; the one that needs the most if the phase is unknown.
    fn moment(&self, phase: Phase) -> Option<&MomentPlan> {
        match Moment::of_phase(phase) {
            Some(Moment::OptimizerStep) => self.plan.at_step(Moment::OptimizerStep, Step::First),
            Some(moment) => self.plan.at(moment),
            None => self.plan.moments.iter().max_by_key(|plan| plan.device().middle()),
        }
    }

    /// The sum of parts at one of `moments` that is nearest to `observed`.
    fn explain(&self, observed: Bytes, moments: &[Moment]) -> Option<Explanation> {
        let is_before = moments == BEFORE_TRAINING;
        let is_sound = |found: &Explanation| {
            let spread = (found.sum.high - found.sum.low).gib();
            let is_near = found.error.abs() <= NEAR && spread <= NEAR * observed.gib();
            // Other models come after the trained one.
            let has_come = |part: &Component| !is_before || !self.is_of_companion(part);
            is_near && found.parts.len() > 1 && found.parts.iter().all(has_come)
        };
        let at = |moment: &Moment| memory::explain(observed, Observed::Device, Some(*moment), &self.plan);
        let sound = moments.iter().flat_map(at).filter(is_sound);
        // Among equally near sums, narrower bounds say more.
        let rank = |found: &Explanation| (found.error.abs(), (found.sum.high - found.sum.low).gib());
        sound.min_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal))
    }

    /// Whether `part` belongs to a model beside the trained one.
    fn is_of_companion(&self, part: &Component) -> bool {
        let mut companions = self.layout.companions.iter();
        companions.any(|companion| part.name.strip_prefix(&companion.name).is_some_and(|rest| rest.starts_with(' ')))
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

/// Whether `amount` is positive and its bounds are narrow enough to print.
fn is_narrow(amount: Amount) -> bool {
    amount.middle() > Bytes(0) && (amount.high - amount.low).gib() <= WIDE * amount.middle().gib()
}

/// PyTorch's memory on a device over time, and at the failure, which is marked `true`.
fn device_figures(incident: &Incident) -> Vec<(Figure, bool)> {
    let of_point = |point: &TimelinePoint| Figure {
        name: point.name,
        bytes: Some(point.bytes),
        value: None,
        text: point.text.clone(),
        source: point.source.clone(),
        derived: None,
    };
    // While an engine has the device, or weights are on their way, what is there is no sum of training's parts.
    let is_elsewhere =
        |phase: Phase| matches!(phase, Phase::Rollout | Phase::WeightSync | Phase::CheckpointSave | Phase::Inference);
    let is_of_training = |point: &&TimelinePoint| !point.phase.is_some_and(is_elsewhere);
    let allocated = incident.timeline.iter().filter(|point| point.name == FigureName::TorchAllocated);
    let over_time = allocated.filter(is_of_training).map(of_point);
    let at_the_end = incident.figures.iter().find(|figure| figure.name == FigureName::TorchAllocated).cloned();
    over_time.map(|figure| (figure, false)).chain(at_the_end.map(|figure| (figure, true))).collect()
}
