//! Collectives: messages of NCCL and RCCL, PyTorch's messages about them, and gloo's timeouts.
//!
//! Mirrors NCCL's `src/include/alloc.h`, `checks.h` and `socket.cc` (2.3–2.32), PyTorch's `torch/csrc/distributed/c10d/NCCLUtils.hpp`,
//! `ProcessGroupNCCL.cpp` (1.7–2.15) and gloo's `transport/`. When one rank dies, the others end in timeouts and lost connections; such
//! failures are consequences.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until};
use nom::combinator::{opt, value, verify};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::cuda;
use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record, statement};
use crate::model::{Event, FigureName, Kind, OtherFailureName};

const PRODUCER: &str = "nccl";

/// See the module.
pub struct Nccl;

/// Lines of an exception: a head, an explanation, `Last error:` and that error.
const LONGEST: usize = 5;

impl Grammar for Nccl {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["Failed to CUDA", "NCCL error", "Watchdog caught"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "NCCL WARN ",
            "NCCL error",
            "Failed to CUDA ",
            "Cuda failure ",
            "HIP failure ",
            "ncclUnhandledCudaError: ",
            "ncclSystemError: ",
            "ncclInternalError: ",
            "ncclRemoteError: ",
            "Watchdog caught collective operation timeout",
            "due to a collective timeout",
            "watchdog got stuck for",
            "Timed out waiting ",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let (text, next) = (record.text(), next.body().trim());
        let explains = next.starts_with("nccl") && next.contains("Error: ");
        let head = text.contains("NCCL error") || text.contains("Error: ");
        let goes_on = record.last_line().trim().ends_with("Last error:") || next == "Last error:" || explains;
        match head && goes_on && record.len() < LONGEST {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        memory(record).or_else(|| timeout(record)).or_else(|| error(record)).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// An allocation that NCCL was refused.
fn memory(record: &Record) -> Option<Event> {
    let text = record.text();
    let heads = ["Failed to CUDA ", "Cuda failure ", "HIP failure "];
    let (words, kind, size) = heads.iter().flat_map(|head| said(text, head)).find_map(|words| {
        let (_, (kind, size)) = refusal(words).ok()?;
        Some((text::line(words), kind, size))
    })?;
    let speaker = match kind == Kind::GpuOom && text.contains("NCCL WARN ") {
        true => statement::speaker_through_nccl(record),
        false => record.origin().process(),
    };
    let mut event = statement::shortage(record, PRODUCER, words, kind, speaker);
    event.evidence = record.cites(text).into_iter().filter(|cite| cite.location != event.at.location).collect();
    event.figures.extend(size.and_then(|size| record.figure(FigureName::Requested, size)));
    Some(event)
}

/// The places where NCCL itself, or PyTorch quoting it, says `head`.
fn said<'a>(text: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    text::each(text, head).filter(move |words| {
        let before = text::before(text, words);
        before.ends_with("NCCL WARN ") || text::may_begin(before)
    })
}

