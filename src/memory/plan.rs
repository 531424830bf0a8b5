//! What a job should need, moment by moment.

use serde::{Deserialize, Serialize};

use super::activations;
use super::component::{Component, Place};
use super::layout::{Layout, Recomputation, Resume, Sharding};
use super::logits::{LogitsStage, logits};
use super::process;
use super::states::Job;
use super::{Amount, ModelSize};
use crate::model::Phase;

/// The assumption of a plan of a model without a shape.
pub const SHAPE_UNKNOWN: &str = "not counted: activations and logits; the model's shape is unknown";

/// A moment of a job at which memory is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The model is built and the engine set up: the most that takes for a while.
    Init,
    /// The engine is there, nothing is computed yet.
    AfterPrepare,
    /// Generation.
    Rollout,
    /// Log-probabilities, values and rewards.
    Experience,
    /// The end of forward.
    Forward,
    /// Backward.
    Backward,
    /// The optimizer's step.
    OptimizerStep,
    /// Weights to the inference engine, or samples to other ranks.
    WeightSync,
    /// Validation.
    Evaluation,
    /// Writing a checkpoint.
    CheckpointSave,
    /// Reading one.
    CheckpointResume,
}

/// Every moment in the order of a job, with its name and its phase.
const MOMENTS: [(Moment, &str, Phase); 11] = [
    (Moment::Init, "init", Phase::ModelLoad),
    (Moment::AfterPrepare, "after_prepare", Phase::EngineInit),
    (Moment::CheckpointResume, "checkpoint_resume", Phase::CheckpointResume),
    (Moment::Rollout, "rollout", Phase::Rollout),
    (Moment::Experience, "experience", Phase::Experience),
    (Moment::Forward, "forward", Phase::Forward),
    (Moment::Backward, "backward", Phase::Backward),
    (Moment::OptimizerStep, "optimizer_step", Phase::OptimizerStep),
    (Moment::WeightSync, "weight_sync", Phase::WeightSync),
    (Moment::Evaluation, "evaluation", Phase::Evaluation),
    (Moment::CheckpointSave, "checkpoint_save", Phase::CheckpointSave),
];

impl Moment {
    /// Every moment in the order of a job.
    pub fn all() -> impl Iterator<Item = Moment> {
        MOMENTS.into_iter().map(|(moment, ..)| moment)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        MOMENTS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The phase of the moment; `None` for `AfterPrepare`, which belongs to no phase.
    pub fn phase(self) -> Option<Phase> {
        MOMENTS.iter().find(|row| row.0 == self && self != Moment::AfterPrepare).map(|row| row.2)
    }

    /// The moment of `phase`; `None` for phases whose memory is not computed.
    pub fn of_phase(phase: Phase) -> Option<Moment> {
        MOMENTS.iter().find(|row| row.2 == phase).map(|row| row.0)
    }
}

/// Whether the optimizer has stepped before: its states are there from its first step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Not yet.
    First,
    /// At least once.
    Later,
}

/// What is needed at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MomentPlan {
    /// When.
    pub moment: Moment,
    /// Before or after the first step.
    pub step: Step,
    /// What takes memory, what is always there first.
    pub components: Vec<Component>,
    /// What the process may take of a device besides tensors: its context, communicators, blocks that its allocator keeps.
    #[serde(default)]
    pub process: Vec<Component>,
}

impl MomentPlan {
    /// Memory on one device.
    pub fn device(&self) -> Amount {
        self.sum(|place| place == Place::Device)
    }

    /// Likely bounds of memory in use on one device, from the tensors alone to everything that the driver counts for
    /// the process.
    pub fn device_in_use(&self) -> Amount {
        self.likely(self.process.iter())
    }

    /// [`Self::device_in_use`] without the blocks that are released when memory runs short.
    pub fn device_needed(&self) -> Amount {
        self.likely(self.process.iter().filter(|part| part.name != process::CACHED_BLOCKS))
    }

