//! Derives from facts how weights are trained.

use super::Config;
use crate::knowledge::{Trains, TrainsIn};
use crate::memory::{
    Adapter, Batch, Buckets, ModelSize, Offload, Optimizer, OptimizerKind, OptimizerOffload, ParameterOffload,
    Parameters, Precision, Quantised, Sharding, Width,
};

/// Parameters per rank of LoRA as a share of the model's: from few matrices of a large model to all matrices of a small
/// one.
const OF_EACH_RANK: (f64, f64) = (0.5e-4, 1.2e-3);
/// The ranks of LoRA between whose parameter counts orthogonal finetuning in blocks of 32 lies.
const OFT_AS_RANKS: (u64, u64) = (4, 16);
/// The share of layers trained by freeze tuning: from LLaMA-Factory's default to a quarter.
const THAWED: (f64, f64) = (0.02, 0.25);

/// The precision, and the adapter that is trained instead of the weights. `None` if the configuration claims to train
/// quantised weights themselves.
pub(super) fn precision_and_adapter(
    config: Config<'_>,
    model: &ModelSize,
    trains: Trains,
) -> Option<(Precision, Option<Adapter>)> {
    let mut precision = precision(config, trains);
    // What is stepped as soon as its gradient is known leaves no gradient to keep.
    if config.flag("optimizer_in_backward") == Some(true) {
        precision.gradients = Width::ZERO;
    }
    let rank = config.number("lora_rank").filter(|rank| *rank >= 1.0).map(|rank| rank as u64);
    let quantised = config.text("quantization").and_then(Quantised::named);
    let parameters = match (config.text("adapter"), rank) {
        (Some("none"), _) | (None, None) => None,
        (Some("oft"), _) => {
            Some(Parameters { low: lora(model, OFT_AS_RANKS.0).low, high: lora(model, OFT_AS_RANKS.1).high })
        }
        (Some("freeze"), _) => Some(share(model, THAWED)),
        (_, rank) => Some(lora(model, rank.unwrap_or(USUAL_RANK))),
    };
    let Some(parameters) = parameters else { return quantised.is_none().then_some((precision, None)) };
    let weights = match config.text("adapter_dtype") {
        Some("fp32") => Width::FOUR,
        Some(_) => Width::TWO,
        None => precision.weights,
    };
    if let Some(quantised) = quantised {
        precision = quantised.beneath(model.shape.as_ref(), precision);
    }
    Some((precision, Some(Adapter { parameters, weights })))
}

/// The adapter with as many parameters as the trainer states, or else how many of the weights are trained if the others are frozen. A number
/// that fits neither is of something else: ZeRO-3 and FSDP leave an empty part or one shard of each weight where it is counted.
pub(super) fn as_stated(
    adapter: Option<Adapter>,
    model: &ModelSize,
    stated: Option<u64>,
) -> (Option<Adapter>, Option<Parameters>) {
    /// An adapter's target matrices may be few or all.
    const ABOUT: u64 = 8;
    /// Less of a model than this is trained by no common way of freezing parts.
    const LEAST: f64 = 0.3;
    let Some(count) = stated else { return (adapter, None) };
    match adapter {
        Some(adapter) => {
            let Parameters { low, high } = adapter.parameters;
            let is_its = (low / ABOUT..=high.saturating_mul(ABOUT)).contains(&count);
            let parameters = if is_its { Parameters::exactly(count) } else { adapter.parameters };
            (Some(Adapter { parameters, ..adapter }), None)
        }
        None => {
            let all = model.parameters;
            let is_part = count < all.low && count as f64 >= LEAST * all.high as f64;
            (None, is_part.then(|| Parameters::exactly(count)))
        }
    }
}

/// The default rank of a LoRA adapter in PEFT.
const USUAL_RANK: u64 = 8;

fn lora(model: &ModelSize, rank: u64) -> Parameters {
    let of_all = |(low, high): (f64, f64)| share(model, (low * rank as f64, high * rank as f64));
    model.shape.as_ref().map_or_else(|| of_all(OF_EACH_RANK), |shape| shape.adapter_parameters(rank).into())
}

fn share(model: &ModelSize, (low, high): (f64, f64)) -> Parameters {
    let of = |count: u64, share: f64| (count as f64 * share) as u64;
    Parameters { low: of(model.parameters.low, low), high: of(model.parameters.high, high) }
}

fn precision(config: Config<'_>, trains: Trains) -> Precision {
    match config.text("trains_in") {
        Some("mixed") => return Precision::MIXED,
        Some("mixed_fp32_gradients") => return Precision::MIXED_FP32_GRADIENTS,
        Some("fp32_computed_in_16_bit") => return Precision::FP32_COMPUTED_IN_16_BIT,
        Some("fp32") => return Precision::FP32,
        Some("pure_16_bit") => return Precision::PURE_16_BIT,
        _ => {}
    }
    let is_16_bit = |name: &str| matches!(config.text(name), Some("bf16" | "fp16"));
    match trains.precision {
        TrainsIn::Mixed if config.text("precision") == Some("fp32") => Precision::FP32,
        TrainsIn::Mixed if config.text("grad_accum_dtype") == Some("fp32") => Precision::MIXED_FP32_GRADIENTS,
        TrainsIn::Mixed => Precision::MIXED,
        TrainsIn::MixedFp32Gradients => Precision::MIXED_FP32_GRADIENTS,
        TrainsIn::Fp32ComputedIn16Bit if is_16_bit("model_dtype") => Precision::PURE_16_BIT,
        TrainsIn::Fp32ComputedIn16Bit => Precision::FP32_COMPUTED_IN_16_BIT,
    }
}

