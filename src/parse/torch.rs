//! PyTorch's device allocators: CUDA, HIP, XPU, NPU, MPS.
//!
//! Mirrors `c10/cuda/CUDACachingAllocator.cpp` (1.8–2.15), `c10/cuda/CUDAMallocAsyncAllocator.cpp` (2.0–2.15),
//! `c10/xpu/XPUCachingAllocator.cpp`, `aten/src/ATen/mps/MPSAllocator.mm`, torch_npu's `NPUCachingAllocator.cpp`. Units
//! are powers of two. "Tried to allocate" is the size of the segment, not of the tensor: up to 1 MiB shows as 2 MiB, up
//! to 10 MiB as 20 MiB, more is rounded up to 2 MiB.

use nom::branch::alt;
use nom::bytes::streaming::{tag, take_while1};
use nom::character::streaming::{multispace0, u32 as integer};
use nom::combinator::{complete, consumed, map_opt, peek, recognize};
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record};
use crate::model::{Bytes, Consumer, Event, Figure, FigureName, Kind, Severity, Shortage, Victim, What};

/// See the module.
pub struct Torch;

impl Grammar for Torch {
    fn producer(&self) -> &'static str {
        "torch"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["out of memory", "OutOfMemoryError", "failed with OOM on device"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &["out of memory", "OutOfMemoryError", "failed with OOM on device"]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// A terminal's width may have cut the message anywhere, a box between words: what lets it be read further is right.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let Some(last) = heads(record.text()).last() else { return Follow::End };
        let now = progress(last);
        if now == Progress::Ended {
            return Follow::End;
        }
        let with = |joint: &str| progress(&format!("{last}{joint}{}", next.body().trim_start()));
        let (blank, nothing) = (with(" "), with(""));
        match (blank > now, nothing > blank) {
            (_, true) => Follow::Join(Joint::Nothing),
            (true, _) => Follow::Join(Joint::Blank),
            _ => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        heads(record.text()).filter_map(|message| event(record, message)).collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// Where messages begin in `text`: two ranks may print into one line.
fn heads(text: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).filter(|at| head(&text[*at..]).is_ok()).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &text[start..end])
}

/// Which allocator speaks, and how its message goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// `CUDA out of memory.` and its kin; clauses follow.
    Caching,
    /// `MPS backend out of memory (…`
    Mps,
    /// `Allocation on device 0 would exceed allowed memory.`
    MallocAsync,
    /// A retry of expandable segments.
    Warning,
    /// `OutOfMemoryError:` alone.
    Bare,
}

/// Who speaks, and the device if it is named at once.
fn head(text: &str) -> IResult<&str, (Speaker, Option<Clause<'_>>)> {
    // Cheap first: most bytes begin none of these.
    if !matches!(text.as_bytes().first(), Some(b'C' | b'H' | b'X' | b'N' | b'M' | b'A' | b'm' | b'O')) {
        return Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Tag)));
    }
    let device = alt((tag("CUDA"), tag("HIP"), tag("XPU"), tag("NPU")));
    let number = |text| consumed(integer).map(|(words, number)| Some(Clause::Device(words, number))).parse(text);
    let warning = (tag("memory "), alt((tag("mapping"), tag("allocation"))), tag(" failed with OOM on device "));
    complete(alt((
        (device, tag(" out of memory")).map(|_| (Speaker::Caching, None)),
        tag("MPS backend out of memory").map(|_| (Speaker::Mps, None)),
        preceded(tag("Allocation on device "), number).map(|device| (Speaker::MallocAsync, device)),
        preceded(warning, number).map(|device| (Speaker::Warning, device)),
        terminated(tag("OutOfMemoryError: "), peek(tag("Tried to allocate "))).map(|_| (Speaker::Bare, None)),
    )))
    .parse(text)
}