    /// Errors of the states are assumed to be one common error, as are those of the process; errors of the other parts
    /// are independent.
    fn likely<'p>(&self, process: impl Iterator<Item = &'p Component>) -> Amount {
        let sum = |parts: Vec<&Component>| parts.into_iter().map(|part| part.bytes).sum::<Amount>();
        let tensors = self.components.iter().filter(|part| part.place == Place::Device);
        let (states, passing): (Vec<_>, Vec<_>) = tensors.partition(|part| part.is_state());
        let unknowns = [sum(states), sum(process.collect())];
        Amount::together(passing.into_iter().map(|part| part.bytes).chain(unknowns))
    }

    /// Memory on one host, page-locked or not.
    pub fn host(&self) -> Amount {
        self.sum(Place::is_host)
    }

    /// Memory on one host without what the kernel reclaims before anything is killed.
    pub fn host_kept(&self) -> Amount {
        self.components.iter().filter(|part| part.is_kept_on_host()).map(|part| part.bytes).sum()
    }

    /// The sums of those components that differ between this and `other`, of those that are counted. What both have in
    /// common, however vague, does not blur the difference.
    pub fn apart_from(&self, other: &MomentPlan, is_counted: fn(&Component) -> bool) -> (Amount, Amount) {
        let alone = |here: &MomentPlan, there: &MomentPlan| {
            let is_common = |part: &Component| {
                there
                    .components
                    .iter()
                    .any(|other| (&other.name, other.place, other.bytes) == (&part.name, part.place, part.bytes))
            };
            here.components.iter().filter(|part| is_counted(part) && !is_common(part)).map(|part| part.bytes).sum()
        };
        (alone(self, other), alone(other, self))
    }

    /// The component of this name on a device.
    pub fn on_device(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|part| part.name == name && !part.place.is_host())
    }

    fn sum(&self, counts: impl Fn(Place) -> bool) -> Amount {
        self.components.iter().filter(|component| counts(component.place)).map(|component| component.bytes).sum()
    }
}

/// What a job should need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Moment by moment, as a job comes to them.
    pub moments: Vec<MomentPlan>,
    /// What was taken for granted, and what is not counted.
    pub assumptions: Vec<String>,
}

impl Plan {
    /// Computes the needs of `model` in `layout`.
    pub fn of(model: &ModelSize, layout: &Layout) -> Plan {
        let job = Job { model, layout };
        let mut moments = Vec::new();
        for moment in Moment::all().filter(|moment| comes(*moment, layout)) {
            for step in steps(moment, layout) {
                let mut components = on_device(job, moment, *step);
                components.extend(on_host(job, moment, *step));
                components.retain(|component| !component.bytes.is_nothing());
                moments.push(MomentPlan { moment, step: *step, components, process: process::context(layout) });
            }
        }
        add_cached_blocks(job, &mut moments);
        Plan { moments, assumptions: assumptions(model, layout) }
    }

    /// Whether a plan of `model` in `layout` includes activations; otherwise its amounts are only lower limits.
    pub fn is_whole(model: &ModelSize, layout: &Layout) -> bool {
        model.shape.is_some() && layout.batch.is_some()
    }

    /// The plan of a moment in the course of training: after the first step, if that makes a difference.
    pub fn at(&self, moment: Moment) -> Option<&MomentPlan> {
        self.moments.iter().rfind(|plan| plan.moment == moment)
    }

    /// The plan of a moment before or after the first step; the only one if both are the same.
    pub fn at_step(&self, moment: Moment, step: Step) -> Option<&MomentPlan> {
        let exact = self.moments.iter().find(|plan| plan.moment == moment && plan.step == step);
        exact.or_else(|| self.at(moment))
    }
}

/// Whether a job with this layout has this moment.
fn comes(moment: Moment, layout: &Layout) -> bool {
    match moment {
        Moment::Rollout => layout.engine.is_some(),
        Moment::WeightSync => layout.engine.is_some() || layout.samples.broadcast_tokens.is_some(),
        Moment::Experience => layout.engine.is_some() || !layout.companions.is_empty(),
        Moment::CheckpointResume => layout.checkpoint.resume != Resume::Nothing,
        _ => true,
    }
}

/// The steps to plan: both if states are created by the first step and may be absent at the moment.
fn steps(moment: Moment, layout: &Layout) -> &'static [Step] {
    let lazy = !layout.implementation.states_at_init;
    match moment {
        Moment::Init | Moment::AfterPrepare => &[Step::First],
        Moment::OptimizerStep | Moment::CheckpointSave | Moment::CheckpointResume => &[Step::Later],
        _ if lazy => &[Step::First, Step::Later],
        _ => &[Step::Later],
    }
}

/// Whether the optimizer's states exist.
fn has_states(layout: &Layout, step: Step) -> bool {
    step == Step::Later || layout.implementation.states_at_init
}