/// The optimizer as a dialect derives it, else by the words that names of optimizers share; AdamW if there are none.
pub(super) fn optimizer(config: Config<'_>) -> Optimizer {
    let name = config.text("optimizer_kind").or(config.text("optimizer")).unwrap_or_default().to_ascii_lowercase();
    let kind = match () {
        _ if name.contains("8bit") || name.contains("8-bit") => OptimizerKind::AdamW8Bit,
        _ if name.contains("adafactor") => OptimizerKind::Adafactor,
        // Muon keeps one momentum per matrix.
        _ if name.contains("lion") || name.contains("muon") => OptimizerKind::OneMoment,
        _ if name == "sgd" => OptimizerKind::Sgd,
        _ => OptimizerKind::AdamW,
    };
    Optimizer {
        kind,
        kahan: name == "adamw_bf16",
        paged: config.text("optimizer").is_some_and(|name| name.to_ascii_lowercase().contains("paged")),
        fused: config.flag("fused_optimizer") == Some(true),
        ..Optimizer::default()
    }
}

pub(super) fn offload(config: Config<'_>) -> Offload {
    // The newest DeepSpeed pins by default.
    let pin = config.flag("pin_memory").unwrap_or(true);
    Offload {
        optimizer: config.device("offload_optimizer").map(|device| OptimizerOffload {
            device,
            pin,
            ratio: config.number("offload_ratio").unwrap_or(1.0),
        }),
        parameters: config.device("offload_param").map(|device| ParameterOffload { device }),
        sub_group_size: config.count("sub_group_size").unwrap_or(Offload::default().sub_group_size),
        activations: config.flag("offload_activations").unwrap_or(false),
    }
}

/// Communication buffers. By default, DeepSpeed overlaps communication in stage 3.
pub(super) fn buckets(config: Config<'_>, sharding: Sharding) -> Buckets {
    let usual = Buckets::default();
    let elements = |name: &str, usual: u64| config.count(name).unwrap_or(usual);
    Buckets {
        reduce: elements("reduce_bucket", usual.reduce),
        allgather: elements("allgather_bucket", usual.allgather),
        overlap: config.flag("overlap_comm").unwrap_or(sharding == Sharding::ZeroThree),
        prefetch: elements("prefetch_bucket", usual.prefetch),
        max_live: elements("max_live_parameters", usual.max_live),
        gradients_are_buckets: config.flag("gradient_buffer").unwrap_or(usual.gradients_are_buckets),
    }
}

/// The batch that one of `ranks` data-parallel ranks computes at once, in sequences, or in tokens if batches are filled
/// up to a number of tokens. `None` if neither is known.
pub(super) fn batch(config: Config<'_>, ranks: u64) -> Option<Batch> {
    // Training on a roll-out covers its prompt and its answer.
    let sample = || Some(config.count("prompt_length")? + config.count("response_length")?);
    let sequence = config.count("sequence_length").or_else(sample);
    let is_dynamic = config.flag("dynamic_batch") == Some(true);
    let token_budget = config.count("max_tokens_per_gpu").filter(|_| is_dynamic);
    let stepped = |passes: u64| Some((config.count("train_batch")? / (passes * ranks).max(1)).max(1));
    let micro_batch = config.count("micro_batch").or_else(|| stepped(config.count("gradient_accumulation")?));
    let whole = || Some(config.count("train_batch")? / (micro_batch? * ranks).max(1));
    let accumulation = config.count("gradient_accumulation").or_else(whole).unwrap_or(1).max(1);
    match (token_budget, micro_batch) {
        (Some(tokens), _) => {
            Some(Batch { micro_batch: 1, sequence: sequence?, token_budget: Some(tokens), accumulation })
        }
        // Sequences are packed up to a number of tokens that is unknown.
        (None, _) if is_dynamic => None,
        (None, micro_batch) => Some(Batch { accumulation, ..Batch::of(micro_batch?, sequence?) }),
    }
}

/// The batch of passes for log-probabilities, values and rewards; `None` where nothing sets one.
pub(super) fn experience_batch(config: Config<'_>, ranks: u64) -> Option<Batch> {
    let batch = batch(config, ranks)?;
    match batch.token_budget {
        Some(_) => Some(Batch { token_budget: Some(config.count("rollout_max_tokens_per_gpu")?), ..batch }),
        None => Some(Batch { micro_batch: config.count("rollout_micro_batch")?, ..batch }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_trainer_says_it_trains_counts_where_it_fits() {
        let model = ModelSize::of_parameters(8_291_375_616);
        let part = |stated| as_stated(None, &model, Some(stated)).1;
        assert_eq!(part(7_615_616_512), Some(Parameters::exactly(7_615_616_512)));
        // All of it, and one rank's shard of it.
        assert_eq!((part(8_291_375_616), part(1_036_421_952)), (None, None));
        let adapter = Adapter { parameters: Parameters { low: 10_000_000, high: 40_000_000 }, weights: Width::TWO };
        let stated = |count| as_stated(Some(adapter), &model, Some(count)).0.map(|adapter| adapter.parameters);
        assert_eq!(stated(20_185_088), Some(Parameters::exactly(20_185_088)));
        assert_eq!(stated(1), Some(adapter.parameters));
    }
}
