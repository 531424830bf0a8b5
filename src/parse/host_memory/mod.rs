//! Allocations on the host that failed inside the process, and the table of `free`.
//!
//! Mirrors `c10/core/CPUAllocator.cpp`, `c10/core/impl/alloc_cpu.cpp` and `aten/src/TH/THGeneral.cpp` (0.4–2.15),
//! `aten/src/ATen/MapAllocator.cpp`, `numpy/_core/_exceptions.py` (1.17–2.4), CPython's `MemoryError` and `OSError`, libstdc++'s
//! `std::bad_alloc`, Arrow, the Rust and Java runtimes; procps' `free.c` (3.2–4.0). A memory cgroup's limit causes none of these messages:
//! it lets the allocation pass and kills later.

use nom::branch::alt;
use nom::bytes::streaming::{tag, take_until, take_while1};
use nom::character::streaming::{multispace0, multispace1};
use nom::combinator::{complete, recognize};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record, statement};
use crate::model::{Event, FigureName, Kind};

mod examples;
pub(super) mod free;

const PRODUCER: &str = "host_memory";

/// See the module.
pub struct HostMemory;

impl Grammar for HostMemory {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["DefaultCPUAllocator", "MemoryError", "Cannot allocate memory", "bad_alloc"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        TRIGGERS
    }

    fn yields(&self) -> bool {
        true
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let (text, next) = (record.text(), next.body());
        if free::goes_on(text, next) || (text.contains("instance of 'std::bad_alloc'") && is_what(text, next)) {
            return Follow::Join(Joint::Line);
        }
        // A terminal's width cuts a message anywhere, a box cuts it between words: the joint that makes the message readable is the right
        // one.
        let Some(begun) = heads(text).find(|message| is_open(message)) else { return Follow::End };
        let fits = |joint: &str| {
            let message = format!("{begun}{joint}{}", next.trim_start());
            let ends = |rest: &str| sized(begun).is_err() || rest.starts_with(ERROR_CODE);
            is_open(&message) || sized(&message).is_ok_and(|(rest, _)| ends(rest))
        };
        match (fits(" "), fits("")) {
            (true, _) => Follow::Join(Joint::Blank),
            (_, true) => Follow::Join(Joint::Nothing),
            _ => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        if is_torchs(record.text()) {
            return Vec::new();
        }
        free::table(record).or_else(|| refusal(record)).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

const TRIGGERS: &[&str] = &[
    "DefaultCPUAllocator",
    "$ Torch: ",
    "Unable to allocate ",
    "unable to mmap ",
    "MemoryError",
    "Cannot allocate memory",
    "cannot allocate memory",
    "std::bad_alloc",
    "memory allocation of ",
    "Native memory allocation ",
    "JavaScript heap out of memory",
    free::HEADER,
    free::OLD_HEADER,
    "$ free",
    "# free",
    "+ free",
    "free -",
];

/// Whether the only trigger in `text` is the end of `torch.OutOfMemoryError`, which is about a device and which every rank prints.
fn is_torchs(text: &str) -> bool {
    const OWN: &str = "MemoryError";
    let is_class =
        |end: &str| ["torch.OutOf", "cuda.OutOf"].iter().any(|class| text[..text.len() - end.len()].ends_with(class));
    (text.contains("torch.OutOf") || text.contains("cuda.OutOf"))
        && TRIGGERS.iter().all(|word| *word == OWN || !text.contains(word))
        && text::each(text, OWN).all(is_class)
}

/// Whether `next` is the second line of what libstdc++ prints when it terminates.
fn is_what(text: &str, next: &str) -> bool {
    !text.contains("what():") && next.trim_start().starts_with("what():")
}

/// The beginnings of messages with a size.
fn heads(text: &str) -> impl Iterator<Item = &str> {
    const HEADS: [&str; 4] = ["DefaultCPUAllocator: ", "$ Torch: ", "Unable to allocate ", "unable to mmap "];
    HEADS.into_iter().flat_map(|head| text::each(text, head))
}

/// The end of Torch's message, except on Windows.
const ERROR_CODE: &str = ". Error code 12 (Cannot allocate memory)";

/// Whether a message was cut off.
fn is_open(message: &str) -> bool {
    match sized(message) {
        Ok((rest, _)) => message.starts_with("Default") && rest != ERROR_CODE && ERROR_CODE.starts_with(rest),
        Err(error) => error.is_incomplete(),
    }
}

/// A refused request, as its message states it.
#[derive(Debug, Clone, Copy, Default)]
struct Request<'a> {
    /// `None` if the message's own size is unusable.
    size: Option<Size<'a>>,
    /// Shape and type of an array.
    array: Option<(&'a str, &'a str)>,
    /// The file to be mapped.
    file: Option<&'a str>,
}

/// A message that states the size of the request. `Incomplete` when more text might make it one.
fn sized(text: &str) -> IResult<&str, Request<'_>> {
    alt((cpu_allocator, old_torch, array, mapping)).parse(text)
}

/// `DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes`. Up to 1.1 on Windows it said `not enough memory:
/// you tried to allocate %dGB. Buy new RAM!104600001`: a number of unknown unit.
fn cpu_allocator(text: &str) -> IResult<&str, Request<'_>> {
    let reason = alt((tag("can't allocate memory"), tag("not enough memory")));
    let unusable = tag("%dGB").map(|_| None);
    let (rest, (_, _, _, size)) = (
        tag("DefaultCPUAllocator: "),
        reason,
        (tag(":"), multispace1, tag("you tried to allocate"), multispace1),
        alt((unusable, size.map(Some))),
    )
        .parse(text)?;
    Ok((rest, Request { size, ..Request::default() }))
}

