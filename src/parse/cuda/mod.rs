//! Errors that device drivers and libraries return, without a size: CUDA, HIP, SYCL, Ascend and Gaudi, cuBLAS and cuDNN.
//!
//! Mirrors PyTorch's `c10/cuda/CUDAException.cpp`, `aten/src/ATen/cuda/Exceptions.h` and `THC/THCGeneral.cpp` (0.4–2.15), vLLM's
//! `csrc/cumem_allocator.cpp`, torch_memory_saver's `csrc/utils.h`, TensorFlow's `cuda_driver.cc`, ggml's `ggml-cuda.cu`, bitsandbytes'
//! `csrc/ops.cu`, CuPy's `cuda/memory.pyx`, CANN's error codes, the kernel part of NVIDIA's driver ([`xid`]). Allocators that state sizes
//! have grammars of their own.

use nom::bytes::complete::{tag, take_until};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record, statement};
use crate::model::{Event, Fact, FactValue, FigureName, Kind, OtherFailureName, Severity, Victim, What};

mod answers;
mod examples;
mod xid;

use answers::Answer;

const PRODUCER: &str = "cuda";

/// See the module.
pub struct Cuda;

/// Most lines between the mention of page-locked memory and the refusal.
const NEAR: u64 = 12;

impl Grammar for Cuda {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["CUDA error", "CUDNN_STATUS_", "OUT_OF_ME", "NVRM: Xid"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        TRIGGERS
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// Page-locked memory is refused with `invalid argument`, or with `out of memory` as a GPU's is; that the call was about page-locked
    /// memory stands in the lines before.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let waits = record.len() == 1 && is_about_pinned(record.text()) && message(record.text()).is_none();
        let is_next = next.number.0 == record.last_number().0 + 1;
        let answers = |answer| match answer {
            Answer::Invalid => true,
            Answer::OutOfMemory => is_next && is_pinning_call(record.text()),
            _ => false,
        };
        match waits && next.number.0 <= record.last_number().0 + NEAR {
            true if message(next.body()).is_some_and(|message| answers(message.answer)) => Follow::Join(Joint::Line),
            true => Follow::Pass,
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let text = record.text();
        let event = xid::event(record).or_else(|| assertion(record)).or_else(|| {
            let found = message(text)?;
            Some(to_event(record, &found))
        });
        event.into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        examples::EXAMPLES
    }
}

const TRIGGERS: &[&str] = &[
    "CUDA error: ",
    "CUDA Error: ",
    "CUDA driver error: ",
    "HIP error: ",
    "CUresult error: ",
    "CUDA failure ",
    "uda runtime error ",
    "CUDA runtime error ",
    "THCudaCheck FAIL",
    "cudaMalloc failed: ",
    "Error out of memory at line",
    "cublas runtime error",
    "CUBLAS_STATUS_",
    "CUDNN_STATUS_",
    "CUSOLVER_STATUS_",
    "CUDA_ERROR_",
    "cudaError",
    "hipError",
    "UR_RESULT_ERROR_",
    "Out of memory allocating ",
    "EL0004",
    "resource[DeviceMemory]",
    " buffer of size ",
    "Memory access fault by GPU",
    "Assertion `",
    "NVRM: ",
    "fallen off the bus",
    "GPU is lost",
    "pinned memory",
    "pin_memory",
];

/// The failure that the driver's `answer` names; `None` if it is a shortage or says nothing in particular.
pub(super) fn failure(answer: &str) -> Option<OtherFailureName> {
    match answers::of(answer)? {
        Answer::Failed(name) => Some(name).filter(|name| *name != OtherFailureName::Unknown),
        Answer::OutOfMemory | Answer::OutOfHostMemory | Answer::Perhaps | Answer::Invalid => None,
    }
}

/// A driver's or library's answer and the words around it.
struct DriverMessage<'a> {
    words: &'a str,
    answer: Answer,
    /// The words of the answer alone.
    reason: &'a str,
}

/// The first answer in `text`.
fn message(text: &str) -> Option<DriverMessage<'_>> {
    speakers(text).or_else(|| sized(text)).or_else(|| {
        let (words, answer) = answers::code(text)?;
        Some(DriverMessage { words: text::line(words), answer, reason: text::token(words, ",.;:)") })
    })
}