/// One clause of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Clause<'a> {
    Size(FigureName, Size<'a>),
    /// The device: the words and the number.
    Device(&'a str, u32),
    /// Another process on the device, or in a container this one.
    Process(u32, Size<'a>),
    /// Of what is allocated, in CUDA graphs' own pools.
    PrivatePools(Size<'a>),
    /// Words without a figure.
    Words,
}

/// What stands at the beginning of `text`. `Incomplete` when more text might make it a clause.
fn clause(text: &str) -> IResult<&str, Clause<'_>> {
    preceded(multispace0, alt((caching_clause, described_clause, other_clause))).parse(text)
}

/// Up to 2.0, and NPU: `(GPU 3; 79.15 GiB total capacity; 74.02 GiB already allocated; …`
fn caching_clause(text: &str) -> IResult<&str, Clause<'_>> {
    let labels = alt((
        tag(" total capacity").map(|_| Some(FigureName::GpuTotal)),
        tag(" already allocated").map(|_| Some(FigureName::TorchAllocated)),
        tag(" current active").map(|_| None),
        tag(" free").map(|_| Some(FigureName::GpuFree)),
        tag(" allowed").map(|_| None),
        tag(" reserved in total by PyTorch").map(|_| Some(FigureName::TorchReserved)),
        tag(" cached").map(|_| Some(FigureName::TorchReservedUnallocated)),
    ));
    let labelled = terminated(pair(size, labels), alt((tag(";"), tag(")"))));
    let device = delimited(tag("("), device, tag(";"));
    alt((device, labelled.map(|(size, name)| name.map_or(Clause::Words, |name| Clause::Size(name, size))))).parse(text)
}

/// From 2.1: `GPU 0 has a total capacity of 79.15 GiB of which 1.05 GiB is free. …`; 2.1 misspells "capacity".
fn described_clause(text: &str) -> IResult<&str, Clause<'_>> {
    let of = |name| move |size| Clause::Size(name, size);
    let process = pair(preceded(tag("Process "), integer), preceded(tag(" has "), size));
    alt((
        preceded(tag("Tried to allocate "), size).map(of(FigureName::Requested)),
        terminated(device, tag(" has")),
        preceded((tag("a total capac"), alt((tag("ity"), tag("ty"))), tag(" of ")), size).map(of(FigureName::GpuTotal)),
        preceded(tag("of which "), size).map(of(FigureName::GpuFree)),
        process.map(|(pid, size)| Clause::Process(pid, size)),
        preceded(tag("Including non-PyTorch memory, this process has "), size).map(of(FigureName::ProcessInUse)),
        preceded(tag("Of the allocated memory "), size).map(of(FigureName::TorchAllocated)),
        preceded(tag("with "), size).map(Clause::PrivatePools),
        preceded(tag("and "), size).map(of(FigureName::TorchReservedUnallocated)),
    ))
    .parse(text)
}

/// cudaMallocAsync's table, MPS, the warnings of expandable segments, and the words between clauses.
fn other_clause(text: &str) -> IResult<&str, Clause<'_>> {
    let of = |name| move |size| Clause::Size(name, size);
    let cell = |label| preceded((tag(label), multispace0, tag(": ")), size);
    let words = alt((
        tag("."),
        tag(","),
        tag(";"),
        tag(")"),
        tag(":"),
        tag("is free"),
        tag("memory in use"),
        tag("is allocated by PyTorch"),
        tag("allocated in private pools (e.g., CUDA Graphs)"),
        tag("is reserved by PyTorch but unallocated"),
        tag("would exceed allowed memory. (out of memory)"),
        tag("on private pool"),
        tag("on shared pool"),
        recognize(pair(size, tag(" allowed"))),
    ));
    let words = alt((words, recognize((tag("(private"), tag(" pools)")))));
    let async_limit =
        recognize((tag("PyTorch limit (set by user-supplied memory fraction)"), multispace0, tag(": "), size));
    alt((
        words.map(|_| Clause::Words),
        cell("Currently allocated").map(of(FigureName::TorchAllocated)),
        cell("Requested").map(of(FigureName::Requested)),
        cell("Device limit").map(of(FigureName::GpuTotal)),
        cell("Free (according to CUDA)").map(of(FigureName::GpuFree)),
        async_limit.map(|_| Clause::Words),
        preceded(tag("(MPS allocated: "), size).map(of(FigureName::TorchAllocated)),
        preceded(tag("other allocations: "), size).map(|_| Clause::Words),
        preceded(tag("max allowed: "), size).map(of(FigureName::GpuTotal)),
        preceded(alt((tag("while trying to map "), tag("while trying to allocate "))), size).map(of(FigureName::Requested)),
        preceded(tag("(free: "), raw_size).map(of(FigureName::GpuFree)),
        preceded(tag("total: "), raw_size).map(of(FigureName::GpuTotal)),
        preceded(
            tag("Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: "),
            size,
        )
        .map(of(FigureName::Requested)),
    ))
    .parse(text)
}