/// `$ Torch: not enough memory: you tried to allocate 4GB.`, `$ Torch: unable to mmap memory: you tried to mmap 3GB.`:
/// up to 1.0; whole GiB, rounded down.
fn old_torch(text: &str) -> IResult<&str, Request<'_>> {
    let reason = alt((
        tag("not enough memory: you tried to allocate "),
        tag("not enough memory: you tried to reallocate "),
        tag("unable to mmap memory: you tried to mmap "),
    ));
    let (rest, size) = preceded((tag("$ Torch: "), reason), size).parse(text)?;
    Ok((rest, Request { size: Some(size), ..Request::default() }))
}

/// `Unable to allocate 745. GiB for an array with shape (800000, 125000) and data type int64`
fn array(text: &str) -> IResult<&str, Request<'_>> {
    let shape = terminated(recognize(delimited(tag("("), take_until(")"), tag(")"))), tag(" and data type "));
    let (rest, (size, shape)) =
        (preceded(tag("Unable to allocate "), size), preceded(tag(" for an array with shape "), shape)).parse(text)?;
    let (rest, dtype) = complete(nom::bytes::complete::take_till(|c| c == '\n')).parse(rest)?;
    let array = Some((shape, dtype.trim_end()));
    Ok((rest, Request { size: Some(size), array, ..Request::default() }))
}

/// `unable to mmap 4976698672 bytes from file </models/model-1.safetensors>: Cannot allocate memory (12)`
fn mapping(text: &str) -> IResult<&str, Request<'_>> {
    let file = delimited(tag("<"), take_until(">"), tag(">"));
    let (rest, (size, file, _)) =
        (preceded(tag("unable to mmap "), size), preceded(tag(" from file "), file), tag(": Cannot allocate memory"))
            .parse(text)?;
    Ok((rest, Request { size: Some(size), file: Some(file), ..Request::default() }))
}

/// `68719476736 bytes`, `977. GiB`, `4GB`. Streaming, so that a number cut off is never taken for a whole one.
fn size(text: &str) -> IResult<&str, Size<'_>> {
    let unit = alt((tag("bytes"), tag("KiB"), tag("MiB"), tag("GiB"), tag("TiB"), tag("PiB"), tag("GB")));
    let number = take_while1(|c: char| c.is_ascii_digit() || c == '.');
    let (rest, words) = recognize((number, multispace0, unit)).parse(text)?;
    let bytes = text::size(words).ok().and_then(|(_, size)| size.bytes);
    Ok((rest, Size { text: words, bytes }))
}

/// The refusal that the record states.
fn refusal(record: &Record) -> Option<Event> {
    let text = record.text();
    if is_of_a_device(text) {
        return None;
    }
    let stated = heads(text).find_map(|message| {
        let (_, request) = sized(message).ok()?;
        text::may_begin(before_class(text, message)).then_some((message, request))
    });
    let (words, request) =
        stated.or_else(|| unsized_message(text).map(|words| (words, failed_request(text).unwrap_or_default())))?;
    let mut event = statement::shortage(record, PRODUCER, words, Kind::HostAllocFailure, record.origin().process());
    event.figures.extend(request.size.and_then(|size| record.figure(FigureName::Requested, size)));
    event.facts.extend(request.file.map(|file| record.fact("host.file", file)));
    if let Some((shape, dtype)) = request.array {
        event.facts.push(record.fact("numpy.shape", shape));
        event.facts.push(record.fact("numpy.dtype", dtype));
    }
    Some(event)
}

