//! TensorFlow: its allocator, which JAX shares, and the operation that ran out of memory.
//!
//! Mirrors `tensorflow/core/common_runtime/bfc_allocator.cc` (1.0–2.10; `tsl/framework/` from 2.11, also `external/tsl` of jaxlib),
//! `core/framework/op_kernel.cc` and `core/common_runtime/gpu/gpu_device.cc`. The allocator's units are powers of two. It says so if the
//! caller can do without the memory.

use nom::IResult;
use nom::Parser;
use nom::bytes::complete::{tag, take_until, take_while1};
use nom::character::complete::space0;
use nom::combinator::{map, opt};
use nom::sequence::{delimited, preceded, terminated};

use super::text::{self, Size};
use super::{Example, Follow, Grammar, Joint, Line, Record, origin};
use crate::model::FigureName::{GpuIndex, Requested};
use crate::model::{Bytes, Derivation, Event, Figure, Kind, Severity};

/// See the module.
pub struct TensorFlow;

const ALLOCATOR: &str = "an out of memory trying to allocate ";
/// The same as it is after a copy that lost a blank.
const GLUED: &str = "an out of memorytrying to allocate ";
/// Most lines of such a message.
const MOST_WRAPPED: usize = 4;
/// The words before a shape in brackets.
const TENSOR: &str = "OOM when allocating tensor with shape";
/// The words before the device in the message itself.
const PLACE: &str = " on /job:";
const NO_FAILURE: &str = "this is not a failure";
const FROM_DEVICE: &str = "failed to allocate ";