/// `GPU 3`, `NPU 0`
fn device(text: &str) -> IResult<&str, Clause<'_>> {
    let name = (alt((tag("GPU "), tag("NPU "))), integer);
    let (rest, (words, (_, number))) = consumed(name).parse(text)?;
    Ok((rest, Clause::Device(words, number)))
}

/// `1.16 GiB`, `512.00 MB`, `0 bytes`. Streaming, so that a number cut off is never taken for a whole one.
fn size(text: &str) -> IResult<&str, Size<'_>> {
    let unit = alt((tag("GiB"), tag("MiB"), tag("KiB"), tag("bytes"), tag("GB"), tag("MB"), tag("KB")));
    let (rest, whole) =
        recognize((take_while1(|c: char| c.is_ascii_digit() || c == '.'), multispace0, unit)).parse(text)?;
    let size =
        text::size(whole).map_err(|_| nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Float)))?.1;
    Ok((rest, Size { text: whole, ..size }))
}

/// Bytes without a unit, before `,` or `)`.
fn raw_size(text: &str) -> IResult<&str, Size<'_>> {
    let digits = take_while1(|c: char| c.is_ascii_digit());
    map_opt(digits, |digits: &str| Some(Size { text: digits, bytes: Bytes::of(digits.parse().ok()?, Bytes(1)) }))
        .parse(text)
}

/// How far a message can be read: as many bytes, and whether it might go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    /// Something else stands behind the last clause.
    Stuck(usize),
    /// It stops within a clause or behind one.
    Open(usize),
    /// Its last clause was read.
    Ended,
}

fn progress(message: &str) -> Progress {
    let Ok((mut rest, _)) = head(message) else { return Progress::Stuck(0) };
    loop {
        match clause(rest) {
            Ok((_, Clause::Size(FigureName::TorchReservedUnallocated | FigureName::TorchReserved, _))) => {
                return Progress::Ended;
            }
            Ok((next, _)) => rest = next,
            Err(nom::Err::Incomplete(_)) => return Progress::Open(message.len()),
            Err(_) => return Progress::Stuck(message.len() - rest.len()),
        }
    }
}

/// Everything that `message` states.
fn event(record: &Record, message: &str) -> Option<Event> {
    let (mut rest, (speaker, device)) = head(message).ok()?;
    let mut clauses = Vec::from_iter(device);
    while let Ok((next, clause)) = clause(rest) {
        clauses.push(clause);
        rest = next;
    }
    clauses.extend(cut_clause(rest));
    let requested = clauses.iter().any(|clause| matches!(clause, Clause::Size(FigureName::Requested, _)));
    let absurd = rest.trim_start().starts_with("Tried to allocate more than 1EB");
    if !requested && !absurd && !is_exception(record.before(message), message) {
        return None;
    }
    Some(to_event(record, message, speaker, &clauses))
}