/// Device allocators written in C++ (RMM, CuPy) raise the same exceptions as the host's.
fn is_of_a_device(text: &str) -> bool {
    ["CUDA error", "CUDA_ERROR_", "cudaError", "HIP error", "hipError", "out_of_memory:"]
        .iter()
        .any(|word| text.contains(word))
}

/// The text before a message and before the source location that C10 puts in front of it: `[enforce fail at alloc_cpu.cpp:117] err == 0.
/// DefaultCPUAllocator: …`
fn before_class<'a>(text: &'a str, message: &str) -> &'a str {
    let before = text::before(text, message);
    before.rfind("[enforce fail at ").map_or(before, |at| &before[..at])
}

/// The first message without a size of its own.
fn unsized_message(text: &str) -> Option<&str> {
    let cut = text::each(text, "DefaultCPUAllocator: ").find(|message| {
        let reason = &message["DefaultCPUAllocator: ".len()..];
        (reason.starts_with("can't allocate memory:") || reason.starts_with("not enough memory:"))
            && text::may_begin(before_class(text, message))
    });
    cut.or_else(|| exception(text))
        .or_else(|| bad_alloc(text))
        .or_else(|| failed_request_words(text))
        .or_else(|| no_memory(text))
        .or_else(|| text::spoken(text, "JavaScript heap out of memory").next().map(text::line))
}

/// `MemoryError`, `numpy.core._exceptions._ArrayMemoryError: …`, `java.lang.OutOfMemoryError: Java heap space`.
fn exception(text: &str) -> Option<&str> {
    text::each(text, "MemoryError").find_map(|end| {
        let at = text.len() - end.len();
        let is_name = |c: char| c.is_alphanumeric() || "._".contains(c);
        let start = text[..at]
            .rfind(|c| !is_name(c))
            .map_or(0, |before| before + text[before..].chars().next().map_or(0, char::len_utf8));
        let (class, behind) = (&text[start..at], &end["MemoryError".len()..]);
        let own = class.rsplit('.').next().is_some_and(|name| !name.contains("OutOf")) || class == "java.lang.OutOf";
        let ends = behind.is_empty() || behind.starts_with([':', '\n']) || behind.starts_with("()");
        let before = text::before(text, &text[start..]);
        let begins = text::may_begin(before) || before.starts_with("Exception in thread ");
        let message = text::line(&text[start..]);
        // Behind a bare colon the message begins on the next line: Paddle's about a device, whose class is Python's all the same.
        let is_elsewhere = behind.trim() == ":" && class.is_empty();
        (own && ends && begins && !is_elsewhere && !is_of_device(message)).then_some(message)
    })
}

/// `terminate called after throwing an instance of 'std::bad_alloc'`, `what():  std::bad_alloc`
fn bad_alloc(text: &str) -> Option<&str> {
    const TERMINATE: &str = "terminate called after throwing an instance of 'std::bad_alloc'";
    let spoken = || text::spoken(text, "std::bad_alloc").next().map(text::line);
    text::each(text, TERMINATE).next().or_else(|| spoken().filter(|message| !is_of_device(message)))
}

/// Whether a binding raises a host's exception class for its device: `pycuda._driver.MemoryError: cuMemAlloc failed`, `std::bad_alloc:
/// out_of_memory: CUDA error at: rmm/…`.
fn is_of_device(message: &str) -> bool {
    ["cuda", "CUDA", "cuMem", "hipMalloc", "evice memory", "RMM failure"].iter().any(|word| message.contains(word))
}

/// `[Errno 12] Cannot allocate memory`, `fork: Cannot allocate memory`, `error Cannot allocate memory (12)`
fn no_memory(text: &str) -> Option<&str> {
    // These report a limit on locked pages, which is not fatal, and slots of the dynamic loader, which are no memory.
    // What begins by closing a bracket was begun on the line before, with which the reader judges it.
    if text.contains("mlock") || text.contains("static TLS block") || text.trim_start().starts_with([')', ']']) {
        return None;
    }
    ["Cannot allocate memory", "cannot allocate memory"].into_iter().find_map(|words| {
        text::each(text, words).map(text::line).find(|message| {
            let before = text::before(text, message);
            text::may_begin(before) || before.ends_with(" error ") || before.ends_with(" (")
        })
    })
}

/// `malloc of size 137438953472 failed`, `memory allocation of 4294967296 bytes failed`, `Native memory allocation
/// (mmap) failed to map 134217728 bytes`: Arrow, Rust, Java.
fn failed_request(text: &str) -> Option<Request<'_>> {
    let labels = ["alloc of size ", "memory allocation of ", "failed to map "];
    let (rest, size) = labels.iter().find_map(|label| text::byte_count(text::after(text, label)?).ok())?;
    let states = rest.starts_with(" failed") || text.contains("Native memory allocation ");
    states.then_some(Request { size: Some(size), ..Request::default() })
}

