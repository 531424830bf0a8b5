//! Allocations that fail when SGLang starts or while it serves.
//!
//! Mirrors `sglang/srt/model_executor/model_runner.py`, `cuda_graph_runner.py`, `pool_configurator.py`, `managers/schedule_batch.py`,
//! `mem_cache/common.py` (0.2–0.5.23). A share of the device that is too small for its pools and one that leaves too little for its graphs
//! end alike; the words tell which it was.

use crate::model::{Event, Fact, Kind, Severity};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record, origin, text};

/// See the module.
pub struct SglangFailures;

const NO_POOL: &str = "Not enough memory. Please try to increase --mem-fraction-static";
const NO_GRAPH: &str = "Capture cuda graph failed: ";
const NO_TOKENS: &str = "ut of memory. Try to lower your batch size";
const NO_SLOTS: &str = "alloc_req_slots runs out of memory";

impl Grammar for SglangFailures {
    fn producer(&self) -> &'static str {
        "sglang"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[NO_POOL, NO_TOKENS, "out of memory"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[NO_POOL, NO_GRAPH, NO_TOKENS, NO_SLOTS]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let body = next.body();
        let is_count = ["Try to allocate ", "Available", "Avaliable"].iter().any(|words| body.starts_with(words));
        match record.text().contains(NO_TOKENS) && record.len() < 4 && is_count {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let whole = record.text();
        let parts =
            [NO_POOL, NO_GRAPH, NO_TOKENS, NO_SLOTS].into_iter().filter_map(|words| text::each(whole, words).next());
        let Some(part) = parts.into_iter().find(|part| is_statement(whole, part)) else { return Vec::new() };
        let mut event = origin::shortage(record, "sglang", part, Kind::GpuOom, Severity::Fatal, None);
        event.facts = facts(record, part);
        vec![event]
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// Whether `part` is a statement: it is not quoted, a failed capture ran out of memory, and the sentence begins with `Out`, `Prefill out`
/// or `Decode out`.
fn is_statement(whole: &str, part: &str) -> bool {
    let before = &whole[..whole.len().saturating_sub(part.len())];
    let sentence = match part.starts_with(NO_TOKENS) {
        true => ["Prefill o", "Decode o", "O"].into_iter().find_map(|start| before.strip_suffix(start)),
        false => Some(before),
    };
    let is_quoted = |before: &str| before.ends_with(['"', '\'', '`']);
    sentence.is_some_and(|before| !is_quoted(before)) && (!part.starts_with(NO_GRAPH) || part.contains("out of memory"))
}

fn facts(record: &Record, part: &str) -> Vec<Fact> {
    let number = |key, words: &'static str| {
        let behind = text::after(part, words)?;
        let digits = &behind[..behind.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(behind.len())];
        let digits = digits.trim_end_matches('.');
        Some(record.number_fact(key, digits, digits.parse().ok()?))
    };
    let words = |key, words: &'static str| part.starts_with(words).then(|| record.fact(key, &part[..words.len()]));
    [
        number("sglang.mem_fraction_static", "mem_fraction_static="),
        number("sglang.tokens_requested", "Try to allocate "),
        number("sglang.tokens_available", "Available tokens: "),
        number("sglang.tokens_available", "Avaliable tokens: "),
        words("sglang.capture_error", "Capture cuda graph failed"),
        words("sglang.request_slots", "alloc_req_slots"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "sglang 0.2–0.5.22, no room for the KV cache",
        text: "[2026-03-01 10:00:00 TP0] Scheduler hit an exception: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        states: &[("kind", "gpu_oom"), ("role", "TP0")],
    },
    Example {
        version: "sglang 0.5.23, no room for the KV cache",
        text: "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.12",
        states: &[("kind", "gpu_oom"), ("sglang.mem_fraction_static", "0.12")],
    },
    Example {
        version: "sglang 0.2–0.5.23, no room for the graphs",
        text: "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 416.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 97.25 MiB is free.\nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "416.00 MiB"),
            ("sglang.capture_error", "Capture cuda graph failed"),
        ],
    },
    Example {
        version: "sglang 0.3–0.5.22, the KV cache is full",
        text: "[2026-03-01 10:00:00 DP0 TP1] Prefill out of memory. Try to lower your batch size.\nTry to allocate 8192 tokens.\nAvailable tokens: 1536 (available_size=1536 + evictable_size=0)",
        states: &[("kind", "gpu_oom"), ("sglang.tokens_requested", "8192"), ("sglang.tokens_available", "1536")],
    },
    Example {
        version: "sglang 0.5.23, the KV cache is full",
        text: "RuntimeError: Out of memory. Try to lower your batch size.\nTry to allocate 16384 tokens.\nAvailable full tokens: 2560 (full_available_size=2560 + full_evictable_size_=0)",
        states: &[("kind", "gpu_oom"), ("sglang.tokens_requested", "16384")],
    },
    Example {
        version: "sglang 0.4–0.5.23, more requests than slots",
        text: "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.",
        states: &[("kind", "gpu_oom"), ("sglang.request_slots", "alloc_req_slots")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn source_code_and_other_failures_of_the_capture_are_none() {
        for text in [
            "                \"Not enough memory. Please try to increase --mem-fraction-static.\"",
            "    error_msg = f\"{phase_str} out of memory. Try to lower your batch size.\\n\"",
            "logger.error(\"Prefill out of memory. Try to lower your batch size.\")",
            "Exception: Capture cuda graph failed: CUDA error: operation not permitted when stream is capturing",
        ] {
            assert!(testing::parse(&SglangFailures, text).is_empty(), "{text}");
        }
    }
}
