//! A vLLM engine's prints about memory while it starts and serves that take more than a row of `rules/messages/`.
//!
//! Mirrors `vllm/worker/worker.py`, `worker/model_runner.py`, `executor/executor_base.py`, `core/scheduler.py` (0.2–0.10),
//! `v1/worker/gpu_worker.py`, `v1/worker/gpu_model_runner.py`, `v1/core/kv_cache_utils.py`, `device_allocator/cumem.py` (0.8–0.33).

use nom::bytes::complete::{tag, take_until};
use nom::character::complete::char;
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser};

use crate::model::FigureName::{GpuFree, GpuTotal};
use crate::model::{Bytes, Event, Kind, Severity, What};
use crate::parse::text::{self, Size as Amount};
use crate::parse::{Example, Grammar, Record, origin};

/// See the module.
pub struct VllmPrints;

const PREEMPTED: &str = " because there is not enough KV cache space";

/// Before the free and the total memory of the device.
const ON_STARTUP: &str = "Free memory on device";

impl Grammar for VllmPrints {
    fn producer(&self) -> &'static str {
        "vllm"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[ON_STARTUP, PREEMPTED]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        device(record).into_iter().chain(preemption(record)).collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `Free memory on device (78.5/79.25 GiB) on startup. Desired …`; the same words with "is less than desired" are a
/// failure.
fn device(record: &Record) -> Option<Event> {
    let at = text::after(record.text(), ON_STARTUP)?;
    let (_, (free, total)) = free_of_total(at).ok()?;
    let series = origin::series("vLLM", record.origin());
    let mut event = record.event("vllm", free.text, What::Memory { series });
    event.figures = [(GpuFree, free), (GpuTotal, total)].into_iter().filter_map(|(n, s)| record.figure(n, s)).collect();
    Some(event)
}

fn free_of_total(text: &str) -> IResult<&str, (Amount<'_>, Amount<'_>)> {
    let gib = |text| text::counted(text, Bytes::GIB);
    let pair = delimited(tag("("), separated_pair(gib, char('/'), text::size), tag(") on startup. Desired"));
    preceded(take_until("("), pair).parse(text)
}

/// V0: `Sequence group 812 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. …
/// total_cumulative_preemption_cnt=51`
fn preemption(record: &Record) -> Option<Event> {
    let (before, behind) = record.text().split_once(PREEMPTED)?;
    let part = &before[before.rfind("Sequence group ")?..];
    let mode = text::after(part, "PreemptionMode.")?;
    let mut event = origin::shortage(record, "vllm", part, Kind::GpuOom, Severity::Pressure, None);
    event.facts.push(record.fact("vllm.preemption_mode", text::token(mode, "")));
    let count =
        text::after(behind, "cumulative_preemption").and_then(|rest| rest.split_once('=')).map(|(_, count)| count);
    let count = count.map(|count| text::token(count, ",.)"));
    event
        .facts
        .extend(count.and_then(|words| Some(record.number_fact("vllm.preemptions", words, words.parse().ok()?))));
    Some(event)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "vllm 0.2–0.6, V0",
        text: "INFO 03-01 10:00:00 model_runner.py:1115] Loading model weights took 15.1250 GB\nINFO 03-01 10:00:09 gpu_executor.py:122] # GPU blocks: 24576, # CPU blocks: 2048\nINFO 03-01 10:00:09 gpu_executor.py:126] Maximum concurrency for 8192 tokens per request: 48.00x",
        states: &[
            ("vllm.weights", "15.1250 GB"),
            ("vllm.gpu_blocks", "24576"),
            ("vllm.cpu_blocks", "2048"),
            ("vllm.max_concurrency", "48.00"),
        ],
    },
    Example {
        version: "vllm 0.7–0.10, V0",
        text: "INFO 03-01 10:00:00 [model_runner.py:1140] Model loading took 14.2487 GiB and 4.5 seconds\nINFO 03-01 10:00:05 [worker.py:287] the current vLLM instance can use total_gpu_memory (79.15GiB) x gpu_memory_utilization (0.60) = 47.49GiB\nINFO 03-01 10:00:05 [worker.py:287] model weights take 14.25GiB; non_torch_memory takes 1.75GiB; PyTorch activation peak memory takes 4.25GiB; the rest of the memory reserved for KV Cache is 27.24GiB.\nINFO 03-01 10:00:20 [model_runner.py:1450] Graph capturing finished in 12 secs, took 0.75 GiB",
        states: &[
            ("vllm.weights", "14.2487 GiB"),
            ("gpu_total", "79.15GiB"),
            ("vllm.gpu_memory_utilization", "0.60"),
            ("vllm.non_torch", "1.75GiB"),
            ("vllm.activation_peak", "4.25GiB"),
            ("kv_cache_available", "27.24GiB"),
            ("vllm.cuda_graphs", "0.75 GiB"),
        ],
    },
    Example {
        version: "vllm 0.8–0.10, V1",
        text: "(EngineCore_0 pid=4711) INFO 03-01 10:00:00 [gpu_worker.py:298] Available KV cache memory: 45.25 GiB\n(EngineCore_0 pid=4711) INFO 03-01 10:00:01 [kv_cache_utils.py:634] GPU KV cache size: 450,560 tokens\n(EngineCore_0 pid=4711) INFO 03-01 10:00:01 [kv_cache_utils.py:637] Maximum concurrency for 131,072 tokens per request: 3.44x",
        states: &[
            ("series", "vLLM pid 4711"),
            ("kv_cache_available", "45.25 GiB"),
            ("vllm.kv_cache_tokens", "450,560"),
            ("vllm.max_concurrency", "3.44"),
        ],
    },
    Example {
        version: "vllm 0.33, V1",
        text: "(EngineCore pid=4711) INFO 03-01 10:00:00 [model_runner.py:407] Model loading took 15.0 GiB memory and 5.4 seconds\n(EngineCore pid=4711) INFO 03-01 10:00:09 [gpu_worker.py:955] Free memory on device (78.5/79.25 GiB) on startup. Desired GPU memory utilization is (0.92, 72.91 GiB). Actual usage is 15.25 GiB for consumed memory (weights + non-torch), 1.44 GiB for peak activation, and 0.23 GiB for CUDAGraph memory.",
        states: &[
            ("vllm.weights", "15.0 GiB"),
            ("gpu_free", "78.5"),
            ("gpu_total", "79.25 GiB"),
            ("vllm.gpu_memory_utilization", "0.92"),
            ("vllm.consumed", "15.25 GiB"),
            ("vllm.activation_peak", "1.44 GiB"),
            ("vllm.cuda_graphs", "0.23 GiB"),
        ],
    },
    Example {
        version: "vllm ≥0.7, sleep",
        text: "INFO 03-01 10:00:00 [cumem.py:228] CuMemAllocator: sleep freed 60.5 GiB memory in total, of which 14.25 GiB is backed up in CPU and the rest 46.25 GiB is discarded directly.\nINFO 03-01 10:00:00 [gpu_worker.py:96] Sleep mode freed 61.25 GiB memory, 17.5 GiB memory is still in use.",
        states: &[("vllm.sleep_freed", "61.25 GiB"), ("vllm.sleep_on_host", "14.25 GiB"), ("other", "17.5 GiB")],
    },
    Example {
        version: "vllm 0.2–0.10, swap space",
        text: "WARNING 03-01 10:00:00 config.py:1199] Possibly too large swap space. 16.00 GiB out of the 31.25 GiB total CPU memory is allocated for the swap space.",
        states: &[("vllm.swap_space", "16.00 GiB"), ("vllm.host_memory", "31.25 GiB")],
    },
    Example {
        version: "vllm 0.2–0.10, V0, preemption",
        text: "WARNING 03-01 10:00:00 scheduler.py:1057] Sequence group 812 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. total_cumulative_preemption_cnt=51",
        states: &[("pressure", "gpu_oom"), ("vllm.preemption_mode", "RECOMPUTE"), ("vllm.preemptions", "51")],
    },
    Example {
        version: "vllm 0.6–0.33, somebody freed memory while it measured",
        text: "AssertionError: Error in memory profiling. Initial free memory 41.25 GiB, current free memory 42.25 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization.",
        states: &[("vllm.profiling_error", "41.25 GiB, current free memory 42.25 GiB")],
    },
    Example {
        version: "vllm 0.8–0.33, what follows another failure",
        text: "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\nvllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        states: &[
            ("vllm.engine", "Engine core initialization failed"),
            ("vllm.engine", "EngineCore encountered an issue"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn a_failure_is_not_also_a_moment() {
        let text = "ValueError: Free memory on device (30.25/47.5 GiB) on startup is less than desired GPU memory utilization (0.9, 42.75 GiB).";
        assert!(testing::parse(&VllmPrints, text).is_empty());
    }
}