/// The last clause of a message that was cut off within a label: `17.19 MiB f`.
fn cut_clause(rest: &str) -> Option<Clause<'_>> {
    const LABELS: [(&str, FigureName); 3] = [
        ("total capacity", FigureName::GpuTotal),
        ("free", FigureName::GpuFree),
        ("reserved in total", FigureName::TorchReserved),
    ];
    let (label, size) = size(rest.trim_start()).ok()?;
    let label = label.trim();
    let (_, name) = LABELS.iter().find(|(whole, _)| !label.is_empty() && whole.starts_with(label))?;
    Some(Clause::Size(*name, size))
}

/// Whether `message`, which names no size and stands behind `before`, is the text of an exception and not a mere mention.
fn is_exception(before: &str, message: &str) -> bool {
    let before = before.trim_end();
    let alone = message.trim_end_matches(['.', ' ', '\n']).ends_with("out of memory");
    alone && (before.ends_with("OutOfMemoryError:") || before.ends_with("RuntimeError:"))
}

fn to_event(record: &Record, message: &str, speaker: Speaker, clauses: &[Clause<'_>]) -> Event {
    let mut figures: Vec<Figure> = Vec::new();
    let mut facts = Vec::new();
    let mut device = None;
    let mut processes = Vec::new();
    for clause in clauses {
        match clause {
            Clause::Size(name, size) => figures.extend(record.figure(*name, *size)),
            Clause::Device(words, number) => {
                device = Some(*number);
                figures.push(record.number(FigureName::GpuIndex, words, f64::from(*number)));
            }
            Clause::Process(pid, size) => {
                processes.extend(record.figure(FigureName::ProcessInUse, *size).map(|figure| (*pid, figure)))
            }
            Clause::PrivatePools(size) => {
                facts.extend(
                    size.bytes.map(|bytes| record.number_fact("torch.private_pools", size.text, bytes.0 as f64)),
                );
            }
            Clause::Words => {}
        }
    }
    let own = own_process(&figures, &processes);
    processes.sort_by_key(|(pid, _)| Some(*pid) != own);
    let consumers = processes
        .iter()
        .filter_map(|(pid, figure)| {
            Some(Consumer {
                pid: Some(*pid),
                role: None,
                bytes: figure.bytes?,
                source: figure.source.clone(),
                text: figure.text.clone(),
            })
        })
        .collect();
    figures.extend(processes.into_iter().map(|(_, figure)| figure));
    let origin = record.origin();
    let victim = Victim {
        host: origin.host.clone(),
        rank: origin.rank,
        device,
        pid: origin.pid.or(own),
        role: origin.role.clone(),
    };
    let severity = match speaker {
        Speaker::Warning => Severity::Pressure,
        _ if is_warning(record.before(message)) => Severity::Swallowed,
        _ => Severity::Fatal,
    };
    let shortage = Shortage { kind: Kind::GpuOom, severity, victims: vec![victim], consumers };
    let mut event = record.event("torch", message, What::Shortage(shortage));
    event.evidence = record.cites(message).split_off(1);
    event.figures = figures;
    event.facts = facts;
    event
}

/// Python warns and goes on: `UserWarning: Failed to clone() tensor … CUDA out of memory.`
fn is_warning(before: &str) -> bool {
    before
        .rfind("Warning: ")
        .is_some_and(|at| !["RuntimeError:", "OutOfMemoryError:"].iter().any(|class| before[at..].contains(class)))
}

/// Which of the processes is the one that failed. In a container NVML counts processes otherwise than the process itself
/// does, so that the own one stands among the others: it is the one that is just larger than what PyTorch holds.
fn own_process(figures: &[Figure], processes: &[(u32, Figure)]) -> Option<u32> {
    let bytes = |name| figures.iter().find(|figure: &&Figure| figure.name == name).and_then(|figure| figure.bytes);
    if bytes(FigureName::ProcessInUse).is_some() {
        return None;
    }
    let held = bytes(FigureName::TorchAllocated)? + bytes(FigureName::TorchReservedUnallocated)?;
    let larger = processes.iter().filter(|(_, figure)| figure.bytes.is_some_and(|bytes| bytes + Bytes::MIB >= held));
    larger.min_by_key(|(_, figure)| figure.bytes).map(|(pid, _)| *pid)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "torch 1.1–1.3, CUDA",
        text: "RuntimeError: CUDA out of memory. Tried to allocate 2.74 GiB (GPU 0; 10.91 GiB total capacity; 6.10 GiB already allocated; 2.56 GiB free; 1.35 GiB cached)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "2.74 GiB"),
            ("gpu_index", "GPU 0"),
            ("gpu_total", "10.91 GiB"),
            ("torch_allocated", "6.10 GiB"),
            ("gpu_free", "2.56 GiB"),
            ("torch_reserved_unallocated", "1.35 GiB"),
        ],
    },
    Example {
        version: "torch 1.4–2.0, CUDA",
        text: "RuntimeError: CUDA out of memory. Tried to allocate 1.16 GiB (GPU 3; 79.15 GiB total capacity; 74.02 GiB already allocated; 812.62 MiB free; 77.40 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "1.16 GiB"),
            ("gpu_index", "GPU 3"),
            ("gpu_total", "79.15 GiB"),
            ("torch_allocated", "74.02 GiB"),
            ("gpu_free", "812.62 MiB"),
            ("torch_reserved", "77.40 GiB"),
        ],
    },
    Example {
        version: "torch 1.4–2.0, CUDA, with a memory fraction set",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB (GPU 3; 11.93 GiB total capacity; 10.67 GiB already allocated; 515.38 MiB free; 11.93 GiB allowed; 10.92 GiB reserved in total by PyTorch)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "4.00 GiB"),
            ("gpu_free", "515.38 MiB"),
            ("torch_reserved", "10.92 GiB"),
        ],
    },
    Example {
        version: "torch 2.1, CUDA, in a container",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacty of 39.39 GiB of which 5.06 MiB is free. Process 812344 has 39.38 GiB memory in use. Of the allocated memory 37.90 GiB is allocated by PyTorch, and 412.33 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "20.00 MiB"),
            ("gpu_index", "GPU 0"),
            ("gpu_total", "39.39 GiB"),
            ("gpu_free", "5.06 MiB"),
            ("process_in_use", "39.38 GiB"),
            ("pid", "812344"),
            ("torch_allocated", "37.90 GiB"),
            ("torch_reserved_unallocated", "412.33 MiB"),
        ],
    },
    Example {
        version: "torch 2.4–2.9, CUDA, with a neighbour and CUDA graphs",
        text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.05 GiB is free. Process 401233 has 30.11 GiB memory in use. Including non-PyTorch memory, this process has 47.98 GiB memory in use. Of the allocated memory 44.03 GiB is allocated by PyTorch, with 512.00 MiB allocated in private pools (e.g., CUDA Graphs), and 1.90 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "2.32 GiB"),
            ("gpu_total", "79.15 GiB"),
            ("gpu_free", "1.05 GiB"),
            ("process_in_use", "47.98 GiB"),
            ("consumer", "30.11 GiB"),
            ("torch_allocated", "44.03 GiB"),
            ("torch.private_pools", "512.00 MiB"),
            ("torch_reserved_unallocated", "1.90 GiB"),
        ],
    },
    Example {
        version: "torch 2.15, CUDA, per_process_memory_fraction",
        text: "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 1.50 GiB",
        states: &[("kind", "gpu_oom"), ("requested", "1.50 GiB")],
    },
    Example {
        version: "torch 1.13–2.15, CUDA, a negative size",
        text: "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "torch ≥2.10, CUDA, expandable segments, a retry",
        text: "[rank2]:[W512 07:57:26.100000000 CUDACachingAllocator.cpp:508] expandable_segments: memory mapping failed with OOM on device 2 while trying to map 20971520 bytes (free: 13107200, total: 85045608448)",
        states: &[
            ("pressure", "gpu_oom"),
            ("requested", "20971520 bytes"),
            ("gpu_free", "13107200"),
            ("gpu_total", "85045608448"),
        ],
    },
    Example {
        version: "torch 2.15, CUDA, plain blocks, a retry",
        text: "[W906 15:02:06.204334026 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on device 0 while trying to allocate 1000341504 bytes (free: 916848640, total: 25243287552). Set throw_on_cudamalloc_oom:false to disable.",
        states: &[("pressure", "gpu_oom"), ("requested", "1000341504 bytes"), ("gpu_free", "916848640")],
    },
    Example {
        version: "torch 2.0–2.15, cudaMallocAsync",
        text: "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 9.43 GiB\nRequested               : 640.00 MiB\nDevice limit            : 11.59 GiB\nFree (according to CUDA): 7.12 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
        states: &[
            ("kind", "gpu_oom"),
            ("torch_allocated", "9.43 GiB"),
            ("requested", "640.00 MiB"),
            ("gpu_total", "11.59 GiB"),
            ("gpu_free", "7.12 MiB"),
        ],
    },
    Example {
        version: "torch ≥1.8, HIP",
        text: "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.49 GiB of which 84.98 GiB is free. Of the allocated memory 1.67 GiB is allocated by PyTorch, and 8.08 GiB is reserved by PyTorch but unallocated.",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "16.00 GiB"),
            ("gpu_free", "84.98 GiB"),
            ("torch_reserved_unallocated", "8.08 GiB"),
        ],
    },
    Example {
        version: "torch_npu, NPU",
        text: "RuntimeError: NPU out of memory. Tried to allocate 260.00 MiB (NPU 0; 60.97 GiB total capacity; 58.10 GiB already allocated; 58.10 GiB current active; 149.57 MiB free; 59.02 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
        states: &[
            ("kind", "gpu_oom"),
            ("gpu_index", "NPU 0"),
            ("requested", "260.00 MiB"),
            ("torch_allocated", "58.10 GiB"),
            ("gpu_free", "149.57 MiB"),
            ("torch_reserved", "59.02 GiB"),
        ],
    },
    Example {
        version: "torch ≥2.4, XPU",
        text: "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 47.97 GiB of which 0.71 GiB is free. Of the allocated memory 44.20 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "1.50 GiB"),
            ("gpu_free", "0.71 GiB"),
            ("torch_reserved_unallocated", "1.02 GiB"),
        ],
    },
    Example {
        version: "torch ≥1.12, MPS",
        text: "RuntimeError: MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: 613.56 MB, max allowed: 18.13 GB). Tried to allocate 192.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
        states: &[
            ("kind", "gpu_oom"),
            ("torch_allocated", "17.36 GB"),
            ("gpu_total", "18.13 GB"),
            ("requested", "192.00 MB"),
        ],
    },
    Example {
        version: "torch 1.12–2.0, a warning that goes on without",
        text: "/opt/torch/distributed/fsdp/fully_sharded_data_parallel.py:2224: UserWarning: Failed to clone() tensor with name lm_head.weight. This may mean that this state_dict entry could point to invalid memory regions after returning from state_dict() call if this parameter is managed by FSDP. Please check clone implementation of lm_head.weight. Error: CUDA out of memory. Tried to allocate 502.00 MiB (GPU 1; 39.59 GiB total capacity; 35.54 GiB already allocated; 276.19 MiB free; 37.22 GiB reserved in total by PyTorch)",
        states: &[("swallowed", "gpu_oom"), ("requested", "502.00 MiB"), ("gpu_index", "GPU 1")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    fn figures(lines: &[&str]) -> Vec<(String, String)> {
        let read = testing::read(lines.join("\n").as_bytes());
        read.into_iter().flat_map(|event| event.figures).map(|figure| (figure.name.to_string(), figure.text)).collect()
    }

    fn has(figures: &[(String, String)], name: &str, text: &str) -> bool {
        figures.iter().any(|figure| (figure.0.as_str(), figure.1.as_str()) == (name, text))
    }

    #[test]
    fn a_message_cut_by_the_terminals_width_is_read_whole() {
        let read = figures(&[
            "(Runner pid=1) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.12 GiB. GPU 0 has a total capacity of 79.19 GiB of which 2.11 GiB is free. Including non-PyTorch memory, this process has 76.96 GiB memory in use. Of the allocated memory 83.48 GiB is allocated by P",
            "yTorch, with 241.21 MiB allocated in private pools (e.g., CUDA Graphs), and 30.59 GiB is reserved by PyTorch but unallocated.",
        ]);
        assert!(has(&read, "torch_reserved_unallocated", "30.59 GiB"), "{read:?}");
    }

    #[test]
    fn a_message_in_a_box_is_read_whole() {
        let read = figures(&[
            "RuntimeError: CUDA out of memory. Tried to allocate 150.00 MiB (GPU 0; 79.35 GiB",
            "total capacity; 76.08 GiB already allocated; 108.19 MiB free; 77.20 GiB reserved",
            "in total by PyTorch) If reserved memory is >> allocated memory try setting",
        ]);
        for (name, text) in [("gpu_total", "79.35 GiB"), ("gpu_free", "108.19 MiB"), ("torch_reserved", "77.20 GiB")] {
            assert!(has(&read, name, text), "{name} in {read:?}");
        }
    }

    #[test]
    fn a_number_broken_over_two_lines_says_so() {
        let events = testing::read(
            b"RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 79.\n35 GiB total capacity; 76.08 GiB already allocated; 108.19 MiB free; 77.20 GiB reserved in total by PyTorch)",
        );
        let total = events[0].figures.iter().find(|figure| figure.name == FigureName::GpuTotal);
        assert_eq!(total.and_then(|figure| figure.bytes), Bytes::of(79.35, Bytes::GIB));
        assert_eq!(total.and_then(|figure| figure.derived.as_ref()).map(|derived| derived.from.len()), Some(2));
    }

    #[test]
    fn two_ranks_in_one_line_are_two_events() {
        let one = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 77.13 GiB already allocated; 307.31 MiB free; 78.21 GiB reserved in total by PyTorch) If reserved";
        let other = one.replace("GPU 0", "GPU 3").replace("307.31", "355.31");
        let events =
            testing::read(format!("torch.cudatorch.cuda..OutOfMemoryErrorOutOfMemoryError: : {one}{other}").as_bytes());
        assert_eq!(events.len(), 2);
        assert!(has(&figures(&[&other]), "gpu_free", "355.31 MiB"));
    }

    #[test]
    fn two_messages_in_one_line_amid_letters_that_are_no_ascii() {
        for tail in ["", "x"] {
            let line = format!(
                "CUDA out of memory. Tried to allocate 416.00 MiB. CUDA out of memory. Tried {}{tail}",
                "é".repeat(60)
            );
            assert!(has(&figures(&[&line]), "requested", "416.00 MiB"), "{line}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        let read = figures(&[
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.17 GiB total capacity; 962.69 MiB already allocated; 17.19 MiB f",
        ]);
        assert!(has(&read, "gpu_free", "17.19 MiB"));
        let read =
            figures(&["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB. GPU 0 has a total"]);
        assert!(has(&read, "gpu_index", "GPU 0") && !read.iter().any(|(name, _)| name == "gpu_total"));
        let read = figures(&[
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB. GPU 0 has a total capacity of 79.1",
        ]);
        assert!(!read.iter().any(|(name, _)| name == "gpu_total"), "{read:?}");
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "If you see CUDA out of memory, try a smaller batch",
            "    if \"CUDA out of memory\" in str(error):",
            "raise RuntimeError(f\"CUDA out of memory. Tried to allocate {size}\")",
        ] {
            assert!(testing::read(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
