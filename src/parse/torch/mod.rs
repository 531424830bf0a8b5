//! PyTorch's device allocators: CUDA, HIP, XPU, NPU, MPS.
//!
//! Mirrors `c10/cuda/CUDACachingAllocator.cpp` (1.8–2.15), `c10/cuda/CUDAMallocAsyncAllocator.cpp` (2.0–2.15),
//! `c10/xpu/XPUCachingAllocator.cpp`, `aten/src/ATen/mps/MPSAllocator.mm`, torch_npu's `NPUCachingAllocator.cpp`. Units
//! are powers of two. "Tried to allocate" is the size of the segment, not of the tensor: up to 1 MiB shows as 2 MiB, up
//! to 10 MiB as 20 MiB, more is rounded up to 2 MiB.

mod examples;
#[cfg(test)]
mod tests;

use nom::branch::alt;
use nom::bytes::streaming::{tag, tag_no_case, take_while1};
use nom::character::streaming::{char, multispace0, u32 as integer};
use nom::combinator::{complete, consumed, map_opt, opt, peek, recognize};
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record, wrap};
use crate::model::{Bytes, Consumer, Event, Figure, FigureName, Kind, Severity, Shortage, Victim, What};

/// See the module.
pub struct Torch;

impl Grammar for Torch {
    fn producer(&self) -> &'static str {
        "torch"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["out of memory", "OutOfMemoryError", "failed with OOM on device", "already allocated;"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &["out of memory", "OutOfMemoryError", "failed with OOM on device", " total capacity; ", "Tried to allocate "]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// A terminal's width cuts a message anywhere, a box cuts it between words: the joint that lets more be read is right.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let Some(last) = heads(record.text()).last().map(wrap::without_mark) else { return Follow::End };
        let now = progress(last);
        if now == ReadExtent::ENDED {
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
        examples::EXAMPLES
    }
}

/// The messages in `text`; two ranks may print into one line.
fn heads(text: &str) -> impl Iterator<Item = &str> {
    let starts = |head: fn(&str) -> IResult<&str, Head<'_>>| -> Vec<usize> {
        // A cheap check first: most bytes begin none of these. All of them are ASCII, so they are character boundaries.
        let begins =
            |byte: u8| matches!(byte, b'C' | b'H' | b'X' | b'N' | b'M' | b'A' | b'm' | b'O' | b'(' | b'o' | b'T');
        let places = text.bytes().enumerate().filter(|(_, byte)| begins(*byte)).map(|(at, _)| at);
        places.filter(|at| head(&text[*at..]).is_ok()).collect()
    };
    let whole = starts(head);
    let starts = if whole.is_empty() { starts(headless).into_iter().take(1).collect() } else { whole };
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &text[start..end])
}

/// Which allocator prints the message, which decides how it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// `CUDA out of memory.` and the like; clauses follow.
    Caching,
    /// `MPS backend out of memory (…`
    Mps,
    /// `Allocation on device 0 would exceed allowed memory.`
    MallocAsync,
    /// A warning of expandable segments, which try again.
    Warning,
    /// `OutOfMemoryError:` alone.
    Bare,
    /// The rest of a message that was copied without its beginning: `Tried to allocate …`, `(GPU 0; 15.75 GiB total capacity; …`. Only a
    /// named device proves that it is PyTorch's.
    Headless,
}

/// The allocator, and the device if it is named at once.
type Head<'a> = (Speaker, Option<TorchClause<'a>>);

/// The words with which a message begins.
fn head(text: &str) -> IResult<&str, Head<'_>> {
    // A cheap check first: most bytes begin none of these.
    if !matches!(text.as_bytes().first(), Some(b'C' | b'H' | b'X' | b'N' | b'M' | b'A' | b'm' | b'O')) {
        return Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Tag)));
    }
    let device = alt((tag("CUDA"), tag("HIP"), tag("XPU"), tag("NPU")));
    let number = |text| consumed(integer).map(|(words, number)| Some(TorchClause::Device(words, number))).parse(text);
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

