//! The cheapest changes with which a job fits.
//!
//! Every combination of the steps below is tried, from the cheapest on. A price is no measurement: it says which of two
//! changes to prefer. Cheap is what costs nothing or some communication, then what computes more, then what crosses to
//! the host, then what trains in other numbers, and last what trains something else or takes more machines.

use serde::Serialize;

use crate::knowledge::{Shape, Words};
use crate::memory::{
    Adapter, Amount, Attention, Layout, Logits, ModelSize, OffloadDevice, OptimizerKind, OptimizerOffload,
    ParameterOffload, Plan, Quantised, Recomputation, Resume, Sharding,
};
use crate::model::Bytes;

/// So much of what a device is called it does not have, or keeps for itself.
const ROOM: f64 = 0.02;
/// So much of a host is for what is not counted: the system, libraries, data.
const HOST_ROOM: f64 = 0.05;
/// Sequences as long are worth sharing out.
const LONG: u64 = 8192;
/// Rank of the adapter that is tried.
const LORA_RANK: u64 = 16;

/// What there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Limits {
    /// On each device.
    pub gpu: Bytes,
    /// On each host, where that is known.
    pub host: Option<Bytes>,
}

/// What to change so that a job fits.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fit {
    /// What there is.
    pub limits: Limits,
    /// Whether it then fits.
    pub fits: Fits,
    /// As it is.
    pub before: Peaks,
    /// What to change, in the order in which one builds on another; empty where nothing need be.
    pub changes: Vec<Change>,
    /// What is then left of what there is, by the bounds by which it fits; nothing where it does not.
    pub spare: Option<Spare>,
}

/// What is left of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Spare {
    /// Of each device.
    pub gpu: Bytes,
    /// Of each host, where that is known.
    pub host: Option<Bytes>,
}

/// Whether something fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fits {
    /// Even the upper bounds do.
    Surely,
    /// The lower bounds do.
    Perhaps,
    /// Nothing that is known here makes it fit; the changes are those that come nearest.
    Not,
}

/// What the hungriest moments need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Peaks {
    /// On each device.
    pub gpu: Amount,
    /// On each host.
    pub host: Amount,
}

/// One change, and what is needed with it and those before it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Change {
    /// As this command spells it.
    pub flag: String,
    /// What it costs.
    pub cost: Words,
    /// What is needed then.
    pub then: Peaks,
}

/// A change that can be made.
struct Step {
    flag: String,
    price: u32,
    cost: (&'static str, &'static str),
    change: Box<dyn Fn(&mut Layout)>,
}

fn step(
    flag: impl Into<String>,
    price: u32,
    cost: (&'static str, &'static str),
    change: impl Fn(&mut Layout) + 'static,
) -> Step {
    Step { flag: flag.into(), price, cost, change: Box::new(change) }
}

impl Peaks {
    fn of(model: &ModelSize, layout: &Layout) -> Peaks {
        let moments = Plan::of(model, layout).moments;
        let most = |amounts: Vec<Amount>| amounts.into_iter().fold(Amount::ZERO, Amount::max);
        Peaks {
            gpu: most(moments.iter().map(|moment| moment.device_needed()).collect()),
            host: most(moments.iter().map(|moment| moment.host_kept()).collect()),
        }
    }

    fn fits(self, limits: Limits) -> Fits {
        let fits = |bound: fn(Amount) -> Bytes| {
            beyond(bound(self.gpu), limits.gpu, ROOM) <= 0.0
                && limits.host.is_none_or(|host| beyond(bound(self.host), host, HOST_ROOM) <= 0.0)
        };
        match () {
            _ if fits(|need| need.high) => Fits::Surely,
            _ if fits(|need| need.low) => Fits::Perhaps,
            _ => Fits::Not,
        }
    }

    /// How far it is from fitting, in GiB of device and host.
    fn lacks(self, limits: Limits) -> f64 {
        let host = limits.host.map_or(0.0, |host| beyond(self.host.low, host, HOST_ROOM).max(0.0));
        beyond(self.gpu.low, limits.gpu, ROOM).max(0.0) + host
    }

    /// What is left, by the bounds by which it `fits`.
    fn spare(self, limits: Limits, fits: Fits) -> Option<Spare> {
        let need = |amount: Amount| match fits {
            Fits::Surely => Some(amount.high),
            Fits::Perhaps => Some(amount.low),
            Fits::Not => None,
        };
        let host = limits.host.and_then(|host| Some(host - need(self.host)?));
        Some(Spare { gpu: limits.gpu - need(self.gpu)?, host })
    }
}

