//! What a job should need, moment by moment.

use serde::{Deserialize, Serialize};

use super::activations::{self, Pass};
use super::component::{Component, Place};
use super::layout::{Layout, Resume, Sharding};
use super::states::Job;
use super::{Amount, ModelSize};
use crate::model::Phase;

/// A moment of a job at which memory is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl Moment {
    /// Every moment, as a job comes to it.
    pub const ALL: [Moment; 11] = [
        Moment::Init,
        Moment::AfterPrepare,
        Moment::CheckpointResume,
        Moment::Rollout,
        Moment::Experience,
        Moment::Forward,
        Moment::Backward,
        Moment::OptimizerStep,
        Moment::WeightSync,
        Moment::Evaluation,
        Moment::CheckpointSave,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Moment::Init => "init",
            Moment::AfterPrepare => "after_prepare",
            Moment::Rollout => "rollout",
            Moment::Experience => "experience",
            Moment::Forward => "forward",
            Moment::Backward => "backward",
            Moment::OptimizerStep => "optimizer_step",
            Moment::WeightSync => "weight_sync",
            Moment::Evaluation => "evaluation",
            Moment::CheckpointSave => "checkpoint_save",
            Moment::CheckpointResume => "checkpoint_resume",
        }
    }

    /// The phase it is of; what lies there after preparation belongs to none.
    pub fn phase(self) -> Option<Phase> {
        Some(match self {
            Moment::AfterPrepare => return None,
            Moment::Init => Phase::ModelLoad,
            Moment::Rollout => Phase::Rollout,
            Moment::Experience => Phase::Experience,
            Moment::Forward => Phase::Forward,
            Moment::Backward => Phase::Backward,
            Moment::OptimizerStep => Phase::OptimizerStep,
            Moment::WeightSync => Phase::WeightSync,
            Moment::Evaluation => Phase::Evaluation,
            Moment::CheckpointSave => Phase::CheckpointSave,
            Moment::CheckpointResume => Phase::CheckpointResume,
        })
    }

    /// The moment at which a job is in `phase`; `None` for phases whose memory is not computed.
    pub fn of_phase(phase: Phase) -> Option<Moment> {
        Some(match phase {
            Phase::ModelLoad => Moment::Init,
            Phase::EngineInit => Moment::AfterPrepare,
            Phase::CheckpointResume => Moment::CheckpointResume,
            Phase::Rollout => Moment::Rollout,
            Phase::Experience => Moment::Experience,
            Phase::WeightSync => Moment::WeightSync,
            Phase::Forward => Moment::Forward,
            Phase::Backward => Moment::Backward,
            Phase::OptimizerStep => Moment::OptimizerStep,
            Phase::CheckpointSave => Moment::CheckpointSave,
            Phase::Evaluation => Moment::Evaluation,
            _ => return None,
        })
    }
}

/// Whether the optimizer has stepped before: its states are there from its first step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Not yet.
    First,
    /// At least once.
    Later,
}

/// What is needed at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MomentPlan {
    /// When.
    pub moment: Moment,
    /// Before or after the first step.
    pub step: Step,
    /// What takes memory, what is always there first.
    pub components: Vec<Component>,
}

impl MomentPlan {
    /// On one device.
    pub fn device(&self) -> Amount {
        self.sum(|place| place == Place::Device)
    }

    /// On one host, page-locked or not.
    pub fn host(&self) -> Amount {
        self.sum(Place::is_host)
    }

    /// On one host, less what the system takes back before anything dies of want.
    pub fn host_kept(&self) -> Amount {
        let kept = |part: &&Component| part.place.is_host() && !part.is_reclaimable();
        self.components.iter().filter(kept).map(|part| part.bytes).sum()
    }

    /// Page-locked on one host.
    pub fn pinned(&self) -> Amount {
        self.sum(|place| place == Place::HostPinned)
    }