/// [`head`] or [`headless`].
fn opening(text: &str) -> IResult<&str, Head<'_>> {
    head(text).or_else(|_| headless(text))
}

/// The first clause of a message that has lost its head.
fn headless(text: &str) -> IResult<&str, Head<'_>> {
    // A cheap check first, as in [`head`].
    if !matches!(text.as_bytes().first(), Some(b'(' | b'o' | b'T')) {
        return Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Tag)));
    }
    let capacity = (size, tag(" total capacity; "), size, tag(" already allocated"));
    let device = delimited(char('('), device, (tag("; "), peek(capacity)));
    let request = preceded(opt(tag("out of memory. ")), peek((tag("Tried to allocate "), size)));
    complete(alt((device.map(|device| (Speaker::Headless, Some(device))), request.map(|_| (Speaker::Headless, None)))))
        .parse(text)
}

/// One clause of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TorchClause<'a> {
    Size(FigureName, Size<'a>),
    /// The device: the words and the number.
    Device(&'a str, u32),
    /// Another process on the device, or, in a container, this process itself.
    Process(&'a str, u32, Size<'a>),
    /// The part of the allocated memory in private pools of CUDA graphs.
    PrivatePools(Size<'a>),
    /// What others hold of what MPS may use: Metal's own buffers, other programs.
    OfOthers(Size<'a>),
    /// Words without a figure.
    Words,
}

/// The clause at the beginning of `text`. `Incomplete` if more text might make it a clause.
fn clause(text: &str) -> IResult<&str, TorchClause<'_>> {
    preceded(blank, alt((caching_clause, described_clause, other_clause))).parse(text)
}

/// Blanks and line ends, also escaped ones in a quotation (`\n`) and the bars of a table around them.
fn blank(text: &str) -> IResult<&str, &str> {
    let mut rest = text;
    loop {
        let next = rest.trim_start();
        let next =
            ["\\n", "\\t", "| ", "|\n", "> "].iter().find_map(|escaped| next.strip_prefix(escaped)).unwrap_or(next);
        if next.len() == rest.len() {
            return Ok((rest, &text[..text.len() - rest.len()]));
        }
        rest = next;
    }
}

/// Up to 2.0, and NPU: `(GPU 3; 79.15 GiB total capacity; 74.02 GiB already allocated; …`
fn caching_clause(text: &str) -> IResult<&str, TorchClause<'_>> {
    let labels = alt((
        alt((tag(" total capacity"), tag(" totalcapacity"), tag(" total"))).map(|_| Some(FigureName::GpuTotal)),
        tag(" already allocated").map(|_| Some(FigureName::TorchAllocated)),
        tag(" current active").map(|_| None),
        tag(" free").map(|_| Some(FigureName::GpuFree)),
        tag(" allowed").map(|_| Some(FigureName::GpuAllowed)),
        tag_no_case(" reserved in total by PyTorch").map(|_| Some(FigureName::TorchReserved)),
        tag(" cached").map(|_| Some(FigureName::TorchReservedUnallocated)),
    ));
    let labelled = terminated(preceded(opt(tag("(")), pair(size, labels)), alt((tag(";"), tag(")"))));
    // The bracket may have been lost when the message was copied.
    let device = delimited(opt(tag("(")), device, tag(";"));
    alt((device, labelled.map(|(size, name)| name.map_or(TorchClause::Words, |name| TorchClause::Size(name, size)))))
        .parse(text)
}

/// From 2.1: `GPU 0 has a total capacity of 79.15 GiB of which 1.05 GiB is free. …`; 2.1 misspells "capacity".
fn described_clause(text: &str) -> IResult<&str, TorchClause<'_>> {
    let of = |name| move |size| TorchClause::Size(name, size);
    let process = pair(preceded(tag("Process "), consumed(integer)), preceded(tag(" has "), size));
    alt((
        preceded(tag("Tried to allocate "), size).map(of(FigureName::Requested)),
        terminated(device, tag(" has")),
        preceded((tag("a total capac"), alt((tag("ity"), tag("ty"))), tag(" of ")), size).map(of(FigureName::GpuTotal)),
        preceded(tag("total "), size).map(of(FigureName::GpuTotal)),
        preceded(tag("of which "), size).map(of(FigureName::GpuFree)),
        process.map(|((words, pid), size)| TorchClause::Process(words, pid, size)),
        preceded(tag("Including non-PyTorch memory, this process has "), size).map(of(FigureName::ProcessInUse)),
        preceded(tag("Of the allocated memory "), size).map(of(FigureName::TorchAllocated)),
        preceded(tag("with "), size).map(TorchClause::PrivatePools),
        preceded(tag("and "), size).map(of(FigureName::TorchReservedUnallocated)),
        terminated(size, tag(" allowed")).map(of(FigureName::GpuAllowed)),
    ))
    .parse(text)
}