/// GiB that are needed beyond what there is, less the share of it that is `room`.
fn beyond(need: Bytes, capacity: Bytes, room: f64) -> f64 {
    need.gib() - capacity.gib() * (1.0 - room)
}

/// The cheapest changes of `layout` with which `model` fits `limits`; where none do, those that come nearest.
pub fn search(model: &ModelSize, layout: &Layout, limits: Limits) -> Fit {
    let ladders = ladders(model, layout);
    let mut choices: Vec<(u32, Vec<&Step>)> = vec![(0, Vec::new())];
    for ladder in &ladders {
        for place in 0..choices.len() {
            for step in ladder {
                let (price, chosen) = &choices[place];
                choices.push((price + step.price, [&chosen[..], &[step]].concat()));
            }
        }
    }
    choices.sort_by_key(|(price, chosen)| (*price, chosen.len()));
    let mut perhaps: Option<Vec<&Step>> = None;
    let mut nearest: Option<(f64, Vec<&Step>)> = None;
    for (_, chosen) in choices {
        let peaks = Peaks::of(model, &changed(layout, &chosen));
        match peaks.fits(limits) {
            Fits::Surely => return fit(model, layout, limits, chosen),
            Fits::Perhaps => {
                perhaps.get_or_insert(chosen);
            }
            Fits::Not => {
                let lacks = peaks.lacks(limits);
                if nearest.as_ref().is_none_or(|(least, _)| lacks < *least) {
                    nearest = Some((lacks, chosen));
                }
            }
        }
    }
    let chosen = perhaps.or(nearest.map(|(_, chosen)| chosen)).unwrap_or_default();
    fit(model, layout, limits, chosen)
}

fn changed(layout: &Layout, steps: &[&Step]) -> Layout {
    let mut layout = layout.clone();
    steps.iter().for_each(|step| (step.change)(&mut layout));
    layout
}

fn fit(model: &ModelSize, layout: &Layout, limits: Limits, chosen: Vec<&Step>) -> Fit {
    let then = |count: usize| Peaks::of(model, &changed(layout, &chosen[..count]));
    let change = |(place, step): (usize, &&Step)| {
        let (en, zh) = step.cost;
        Change { flag: step.flag.clone(), cost: Words { en: en.to_owned(), zh: zh.to_owned() }, then: then(place + 1) }
    };
    let changes = chosen.iter().enumerate().map(change).collect();
    let after = then(chosen.len());
    // Whoever does not know activations knows no upper bound.
    let fits = match after.fits(limits) {
        Fits::Surely if !Plan::is_whole(model, layout) => Fits::Perhaps,
        fits => fits,
    };
    Fit { limits, fits, before: then(0), changes, spare: after.spare(limits, fits) }
}

/// What can be changed: of each ladder at most one step is taken, and a step may build on those of ladders before it.
fn ladders(model: &ModelSize, layout: &Layout) -> Vec<Vec<Step>> {
    let mut ladders = vec![attention(layout), loss(layout), batch(layout), recomputation(layout), sharding(layout)];
    ladders.extend([sequence(layout), resume(layout), offload(layout), pin(layout), training(model, layout), nodes()]);
    ladders.retain(|ladder| !ladder.is_empty());
    ladders
}

fn attention(layout: &Layout) -> Vec<Step> {
    let cost = ("None: it is faster.", "无：更快。");
    let flash = || step("no --eager-attention", 1, cost, |layout| layout.attention = Attention::Flash);
    (layout.attention == Attention::Eager).then(flash).into_iter().collect()
}

/// Logits that are never whole.
fn loss(layout: &Layout) -> Vec<Step> {
    let cost =
        ("Almost none; the framework must support it for this model (Liger).", "几乎没有；框架须支持该模型（Liger）。");
    let fused = || step("--fused-loss", 3, cost, |layout| layout.logits = Logits::Fused);
    let is_whole = layout.batch.is_some() && layout.logits != Logits::Fused;
    is_whole.then(fused).into_iter().collect()
}