impl Grammar for TensorFlow {
    fn producer(&self) -> &'static str {
        "tensorflow"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["out of memory", "OOM when allocating tensor", "bytes) from device: "]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[ALLOCATOR, GLUED, TENSOR, FROM_DEVICE]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let (last, next) = (record.last_line(), next.body().trim_start());
        // A terminal or a page wrapped it before the shape, or before the allocator's name.
        if record.text().contains(TENSOR) && record.len() <= MOST_WRAPPED {
            if last.ends_with("shape") && next.starts_with('[') && next.contains(PLACE) {
                return Follow::Join(Joint::Nothing);
            }
            if last.ends_with("by allocator") && text::token(next, "").ends_with("_bfc") {
                return Follow::Join(Joint::Blank);
            }
        }
        let tells_no_device = last.contains(TENSOR) && !last.contains(PLACE);
        match tells_no_device && (next.starts_with("[[Node: ") || next.starts_with("[[node ")) {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        allocator(record).into_iter().chain(tensor(record)).chain(first_try(record)).collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB (rounded to 2415919104)requested by op …`; the
/// oldest versions begin with `Ran out of memory` and leave the allocator out.
fn allocator(record: &Record) -> Option<Event> {
    let whole = record.text();
    let (at, length) = [ALLOCATOR, GLUED].iter().find_map(|words| Some((whole.find(words)?, words.len())))?;
    let size = text::size(&whole[at + length..]).ok()?.1;
    let named = whole[..at].strip_suffix("r").and_then(|before| before.trim_end().strip_suffix(')'));
    let name = named.and_then(|before| before.rsplit_once("Allocator (")).map(|(_, name)| name);
    if name.is_none() && !whole[..at].ends_with('R') {
        return None;
    }
    let severity = if whole.contains(NO_FAILURE) { Severity::Pressure } else { Severity::Fatal };
    let device: Option<u32> = name.and_then(|name| name.strip_prefix("GPU_")?.split('_').next()?.parse().ok());
    let kind = kind(name.unwrap_or_default());
    let mut event = origin::shortage(record, "tensorflow", &whole[at..], kind, severity, device);
    event.figures.extend(record.figure(Requested, size));
    event.figures.extend(name.zip(device).map(|(name, device)| record.number(GpuIndex, name, f64::from(device))));
    event.facts.extend(name.map(|name| record.fact("tensorflow.allocator", name)));
    Some(event)
}

/// Device memory, unless the allocator's name says the host's: `cpu`, `mklcpu`, `cuda_host_bfc`, `gpu_host_bfc`.
fn kind(allocator: &str) -> Kind {
    let name = allocator.to_ascii_lowercase();
    if name.contains("cpu") || name.contains("host") { Kind::HostAllocFailure } else { Kind::GpuOom }
}

/// `OOM when allocating tensor with shape[8,128,96,96] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator
/// GPU_0_bfc`; in the oldest versions the message ends after the shape, and the node on the next line names the device:
/// `_device="/job:localhost/replica:0/task:0/gpu:0"`.
fn tensor(record: &Record) -> Option<Event> {
    let whole = record.text();
    let part = text::each(whole, TENSOR).find(|part| is_statement(whole, part))?;
    let (_, tensor) = described(part).ok()?;
    let allocator = tensor.allocator.unwrap_or_default();
    let of_node = || text::after(part, "_device=\"").map(|rest| text::token(rest, "\""));
    let place = tensor.device.or_else(of_node);
    let on_host = place.is_some_and(|device| device.contains("CPU:") || device.contains("/cpu:"));
    let kind = if on_host { Kind::HostAllocFailure } else { kind(allocator) };
    let gpu = place.and_then(|device| Some(&device[device.rfind("GPU:").or_else(|| device.rfind("gpu:"))?..]));
    let index = gpu.and_then(|gpu| Some((gpu, gpu["GPU:".len()..].parse::<u32>().ok()?)));
    let device = index.map(|(_, index)| index);
    let mut event = origin::shortage(record, "tensorflow", part, kind, Severity::Fatal, device);
    event.figures.extend(index.map(|(words, index)| record.number(GpuIndex, words, f64::from(index))));
    event.facts.push(record.fact("tensorflow.shape", tensor.shape));
    event.figures.extend(requested(record, &tensor));
    let batch = batch(tensor.shape).and_then(|words| Some((words, words.parse().ok()?)));
    event.facts.extend(batch.map(|(words, batch)| record.number_fact("tensorflow.batch", words, batch)));
    let extent = extent(tensor.shape);
    event.facts.extend(extent.map(|(words, extent)| record.number_fact("tensorflow.extent_count", words, extent)));
    let square = square(tensor.shape).and_then(|words| Some((words, words.parse().ok()?)));
    event.facts.extend(square.map(|(words, side)| record.number_fact("tensorflow.side_count", words, side)));
    event.facts.extend(tensor.dtype.map(|dtype| record.fact("tensorflow.dtype", dtype)));
    event.facts.extend(tensor.allocator.map(|name| record.fact("tensorflow.allocator", name)));
    Some(event)
}

/// The side of a tensor whose two last dimensions are the same, beside others: the scores of attention are one length × itself.
fn square(shape: &str) -> Option<&str> {
    let mut sides = shape.rsplit(',').map(str::trim);
    let (last, before, _) = (sides.next()?, sides.next()?, sides.next()?);
    (last == before).then_some(last)
}

/// The largest extent between the first and the last two of a `shape` of four and more: the first may be the batch. Of a convolution's kernel
/// these are its few pixels.
fn extent(shape: &str) -> Option<(&str, f64)> {
    const LEAST: usize = 4;
    let extents: Vec<&str> = shape.split(',').map(str::trim).collect();
    let before = extents.len().checked_sub(2).filter(|_| extents.len() >= LEAST)?;
    let numbers = extents[1..before].iter().filter_map(|words| Some((*words, words.parse().ok()?)));
    numbers.max_by(|(_, one), (_, other): &(&str, f64)| one.total_cmp(other))
}

/// The size of the tensor, as its shape and its type make it.
fn requested(record: &Record, tensor: &Tensor<'_>) -> Option<Figure> {
    let width = tensor.width()?;
    let dimensions = || tensor.shape.split(',').map(str::trim);
    let multiplied = |bytes: i128, dimension: &str| bytes.checked_mul(dimension.parse().ok()?);
    let bytes = dimensions().try_fold(width, multiplied).map(Bytes)?;
    let mut figure = record.figure(Requested, Size { text: tensor.shape, bytes: Some(bytes) })?;
    // A buffer: its only dimension is its size.
    if width > 1 || tensor.shape.contains(',') {
        let formula = format!("{} × {width} bytes", dimensions().collect::<Vec<_>>().join(" × "));
        figure.derived = Some(Derivation { formula, from: vec![record.cite(tensor.shape)] });
    }
    Some(figure)
}

/// Whether `part` is the text of an error and not a comment that quotes one.
fn is_statement(whole: &str, part: &str) -> bool {
    let before = text::before(whole, part);
    text::may_begin(before) && !before.trim_start().starts_with(['#', '/'])
}

/// The first dimension of a `shape` of at least three: the batch size, unless the tensor is a convolution's kernel.
fn batch(shape: &str) -> Option<&str> {
    const LEAST: usize = 3;
    (shape.split(',').count() >= LEAST).then(|| shape.split(',').next().map(str::trim)).flatten()
}

/// The tensor that was not allocated.
struct Tensor<'a> {
    shape: &'a str,
    dtype: Option<&'a str>,
    device: Option<&'a str>,
    allocator: Option<&'a str>,
}

impl Tensor<'_> {
    /// How many bytes an element takes, if the type is known.
    fn width(&self) -> Option<i128> {
        match self.dtype? {
            "bool" | "int8" | "uint8" => Some(1),
            "half" | "bfloat16" | "int16" | "uint16" => Some(2),
            "float" | "int32" | "uint32" => Some(4),
            "double" | "int64" | "uint64" | "complex64" => Some(8),
            "complex128" => Some(16),
            _ => None,
        }
    }
}

