//! XLA, as JAX shows it: a program or a buffer that the device has no room for.
//!
//! Mirrors `xla/service/buffer_assignment.cc` (the table after the message), `xla/pjrt/pjrt_stream_executor_client.cc`,
//! `xla/stream_executor/*_allocator_adapter.cc` and the messages of the closed TPU compiler and runtime that XLA's
//! documentation names (E0100, E0101, E1000). Sizes are powers of two, also TPU's `20.25G`. The table is about one
//! program, never about all that the device holds.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until};
use nom::character::complete::u32 as integer;
use nom::combinator::{consumed, map, opt, peek};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use super::table::{Table, TableRow, fact};
use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record, origin};
use crate::knowledge::SlotType::{Quoted, Size as Sized, Text};
use crate::model::FigureName::{self, GpuFree, GpuIndex, GpuTotal, Requested};
use crate::model::{Event, Kind, Severity};

/// See the module.
pub struct Jax;

/// The beginnings of messages.
const ALLOCATE: &str = "Out of memory while trying to allocate ";
/// Up to 0.4.2; later versions still print it from XLA's other allocators.
const ALLOCATING: &str = "RESOURCE_EXHAUSTED: Out of memory allocating ";
const REQUEST: &str = "Failed to allocate request for ";
const ATTEMPT: &str = "Attempting to allocate ";
const RESERVE: &str = "Attempting to reserve ";
const HBM: &str = "Ran out of memory in memory space hbm";
const EXCEEDS: &str = "exceeding available bytes: ";
const HEADS: &[&str] = &[ALLOCATE, ALLOCATING, REQUEST, ATTEMPT, RESERVE, HBM, EXCEEDS];

/// The table of one program, and its largest buffer.
const TABLE: Table = Table { producer: "jax", series: "XLA", rows: &ROWS };

const ROWS: [TableRow; 13] = [
    fact("parameter allocation:", Sized, "jax.parameters"),
    fact("constant allocation:", Sized, "jax.constants"),
    fact("maybe_live_out allocation:", Sized, "jax.outputs"),
    fact("preallocated temp allocation:", Sized, "jax.temporaries"),
    fact("total allocation:", Sized, "jax.total"),
    fact("total fragmentation:", Sized, "jax.fragmentation"),
    fact("Total hbm usage >= ", Sized, "jax.total"),
    fact("reserved ", Sized, "jax.reserved").within(&["hbm usage"]),
    fact("program ", Sized, "jax.program").within(&["hbm usage"]),
    fact("arguments ", Sized, "jax.arguments").within(&["hbm usage"]),
    fact("Size: ", Sized, "jax.largest_buffer"),
    fact("op_name=", Quoted, "jax.largest_operator"),
    fact("Shape: ", Text, "jax.largest_shape"),
];