/// cudaMallocAsync's table, MPS, the warnings of expandable segments, and the words between clauses.
fn other_clause(text: &str) -> IResult<&str, TorchClause<'_>> {
    let of = |name| move |size| TorchClause::Size(name, size);
    let cell = |label| preceded((tag(label), blank, tag(": ")), size);
    let words = alt((
        tag("."),
        tag(","),
        tag(";"),
        tag(")"),
        tag(":"),
        tag("is free"),
        tag("memory in use"),
        tag("is allocated by PyTorch"),
        recognize((
            tag("allocated in private pools (e.g., "),
            take_while1(|c: char| c.is_ascii_alphabetic()),
            tag(" Graphs)"),
        )),
        tag("is reserved by PyTorch but unallocated"),
        tag("would exceed allowed memory. (out of memory)"),
        tag("on private pool"),
        tag("on shared pool"),
    ));
    let words = alt((words, recognize((tag("(private"), tag(" pools)")))));
    let async_limit = recognize((tag("PyTorch limit (set by user-supplied memory fraction)"), blank, tag(": "), size));
    alt((
        words.map(|_| TorchClause::Words),
        cell("Currently allocated").map(of(FigureName::TorchAllocated)),
        cell("Requested").map(of(FigureName::Requested)),
        cell("Device limit").map(of(FigureName::GpuTotal)),
        cell("Free (according to CUDA)").map(of(FigureName::GpuFree)),
        async_limit.map(|_| TorchClause::Words),
        preceded(tag("(MPS allocated: "), size).map(of(FigureName::TorchAllocated)),
        preceded(tag("other allocations: "), size).map(TorchClause::OfOthers),
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

/// `GPU 3`, `NPU 0`; torch 2.3 prints no number: `GPU ` and another space.
fn device(text: &str) -> IResult<&str, TorchClause<'_>> {
    let name = consumed((alt((tag("GPU "), tag("NPU "))), integer));
    let named = name.map(|(words, (_, number))| TorchClause::Device(words, number));
    let nameless = terminated(tag("GPU "), peek(char(' '))).map(|_| TorchClause::Words);
    alt((named, nameless)).parse(text)
}

/// `1.16 GiB`, `512.00 MB`, `0 bytes`. Streaming, so that a truncated number is never taken for a whole one.
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

/// How far a message can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ReadExtent {
    /// The number of bytes read.
    bytes: usize,
    /// Whether the text ends within a clause, so that the message may go on.
    is_open: bool,
}

impl ReadExtent {
    /// Its last clause was read.
    const ENDED: ReadExtent = ReadExtent { bytes: usize::MAX, is_open: false };
}