/// `Failed to CUDA calloc async 4194304 bytes`, `Cuda failure 2 'out of memory'`
fn refusal(text: &str) -> IResult<&str, (Kind, Option<Size<'_>>)> {
    let host = value(Kind::HostAllocFailure, tag("host alloc "));
    let device = value(Kind::GpuOom, alt((tag("calloc async "), tag("calloc "), tag("malloc "))));
    // A number without its unit may be cut off.
    let size = verify(text::byte_count, |size: &Size<'_>| size.text.ends_with("bytes")).map(Some);
    let call = alt((tag("Cuda failure "), tag("HIP failure ")));
    let failure = (call, opt(terminated(text::digits, tag(" "))), tag("'out of memory'"));
    alt((preceded(tag("Failed to CUDA "), (alt((host, device)), size)), failure.map(|_| (Kind::GpuOom, None))))
        .parse(text)
}

/// A collective that did not end in time.
fn timeout(record: &Record) -> Option<Event> {
    let text = record.text();
    let heads = ["Watchdog caught collective operation timeout", "Timed out waiting "];
    let words = heads.iter().find_map(|head| text::spoken(text, head).next()).or_else(|| {
        let others = ["due to a collective timeout", "watchdog got stuck for"];
        others.iter().any(|words| text.contains(words)).then_some(text)
    })?;
    let waits_for_operation = !words.starts_with("Timed out") || words.contains("ms for ");
    let words = waits_for_operation.then_some(text::line(words))?;
    let mut event = statement::consequence(record, PRODUCER, words, OtherFailureName::NcclTimeout);
    let operation = text::after(words, "OpType=").map(|rest| text::token(rest, ",)"));
    event.facts.extend(operation.map(|name| record.fact("nccl.operation", name)));
    for (key, label) in
        [("nccl.sequence", "SeqNum="), ("nccl.timeout_ms", "Timeout(ms)="), ("nccl.elapsed_ms", ") ran for ")]
    {
        let number = text::after(words, label).and_then(|rest| text::digits(rest).ok());
        let fact = number.and_then(|(_, words)| Some(record.number_fact(key, words, words.parse().ok()?)));
        event.facts.extend(fact);
    }
    Some(event)
}

/// Any other failure.
fn error(record: &Record) -> Option<Event> {
    let text = record.text();
    let lost = is_lost_peer(text);
    let words = text::spoken(text, "NCCL error").next().or_else(|| {
        let class = text.lines().map(str::trim_start).find(|line| line.starts_with("nccl") && line.contains("Error: "));
        class.or_else(|| failed_call(text).map(|(words, _)| words))
    });
    let words = words.or_else(|| lost.then(|| text::after(text, "NCCL WARN ")).flatten()).map(text::line)?;
    // A failure to get shared memory has a line of its own, which `shared_memory` reads.
    if text.contains("shared memory") {
        return None;
    }
    let name = failed_call(text).map_or(OtherFailureName::NcclError, |(_, name)| name);
    let mut event = statement::failure(record, PRODUCER, words, name);
    if lost {
        event = statement::consequence(record, PRODUCER, words, name);
    }
    event.evidence = record.cites(text).into_iter().filter(|cite| cite.location != event.at.location).collect();
    Some(event)
}

/// Whether the reason is that another rank is gone. `ncclSystemError` always mentions that possibility, so its text does not count.
fn is_lost_peer(text: &str) -> bool {
    const WORDS: [&str; 6] = [
        "remote process exited or there was a network error",
        "losed by remote peer",
        "Connection reset by peer",
        "Connection refused",
        "Broken pipe",
        "NCCL communicator was aborted",
    ];
    WORDS.iter().any(|words| text.contains(words))
}

/// `Cuda failure 700 'an illegal memory access was encountered'`: what CUDA answered.
fn failed_call(text: &str) -> Option<(&str, OtherFailureName)> {
    ["Cuda failure ", "HIP failure "].iter().flat_map(|head| said(text, head)).find_map(|words| {
        let head = alt((tag("Cuda failure "), tag("HIP failure ")));
        let answer = delimited(tag("'"), take_until("'"), tag("'"));
        let (_, (_, _, answer)) = (head, opt(terminated(text::digits, tag(" "))), answer).parse(words).ok()?;
        Some((words, cuda::failure(answer).unwrap_or(OtherFailureName::NcclError)))
    })
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "NCCL 2.12–2.32",
        text: "node3:1234:5678 [2] include/alloc.h:180 NCCL WARN Failed to CUDA calloc async 4194304 bytes",
        states: &[("kind", "gpu_oom"), ("requested", "4194304 bytes"), ("host", "node3"), ("pid", "1234")],
    },
    Example {
        version: "NCCL 2.12–2.32, page-locked memory",
        text: "node3:1234:5678 [2] include/alloc.h:21 NCCL WARN Failed to CUDA host alloc 73728 bytes",
        states: &[("kind", "host_alloc_failure"), ("requested", "73728 bytes")],
    },
    Example {
        version: "NCCL 2.3–2.17",
        text: "node3:1234:5678 [0] enqueue.cc:215 NCCL WARN Cuda failure 'out of memory'",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "NCCL ≥2.18",
        text: "node3:1234:5678 [0] transport/nvls.cc:178 NCCL WARN Cuda failure 2 'out of memory'",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "torch ≥2.0",
        text: "[rank2]: torch.distributed.DistBackendError: NCCL error in: /src/torch/csrc/distributed/c10d/NCCLUtils.hpp:219, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n[rank2]: ncclUnhandledCudaError: Call to CUDA function failed.\n[rank2]: Last error:\n[rank2]: Failed to CUDA calloc 6291456 bytes",
        states: &[("kind", "gpu_oom"), ("requested", "6291456 bytes"), ("rank", "2")],
    },
    Example {
        version: "torch 1.7–1.13",
        text: "  what():  NCCL error: unhandled system error, NCCL version 2.10.3\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. It can be also caused by unexpected exit of a remote peer, you can check NCCL warnings for failure reason and see if there is connection closure by a peer.",
        states: &[("failure", "nccl_error")],
    },
    Example {
        version: "torch ≥2.0, a lost peer",
        text: "[rank1]: torch.distributed.DistBackendError: NCCL error in: /src/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2251, remote process exited or there was a network error, NCCL version 2.20.5\n[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n[rank1]: Last error:\n[rank1]: socketProgress: Connection closed by remote peer node4<47110>",
        states: &[("failure", "nccl_error")],
    },
    Example {
        version: "torch 1.9–2.5, the watchdog",
        text: "[rank2]:[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=_ALLGATHER_BASE, NumelIn=4096, NumelOut=32768, Timeout(ms)=1800000) ran for 1800119 milliseconds before timing out.",
        states: &[
            ("failure", "nccl_timeout"),
            ("nccl.operation", "_ALLGATHER_BASE"),
            ("nccl.timeout_ms", "1800000"),
            ("nccl.elapsed_ms", "1800119"),
        ],
    },
    Example {
        version: "torch ≥2.5, the watchdog",
        text: "[rank5]:[E1120 07:57:26.100000000 ProcessGroupNCCL.cpp:616] [Rank 5] [PG ID 0 PG GUID 0(default_pg) Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600055 milliseconds before timing out.",
        states: &[("failure", "nccl_timeout"), ("nccl.operation", "ALLREDUCE")],
    },
];