/// The variant of a moment that needs the most; its lower bound is raised to the highest lower bound of all variants.
fn hungriest<const N: usize>(states: [Vec<Component>; N]) -> Vec<Component> {
    let sum = |parts: &Vec<Component>| parts.iter().map(|part| part.bytes).sum::<Amount>();
    let least = states.iter().map(|parts| sum(parts).low).max().unwrap_or_default();
    let mut parts = states.into_iter().max_by_key(|parts| sum(parts).middle()).unwrap_or_default();
    let lacks = least - sum(&parts).low;
    if let Some(passing) = parts.iter_mut().rfind(|part| !part.is_state()) {
        passing.bytes.low = (passing.bytes.low + lacks).min(passing.bytes.high);
    }
    parts
}

/// Adds cached blocks of the other moments of a step to the moment that needs the most.
fn add_cached_blocks(job: Job<'_>, moments: &mut [MomentPlan]) {
    const OF_A_STEP: [Moment; 3] = [Moment::Forward, Moment::Backward, Moment::OptimizerStep];
    let of_a_step = moments.iter().filter(|plan| OF_A_STEP.contains(&plan.moment));
    let mut parts: Vec<Component> = of_a_step.flat_map(|plan| plan.components.clone()).collect();
    parts.extend(job.forwards().into_iter().flatten().chain(job.backwards().into_iter().flatten()));
    let hungriest = moments.iter_mut().rev().max_by_key(|plan| plan.device().high);
    if let Some(hungriest) = hungriest.filter(|plan| OF_A_STEP.contains(&plan.moment)) {
        hungriest.process.push(process::cached_blocks(&parts, hungriest.device()));
    }
}

impl Job<'_> {
    /// The variants of forward: in the last layer, and at the loss.
    fn forwards(self) -> [Vec<Component>; 2] {
        let (model, layout) = (self.model, self.layout);
        let layer = match layout.recomputation == Recomputation::Full || layout.offload.activations {
            true => activations::computed(model, layout),
            false => Vec::new(),
        };
        [[self.kept(), layer].concat(), [self.kept(), logits(model, layout, LogitsStage::Forward)].concat()]
    }

    /// The variants of backward: at the loss, in the last layer, and when all gradients exist.
    fn backwards(self) -> [Vec<Component>; 3] {
        let (model, layout) = (self.model, self.layout);
        let layer = || [activations::computed_again(model, layout), self.unit_gradients()].concat();
        [
            [self.accumulated(), self.kept(), logits(model, layout, LogitsStage::Loss)].concat(),
            [self.accumulated(), self.kept(), layer(), logits(model, layout, LogitsStage::Held)].concat(),
            [self.late_gradients(), layer()].concat(),
        ]
    }

    /// A pass for log-probabilities, values or rewards.
    fn experience(self) -> Vec<Component> {
        let batch = self.layout.experience_batch.or(self.layout.batch);
        let layout = Layout { batch, ..self.layout.clone() };
        let pass =
            [activations::of_inference(self.model, &layout), logits(self.model, &layout, LogitsStage::Experience)];
        [self.live(false), pass.concat()].concat()
    }

    /// Activations that stay on the device for backward.
    fn kept(self) -> Vec<Component> {
        if self.layout.offload.activations { Vec::new() } else { activations::kept(self.model, self.layout) }
    }

    /// Gradients left by earlier passes of the step, if gradients are created in backward.
    fn accumulated(self) -> Vec<Component> {
        let accumulates = self.layout.batch.is_some_and(|batch| batch.accumulation > 1);
        if accumulates { self.late_gradients() } else { Vec::new() }
    }

    /// Gradients, if they are created in backward.
    fn late_gradients(self) -> Vec<Component> {
        if self.keeps_gradients() { Vec::new() } else { self.gradients() }
    }

    /// Whether gradients have a buffer from the start.
    fn keeps_gradients(self) -> bool {
        self.layout.sharding == Sharding::ZeroThree && !self.layout.steps_on_host()
    }
}