/// `CUDA error: out of memory`, `CUresult error: 2 (out of memory)`, `THCudaCheck FAIL file=… error=2 : out of memory`
fn speakers(text: &str) -> Option<DriverMessage<'_>> {
    const HEADS: [&str; 16] = [
        "CUDA error: ",
        "CUDA Error: ",
        "CUDA driver error: ",
        "HIP error: ",
        "cuDNN error: ",
        "CUresult error: ",
        "CUDA failure ",
        "cuda runtime error ",
        "CUDA runtime error ",
        "THCudaCheck FAIL ",
        "cublas runtime error : ",
        "cudaMalloc failed: ",
        "failed to create cublas handle: ",
        "Could not create cudnn handle: ",
        "could not create cudnn handle: ",
        "Error ",
    ];
    HEADS.iter().flat_map(|head| text::each(text, head).map(move |words| (*head, text::line(words)))).find_map(
        |(head, words)| {
            let before = text::before(text, words);
            // ggml names the size and the device first.
            if !text::may_begin(before) && !head.starts_with("cudaMalloc") {
                return None;
            }
            let reason = reason(head, &words[head.len()..])?;
            let answer = answers::of(reason)?;
            Some(DriverMessage { words, answer, reason: answers::alone(reason) })
        },
    )
}

/// The reason after `head`, codes and places left out.
fn reason<'a>(head: &str, rest: &'a str) -> Option<&'a str> {
    let behind = |code: fn(&'a str) -> IResult<&'a str, &'a str>| code(rest).ok().map(|(reason, _)| reason);
    match head {
        "CUresult error: " => behind(|rest| terminated(text::digits, tag(" (")).parse(rest)),
        "CUDA failure " => behind(|rest| terminated(text::digits, tag(": ")).parse(rest)),
        "cuda runtime error " => behind(|rest| delimited(tag("("), text::digits, tag(") : ")).parse(rest)),
        "THCudaCheck FAIL " => behind(|rest| {
            preceded((take_until("error="), tag("error=")), terminated(text::digits, tag(" : "))).parse(rest)
        }),
        "CUDA runtime error " => rest.rsplit_once("): ").map(|(_, reason)| reason),
        // bitsandbytes: `Error out of memory at line 380 in file /src/csrc/ops.cu`
        "Error " => rest.starts_with("out of memory at line ").then_some(rest),
        _ => Some(rest),
    }
}

/// Messages of allocators that state only the request.
fn sized(text: &str) -> Option<DriverMessage<'_>> {
    const HEADS: [&str; 4] = [
        "Out of memory allocating ",
        "Failed to allocate resource[DeviceMemory]",
        "EL0004",
        "alloc_tensor_range: failed to allocate CUDA",
    ];
    let words = HEADS.iter().find_map(|head| {
        text::each(text, head).map(text::line).find(|words| {
            let before = text::before(text, words);
            // CANN: `Memory_Allocation_Failure(EL0004): Failed to allocate memory.`
            text::may_begin(before) || before.ends_with("Failure(")
        })
    })?;
    let states = !words.starts_with("EL0004") || words.contains("Failed to allocate memory");
    states.then_some(DriverMessage { words, answer: Answer::OutOfMemory, reason: words })
}

/// An assertion within a kernel: ``Indexing.cu:1289: block: [7,0,0], thread: [32,0,0] Assertion `i < n` failed.``
fn assertion(record: &Record) -> Option<Event> {
    let line = text::line(record.text());
    let of_kernel = line.contains(".cu:") || line.contains("block: [");
    let (_, condition) = line.split_once("Assertion `")?;
    let (condition, _) = condition.split_once("` failed").filter(|_| of_kernel)?;
    let mut event = statement::failure(record, PRODUCER, line, OtherFailureName::DeviceAssert);
    event.facts.push(record.fact("cuda.assertion", condition));
    Some(event)
}

fn is_about_pinned(text: &str) -> bool {
    text.contains("pinned memory") || text.contains("pin_memory")
}