    /// The part of this name on a device.
    pub fn on_device(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|part| part.name == name && !part.place.is_host())
    }

    /// The part of this name on a host.
    pub fn on_host(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|part| part.name == name && part.place.is_host())
    }

    fn sum(&self, counts: impl Fn(Place) -> bool) -> Amount {
        self.components.iter().filter(|component| counts(component.place)).map(|component| component.bytes).sum()
    }
}

/// What a job should need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Moment by moment, as a job comes to them.
    pub moments: Vec<MomentPlan>,
    /// What was taken for granted, and what is not counted.
    pub assumptions: Vec<String>,
}

impl Plan {
    /// What `model` in `layout` should need.
    pub fn of(model: &ModelSize, layout: &Layout) -> Plan {
        let job = Job { model, layout };
        let mut moments = Vec::new();
        for moment in Moment::ALL.into_iter().filter(|moment| comes(*moment, layout)) {
            for step in steps(moment, layout) {
                let mut components = on_device(job, moment, *step);
                components.extend(on_host(job, moment, *step));
                components.retain(|component| !component.bytes.is_nothing());
                moments.push(MomentPlan { moment, step: *step, components });
            }
        }
        Plan { moments, assumptions: assumptions(model, layout) }
    }

    /// A moment when training runs: after the first step where that makes a difference.
    pub fn at(&self, moment: Moment) -> Option<&MomentPlan> {
        self.moments.iter().rfind(|plan| plan.moment == moment)
    }

    /// A moment before or after the first step; the one that there is where there is but one.
    pub fn at_step(&self, moment: Moment, step: Step) -> Option<&MomentPlan> {
        let exact = self.moments.iter().find(|plan| plan.moment == moment && plan.step == step);
        exact.or_else(|| self.at(moment))
    }
}

/// Whether a job of this layout comes to a moment.
fn comes(moment: Moment, layout: &Layout) -> bool {
    match moment {
        Moment::Rollout => layout.engine.is_some(),
        Moment::WeightSync => layout.engine.is_some() || layout.samples.broadcast_tokens.is_some(),
        Moment::Experience => layout.engine.is_some() || !layout.companions.is_empty(),
        Moment::CheckpointResume => layout.checkpoint.resume != Resume::Nothing,
        _ => true,
    }
}

/// Before and after the first step, where states come with the first step and may be absent at the moment.
fn steps(moment: Moment, layout: &Layout) -> &'static [Step] {
    let lazy = !layout.implementation.states_at_init;
    match moment {
        Moment::Init | Moment::AfterPrepare => &[Step::First],
        Moment::OptimizerStep | Moment::CheckpointSave | Moment::CheckpointResume => &[Step::Later],
        _ if lazy => &[Step::First, Step::Later],
        _ => &[Step::Later],
    }
}

/// Whether the optimizer's states are there.
fn has_states(layout: &Layout, step: Step) -> bool {
    step == Step::Later || layout.implementation.states_at_init
}