fn described(text: &str) -> IResult<&str, Tensor<'_>> {
    let word = || take_while1(|c: char| c.is_alphanumeric() || "_:/.".contains(c));
    let shape = delimited((tag(TENSOR), space0, tag("[")), take_until("]"), tag("]"));
    let parts = (shape, opt(preceded(tag(" and type "), word())), opt(preceded(tag(" on "), word())));
    let allocator = opt(preceded(tag(" by allocator "), word()));
    map((parts, allocator), |((shape, dtype, device), allocator)| Tensor { shape, dtype, device, allocator })
        .parse(text)
}

/// `failed to allocate 14.50G (15569256448 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory` from the driver's wrapper, which at
/// the start asks for the whole device and then for less.
fn first_try(record: &Record) -> Option<Event> {
    let part = text::each(record.text(), FROM_DEVICE).next()?;
    let (_, size) = from_device(part).ok()?;
    let mut event = origin::shortage(record, "tensorflow", part, Kind::GpuOom, Severity::Pressure, None);
    event.figures.extend(record.figure(Requested, size));
    Some(event)
}

fn from_device(text: &str) -> IResult<&str, Size<'_>> {
    let bytes = delimited(tag(" ("), text::size, tag(") from device: "));
    terminated(preceded(tag(FROM_DEVICE), text::size), bytes).parse(text)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "tensorflow 1.15–2.15, the caller can do without",
        text: "2026-03-01 10:00:00.594950: W tensorflow/core/common_runtime/bfc_allocator.cc:243] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25GiB with freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could be performance gains if more memory were available.",
        states: &[("pressure", "gpu_oom"), ("requested", "1.25GiB"), ("gpu_index", "GPU_0_bfc"), ("device", "0")],
    },
    Example {
        version: "tensorflow 2.2–2.15, jaxlib 0.3–0.4",
        text: "2026-03-01 10:00:00.349554: W external/tsl/tsl/framework/bfc_allocator.cc:482] Allocator (GPU_1_bfc) ran out of memory trying to allocate 2.25GiB (rounded to 2415919104)requested by op ",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "2.25GiB"),
            ("gpu_index", "GPU_1_bfc"),
            ("device", "1"),
            ("tensorflow.allocator", "GPU_1_bfc"),
        ],
    },
    Example {
        version: "tensorflow 1.0–1.4",
        text: "W tensorflow/core/common_runtime/bfc_allocator.cc:271] Ran out of memory trying to allocate 48.50MiB.  See logs for memory state.",
        states: &[("kind", "gpu_oom"), ("requested", "48.50MiB")],
    },
    Example {
        version: "tensorflow 1.5–2.15, the operation",
        text: "2026-03-01 10:00:00.305871: W tensorflow/core/framework/op_kernel.cc:1780] OP_REQUIRES failed at conv_ops.cc:446 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[16,64,240,320] and type float on /job:localhost/replica:0/task:0/device:GPU:2 by allocator GPU_2_bfc",
        states: &[
            ("kind", "gpu_oom"),
            ("gpu_index", "GPU:2"),
            ("device", "2"),
            ("tensorflow.shape", "16,64,240,320"),
            ("tensorflow.batch", "16"),
            ("tensorflow.dtype", "float"),
        ],
    },
    Example {
        version: "tensorflow 2.16–2.20, a length × itself",
        text: "2026-03-01 10:00:00.305871: W tensorflow/core/framework/op_kernel.cc:1840] OP_REQUIRES failed at softmax_op_gpu.cu.cc:233 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[32,4,2417,2417] and type half on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
        states: &[("kind", "gpu_oom"), ("tensorflow.batch", "32"), ("tensorflow.side_count", "2417")],
    },
    Example {
        version: "tensorflow 1.5–2.15, a buffer",
        text: "OOM when allocating tensor with shape[1032651776] and type uint8 on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
        states: &[
            ("kind", "gpu_oom"),
            ("gpu_index", "GPU:0"),
            ("requested", "1032651776"),
            ("device", "0"),
            ("tensorflow.shape", "1032651776"),
            ("tensorflow.dtype", "uint8"),
        ],
    },
    Example {
        version: "tensorflow 1.5–2.15, the exception, on the host",
        text: "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[1048576,4096] and type double on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu [Op:RandomUniform]",
        states: &[("kind", "host_alloc_failure"), ("tensorflow.shape", "1048576,4096")],
    },
    Example {
        version: "tensorflow 1.5–2.15, the answer of a server",
        text: "{'error': 'OOM when allocating tensor with shape[64,256,80,80] and type float on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\\n\\t [[Node: block1/conv3/Conv2D = Conv2D[T=DT_FLOAT]]]'}",
        states: &[("kind", "gpu_oom"), ("gpu_index", "GPU:1"), ("tensorflow.shape", "64,256,80,80")],
    },
    Example {
        version: "tensorflow 1.0–1.4, the exception",
        text: "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[8,128,96,96]",
        states: &[("kind", "gpu_oom"), ("tensorflow.shape", "8,128,96,96")],
    },
    Example {
        version: "tensorflow 1.0–1.4, the exception and its node",
        text: "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[8,128,96,96]\n\t [[Node: conv1/Conv2D = Conv2D[T=DT_FLOAT, _device=\"/job:localhost/replica:0/task:0/gpu:1\"](x, w)]]",
        states: &[("kind", "gpu_oom"), ("gpu_index", "gpu:1"), ("device", "1")],
    },
    Example {
        version: "tensorflow 1.0–1.4, the exception and its node on the host",
        text: "ResourceExhaustedError: OOM when allocating tensor with shape[2304,384]\n\t [[Node: ema/sub = Sub[T=DT_FLOAT, _device=\"/job:localhost/replica:0/task:0/cpu:0\"](x, y)]]",
        states: &[("kind", "host_alloc_failure")],
    },
    Example {
        version: "tensorflow 1.0–2.10, the device at the start",
        text: "2026-03-01 10:00:00.100000: I tensorflow/stream_executor/cuda/cuda_driver.cc:733] failed to allocate 14.50G (15569256448 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        states: &[("pressure", "gpu_oom"), ("requested", "14.50G")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn a_comment_on_an_error_is_none() {
        for text in [
            "# ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[4096,8,32,32]",
            "// OOM when allocating tensor with shape[65536,4096]",
            "to avoid OOM when allocating tensor with shape[1,2], use a smaller batch",
            "The parser ran out of memory trying to allocate 3 GiB",
        ] {
            assert!(testing::parse(&TensorFlow, text).is_empty(), "{text}");
        }
    }
}
