//! Temporary memory for loading and saving checkpoints.
//!
//! DeepSpeed: `deepspeed/runtime/engine.py`, `_load_zero_checkpoint` (each rank `torch.load`s its own
//! `*_optim_states.pt` to the CPU: master weights and two moments), `_zero3_consolidated_16bit_state_dict`,
//! `clone_tensors_for_torch_save`.

use super::component::{Component, PAGE_CACHE};
use super::layout::{Export, Resume, Sharding, WeightsLoad};
use super::states::Job;
use super::{Amount, Parameters, Width};

impl Job<'_> {
    /// Host memory for building the model.
    pub fn on_model_load(&self) -> Vec<Component> {
        let whole = self.model.parameters;
        match self.layout.checkpoint.weights {
            WeightsLoad::EveryRank(width) => {
                vec![self.of_ranks("weights being loaded", whole.at(width), format!("{whole} × {width} bytes"))]
            }
            WeightsLoad::FirstRank(width) => {
                vec![Component::on_host("weights being loaded", whole.at(width), format!("{whole} × {width} bytes"))]
            }
            WeightsLoad::Streamed => Vec::new(),
        }
    }

    /// Host memory for loading optimizer states, beyond what is kept. Moments that did not exist before are kept as
    /// loaded, so they count as kept.
    pub fn on_resume(&self) -> Vec<Component> {
        let checkpoint = self.layout.checkpoint;
        let (part, states) = (self.stepped(), self.states_width());
        let master = self.layout.precision.master.unwrap_or(Width::ZERO);
        let file = states.plus(master);
        // Loaded states are kept if they belong on the host and did not exist before. States for a device are copied
        // there and freed.
        let kept = self.stepped_on_host().high > 0 && !self.layout.implementation.states_at_init;
        let freed = if kept { master } else { file };
        let mut parts = match checkpoint.resume {
            Resume::Nothing => return Vec::new(),
            Resume::OwnPart => {
                vec![self.of_ranks("states being loaded", part.at(freed), format!("{part} × {freed} bytes"))]
            }
            Resume::OwnPartInTurn => {
                vec![Component::on_host(
                    "states being loaded",
                    part.at(freed),
                    format!("{part} × {freed} bytes, one rank at a time"),
                )]
            }
            Resume::AllParts => {
                let all = self.layout.trained_on_rank(self.model);
                vec![self.of_ranks("states being loaded", all.at(file), format!("{all} × {file} bytes"))]
            }
            Resume::Universal => {
                let shape = self.model.shape.as_ref();
                let largest = shape.map_or(part, |shape| Parameters::exactly(shape.largest_module()));
                let bytes = largest.at(file).maybe();
                vec![self.of_ranks("states being loaded", bytes, format!("up to {largest} × {file} bytes"))]
            }
        };
        if checkpoint.load_copies {
            parts.push(self.of_ranks("copies of loaded states", part.at(states), format!("{part} × {states} bytes")));
        }
        if matches!(self.layout.sharding, Sharding::ZeroOne | Sharding::ZeroTwo) {
            // Every rank reads `mp_rank_00_model_states.pt` whole before the optimizer's states; it may or may not be
            // freed by then.
            let whole = self.layout.on_rank(self.model);
            let width = self.layout.precision.weights;
            let formula = format!("up to {whole} × {width} bytes");
            parts.push(self.of_ranks("model states being loaded", whole.at(width).maybe(), formula));
        }
        parts
    }

    /// Host memory on the first host for saving, beyond what is kept.
    pub fn on_save(&self) -> Vec<Component> {
        let checkpoint = self.layout.checkpoint;
        let whole = self.model.parameters;
        let exported = self.layout.precision.compute;
        let mut parts = Vec::new();
        match checkpoint.export {
            Export::Nothing => {}
            Export::FirstRank => {
                let formula = format!("{whole} × {exported} bytes on the first rank");
                parts.push(Component::on_host("exported weights", whole.at(exported), formula));
            }
            Export::EveryRank => {
                let formula = format!("{whole} × {exported} bytes");
                parts.push(self.of_ranks("exported weights", whole.at(exported), formula));
            }
        }
        let states = self.states_width().plus(self.layout.precision.master.unwrap_or(Width::ZERO));
        if checkpoint.full_state {
            let weights = Width::between(exported.low, self.layout.precision.weights.high.max(exported.high));
            let formula = format!("{whole} × {weights} bytes on the first rank");
            parts.push(Component::on_host("gathered weights", whole.at(weights), formula));
            let formula = format!("{whole} × {states} bytes on the first rank");
            parts.push(Component::on_host("gathered optimizer states", whole.at(states), formula));
        }
        if checkpoint.copies_shards {
            let weights = self.layout.precision.weights;
            let width = if checkpoint.in_turn { self.states_width() } else { states.plus(weights) };
            let part = self.stepped();
            parts.push(self.of_ranks("copied shards", part.at(width), format!("{part} × {width} bytes")));
        }
        let written = self.stepped().at(states);
        if !written.is_nothing() {
            let formula = format!("up to {} × {states} bytes, written back as fast as the disk is", self.stepped());
            parts.push(self.of_ranks(PAGE_CACHE, written.maybe(), formula));
        }
        parts
    }

    /// Device memory that an export gathers on the first rank: the largest module of stage 3.
    pub fn gathered_for_save(&self) -> Vec<Component> {
        let layout = self.layout;
        if layout.checkpoint.export == Export::Nothing || layout.sharding != Sharding::ZeroThree {
            return Vec::new();
        }
        let width = layout.precision.compute;
        let bytes = match &self.model.shape {
            Some(shape) => Parameters::exactly(shape.largest_layer().max(shape.largest_module())).at(width),
            None => Amount::ZERO,
        };
        vec![Component::on_device("gathered layer", bytes, format!("largest layer × {width} bytes"))]
    }
}
