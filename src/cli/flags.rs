//! The description of a planned job by command line flags.

use clap::{Args, ValueEnum};

use crate::estimate::{Limits, PlannedJob};
use crate::facts::Value;
use crate::model::Bytes;

/// A job and its machines. Values that are not given come from the configuration, else from the assumptions.
#[derive(Debug, Clone, Default, Args)]
pub struct Flags {
    /// The model: a size (`8b`), a name (`Qwen2.5-7B`), a path of either, or its config.json
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Number of parameters, for a model that is not known by name: `8.03b`, `8030261248`
    #[arg(long, value_name = "N", value_parser = parameters)]
    pub parameters: Option<u64>,
    /// The job's configuration, launch script or log, or a folder of them
    #[arg(long, value_name = "PATH")]
    pub from: Vec<String>,
    /// GPUs per node
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub gpus: Option<u64>,
    /// Number of nodes
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub nodes: Option<u64>,
    /// DeepSpeed's ZeRO stage
    #[arg(long, value_name = "STAGE", value_parser = clap::value_parser!(u64).range(0..=3), conflicts_with = "fsdp")]
    pub zero: Option<u64>,
    /// PyTorch's FSDP instead of ZeRO
    #[arg(long, value_enum)]
    pub fsdp: Option<Fsdp>,
    /// Keep optimizer states in host memory
    #[arg(long)]
    pub adam_offload: bool,
    /// Keep weights in host memory (ZeRO stage 3, FSDP)
    #[arg(long)]
    pub param_offload: bool,
    /// Keep activations in host memory
    #[arg(long)]
    pub activation_offload: bool,
    /// Offload to ordinary instead of page-locked memory
    #[arg(long)]
    pub no_pin: bool,
    /// Sequences per forward and backward pass on one GPU
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub micro_batch: Option<u64>,
    /// Tokens of the longest sequence
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub sequence: Option<u64>,
    /// Tokens per pass on one GPU, if batches are packed or sorted by length
    #[arg(long, value_name = "N", value_parser = at_least_one, conflicts_with = "micro_batch")]
    pub token_budget: Option<u64>,
    /// Passes per optimizer step
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub accumulation: Option<u64>,
    /// What the backward pass recomputes instead of keeping (gradient checkpointing)
    #[arg(long, value_enum)]
    pub recomputation: Option<Recomputation>,
    /// Use attention that keeps its tokens × tokens matrix
    #[arg(long)]
    pub eager_attention: bool,
    /// Use a loss that never holds all logits: Liger's fused or chunked cross entropy
    #[arg(long)]
    pub fused_loss: bool,
    /// The precision of training
    #[arg(long, value_enum)]
    pub precision: Option<Precision>,
    /// The optimizer
    #[arg(long, value_enum)]
    pub optimizer: Option<Optimizer>,
    /// Train a LoRA adapter of this rank instead of the weights
    #[arg(long, value_name = "RANK", value_parser = at_least_one)]
    pub lora: Option<u64>,
    /// Quantise the weights under an adapter
    #[arg(long, value_enum, requires = "lora")]
    pub quantised: Option<Quantised>,
    /// GPUs that split each layer
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub tensor_parallel: Option<u64>,
    /// Pipeline stages
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub pipeline_parallel: Option<u64>,
    /// GPUs that share each sequence
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub sequence_parallel: Option<u64>,
    /// Find the cheapest changes with which it fits GPUs of this size: `80GiB`
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| size(text, "80GiB"))]
    pub fit: Option<Bytes>,
    /// Memory of each host, or the container's limit: `1.4TiB`
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| size(text, "80GiB"))]
    pub host: Option<Bytes>,
}

/// FSDP's sharding strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fsdp {
    /// `FULL_SHARD`
    Full,
    /// `SHARD_GRAD_OP`
    GradOp,
    /// `HYBRID_SHARD`
    Hybrid,
}

/// What backward computes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Recomputation {
    /// Nothing
    None,
    /// Attention matrices
    Selective,
    /// All but each layer's input
    Full,
}

/// In which numbers weights, gradients and optimizer states are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// 16-bit weights and gradients, fp32 master weights: DeepSpeed
    Mixed,
    /// The same with fp32 gradients: Megatron
    MixedFp32Gradients,
    /// fp32, computed in 16 bit: autocast, FSDP's mixed precision
    Autocast,
    /// All in fp32
    Fp32,
    /// All in 16 bit
    Pure16Bit,
}

/// The optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Optimizer {
    /// Two moments
    Adamw,
    /// Two moments in 8 bit
    #[value(name = "adamw-8bit")]
    Adamw8bit,
    /// Row and column sums
    Adafactor,
    /// One moment
    Lion,
    /// None
    Sgd,
}

/// Quantised weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Quantised {
    /// QLoRA
    #[value(name = "4bit")]
    FourBit,
    /// LLM.int8()
    #[value(name = "8bit")]
    EightBit,
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("write a whole number".to_owned()),
    }
}

fn parameters(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim().to_ascii_lowercase() {
        text if text.ends_with('b') => (text.trim_end_matches('b').to_owned(), 1e9),
        text if text.ends_with('m') => (text.trim_end_matches('m').to_owned(), 1e6),
        text => (text, 1.0),
    };
    let count = digits.replace('_', "").parse::<f64>().map(|number| number * unit).unwrap_or_default();
    if (1e6..1e14).contains(&count) { Ok(count.round() as u64) } else { Err("write it as `8.03b`".to_owned()) }
}