/// A sequence shared out among ranks, where it is long and there are ranks.
fn sequence(layout: &Layout) -> Vec<Step> {
    let cost = (
        "Ranks of one sequence train fewer at once, and exchange keys and values in each layer.",
        "共享同一序列的 rank 同时训练的序列更少，且每层都要交换 key 和 value。",
    );
    let is_long = layout.batch.is_some_and(|batch| batch.sequence >= LONG);
    let ranks = layout.cluster.devices() / layout.parallel.model_ranks();
    let more = [2, 4, 8]
        .into_iter()
        .filter(|count| is_long && *count > layout.parallel.sequence && ranks.is_multiple_of(*count));
    let share = |(place, count): (u32, u64)| {
        step(format!("--sequence-parallel {count}"), 10 + place, cost, move |layout: &mut Layout| {
            layout.parallel.sequence = count;
        })
    };
    (0..).zip(more).map(share).collect()
}

/// A smaller micro-batch, with as many more of them.
fn batch(layout: &Layout) -> Vec<Step> {
    let cost = ("More and smaller passes per step.", "每步需要更多、更小的前向/反向。");
    let Some(batch) = layout.batch else { return Vec::new() };
    let halves = |whole: u64| std::iter::successors(Some(whole / 2), |size| Some(size / 2));
    if let Some(budget) = batch.token_budget {
        // No sequence is split: the longest must go in.
        let smaller = |(place, tokens): (u32, u64)| {
            step(format!("--token-budget {tokens}"), 2 + place, cost, move |layout: &mut Layout| {
                if let Some(batch) = &mut layout.batch {
                    batch.token_budget = Some(tokens);
                }
            })
        };
        return (0..).zip(halves(budget).take_while(|tokens| *tokens >= batch.sequence)).map(smaller).collect();
    }
    let halves = halves(batch.micro_batch).take_while(|size| *size > 0);
    let smaller = |(place, size): (u32, u64)| {
        step(format!("--micro-batch {size}"), 2 + place, cost, move |layout: &mut Layout| {
            if let Some(batch) = &mut layout.batch {
                batch.accumulation = batch.accumulation.saturating_mul(batch.micro_batch / size.max(1));
                batch.micro_batch = size;
            }
        })
    };
    (0..).zip(halves).map(smaller).collect()
}

fn recomputation(layout: &Layout) -> Vec<Step> {
    let cost = ("About a third more time: the forward pass runs twice.", "约多三分之一时间：前向要算两次。");
    let full = || step("--recomputation full", 6, cost, |layout| layout.recomputation = Recomputation::Full);
    let is_known = layout.batch.is_some() && layout.recomputation != Recomputation::Full;
    is_known.then(full).into_iter().collect()
}

/// Higher stages of ZeRO, where there are ranks to share with.
fn sharding(layout: &Layout) -> Vec<Step> {
    const STAGES: [(Sharding, &str, u32, (&str, &str)); 3] = [
        (Sharding::ZeroOne, "--zero 1", 1, ("Almost none.", "几乎没有。")),
        (Sharding::ZeroTwo, "--zero 2", 2, ("Almost none.", "几乎没有。")),
        (
            Sharding::ZeroThree,
            "--zero 3",
            8,
            (
                "Half as much communication again; weights are gathered layer by layer.",
                "通信量增加约一半；逐层聚合权重。",
            ),
        ),
    ];
    if layout.shards() <= 1 || layout.sharding.is_fsdp() {
        return Vec::new();
    }
    let known = STAGES.iter().position(|(sharding, ..)| *sharding == layout.sharding);
    let higher = &STAGES[known.map_or(0, |known| known + 1)..];
    let to = |(sharding, flag, price, cost): &(Sharding, &str, u32, (&'static str, &'static str))| {
        let sharding = *sharding;
        step(*flag, *price, *cost, move |layout| layout.sharding = sharding)
    };
    higher.iter().map(to).collect()
}

/// Checkpoints read by one rank after the other, which DeepSpeed does in stage 3.
fn resume(layout: &Layout) -> Vec<Step> {
    let cost = ("Resuming takes longer.", "恢复更慢。");
    let in_turn = |layout: &mut Layout| {
        if layout.sharding == Sharding::ZeroThree {
            layout.checkpoint.resume = Resume::OwnPartInTurn;
        }
    };
    let may_be = layout.sharding.is_zero() && layout.shards() > 1 && layout.checkpoint.resume == Resume::OwnPart;
    may_be.then(|| step("pipeline_loading_checkpoint", 3, cost, in_turn)).into_iter().collect()
}

