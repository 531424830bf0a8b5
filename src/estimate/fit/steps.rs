//! The changes that may make a job fit, as ladders: of each at most one step is taken.

use crate::knowledge::{Price, Prices, Shape};
use crate::memory::{
    Adapter, Attention, Layout, Logits, ModelSize, OffloadDevice, OptimizerKind, OptimizerOffload, ParameterOffload,
    Quantised, Recomputation, Resume, Sharding,
};

/// Sequences as long are worth sharing out.
const LONG: u64 = 8192;
/// Rank of the adapter that is tried.
const LORA_RANK: u64 = 16;

/// A change that can be made.
pub(super) struct Step {
    pub flag: String,
    pub price: Price,
    pub change: Box<dyn Fn(&mut Layout)>,
}

fn step(flag: impl Into<String>, price: &Price, change: impl Fn(&mut Layout) + 'static) -> Step {
    Step { flag: flag.into(), price: price.clone(), change: Box::new(change) }
}

/// What can be changed: of each ladder at most one step is taken, and a step may build on those of ladders before it.
pub(super) fn ladders(model: &ModelSize, layout: &Layout, prices: &Prices) -> Vec<Vec<Step>> {
    let of_layout = [attention, loss, batch, recomputation, sharding, sequence, resume, offload, pin];
    let mut ladders: Vec<Vec<Step>> = of_layout.iter().map(|ladder| ladder(layout, prices)).collect();
    ladders.extend([training(model, layout, prices), nodes(prices)]);
    ladders.retain(|ladder| !ladder.is_empty());
    ladders
}

/// A ladder of one step, where that `may_be` taken.
fn only(may_be: bool, flag: &str, price: &Price, change: impl Fn(&mut Layout) + 'static) -> Vec<Step> {
    if may_be { vec![step(flag, price, change)] } else { Vec::new() }
}

fn attention(layout: &Layout, prices: &Prices) -> Vec<Step> {
    let is_eager = layout.attention == Attention::Eager;
    only(is_eager, "no --eager-attention", &prices.flash_attention, |layout| layout.attention = Attention::Flash)
}

/// Logits that are never whole.
fn loss(layout: &Layout, prices: &Prices) -> Vec<Step> {
    let is_whole = layout.batch.is_some() && layout.logits != Logits::Fused;
    only(is_whole, "--fused-loss", &prices.fused_loss, |layout| layout.logits = Logits::Fused)
}

/// A sequence shared out among ranks, where it is long and there are ranks.
fn sequence(layout: &Layout, prices: &Prices) -> Vec<Step> {
    let is_long = layout.batch.is_some_and(|batch| batch.sequence >= LONG);
    let ranks = layout.cluster.devices() / layout.parallel.model_ranks();
    let more = [2, 4, 8]
        .into_iter()
        .filter(|count| is_long && *count > layout.parallel.sequence && ranks.is_multiple_of(*count));
    let share = |(place, count): (u32, u64)| {
        let price = prices.sequence_parallel.further(place);
        step(format!("--sequence-parallel {count}"), &price, move |layout| layout.parallel.sequence = count)
    };
    (0..).zip(more).map(share).collect()
}

/// A smaller micro-batch, with as many more of them.
fn batch(layout: &Layout, prices: &Prices) -> Vec<Step> {
    let Some(batch) = layout.batch else { return Vec::new() };
    let halves = |whole: u64| std::iter::successors(Some(whole / 2), |size| Some(size / 2));
    if let Some(budget) = batch.token_budget {
        // No sequence is split: the longest must go in.
        let smaller = |(place, tokens): (u32, u64)| {
            step(format!("--token-budget {tokens}"), &prices.smaller_batch.further(place), move |layout| {
                if let Some(batch) = &mut layout.batch {
                    batch.token_budget = Some(tokens);
                }
            })
        };
        return (0..).zip(halves(budget).take_while(|tokens| *tokens >= batch.sequence)).map(smaller).collect();
    }
    let halves = halves(batch.micro_batch).take_while(|size| *size > 0);
    let smaller = |(place, size): (u32, u64)| {
        step(format!("--micro-batch {size}"), &prices.smaller_batch.further(place), move |layout| {
            if let Some(batch) = &mut layout.batch {
                batch.accumulation = batch.accumulation.saturating_mul(batch.micro_batch / size.max(1));
                batch.micro_batch = size;
            }
        })
    };
    (0..).zip(halves).map(smaller).collect()
}

fn recomputation(layout: &Layout, prices: &Prices) -> Vec<Step> {
    let is_partial = layout.batch.is_some() && layout.recomputation != Recomputation::Full;
    only(is_partial, "--recomputation full", &prices.full_recomputation, |layout| {
        layout.recomputation = Recomputation::Full;
    })
}