/// The code of a call that puts a tensor into page-locked memory.
fn is_pinning_call(code: &str) -> bool {
    let is_of_host = code.contains("device='cpu'") || code.contains("device=\"cpu\"");
    // The same line may go on to copy it to the GPU.
    let is_copied = code.contains(".cuda(") || code.contains(".to(");
    code.contains(".pin_memory(") && !is_copied
        || is_of_host && code.contains("pin_memory=") && !code.contains("pin_memory=False")
}

/// A call that asks for page-locked memory of the host.
fn is_host_call(words: &str) -> bool {
    // TensorFlow's cuda_driver.cc prints the last for the same call.
    ["cudaHostAlloc", "cudaHostRegister", "cudaMallocHost", "cuMemHostAlloc", " bytes on host: "]
        .iter()
        .any(|call| words.contains(call))
}

/// Whether the line before the message is a call that pins.
fn is_joined(record: &Record) -> bool {
    record.len() > 1 && is_pinning_call(text::line(record.text()))
}

fn to_event(record: &Record, message: &DriverMessage<'_>) -> Event {
    let words = message.words;
    let line = text::line_of(record.text(), words);
    let shortage = |kind| statement::shortage(record, PRODUCER, words, kind, record.origin().process());
    let mut event = match message.answer {
        Answer::OutOfMemory if is_host_call(line) || is_joined(record) => shortage(Kind::HostAllocFailure),
        Answer::OutOfMemory | Answer::Perhaps => shortage(Kind::GpuOom),
        Answer::OutOfHostMemory => shortage(Kind::HostAllocFailure),
        Answer::Invalid if is_about_pinned(record.text()) => shortage(Kind::HostAllocFailure),
        Answer::Invalid => statement::notice(record, PRODUCER, words),
        Answer::Failed(name) => statement::failure(record, PRODUCER, words, name),
    };
    event.evidence =
        record.cites(record.text()).into_iter().filter(|cite| cite.location.line != event.at.location.line).collect();
    event.facts.push(record.fact("cuda.error", message.reason));
    if message.answer == Answer::Perhaps {
        let value = FactValue::Text("no".to_owned());
        event.facts.push(Fact { value, ..record.fact("cuda.certain", words) });
    }
    let place = text::after(words, " at ").or_else(|| text::after(words, " file=")).map(|rest| text::token(rest, ""));
    let place = place.filter(|place| place.contains(['/', '\\']));
    event.facts.extend(place.map(|place| record.fact("cuda.place", place)));
    if let What::Shortage(shortage) = &mut event.what {
        // TensorFlow asks for less until it gets something.
        if line.contains(" from device: CUDA_ERROR_OUT_OF_MEMORY") {
            shortage.severity = Severity::Pressure;
        }
        event.figures.extend(request(line).and_then(|size| record.figure(FigureName::Requested, size)));
        if let Some((words, device)) = device(line) {
            shortage.victims = vec![Victim { device: Some(device), ..record.origin().process() }];
            event.figures.push(record.number(FigureName::GpuIndex, words, f64::from(device)));
        }
    }
    event
}

/// `allocating 612.25 MiB on device 0:`, `Out of memory allocating 1,073,741,824 bytes (`, `size::536870912 (512)MB`,
/// `[size:1073741824]`: a number counts only with the words after it, because one at
/// the very end may be cut off. What XLA does not get `from device:` is a pool, which it asks for again in a smaller size.
fn request(line: &str) -> Option<Size<'_>> {
    const COUNTS: [(&str, &str); 3] =
        [("Out of memory allocating ", " ("), ("Allocation failed for size::", " ("), ("[size:", "]")];
    let ggml = text::after(line, "allocating ").and_then(|rest| text::size(rest).ok());
    let ggml = ggml.filter(|(rest, _)| rest.starts_with(" on device "));
    let counted = COUNTS.iter().find_map(|(label, end)| {
        text::byte_count(text::after(line, label)?).ok().filter(|(rest, _)| rest.starts_with(end))
    });
    ggml.or(counted).map(|(_, size)| size)
}

/// `on device 0: cudaMalloc failed`
fn device(line: &str) -> Option<(&str, u32)> {
    let rest = text::after(line, " on device ")?;
    let (rest, digits) = text::digits(rest).ok()?;
    rest.starts_with(": cudaMalloc").then_some((digits, digits.parse().ok()?))
}