/// What goes to the host: the optimizer, then the weights too, where they are shared out.
fn offload(layout: &Layout) -> Vec<Step> {
    let adam = ("The step runs on the CPU: often several times slower.", "更新在 CPU 上运行：通常慢数倍。");
    let both = (
        "The step runs on the CPU, and weights cross PCIe in every pass.",
        "更新在 CPU 上运行，且每次前向/反向权重都要过 PCIe。",
    );
    let weights = ("Weights cross PCIe in every pass.", "每次前向/反向权重都要过 PCIe。");
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
    match (layout.offload.optimizer, layout.optimizer.kind) {
        (Some(_), _) if no_weights => vec![step("--param-offload", 24, weights, parameters)],
        (Some(_), _) => Vec::new(),
        // DeepSpeed's optimizer on the CPU is Adam, and without ZeRO there is none.
        (None, OptimizerKind::AdamW) => {
            let with_zero = |layout: &mut Layout| {
                if layout.sharding == Sharding::Replicated {
                    layout.sharding = Sharding::ZeroTwo;
                }
                optimizer(layout);
            };
            let flag =
                if layout.sharding == Sharding::Replicated { "--zero 2 --adam-offload" } else { "--adam-offload" };
            let mut steps = vec![step(flag, 20, adam, with_zero)];
            if no_weights {
                steps.push(step("--adam-offload --param-offload", 36, both, |layout| {
                    optimizer(layout);
                    parameters(layout);
                }));
            }
            steps
        }
        _ => Vec::new(),
    }
}

/// Buffers of offload in ordinary memory.
fn pin(layout: &Layout) -> Vec<Step> {
    let cost = ("Slower copies to and from the host.", "与主机之间的拷贝变慢。");
    let off = |layout: &mut Layout| {
        if let Some(offload) = &mut layout.offload.optimizer {
            offload.pin = false;
        }
    };
    let is_off = layout.offload.optimizer.is_some_and(|offload| !offload.pin);
    if is_off { Vec::new() } else { vec![step("--no-pin", 4, cost, off)] }
}

/// Other numbers, or another training.
fn training(model: &ModelSize, layout: &Layout) -> Vec<Step> {
    let mut steps = Vec::new();
    let quantised = |shape: &Shape, layout: &mut Layout| {
        layout.precision = Quantised::FourBit.beneath(Some(shape), layout.precision);
    };
    let in_4_bit = ("4-bit weights: slightly less precise, and slower.", "权重为 4 位：精度略低，更慢。");
    if layout.adapter.is_some() {
        let shape = model.shape.clone().filter(|_| layout.precision.weights.high >= 2.0);
        let to_4_bit = |shape| step("--quantised 4bit", 30, in_4_bit, move |layout| quantised(&shape, layout));
        return shape.map(to_4_bit).into_iter().collect();
    }
    if layout.optimizer.kind == OptimizerKind::AdamW && layout.offload.optimizer.is_none() {
        let cost = ("8-bit states: close to AdamW, but not the same.", "8 位状态：接近 AdamW，但不相同。");
        steps.push(step("--optimizer adamw-8bit", 40, cost, |layout| {
            if layout.offload.optimizer.is_none() {
                layout.optimizer.kind = OptimizerKind::AdamW8Bit;
            }
        }));
    }
    if let Some(shape) = &model.shape {
        let cost = ("Only adapters are trained, not the whole model.", "只训练适配器，不训练模型本身。");
        let parameters = shape.adapter_parameters(LORA_RANK).into();
        steps.push(step(format!("--lora {LORA_RANK}"), 80, cost, move |layout: &mut Layout| {
            layout.adapter = Some(Adapter { parameters, weights: layout.precision.weights });
        }));
        let shape = shape.clone();
        let cost = ("Only adapters are trained, on 4-bit weights.", "只在 4 位权重上训练适配器。");
        steps.push(step(format!("--lora {LORA_RANK} --quantised 4bit"), 90, cost, move |layout: &mut Layout| {
            layout.adapter = Some(Adapter { parameters, weights: layout.precision.weights });
            quantised(&shape, layout);
        }));
    }
    steps
}

fn nodes() -> Vec<Step> {
    let cost = ("Twice the machines.", "机器数量加倍。");
    vec![step("twice the --nodes", 160, cost, |layout| layout.cluster.nodes *= 2)]
}