fn progress(message: &str) -> ReadExtent {
    let Ok((mut rest, _)) = opening(message) else { return ReadExtent { bytes: 0, is_open: false } };
    loop {
        match clause(rest) {
            Ok((_, TorchClause::Size(FigureName::TorchReservedUnallocated | FigureName::TorchReserved, _))) => {
                return ReadExtent::ENDED;
            }
            Ok((next, _)) => rest = next,
            Err(nom::Err::Incomplete(_)) => return ReadExtent { bytes: message.len(), is_open: true },
            Err(_) => return ReadExtent { bytes: message.len() - rest.len(), is_open: false },
        }
    }
}

/// Everything that `message` states.
fn event(record: &Record, message: &str) -> Option<Event> {
    let (mut rest, (speaker, device)) = opening(message).ok()?;
    let mut clauses = Vec::from_iter(device);
    while let Ok((next, clause)) = clause(rest) {
        clauses.push(clause);
        rest = next;
    }
    clauses.extend(cut_clause(rest).or_else(|| cut_size(rest, &clauses)));
    let requested = clauses.iter().any(|clause| matches!(clause, TorchClause::Size(FigureName::Requested, _)));
    let absurd = rest.trim_start().starts_with("Tried to allocate more than 1EB");
    let proves = match speaker {
        Speaker::Headless => clauses.iter().any(|clause| matches!(clause, TorchClause::Device(..))),
        _ => requested || absurd || is_exception(record.before(message), message),
    };
    if !proves {
        return None;
    }
    Some(to_event(record, message, speaker, &clauses))
}

/// The last clause of a message that was cut off within a label: `17.19 MiB f`. A beginning of two labels states nothing: `28.50 GiB al`.
fn cut_clause(rest: &str) -> Option<TorchClause<'_>> {
    const LABELS: [(&str, FigureName); 5] = [
        ("total capacity", FigureName::GpuTotal),
        ("already allocated", FigureName::TorchAllocated),
        ("allowed", FigureName::GpuAllowed),
        ("free", FigureName::GpuFree),
        ("reserved in total by PyTorch", FigureName::TorchReserved),
    ];
    let (label, size) = size(rest.trim_start()).ok()?;
    let label = label.trim();
    let mut fit = LABELS.iter().filter(|(whole, _)| !label.is_empty() && whole.starts_with(label));
    let (_, name) = fit.next()?;
    fit.next().is_none().then_some(TorchClause::Size(*name, size))
}