#[cfg(test)]
mod tests {
    use crate::model::What;
    use crate::parse::testing;

    fn failures(text: &str) -> Vec<(String, bool)> {
        let failures = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Failure(failure) => Some((failure.name.to_string(), failure.follows)),
            What::Shortage(shortage) => Some((shortage.kind.to_string(), false)),
            _ => None,
        });
        failures.collect()
    }

    fn one(name: &str, follows: bool) -> Vec<(String, bool)> {
        vec![(name.to_owned(), follows)]
    }

    #[test]
    fn a_lost_peer_and_a_timeout_follow() {
        let lost =
            "node1:7:9 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node2<4711>";
        assert_eq!(failures(lost), one("nccl_error", true));
        assert_eq!(
            failures(
                "RuntimeError: [/src/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"
            ),
            one("nccl_timeout", true)
        );
        assert_eq!(
            failures(
                "[rank0]: torch.distributed.DistBackendError: NCCL error in: c10d/NCCLUtils.cpp:94, invalid usage, NCCL version 2.26.2"
            ),
            one("nccl_error", false)
        );
    }

    #[test]
    fn what_cuda_answered_names_the_failure() {
        let illegal = "NCCL WARN Cuda failure 700 'an illegal memory access was encountered'";
        assert_eq!(failures(illegal), one("illegal_memory_access", false));
        assert_eq!(failures("NCCL WARN Cuda failure 'peer access is not supported'"), one("nccl_error", false));
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "NCCL WARN NET/IB : No device found.",
            "Set NCCL_TIMEOUT if the Watchdog caught collective operation timeout",
            "Timed out waiting for the dashboard",
            "NCCL INFO cudaDriverVersion 12020",
            "see ncclSystemError: in the manual",
        ] {
            assert_eq!(failures(line), [], "{line}");
        }
    }

    #[test]
    fn a_rank_may_stand_before_each_line_as_a_number_alone() {
        let events = testing::read(b"3 Last error:\n3 Failed to CUDA calloc async 2485120 bytes\n");
        assert_eq!(events.iter().map(|event| event.producer).collect::<Vec<_>>(), ["nccl"]);
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        assert_eq!(failures("NCCL WARN Failed to CUDA calloc 83886"), []);
        assert_eq!(failures("NCCL WARN Cuda failure 'out of mem"), []);
    }
}