fn on_device(job: Job<'_>, moment: Moment, step: Step) -> Vec<Component> {
    let layout = job.layout;
    let updates = matches!(moment, Moment::Forward | Moment::Backward | Moment::OptimizerStep);
    // Between updates weights and states may be on the host; weights come back to compute or to be sent.
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
    let keeps_gradients = layout.sharding == Sharding::ZeroThree && !layout.steps_on_host();
    let accumulates = layout.batch.is_some_and(|batch| batch.accumulation > 1);
    if moment != Moment::Init {
        parts.extend(job.kept_gradients());
        if keeps_gradients {
            parts.extend(job.gradients());
        }
        parts.extend(job.secondary_weights());
        parts.extend(job.buckets(true));
    }
    let gradients = || if keeps_gradients { Vec::new() } else { job.gradients() };
    match moment {
        Moment::Init => {
            parts.extend(job.master());
            parts.extend(job.start_buffers());
        }
        Moment::AfterPrepare | Moment::CheckpointResume | Moment::Rollout => {}
        Moment::Experience => {
            parts.extend(job.live());
            parts.extend(activations::activations(job.model, layout, Pass::Inference));
            parts.extend(activations::logits(job.model, layout, Pass::Inference));
        }
        Moment::Forward => {
            parts.extend(job.live());
            if accumulates {
                parts.extend(gradients());
            }
            parts.extend(activations_on_device(job, Pass::Forward));
            parts.extend(activations::logits(job.model, layout, Pass::Forward));
        }
        Moment::Backward => {
            parts.extend(gradients());
            parts.extend(job.live());
            if !matches!(layout.sharding, Sharding::ZeroThree) {
                parts.extend(job.buckets(false));
            }
            parts.extend(job.unit_gradients());
            parts.extend(activations_on_device(job, Pass::Backward));
            parts.extend(activations::logits(job.model, layout, Pass::Backward));
        }
        Moment::OptimizerStep => {
            parts.extend(gradients());
            parts.extend(job.step_buffers());
        }
        Moment::WeightSync => {
            parts.extend(job.gathered_for_sync());
            parts.extend(job.samples_on_device());
        }
        Moment::Evaluation => {
            parts.extend(job.live());
            parts.extend(activations::activations(job.model, layout, Pass::Inference));
            parts.extend(activations::logits(job.model, layout, Pass::Inference));
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

/// What forward keeps; one layer of it where the rest is offloaded.
fn activations_on_device(job: Job<'_>, pass: Pass) -> Vec<Component> {
    let pass = if job.layout.offload.activations { Pass::Inference } else { pass };
    activations::activations(job.model, job.layout, pass)
}

fn on_host(job: Job<'_>, moment: Moment, step: Step) -> Vec<Component> {
    let layout = job.layout;
    let mut parts = job.offloaded();
    if has_states(layout, step) {
        parts.extend(job.offloaded_moments());
    }
    if moment == Moment::Init {
        // Loading is over before the engine is set up: the larger of both.
        let loading = job.on_model_load();
        parts.extend(job.cast_sub_group());
        let sum = |parts: &[Component]| parts.iter().map(|part| part.bytes).sum::<Amount>().high;
        return if sum(&loading) > sum(&parts) { loading } else { parts };
    }
    parts.extend(job.companions_on_host());
    // Pinned memory that was taken once stays taken, whether it is in use or not.
    if moment != Moment::AfterPrepare {
        parts.extend(job.idle());
        parts.extend(job.engine_on_host());
        parts.extend(job.samples_on_host());
    }
    match moment {
        Moment::Forward | Moment::Backward if layout.offload.activations => {
            let kept = activations::activations(job.model, layout, Pass::Forward);
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
        "not counted: the device's context and communicators, the libraries and data of each process, fragmentation",
    ];
    if model.parameters.low != model.parameters.high {
        said.push("the model is known by a rounded size only");
    }
    match (&model.shape, layout.batch) {
        (None, _) => said.push("not counted: activations and logits, the model's shape is unknown"),
        (_, None) => said.push("not counted: activations and logits, micro-batch or sequence length are unknown"),
        (Some(shape), Some(_)) => {
            said.push("activations are a formula's, a quarter less, to what transformers keeps");
            if shape.vision > 0 {
                said.push("not counted: activations of the vision tower");
            }
            if shape.experts.is_some() {
                said.push("tokens spread evenly over experts");
            }
        }
    }
    if layout.engine.is_some() && layout.cluster.device_memory.is_none() {
        said.push("not counted: the inference engine's cache, the device's memory is unknown");
    }
    if layout.parallel.pipeline > 1 {
        said.push("the stages of the pipeline are equal but for embedding and head");
    }
    if layout.offload.optimizer.is_some() {
        said.push("all parameters are stepped in one group; a small second one without weight decay is not told apart");
    }
    said.into_iter().map(str::to_owned).collect()
}
