//! The changes that may make a job fit, as ladders: at most one rung of each ladder is taken.

use crate::knowledge::{Price, Prices, Shape};
use crate::memory::{
    Adapter, Attention, Layout, Logits, ModelSize, OffloadDevice, OptimizerKind, OptimizerOffload, ParameterOffload,
    Quantised, Recomputation, Resume, Sharding,
};

/// The shortest sequence that is worth splitting.
const LONG: u64 = 8192;
/// The rank of the adapter that is tried.
const LORA_RANK: u64 = 16;

/// A change that may be made.
pub(super) struct Rung {
    pub flag: String,
    pub price: Price,
    pub change: Box<dyn Fn(&mut Layout)>,
}

fn rung(flag: impl Into<String>, price: &Price, change: impl Fn(&mut Layout) + 'static) -> Rung {
    Rung { flag: flag.into(), price: price.clone(), change: Box::new(change) }
}

/// All ladders. At most one rung of each is taken, and it may build on rungs of earlier ladders.
pub(super) fn ladders(model: &ModelSize, layout: &Layout, prices: &Prices) -> Vec<Vec<Rung>> {
    let of_layout = [attention, loss, batch, recomputation, sharding, sequence, resume, offload, pin];
    let mut ladders: Vec<Vec<Rung>> = of_layout.iter().map(|ladder| ladder(layout, prices)).collect();
    ladders.extend([training(model, layout, prices), nodes(prices)]);
    ladders.iter_mut().for_each(|ladder| ladder.retain(|rung| !rung.price.is_lacking));
    ladders.retain(|ladder| !ladder.is_empty());
    ladders
}

/// A ladder of one rung, or an empty one unless `may_be`.
fn only(may_be: bool, flag: &str, price: &Price, change: impl Fn(&mut Layout) + 'static) -> Vec<Rung> {
    if may_be { vec![rung(flag, price, change)] } else { Vec::new() }
}

fn attention(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let is_eager = layout.attention == Attention::Eager;
    only(is_eager, "no --eager-attention", &prices.flash_attention, |layout| layout.attention = Attention::Flash)
}

/// A fused loss never materialises all logits.
fn loss(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let is_whole = layout.batch.is_some() && layout.logits != Logits::Fused;
    only(is_whole, "--fused-loss", &prices.fused_loss, |layout| layout.logits = Logits::Fused)
}

/// Splits long sequences over ranks, if there are enough ranks.
fn sequence(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let is_long = layout.batch.is_some_and(|batch| batch.sequence >= LONG);
    let ranks = layout.cluster.devices() / layout.parallel.model_ranks();
    let more = [2, 4, 8]
        .into_iter()
        .filter(|count| is_long && *count > layout.parallel.sequence && ranks.is_multiple_of(*count));
    let share = |(place, count): (u32, u64)| {
        let price = prices.sequence_parallel.further(place);
        rung(format!("--sequence-parallel {count}"), &price, move |layout| layout.parallel.sequence = count)
    };
    (0..).zip(more).map(share).collect()
}

/// Shrinks the micro-batch and accumulates correspondingly more of them.
fn batch(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let Some(batch) = layout.batch else { return Vec::new() };
    let halves = |whole: u64| std::iter::successors(Some(whole / 2), |size| Some(size / 2));
    if let Some(budget) = batch.token_budget {
        // Sequences are not split, so the longest must fit in the budget.
        let smaller = |(place, tokens): (u32, u64)| {
            rung(format!("--token-budget {tokens}"), &prices.smaller_batch.further(place), move |layout| {
                if let Some(batch) = &mut layout.batch {
                    batch.token_budget = Some(tokens);
                }
            })
        };
        return (0..).zip(halves(budget).take_while(|tokens| *tokens >= batch.sequence)).map(smaller).collect();
    }
    let halves = halves(batch.micro_batch).take_while(|size| *size > 0);
    let smaller = |(place, size): (u32, u64)| {
        rung(format!("--micro-batch {size}"), &prices.smaller_batch.further(place), move |layout| {
            if let Some(batch) = &mut layout.batch {
                batch.accumulation = batch.accumulation.saturating_mul(batch.micro_batch / size.max(1));
                batch.micro_batch = size;
            }
        })
    };
    (0..).zip(halves).map(smaller).collect()
}