/// Higher stages of ZeRO, where there are ranks to share with.
fn sharding(layout: &Layout, prices: &Prices) -> Vec<Step> {
    if layout.shards() <= 1 || layout.sharding.is_fsdp() {
        return Vec::new();
    }
    let stages = [
        (Sharding::ZeroOne, "--zero 1", &prices.zero_1),
        (Sharding::ZeroTwo, "--zero 2", &prices.zero_2),
        (Sharding::ZeroThree, "--zero 3", &prices.zero_3),
    ];
    let known = stages.iter().position(|(sharding, ..)| *sharding == layout.sharding);
    let higher = &stages[known.map_or(0, |known| known + 1)..];
    let to = |&(sharding, flag, price): &(Sharding, &str, &Price)| {
        step(flag, price, move |layout| layout.sharding = sharding)
    };
    higher.iter().map(to).collect()
}

/// Checkpoints read by one rank after the other, which DeepSpeed does in stage 3.
fn resume(layout: &Layout, prices: &Prices) -> Vec<Step> {
    let may_be = layout.sharding.is_zero() && layout.shards() > 1 && layout.checkpoint.resume == Resume::OwnPart;
    only(may_be, "pipeline_loading_checkpoint", &prices.resume_in_turn, |layout| {
        if layout.sharding == Sharding::ZeroThree {
            layout.checkpoint.resume = Resume::OwnPartInTurn;
        }
    })
}

/// What goes to the host: the optimizer, then the weights too, where they are shared out.
fn offload(layout: &Layout, prices: &Prices) -> Vec<Step> {
    fn optimizer(layout: &mut Layout) {
        layout.offload.optimizer = Some(OptimizerOffload::to_cpu(true));
    }
    fn parameters(layout: &mut Layout) {
        // Stages below 3 accept it and do nothing.
        if layout.sharding.splits_weights() {
            layout.offload.parameters = Some(ParameterOffload { device: OffloadDevice::Cpu });
        }
    }
    let splits = layout.sharding.splits_weights() || layout.shards() > 1;
    let no_weights = layout.offload.parameters.is_none() && splits;
    if layout.offload.optimizer.is_some() {
        return only(no_weights, "--param-offload", &prices.parameter_offload, parameters);
    }
    // DeepSpeed's optimizer on the CPU is Adam, and without ZeRO there is none.
    if layout.optimizer.kind != OptimizerKind::AdamW {
        return Vec::new();
    }
    let is_replicated = layout.sharding == Sharding::Replicated;
    let flag = if is_replicated { "--zero 2 --adam-offload" } else { "--adam-offload" };
    let adam = step(flag, &prices.optimizer_offload, |layout| {
        if layout.sharding == Sharding::Replicated {
            layout.sharding = Sharding::ZeroTwo;
        }
        optimizer(layout);
    });
    let both = only(no_weights, "--adam-offload --param-offload", &prices.full_offload, |layout| {
        optimizer(layout);
        parameters(layout);
    });
    std::iter::once(adam).chain(both).collect()
}

/// Buffers of offload in ordinary memory.
fn pin(layout: &Layout, prices: &Prices) -> Vec<Step> {
    let is_off = layout.offload.optimizer.is_some_and(|offload| !offload.pin);
    only(!is_off, "--no-pin", &prices.no_pin, |layout| {
        if let Some(offload) = &mut layout.offload.optimizer {
            offload.pin = false;
        }
    })
}

/// Other numbers, or another training.
fn training(model: &ModelSize, layout: &Layout, prices: &Prices) -> Vec<Step> {
    let quantised = |shape: &Shape, layout: &mut Layout| {
        layout.precision = Quantised::FourBit.beneath(Some(shape), layout.precision);
    };
    if layout.adapter.is_some() {
        let shape = model.shape.clone().filter(|_| layout.precision.weights.high >= 2.0);
        let to_4_bit = |shape| step("--quantised 4bit", &prices.four_bit, move |layout| quantised(&shape, layout));
        return shape.map(to_4_bit).into_iter().collect();
    }
    let is_adam = layout.optimizer.kind == OptimizerKind::AdamW && layout.offload.optimizer.is_none();
    let mut steps = only(is_adam, "--optimizer adamw-8bit", &prices.eight_bit_adam, |layout| {
        if layout.offload.optimizer.is_none() {
            layout.optimizer.kind = OptimizerKind::AdamW8Bit;
        }
    });
    if let Some(shape) = &model.shape {
        let parameters = shape.adapter_parameters(LORA_RANK).into();
        let adapt = move |layout: &mut Layout| {
            layout.adapter = Some(Adapter { parameters, weights: layout.precision.weights });
        };
        let shape = shape.clone();
        steps.push(step(format!("--lora {LORA_RANK}"), &prices.lora, adapt));
        steps.push(step(format!("--lora {LORA_RANK} --quantised 4bit"), &prices.lora_on_four_bit, move |layout| {
            adapt(layout);
            quantised(&shape, layout);
        }));
    }
    steps
}

fn nodes(prices: &Prices) -> Vec<Step> {
    vec![step("twice the --nodes", &prices.more_nodes, |layout| layout.cluster.nodes *= 2)]
}
