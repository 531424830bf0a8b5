//! SGLang's prints about memory while it starts and serves.
//!
//! Mirrors `sglang/srt/model_executor/model_runner.py`, `mem_cache/memory_pool.py`, `managers/scheduler.py`,
//! `managers/schedule_batch.py`, `server_args.py` (0.4–0.5.23).

use nom::Parser;
use nom::bytes::complete::tag;
use nom::sequence::{preceded, separated_pair};

use crate::model::FigureName::KvCacheAvailable;
use crate::model::{Derivation, Event, Figure, Kind, Severity, What};
use crate::parse::{Example, Grammar, Record, origin, text};

/// See the module.
pub struct SglangPrints;

const FULL: &str = "KV cache pool is full. Retract requests";
/// Before 0.4.7; serving goes on.
const RETRACTED: &str = "Decode out of memory happened. #retracted_reqs";
const ABORTED: &str = "even after retracting all other requests";
const KEYS: &str = "K size: ";

impl Grammar for SglangPrints {
    fn producer(&self) -> &'static str {
        "sglang"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[KEYS, FULL, RETRACTED, ABORTED]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        keys_and_values(record).into_iter().chain(retraction(record)).collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `KV Cache is allocated. #tokens: 262144, K size: 24.50 GB, V size: 24.50 GB`: the size of the cache is the sum.
fn keys_and_values(record: &Record) -> Option<Event> {
    let at = &record.text()[record.text().find(KEYS)?..];
    let pair = separated_pair(preceded(tag(KEYS), text::size), tag(", V size: "), text::size);
    let (_, (words, (keys, values))) = nom::combinator::consumed(pair).parse(at).ok()?;
    let whole = record.cite(words);
    let figure = Figure {
        name: KvCacheAvailable,
        bytes: Some(keys.bytes? + values.bytes?),
        value: None,
        source: whole.location,
        text: whole.text,
        derived: Some(Derivation {
            formula: format!("{} + {}", keys.text, values.text),
            from: vec![record.cite(keys.text), record.cite(values.text)],
        }),
    };
    let series = origin::series("SGLang", record.origin());
    let mut event = record.event("sglang", words, What::Memory { series });
    event.figures.push(figure);
    Some(event)
}

/// Requests that are evicted from the KV cache and wait again, or one that does not fit even alone.
fn retraction(record: &Record) -> Option<Event> {
    let severities = [(FULL, Severity::Pressure), (RETRACTED, Severity::Pressure), (ABORTED, Severity::Swallowed)];
    let (part, severity) = severities
        .into_iter()
        .find_map(|(words, severity)| Some((text::each(record.text(), words).next()?, severity)))?;
    if text::is_quoted(record.text(), part) {
        return None;
    }
    let mut event = origin::shortage(record, "sglang", part, Kind::GpuOom, severity, None);
    let count = text::after(part, "#retracted_reqs: ").map(|count| text::token(count, ",."));
    event.facts.extend(
        count.and_then(|words| Some(record.number_fact("sglang.retracted_requests", words, words.parse().ok()?))),
    );
    Some(event)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "sglang 0.4–0.5.22, start",
        text: "[2026-03-01 10:00:00 TP0] Load weight begin. avail mem=78.25 GB\n[2026-03-01 10:00:09 TP0] Load weight end. elapsed=8.75 s, type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=63.75 GB, mem usage=14.5 GB.\n[2026-03-01 10:00:10 TP0] KV Cache is allocated. #tokens: 262144, K size: 24.50 GB, V size: 24.50 GB\n[2026-03-01 10:00:10 TP0] Memory pool end. avail mem=13.75 GB\n[2026-03-01 10:00:20 TP0] Capture cuda graph end. Time elapsed: 9.75 s. mem usage=1.25 GB. avail mem=12.5 GB.\n[2026-03-01 10:00:20 TP0] max_total_num_tokens=262144, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2049, context_len=32768, available_gpu_mem=12.25 GB",
        states: &[
            ("series", "SGLang TP0"),
            ("gpu_free", "78.25 GB"),
            ("gpu_free", "12.25 GB"),
            ("sglang.weights", "14.5 GB"),
            ("sglang.kv_cache_tokens", "262144"),
            ("kv_cache_available", "K size: 24.50 GB, V size: 24.50 GB"),
            ("sglang.cuda_graphs", "1.25 GB"),
            ("sglang.max_running_requests", "2049"),
            ("sglang.context_length", "32768"),
        ],
    },
    Example {
        version: "sglang 0.5.23, start",
        text: "[2026-03-01 10:00:10] KV Cache is allocated. #tokens: 1048576, KV size: 128.75 GB\nCapturing batches (bs=1 avail_mem=44.50 GB): 100%|██████████| 3/3 [00:00<00:00,  5.84it/s]",
        states: &[("sglang.kv_cache_tokens", "1048576"), ("kv_cache_available", "128.75 GB"), ("gpu_free", "44.50 GB")],
    },
    Example {
        version: "sglang 0.4–0.5.23, settings",
        text: "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='example/model-8b', tokenizer_path='example/model-8b', context_length=None, mem_fraction_static=0.88, max_running_requests=None, chunked_prefill_size=8192, tp_size=2, kv_cache_dtype='auto', enable_memory_saver=False)",
        states: &[
            ("job.model", "example/model-8b"),
            ("sglang.mem_fraction_static", "0.88"),
            ("sglang.tensor_parallel_size", "2"),
            ("sglang.enable_memory_saver", "False"),
        ],
    },
    Example {
        version: "sglang 0.4–0.5.23, requests wait again",
        text: "[2026-03-01 10:00:00] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 512, #new_token_ratio: 0.1000 -> 0.3500",
        states: &[("pressure", "gpu_oom"), ("sglang.retracted_requests", "3")],
    },
    Example {
        version: "sglang 0.5.6–0.5.23, a request that does not fit alone",
        text: "Out of memory even after retracting all other requests in the decode batch. Aborting the last request.",
        states: &[("swallowed", "gpu_oom")],
    },
];