fn recomputation(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let is_partial = layout.batch.is_some() && layout.recomputation != Recomputation::Full;
    only(is_partial, "--recomputation full", &prices.full_recomputation, |layout| {
        layout.recomputation = Recomputation::Full;
    })
}

/// Higher stages of ZeRO, if there are several ranks.
fn sharding(layout: &Layout, prices: &Prices) -> Vec<Rung> {
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
        rung(flag, price, move |layout| layout.sharding = sharding)
    };
    higher.iter().map(to).collect()
}

/// Reads checkpoints one rank after the other, which DeepSpeed does in stage 3.
fn resume(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let may_be = layout.sharding.is_zero() && layout.shards() > 1 && layout.checkpoint.resume == Resume::OwnPart;
    only(may_be, "pipeline_loading_checkpoint", &prices.resume_in_turn, |layout| {
        if layout.sharding == Sharding::ZeroThree {
            layout.checkpoint.resume = Resume::OwnPartInTurn;
        }
    })
}

/// Offloads the optimizer, then also the weights if they are sharded.
fn offload(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    fn optimizer(layout: &mut Layout) {
        layout.offload.optimizer = Some(OptimizerOffload::to_cpu(true));
    }
    fn parameters(layout: &mut Layout) {
        // Stages below 3 accept the setting and ignore it.
        if layout.sharding.splits_weights() {
            layout.offload.parameters = Some(ParameterOffload { device: OffloadDevice::Cpu });
        }
    }
    let splits = layout.sharding.splits_weights() || layout.shards() > 1;
    let no_weights = layout.offload.parameters.is_none() && splits;
    if layout.offload.optimizer.is_some() {
        return only(no_weights, "--param-offload", &prices.parameter_offload, parameters);
    }
    // DeepSpeed's CPU optimizer is Adam, and it exists only with ZeRO.
    if layout.optimizer.kind != OptimizerKind::AdamW {
        return Vec::new();
    }
    let is_replicated = layout.sharding == Sharding::Replicated;
    let flag = if is_replicated { "--zero 2 --adam-offload" } else { "--adam-offload" };
    let adam = rung(flag, &prices.optimizer_offload, |layout| {
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

/// Keeps offload buffers in ordinary memory.
fn pin(layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let is_off = layout.offload.optimizer.is_some_and(|offload| !offload.pin);
    only(!is_off, "--no-pin", &prices.no_pin, |layout| {
        if let Some(offload) = &mut layout.offload.optimizer {
            offload.pin = false;
        }
    })
}

/// Uses other number formats, or trains an adapter.
fn training(model: &ModelSize, layout: &Layout, prices: &Prices) -> Vec<Rung> {
    let quantised = |shape: &Shape, layout: &mut Layout| {
        layout.precision = Quantised::FourBit.beneath(Some(shape), layout.precision);
    };
    if layout.adapter.is_some() {
        let shape = model.shape.clone().filter(|_| layout.precision.weights.high >= 2.0);
        let to_4_bit = |shape| rung("--quantised 4bit", &prices.four_bit, move |layout| quantised(&shape, layout));
        return shape.map(to_4_bit).into_iter().collect();
    }
    let is_adam = layout.optimizer.kind == OptimizerKind::AdamW && layout.offload.optimizer.is_none();
    let mut rungs = only(is_adam, "--optimizer adamw-8bit", &prices.eight_bit_adam, |layout| {
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
        rungs.push(rung(format!("--lora {LORA_RANK}"), &prices.lora, adapt));
        rungs.push(rung(format!("--lora {LORA_RANK} --quantised 4bit"), &prices.lora_on_four_bit, move |layout| {
            adapt(layout);
            quantised(&shape, layout);
        }));
    }
    rungs
}

fn nodes(prices: &Prices) -> Vec<Rung> {
    vec![rung("twice the --nodes", &prices.more_nodes, |layout| layout.cluster.nodes *= 2)]
}
