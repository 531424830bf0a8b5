//! verl and EasyR1: the memory of a device around the steps of a worker. Their `GB` are 2^30 bytes.
//!
//! Mirrors verl `verl/utils/debug/performance.py` (0.1–0.4), `verl/utils/profiler/performance.py` (0.4–0.9), EasyR1
//! `verl/utils/model_utils.py:print_gpu_memory_usage` (0.3.0–0.3.2). verl prints what this process' allocator holds and, from 0.4 on, the
//! memory in use on the device; EasyR1 prints only the latter, which includes other processes. The metrics of a step (`perf/…`,
//! `utils/tracking.py`) are the maximum of all workers, and the memory of the whole host.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::character::complete::char;
use nom::combinator::{eof, map, map_opt, peek};
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::{Example, Grammar, Record, origin};
use crate::model::FigureName::{GpuTotal, Other, TorchAllocated, TorchReserved};
use crate::model::{Bytes, Event, FigureName, What};

/// See the module.
pub struct Verl;

/// The rank in the name that verl gives an actor, `Y1y0SuWorkerDict_0:5`: in the first placement group (`_0`) the actor's number is its
/// rank.
pub(super) fn rank_in_name(name: &str) -> Option<u32> {
    let (_, number) = name.split_once("_0:")?;
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    let (digits, rest) = number.split_at(end);
    digits.parse().ok().filter(|_| rest.is_empty() || rest.starts_with(':'))
}

const ALLOCATED: &str = "memory allocated (GB): ";
const USED_OF: &str = " GB / ";

impl Grammar for Verl {
    fn producer(&self) -> &'static str {
        "verl"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[ALLOCATED, USED_OF]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let Some(usage) = verl(record.text()).or_else(|| easyr1(record.text())) else { return Vec::new() };
        let series = origin::series(usage.series, record.origin());
        let mut event = record.event("verl", usage.label, What::Memory { series });
        event.figures = usage.sizes.into_iter().filter_map(|(name, size)| record.figure(name, size)).collect();
        event.facts.push(record.fact("memory.label", usage.label));
        vec![event]
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// What one line states.
struct DeviceUse<'a> {
    series: &'static str,
    /// What the worker was doing.
    label: &'a str,
    sizes: Vec<(FigureName, Size<'a>)>,
}

/// `Before compute_log_prob, memory allocated (GB): 15.44, memory reserved (GB): 18.02, device memory used/total (GB):
/// 22.31/79.15`
fn verl(text: &str) -> Option<DeviceUse<'_>> {
    let (label, _) = text.split_once(ALLOCATED)?;
    let label = label.trim().trim_end_matches(',').trim_start_matches(']');
    let (behind, allocated) = allocated(&text[text.find(ALLOCATED)?..]).ok()?;
    let mut sizes = vec![(TorchAllocated, allocated)];
    if let Ok((behind, reserved)) = reserved(behind) {
        sizes.push((TorchReserved, reserved));
        if let Ok((_, (used, total))) = device(behind) {
            sizes.extend([(Other, used), (GpuTotal, total)]);
        }
    }
    Some(DeviceUse { series: "verl", label: if label.is_empty() { text } else { label }, sizes })
}

fn allocated(text: &str) -> IResult<&str, Size<'_>> {
    preceded(tag(ALLOCATED), terminated(gib, peek(char(',')))).parse(text)
}

fn reserved(text: &str) -> IResult<&str, Size<'_>> {
    preceded(tag(", memory reserved (GB): "), gib).parse(text)
}

fn device(text: &str) -> IResult<&str, (Size<'_>, Size<'_>)> {
    preceded(tag(", device memory used/total (GB): "), (terminated(gib, char('/')), gib)).parse(text)
}

/// A number of GiB without the comma after it.
fn gib(text: &str) -> IResult<&str, Size<'_>> {
    let digits = take_while1(|c: char| c.is_ascii_digit() || c == '.');
    map_opt(digits, |words| text::counted(words, Bytes::GIB).ok().map(|(_, size)| size)).parse(text)
}

/// `After vllm wake up in sharding manager: 31.77 GB / 39.39 GB.`
fn easyr1(text: &str) -> Option<DeviceUse<'_>> {
    let starts = text::each(text, "Before ").chain(text::each(text, "After "));
    starts.filter_map(|start| labelled(start).ok()).map(|(_, usage)| usage).min_by_key(|usage| usage.label.len())
}

fn labelled(text: &str) -> IResult<&str, DeviceUse<'_>> {
    let label = terminated(take_until(": "), tag(": "));
    map((label, text::size, tag(" / "), text::size, alt((tag("."), eof))), |(label, used, _, total, _)| DeviceUse {
        series: "EasyR1",
        label,
        sizes: vec![(Other, used), (GpuTotal, total)],
    })
    .parse(text)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "verl ≤0.3",
        text: "(WorkerDict pid=4711) After actor FSDP init, memory allocated (GB): 14.267578125, memory reserved (GB): 16.5",
        states: &[("series", "verl pid 4711"), ("torch_allocated", "14.267578125"), ("torch_reserved", "16.5")],
    },
    Example {
        version: "verl ≥0.4",
        text: "(WorkerDict pid=4711, ip=10.0.0.8) DEBUG:2026-03-01 10:00:00,123:fsdp vllm sharding_manager Before __enter__, memory allocated (GB): 7.31, memory reserved (GB): 9.02, device memory used/total (GB): 11.84/79.15",
        states: &[
            ("series", "verl pid 4711 on 10.0.0.8"),
            ("torch_allocated", "7.31"),
            ("torch_reserved", "9.02"),
            ("other", "11.84"),
            ("gpu_total", "79.15"),
        ],
    },
    Example {
        version: "EasyR1 ≥0.3.0",
        text: "(WorkerDict pid=9012) After vllm wake up in sharding manager: 61.25 GB / 79.19 GB.",
        states: &[("series", "EasyR1 pid 9012"), ("other", "61.25 GB"), ("gpu_total", "79.19 GB")],
    },
    Example {
        version: "EasyR1 ≥0.3.0, behind a progress bar",
        text: "Update policy: 100%|██████████| 4/4 [00:12<00:00,  3.07s/it]Before vllm offload in sharding manager: 58.5 GB / 79.19 GB.",
        states: &[("other", "58.5 GB"), ("gpu_total", "79.19 GB")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FactValue;
    use crate::parse::testing;

    fn names(text: &str) -> Vec<FigureName> {
        let events = testing::parse(&Verl, text);
        events.iter().flat_map(|event| event.figures.iter().map(|figure| figure.name)).collect()
    }

    #[test]
    fn the_label_is_kept() {
        for (example, label) in [(0, "After actor FSDP init"), (3, "Before vllm offload in sharding manager")] {
            let events = testing::parse(&Verl, EXAMPLES[example].text);
            assert_eq!(events[0].facts[0].value, FactValue::Text(label.to_owned()));
        }
    }

    #[test]
    fn a_number_that_may_be_cut_off_is_not_read() {
        assert_eq!(names("Before x, memory allocated (GB): 15.4"), []);
        assert_eq!(names("Before x, memory allocated (GB): 15.44, memory res"), [TorchAllocated]);
    }

    #[test]
    fn other_shares_are_not_a_device() {
        assert_eq!(names("Downloading model: 1.5 GB / 4.0 GB."), []);
        assert_eq!(names("host memory used 96.25 GB / 251.50 GB (38.3%)"), []);
    }
}