/// The last size of a message that was cut off before its label: `(GPU 0; 79.33 Gi`, `; 1.32 GiB free; 9.29 GiB`. What it is follows from what
/// stands before it; behind what is free stood the cache alone up to 1.3, but no less than what is allocated is what was reserved.
fn cut_size<'a>(rest: &'a str, clauses: &[TorchClause<'_>]) -> Option<TorchClause<'a>> {
    let is_whole = |text: &&str| text.ends_with(['i', 'B']);
    let (rest, size) = text::size(Some(rest.trim()).filter(is_whole)?).ok()?;
    let allocated = clauses.iter().find_map(|clause| match clause {
        TorchClause::Size(FigureName::TorchAllocated, size) => size.bytes,
        _ => None,
    });
    let name = match clauses.last()? {
        TorchClause::Device(..) => FigureName::GpuTotal,
        TorchClause::Size(FigureName::GpuFree, _)
            if size.bytes.zip(allocated).is_some_and(|(all, part)| all >= part) =>
        {
            FigureName::TorchReserved
        }
        _ => return None,
    };
    rest.is_empty().then_some(TorchClause::Size(name, size))
}

/// Whether `message`, which has no size and follows `before`, is the text of an exception and not a mere mention.
fn is_exception(before: &str, message: &str) -> bool {
    let before = before.trim_end();
    let alone = message.trim_end_matches(['.', ' ', '\n']).ends_with("out of memory");
    alone && (before.ends_with("OutOfMemoryError:") || before.ends_with("RuntimeError:"))
}

/// The number between the last `label` before a message and a closing bracket: `[rank6]: torch.OutOfMemoryError: `,
/// `[address=0.0.0.0:40713, pid=35678] `.
fn number_behind(said: &str, label: &str) -> Option<u32> {
    let words = &said[said.rfind(label)? + label.len()..];
    words.split_once(']')?.0.parse().ok()
}

fn to_event(record: &Record, message: &str, speaker: Speaker, clauses: &[TorchClause<'_>]) -> Event {
    let mut figures: Vec<Figure> = Vec::new();
    let mut facts = Vec::new();
    let mut device = None;
    let mut processes = Vec::new();
    for clause in clauses {
        match clause {
            TorchClause::Size(name, size) => figures.extend(record.figure(*name, *size)),
            TorchClause::Device(words, number) => {
                device = Some(*number);
                figures.push(record.number(FigureName::GpuIndex, words, f64::from(*number)));
            }
            TorchClause::Process(_, pid, size) => {
                processes.extend(record.figure(FigureName::ProcessInUse, *size).map(|figure| (*pid, figure)));
            }
            TorchClause::PrivatePools(size) => {
                facts.extend(
                    size.bytes.map(|bytes| record.number_fact("torch.private_pools", size.text, bytes.0 as f64)),
                );
            }
            TorchClause::OfOthers(size) => {
                facts.extend(size.bytes.map(|bytes| record.number_fact("mps.others", size.text, bytes.0 as f64)));
            }
            TorchClause::Words => {}
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
    figures.extend(clauses.iter().filter_map(|clause| match clause {
        TorchClause::Process(words, pid, _) if Some(*pid) == own => {
            Some(record.number(FigureName::VictimPid, words, f64::from(*pid)))
        }
        _ => None,
    }));
    let origin = record.origin();
    let said = record.before(message);
    let victim = Victim {
        host: origin.host.clone(),
        rank: origin.rank.or_else(|| number_behind(said, "[rank")),
        device,
        pid: origin.pid.or_else(|| number_behind(said, "pid=")).or(own),
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

/// Python only warns and goes on: `UserWarning: Failed to clone() tensor … CUDA out of memory.`
fn is_warning(before: &str) -> bool {
    before
        .rfind("Warning: ")
        .is_some_and(|at| !["RuntimeError:", "OutOfMemoryError:"].iter().any(|class| before[at..].contains(class)))
}

/// Which of the listed processes is the one that failed. In a container NVML numbers processes differently than the process itself does, so
/// the failing process is listed among the others: it is the smallest one that is at least as large as what PyTorch holds, or the only one,
/// if it holds all the memory in use.
fn own_process(figures: &[Figure], processes: &[(u32, Figure)]) -> Option<u32> {
    let bytes = |name| figures.iter().find(|figure: &&Figure| figure.name == name).and_then(|figure| figure.bytes);
    let held = || Some(bytes(FigureName::TorchAllocated)? + bytes(FigureName::TorchReservedUnallocated)?);
    if bytes(FigureName::ProcessInUse).is_some_and(|told| held().is_none_or(|held| told >= held)) {
        return None;
    }
    let Some(held) = held() else { return only_holder(figures, processes) };
    let larger = processes.iter().filter(|(_, figure)| figure.bytes.is_some_and(|bytes| bytes + Bytes::MIB >= held));
    larger.min_by_key(|(_, figure)| figure.bytes).map(|(pid, _)| *pid)
}

/// The only listed process, if the rest of the memory in use is too small for another process's CUDA context.
fn only_holder(figures: &[Figure], processes: &[(u32, Figure)]) -> Option<u32> {
    /// A CUDA context is larger than this.
    const SMALLEST_CONTEXT: i128 = 128 << 20;
    let [(pid, process)] = processes else { return None };
    let bytes = |name| figures.iter().find(|figure: &&Figure| figure.name == name)?.bytes;
    let taken = bytes(FigureName::GpuTotal)?.0 - bytes(FigureName::GpuFree)?.0;
    (taken - process.bytes?.0 < SMALLEST_CONTEXT).then_some(*pid)
}