/// The message that [`failed_request`] reads, if no exception's name precedes it.
fn failed_request_words(text: &str) -> Option<&str> {
    failed_request(text)?;
    ["memory allocation of ", "Native memory allocation "].into_iter().find_map(|head| {
        text::each(text, head).map(text::line).find(|message| {
            let before = text::before(text, message);
            // A program that names a device before the message means that device's memory.
            let of_device = ["GPU", "gpu", "CUDA", "cuda", "device"].iter().any(|word| before.contains(word));
            // Also glued to a bar of progress, which has no line's end.
            let begins = text::may_begin(before) || before.ends_with(char::is_alphanumeric);
            !of_device && begins || before.trim_end() == "#"
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::model::What;
    use crate::parse::testing;

    fn kinds(text: &str) -> Vec<String> {
        let events = testing::read(text.as_bytes());
        let kinds = events.iter().filter_map(|event| match &event.what {
            What::Shortage(shortage) => Some(shortage.kind.to_string()),
            _ => None,
        });
        kinds.collect()
    }

    fn requested(text: &str) -> Option<String> {
        testing::read(text.as_bytes()).into_iter().flat_map(|event| event.figures).next().map(|figure| figure.text)
    }

    const TORCH: &str = "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)";

    #[test]
    fn a_message_cut_by_the_terminals_width_is_read_whole() {
        for width in [100, 113, 120, 144, 133, 140, 150] {
            let (one, other) = TORCH.split_at(width);
            let event = testing::read(format!("{one}\n{other}").as_bytes());
            assert_eq!(event.len(), 1, "{width} {event:#?}");
            let bytes = event[0].figures.first().and_then(|figure| figure.bytes);
            assert_eq!(bytes.map(|bytes| bytes.0), Some(68_719_476_736), "{width}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        let cut = &TORCH[..TORCH.find("476736").unwrap_or(0)];
        for next in ["", "\n", "\nTraceback (most recent call last):", "\n476 samples read"] {
            assert_eq!(requested(&format!("{cut}{next}")), None, "{next}");
            assert_eq!(kinds(&format!("{cut}{next}")), ["host_alloc_failure"]);
        }
    }

    #[test]
    fn what_comes_behind_a_message_is_no_part_of_it() {
        let numpy =
            "MemoryError: Unable to allocate 977. GiB for an array with shape (1,) and data type int64\nexit status 1";
        let events = testing::read(numpy.as_bytes());
        assert!(events[0].facts.iter().all(|fact| !fact.at.text.contains("exit")), "{events:#?}");
    }

    #[test]
    fn other_runtimes_are_read() {
        let th = "RuntimeError: $ Torch: not enough memory: you tried to allocate 4GB. Buy new RAM! at /src/TH/THGeneral.c:201";
        assert_eq!(requested(th).as_deref(), Some("4GB"));
        let map = "RuntimeError: $ Torch: unable to mmap memory: you tried to mmap 3GB. at /src/TH/THAllocator.c:319";
        assert_eq!(requested(map).as_deref(), Some("3GB"));
        assert_eq!(requested("memory allocation of 4294967296 bytes failed").as_deref(), Some("4294967296 bytes"));
        let java = "# Native memory allocation (mmap) failed to map 134217728 bytes for committing reserved memory.";
        assert_eq!(requested(java).as_deref(), Some("134217728 bytes"));
        assert_eq!(kinds("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory").len(), 1);
        assert_eq!(kinds("/bin/bash: fork: Cannot allocate memory"), ["host_alloc_failure"]);
        assert_eq!(kinds("  MemoryError"), ["host_alloc_failure"]);
        let rmm = "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /rmm/mr/device/cuda_memory_resource.hpp";
        assert_eq!(kinds(rmm), ["gpu_oom"]);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "    except MemoryError:",
            "        \"DefaultCPUAllocator: can't allocate memory\",  # CPU OOM",
            "raise MemoryError(\"Unable to allocate 977. GiB for an array with shape (1,) and data type int64\")",
            "If it prints Cannot allocate memory, lower num_workers",
            "torch.OutOfMemoryError",
            "pycuda._driver.MemoryError: cuMemAlloc failed: out of memory",
            "DeepSpeed: mlock failed with 12 Cannot allocate memory",
            "warning: failed to mlock 4096-byte buffer (after previously locking 0 bytes\n): Cannot allocate memory",
            "1.05 GiB is free",
        ] {
            assert_eq!(kinds(line), Vec::<String>::new(), "{line}");
        }
    }
}