fn on_device(job: Job<'_>, moment: Moment, step: Step) -> Vec<Component> {
    let layout = job.layout;
    let updates = matches!(moment, Moment::Forward | Moment::Backward | Moment::OptimizerStep);
    // Between updates, weights and states may be on the host; weights return to compute or to be sent.
    let weights_here = !layout.idle_offload.parameters || moment != Moment::Rollout;
    let states_here =
        updates || !layout.idle_offload.optimizer || matches!(moment, Moment::Init | Moment::AfterPrepare);
    let mut parts = Vec::new();
    if weights_here {
        parts.extend(job.weights());
    }
    if states_here && moment != Moment::Init {
        parts.extend(job.master());
        if has_states(layout, step) {
            parts.extend(job.moments());
        }
    }
    if moment != Moment::Init {
        parts.extend(job.kept_gradients());
        if job.keeps_gradients() {
            parts.extend(job.gradients());
        }
        parts.extend(job.secondary_weights());
        parts.extend(job.buckets(true));
    }
    match moment {
        Moment::Init => {
            parts.extend(job.master());
            parts.extend(job.start_buffers());
        }
        Moment::AfterPrepare | Moment::CheckpointResume | Moment::Rollout => {}
        Moment::Experience => parts.extend(job.experience()),
        Moment::Evaluation => {
            parts.extend(job.live(false));
            parts.extend(activations::of_inference(job.model, layout));
            parts.extend(logits(job.model, layout, LogitsStage::Inference));
        }
        Moment::Forward => {
            parts.extend(job.live(false));
            parts.extend(job.dequantised());
            parts.extend(job.accumulated());
            parts.extend(hungriest(job.forwards()));
        }
        Moment::Backward => {
            parts.extend(job.live(true));
            parts.extend(job.dequantised());
            if !matches!(layout.sharding, Sharding::ZeroThree) {
                parts.extend(job.buckets(false));
            }
            parts.extend(hungriest(job.backwards()));
        }
        Moment::OptimizerStep => {
            parts.extend(job.late_gradients());
            parts.extend(job.step_buffers());
        }
        Moment::WeightSync => {
            parts.extend(job.gathered_for_sync());
            parts.extend(job.samples_on_device());
        }
        Moment::CheckpointSave => parts.extend(job.gathered_for_save()),
    }
    if moment != Moment::Init {
        parts.extend(job.companions_on_device(matches!(moment, Moment::Experience)));
        parts.extend(match moment {
            Moment::Rollout => job.engine_at_work(),
            Moment::WeightSync => job.engine_in_sync(),
            _ => job.engine_at_rest(),
        });
    }
    parts
}

fn on_host(job: Job<'_>, moment: Moment, step: Step) -> Vec<Component> {
    let layout = job.layout;
    let mut parts = job.offloaded();
    if has_states(layout, step) {
        parts.extend(job.offloaded_moments());
    }
    if moment == Moment::Init {
        // Loading ends before the engine is set up, so the larger of both counts.
        let loading = job.on_model_load();
        parts.extend(job.cast_sub_group());
        let sum = |parts: &[Component]| parts.iter().map(|part| part.bytes).sum::<Amount>().high;
        return if sum(&loading) > sum(&parts) { loading } else { parts };
    }
    parts.extend(job.companions_on_host());
    // Pinned memory is never returned, whether it is in use or not.
    if moment != Moment::AfterPrepare {
        parts.extend(job.idle());
        parts.extend(job.engine_on_host());
        parts.extend(job.samples_on_host());
    }
    match moment {
        Moment::Forward | Moment::Backward if layout.offload.activations => {
            let kept = activations::kept(job.model, layout);
            parts.extend(job.offloaded_activations(kept));
        }
        Moment::CheckpointSave => parts.extend(job.on_save()),
        Moment::CheckpointResume => parts.extend(job.on_resume()),
        _ => {}
    }
    parts
}

fn assumptions(model: &ModelSize, layout: &Layout) -> Vec<String> {
    let mut said: Vec<&str> = vec![
        "the upper bound for a GPU includes the CUDA context, communicators and PyTorch's cached blocks; the lower bound does not",
        "not counted: the libraries and data of each process on the host",
    ];
    if model.parameters.low != model.parameters.high {
        said.push("the model is known by a rounded size only");
    }
    match (&model.shape, layout.batch) {
        (None, _) => said.push(SHAPE_UNKNOWN),
        (_, None) => said.push("not counted: activations and logits; the micro-batch or sequence length is unknown"),
        (Some(shape), Some(_)) => {
            said.push(match shape.gated_mlp {
                true => "activations are counted tensor by tensor, as transformers keeps them",
                false => "activations come from a formula: give or take a quarter",
            });
            if shape.vision > 0 {
                said.push("not counted: activations of the vision tower");
            }
            if shape.experts.is_some() {
                said.push("tokens are spread evenly over the experts");
            }
        }
    }
    if layout.engine.is_some() && layout.cluster.device_memory.is_none() {
        said.push("not counted: the inference engine's cache; the GPU's memory is unknown");
    }
    if layout.parallel.pipeline > 1 {
        said.push("pipeline stages are equal, except for the embedding and the output head");
    }
    if layout.offload.optimizer.is_some() {
        said.push("all parameters are stepped in one group; a small second one without weight decay is not told apart");
    }
    said.into_iter().map(str::to_owned).collect()
}