/// Parses an amount of memory; `example` shows the format in the error message.
pub(super) fn size(text: &str, example: &str) -> Result<Bytes, String> {
    crate::parse::memory_size(text).filter(|size| *size > Bytes(0)).ok_or_else(|| format!("write it as `{example}`"))
}

impl Flags {
    /// The planned job; most flags become facts.
    pub fn job(&self) -> PlannedJob {
        let mut facts = Vec::new();
        let mut say = |name: &str, value| facts.push((name.to_owned(), value));
        // What is not said of the two, a configuration says.
        let one = |number: Option<u64>| number.or(self.from.is_empty().then_some(1));
        let is_said = self.gpus.is_some() || self.nodes.is_some();
        let devices = one(self.gpus).zip(one(self.nodes)).filter(|_| is_said);
        let devices = devices.map(|(gpus, nodes)| gpus.saturating_mul(nodes));
        let stage = self.zero.or(self.fsdp.map(|fsdp| if fsdp == Fsdp::GradOp { 2 } else { 3 }));
        let numbers = [
            ("config.processes_per_node", self.gpus.or(devices.and(Some(1)))),
            ("config.nodes", self.nodes),
            ("job.world_size", devices),
            ("config.zero_stage", stage),
            ("config.micro_batch", self.micro_batch),
            ("config.sequence_length", self.sequence.or(self.token_budget)),
            ("config.max_tokens_per_gpu", self.token_budget),
            ("config.gradient_accumulation", self.accumulation),
            ("config.lora_rank", self.lora),
            ("config.tensor_parallel", self.tensor_parallel),
            ("job.parameters", self.parameters),
            ("config.pipeline_parallel", self.pipeline_parallel),
            ("config.ring_attention", self.sequence_parallel),
        ];
        for (name, number) in numbers {
            number.into_iter().for_each(|number| say(name, Value::Number(number as f64)));
        }
        for (name, size) in [("gpu.memory", self.fit), ("host.memory", self.host)] {
            size.into_iter().for_each(|size| say(name, Value::Number(size.0 as f64)));
        }
        let flags = [
            ("config.offload_activations", self.activation_offload.then_some(true)),
            ("config.pin_memory", self.no_pin.then_some(false)),
            ("config.flash_attention", self.eager_attention.then_some(false)),
            // A number of sequences rules out batches by tokens.
            ("config.dynamic_batch", self.micro_batch.map(|_| false).or(self.token_budget.map(|_| true))),
            ("config.fused_loss", self.fused_loss.then_some(true)),
        ];
        for (name, flag) in flags {
            flag.into_iter().for_each(|flag| say(name, Value::Flag(flag)));
        }
        let sharding = match (self.zero, self.fsdp) {
            (Some(0), _) => Some("replicated"),
            (Some(1), _) => Some("zero_one"),
            (Some(2), _) => Some("zero_two"),
            (Some(_), _) => Some("zero_three"),
            (None, fsdp) => fsdp.map(Fsdp::word),
        };
        let adapter = self.lora.map(|_| if self.quantised == Some(Quantised::FourBit) { "qlora" } else { "lora" });
        let words = [
            // These words override what a configuration derives from several settings.
            ("config.sharding", sharding),
            ("config.adapter", adapter),
            ("config.recompute", self.recomputation.map(Recomputation::word)),
            ("config.trains_in", self.precision.map(Precision::word)),
            ("config.optimizer_kind", self.optimizer.map(Optimizer::word)),
            ("config.offload_optimizer", self.adam_offload.then_some("cpu")),
            ("config.offload_param", self.param_offload.then_some("cpu")),
            ("config.quantization", self.quantised.map(Quantised::word)),
        ];
        for (name, words) in words {
            words.into_iter().for_each(|words| say(name, Value::Text(words.to_owned())));
        }
        PlannedJob {
            model: self.model.clone(),
            parameters: self.parameters,
            from: self.from.clone(),
            limits: self.fit.map(|gpu| Limits { gpu, host: self.host }),
            facts,
        }
    }
}

impl Fsdp {
    fn word(self) -> &'static str {
        match self {
            Fsdp::Full => "fsdp_full",
            Fsdp::GradOp => "fsdp_grad_op",
            Fsdp::Hybrid => "hybrid",
        }
    }
}

impl Recomputation {
    fn word(self) -> &'static str {
        match self {
            Recomputation::None => "none",
            Recomputation::Selective => "selective",
            Recomputation::Full => "full",
        }
    }
}

impl Precision {
    fn word(self) -> &'static str {
        match self {
            Precision::Mixed => "mixed",
            Precision::MixedFp32Gradients => "mixed_fp32_gradients",
            Precision::Autocast => "fp32_computed_in_16_bit",
            Precision::Fp32 => "fp32",
            Precision::Pure16Bit => "pure_16_bit",
        }
    }
}

impl Optimizer {
    fn word(self) -> &'static str {
        match self {
            Optimizer::Adamw => "adamw",
            Optimizer::Adamw8bit => "adamw_8bit",
            Optimizer::Adafactor => "adafactor",
            Optimizer::Lion => "lion",
            Optimizer::Sgd => "sgd",
        }
    }
}

impl Quantised {
    fn word(self) -> &'static str {
        match self {
            Quantised::FourBit => "4bit",
            Quantised::EightBit => "8bit",
        }
    }
}