impl Grammar for Jax {
    fn producer(&self) -> &'static str {
        "jax"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["RESOURCE_EXHAUSTED", "Out of memory while trying to allocate", "out of memory"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        HEADS
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// The table is read up to the rule below its first buffer.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        const BEGINS: [&str; 21] = [
            "BufferAssignment",
            "Peak buffers:",
            "Buffer 1:",
            "Size:",
            "Operator:",
            "XLA Label:",
            "XLA label:",
            "Shape:",
            "Entry Parameter Subshape:",
            "Total hbm usage",
            "reserved ",
            "program ",
            "arguments ",
            "Largest program allocations",
            "1. Size:",
            // Added by the TPU compiler.
            "Output size ",
            "Program hbm requirement ",
            "global ",
            "scoped ",
            "HLO temp ",
            "Unpadded size:",
        ];
        let body = next.body().trim_start();
        let row = body
            .split_once(':')
            .is_some_and(|(name, _)| name.ends_with(" allocation") || name.ends_with(" fragmentation"));
        match row || BEGINS.iter().any(|words| body.starts_with(words)) {
            true if !record.last_line().trim_start().starts_with("====") => Follow::Join(Joint::Line),
            _ => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let whole = record.text();
        let mut parts = HEADS.iter().flat_map(|head| text::each(whole, head));
        // One message may contain two heads; the first that parses says everything.
        let read = |part| Some((part, refusal(whole, part).filter(|_| !text::is_quoted(whole, part))?));
        let Some((part, refusal)) = parts.find_map(read) else { return Vec::new() };
        let device = refusal.device.map(|(_, index)| index);
        let mut event = origin::shortage(record, "jax", part, Kind::GpuOom, Severity::Fatal, device);
        event.figures = refusal.sizes.into_iter().filter_map(|(name, size)| record.figure(name, size)).collect();
        event.figures.extend(refusal.device.map(|(words, index)| record.number(GpuIndex, words, f64::from(index))));
        event.facts = TABLE.read(record).into_iter().flat_map(|notice| notice.facts).collect();
        vec![event]
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// What a message states.
struct Refusal<'a> {
    sizes: Vec<(FigureName, Size<'a>)>,
    device: Option<(&'a str, u32)>,
}

/// The message that begins with `part` of `whole`.
fn refusal<'a>(whole: &'a str, part: &'a str) -> Option<Refusal<'a>> {
    let one = |(_, size)| Refusal { sizes: vec![(Requested, size)], device: None };
    let allocate = map((alt((tag(ALLOCATE), tag(ALLOCATING))), text::size), one);
    let request = map(preceded(tag(REQUEST), (text::size, opt(ordinal))), |(size, device)| Refusal {
        sizes: vec![(Requested, size)],
        device: device.flatten(),
    });
    let attempt = map((alt((tag(ATTEMPT), tag(RESERVE))), text::size, impossible), |(_, size, free)| Refusal {
        sizes: [Some((Requested, size)), free.map(|free| (GpuFree, free))].into_iter().flatten().collect(),
        device: None,
    });
    let hbm = map(preceded((tag(HBM), tag(". Used ")), (text::size, opt(of_hbm))), |(used, total)| Refusal {
        sizes: [Some((Requested, used)), total.map(|total| (GpuTotal, total))].into_iter().flatten().collect(),
        device: None,
    });
    if part.starts_with(EXCEEDS) {
        return exceeds(whole, part);
    }
    alt((allocate, request, attempt, hbm)).parse(part).ok().map(|(_, refusal)| refusal)
}

/// ` (26306674688B) on device ordinal 0`
fn ordinal(text: &str) -> IResult<&str, Option<(&str, u32)>> {
    let bytes = delimited(tag(" ("), text::size, tag(")"));
    preceded(bytes, opt(preceded(tag(" on device ordinal "), consumed(integer)))).parse(text)
}

/// `. That was not possible. There are 2.12G free`; a reservation puts ` at the bottom of memory` before it.
fn impossible(text: &str) -> IResult<&str, Option<Size<'_>>> {
    let place = opt(tag(" at the bottom of memory"));
    let free = delimited(tag(" There are "), text::size, peek(tag(" free")));
    preceded((place, tag(". That was not possible.")), opt(free)).parse(text)
}

/// ` of 15.50G hbm`
fn of_hbm(text: &str) -> IResult<&str, Size<'_>> {
    delimited(tag(" of "), text::size, tag(" hbm")).parse(text)
}

/// `TPU TensorCore Hbm usage: 40.25G, SparseCore Hbm usage 12.50G, exceeding available bytes: 31.25G`
fn exceeds<'a>(whole: &'a str, part: &'a str) -> Option<Refusal<'a>> {
    let used = preceded((take_until("Hbm usage"), tag("Hbm usage: ")), text::size).parse(whole).ok()?.1;
    let available = preceded(tag(EXCEEDS), text::size).parse(part).ok()?.1;
    Some(Refusal { sizes: vec![(Requested, used), (GpuTotal, available)], device: None })
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "jaxlib 0.1–0.4",
        text: "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes.",
        states: &[("kind", "gpu_oom"), ("requested", "8589934592 bytes")],
    },
    Example {
        version: "jaxlib ≤0.4, with the table",
        text: "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6442450944 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:    1.50GiB\n              constant allocation:         0B\n        maybe_live_out allocation:    2.25GiB\n     preallocated temp allocation:    6.00GiB\n                 total allocation:    9.75GiB\n              total fragmentation:         0B (0.00%)\nPeak buffers:\n        Buffer 1:\n                Size: 3.00GiB\n                Operator: op_name=\"jit(train_step)/jit(main)/dot_general\" source_file=\"/home/user/train.py\" source_line=12\n                XLA Label: fusion\n                Shape: f32[2048,768,512]\n                ==========================\n\n        Buffer 2:\n                Size: 1.50GiB",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "6442450944 bytes"),
            ("jax.parameters", "1.50GiB"),
            ("jax.temporaries", "6.00GiB"),
            ("jax.total", "9.75GiB"),
            ("jax.largest_buffer", "3.00GiB"),
            ("jax.largest_operator", "jit(train_step)/jit(main)/dot_general"),
            ("jax.largest_shape", "f32[2048,768,512]"),
        ],
    },
    Example {
        version: "jaxlib 0.4, the compiler for TPUs",
        text: "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 40.50G of 31.25G hbm. Exceeded hbm capacity by 9.25G.\n\nTotal hbm usage >= 41.75G:\n    reserved          1.25G\n    program          40.50G\n    arguments            0B\n\nOutput size 0B; shares 0B with arguments.\n\nProgram hbm requirement 40.50G:\n    global            1.25M\n    scoped            4.50M\n    HLO temp         40.49G (100.0% utilization: Unpadded (40.25G) Padded (40.25G), 0.5% fragmentation (210.25M))\n\n  Largest program allocations in hbm:\n\n  1. Size: 1.50G\n     Operator: op_name=\"jit(train_step)/jit(main)/transpose(jvp(Model))/layers/mlp/dot_general\"\n     Shape: f32[24,4096,4096]{1,2,0:T(8,128)}\n     Unpadded size: 1.50G",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "40.50G"),
            ("gpu_total", "31.25G"),
            ("jax.reserved", "1.25G"),
            ("jax.program", "40.50G"),
            ("jax.arguments", "0B"),
            ("jax.total", "41.75G"),
            ("jax.largest_buffer", "1.50G"),
            ("jax.largest_operator", "jit(train_step)/jit(main)/transpose(jvp(Model))/layers/mlp/dot_general"),
            ("jax.largest_shape", "f32[24,4096,4096]{1,2,0:T(8,128)}"),
        ],
    },
    Example {
        version: "jaxlib ≥0.5",
        text: "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 28.50GiB.",
        states: &[("kind", "gpu_oom"), ("requested", "28.50GiB")],
    },
    Example {
        version: "jaxlib 0.4, by the allocator",
        text: "E0301 10:00:00.000000   27487 pjrt_stream_executor_client.cc:2732] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Failed to allocate request for 24.50GiB (26306674688B) on device ordinal 1",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "24.50GiB"),
            ("gpu_index", "1"),
            ("device", "1"),
            ("pid", "27487"),
        ],
    },
    Example {
        version: "TPU, a buffer",
        text: "XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 1.50G. That was not possible. There are 812.25M free.; (0x1x0_HBM0)",
        states: &[("kind", "gpu_oom"), ("requested", "1.50G"), ("gpu_free", "812.25M")],
    },
    Example {
        version: "TPU, a program that does not load",
        text: "XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program 'jit_train_step': Attempting to reserve 12.50G at the bottom of memory. That was not possible. There are 10.25G free, 0B reserved, and 10.25G reservable.",
        states: &[("kind", "gpu_oom"), ("requested", "12.50G"), ("gpu_free", "10.25G")],
    },
    Example {
        version: "TPU, a program that does not compile",
        text: "XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 20.25G of 15.50G hbm. Exceeded hbm capacity by 4.75G.\nTotal hbm usage >= 20.75G:\n    reserved        512.00M \n    program          20.25G \n    arguments            0B ",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "20.25G"),
            ("gpu_total", "15.50G"),
            ("jax.total", "20.75G"),
            ("jax.reserved", "512.00M"),
        ],
    },
    Example {
        version: "TPU with SparseCores, a program that does not compile",
        text: "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 40.25G, SparseCore Hbm usage 12.50G, exceeding available bytes: 31.25G",
        states: &[("kind", "gpu_oom"), ("requested", "40.25G"), ("gpu_total", "31.25G")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn other_exhausted_resources_and_mentions_are_no_shortage() {
        for text in [
            "grpc: RESOURCE_EXHAUSTED: Received message larger than max (5242880 vs. 4194304)",
            "Ran out of memory in memory space vmem. Used 44.05M of 32.00M.",
            "    \"Out of memory while trying to allocate 8388608 bytes\",",
            "Out of memory while trying to allocate the buffers",
        ] {
            assert!(testing::parse(&Jax, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        let figures = |text| testing::parse(&Jax, text).into_iter().flat_map(|event| event.figures).count();
        assert_eq!(figures("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8388"), 0);
        assert_eq!(figures("Attempting to allocate 1.50G. That was not possible. There are 8"), 1);
        assert_eq!(figures("Attempting to allocate 1.50G. That was"), 0);
    }
}
