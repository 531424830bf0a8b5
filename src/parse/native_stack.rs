//! Stacks that are not Python's: symbols of compiled programs, Lua, MATLAB, Go, Java, Julia.
//!
//! Mirrors glog `src/signalhandler.cc` and `symbolize.cc` (0.3–0.7), dmlc-core `include/dmlc/logging.h` (MXNet, XGBoost, TVM), PyTorch
//! `c10/util/Backtrace.cpp` (1.0–2.9), TensorRT-LLM `cpp/tensorrt_llm/common/stringUtils` and `tllmException.cpp` (0.5–1.0), gdb's and
//! glibc's `backtrace`, Paddle `paddle/fluid/platform/enforce.h` (1.5–3.0), Lua `lauxlib.c:luaL_traceback` (5.1–5.4), MATLAB's `MException.getReport` (R2012–R2026), Go
//! `runtime/traceback.go` (1.10–1.25), OpenJDK `Throwable.printStackTrace`, Julia
//! `base/errorshow.jl` (1.0–1.12). The namespaces and classes of a symbol become [`Frame::file`],
//! joined by slashes and without template arguments; the last part is the function. All of them print the innermost call first.

use std::borrow::Cow;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_till1, take_until, take_while1};
use nom::character::complete::{char, digit1, hex_digit1, multispace0, multispace1};
use nom::combinator::{opt, recognize, rest, value, verify};
use nom::multi::separated_list1;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use super::{Example, Follow, Grammar, Joint, Line, Record};
use crate::model::{Event, Frame, Traceback, What};

/// See the module.
pub struct NativeStack;

/// Deeper stacks are recursion; the innermost calls suffice to tell the phase.
const DEEPEST: usize = 100;
/// Two calls lie at most this many lines apart: a source location, arguments or an inlined function may stand between them.
const LONGEST_PAUSE: u64 = 4;

impl Grammar for NativeStack {
    fn producer(&self) -> &'static str {
        "native"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            ": in function",
            ": in main chunk",
            "Error in ",
            "stack trace",
            "[bt] (",
            "frame #",
            " 0x7f",
            "#0 ",
            "#1 ",
            "goroutine ",
            "at org.",
            "at java.",
            "at scala.",
            "at com.",
            "at io.",
            "panicked at ",
            "tack backtrace:",
            "::Error::bt",
            "Stacktrace:",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        match next.number.0 <= record.last_number().0 + LONGEST_PAUSE {
            true if frame(next.body()).is_some() => Follow::Join(Joint::Line),
            true => Follow::Pass,
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let call = |line| {
            let NativeCall { file, function } = frame(line)?;
            let at = record.cite_line_of(line);
            Some(Frame { file: file.into_owned(), function: function.to_owned(), code: String::new(), at })
        };
        let mut frames: Vec<Frame> = Vec::new();
        for frame in record.text().lines().filter_map(call).take(DEEPEST) {
            match frames.last_mut() {
                // Julia writes the place below the call.
                Some(above) if above.file.is_empty() && is_julia(&frame.file) && frame.function.is_empty() => {
                    above.file = frame.file;
                }
                _ => frames.push(frame),
            }
        }
        // A single symbol may occur in any message.
        if frames.len() < 2 {
            return Vec::new();
        }
        frames.reverse();
        let first = record.text().lines().next().unwrap_or_default();
        vec![record.event(
            self.producer(),
            first,
            What::Traceback(Traceback { frames, exception: None, is_native: true }),
        )]
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// One call.
#[derive(Debug, PartialEq)]
struct NativeCall<'a> {
    file: Cow<'a, str>,
    function: &'a str,
}

fn frame(line: &str) -> Option<NativeCall<'_>> {
    let line = line.trim_matches(|c: char| c.is_whitespace() || c == '|');
    alt((lua, matlab, java, go, julia, julia_place, symbol)).parse(line).ok().map(|(_, call)| call)
}

/// `./densecap/optim_updates.lua:69: in function 'adam'`, `[C]: in function 'new'`, `train.lua:123: in main chunk`
fn lua(line: &str) -> IResult<&str, NativeCall<'_>> {
    let file = alt((tag("[C]"), recognize((take_until(".lua:"), tag(".lua:"), digit1))));
    let name = delimited(char('\''), take_until("'"), char('\''));
    let place = delimited(char('<'), take_until(">"), char('>'));
    let kind = alt((tag("function "), tag("method "), tag("upvalue "), tag("local "), tag("field ")));
    let function = alt((preceded(kind, alt((name, value("", place)))), tag("main chunk")));
    let (left, (file, _, function)) = (file, tag(": in "), function).parse(line)?;
    let file = file.rsplit_once(':').map_or(file, |(file, _)| file);
    Ok((left, NativeCall { file: Cow::Borrowed(file), function: function.rsplit('.').next().unwrap_or(function) }))
}

/// `Error in dagnn.Conv/backward (line 20)`, `Error in cnn_train>process_epoch (line 197)`, `Error in getBatch (line 91)`
fn matlab(line: &str) -> IResult<&str, NativeCall<'_>> {
    let name = take_while1(|c: char| c.is_alphanumeric() || "_./>@()".contains(c));
    let place = delimited(tag(" (line "), digit1, char(')'));
    let (left, name) = delimited(tag("Error in "), name, place).parse(line)?;
    // A method of a class, a function within a file, or a file of that name.
    let (file, function) = name.split_once(['/', '>']).unwrap_or((name, name));
    let function = function.split('(').next().unwrap_or(function).trim_start_matches('@');
    Ok((left, NativeCall { file: Cow::Owned(format!("{}.m", file.replace('.', "/"))), function }))
}

/// `at org.apache.spark.util.collection.ExternalSorter.insertAll(ExternalSorter.scala:199)`
fn java(line: &str) -> IResult<&str, NativeCall<'_>> {
    let name = take_while1(|c: char| c.is_alphanumeric() || "_$.<>/@".contains(c));
    let place = delimited(char('('), take_till(|c| c == ')'), char(')'));
    let is_java = |place: &str| {
        ["Native Method", "Unknown Source"].contains(&place)
            || [".java", ".scala", ".kt"].iter().any(|end| place.contains(end))
    };
    let (left, (_, name, _)) = (tag("at "), name, verify(place, is_java)).parse(line)?;
    let (class, function) = name.rsplit_once('.').unwrap_or(("", name));
    Ok((left, NativeCall { file: Cow::Owned(class.replace('.', "/")), function }))
}

/// `github.com/ollama/ollama/server.(*Scheduler).load(0xc0001, 0x2)`, with its package's path.
fn go(line: &str) -> IResult<&str, NativeCall<'_>> {
    let package = recognize((
        take_while1(|c: char| c.is_alphanumeric() || "-_".contains(c)),
        char('.'),
        take_till1(|c: char| c.is_whitespace() || c == '('),
    ));
    let package = verify(package, |package: &str| package.contains('/') && package.contains('.'));
    let class = delimited((char('('), opt(char('*'))), take_till1(|c| c == ')'), (char(')'), char('.')));
    let name = take_while1(|c: char| c.is_alphanumeric() || "_.".contains(c));
    let arguments = delimited(char('('), take_till(|c| c == ')'), char(')'));
    let (left, (package, class, name, _)) = (package, opt(class), opt(name), arguments).parse(line)?;
    let (package, bare) = package.trim_end_matches('.').rsplit_once('.').map_or((package, ""), |(path, last)| {
        // In `…/server.load(` the function is part of what was read as the path.
        if class.is_none() && !last.contains('/') { (path, last) } else { (package.trim_end_matches('.'), "") }
    });
    let file = class.map_or(Cow::Borrowed(package), |class| Cow::Owned(format!("{package}/{class}")));
    Ok((left, NativeCall { file, function: name.unwrap_or(bare) }))
}

/// `[3] ∇conv_data!(dx::CuArray, w::CuArray)`, `[1] alloc at ./pool.jl:60 [inlined]`, `[4] (::Flux.Conv)(x)`, `[5] macro expansion`
fn julia(line: &str) -> IResult<&str, NativeCall<'_>> {
    let bare = take_till1(|c: char| c.is_whitespace() || "({".contains(c));
    // An object that is called.
    let object = delimited(tag("(::"), take_till1(|c: char| ")({".contains(c)), take_till(|c: char| c == ' '));
    let name = alt((tag("macro expansion"), object, bare));
    let (left, (_, name)) = (delimited(char('['), digit1, (char(']'), char(' '))), name).parse(line)?;
    // A call of nothing but a name is prose, unless a place follows.
    let (_, arguments) = verify(rest, |rest: &str| {
        let has_arguments = rest.starts_with(['(', '{', ')']) && rest.ends_with([')', '}']);
        rest.is_empty() || has_arguments || rest.contains(".jl:") || rest.ends_with("[inlined]")
    })
    .parse(left)?;
    let file = arguments.rsplit_once(" at ").or_else(|| arguments.rsplit_once(" @ ")).map_or("", |(_, place)| place);
    let file = julia_file(file).map_or(Cow::Borrowed(""), |(_, call)| call.file);
    // A function with keywords, `#train!#12`, is named within.
    let function = name.strip_prefix('#').map_or(name, |inner| inner.split('#').next().unwrap_or(inner));
    let function = function.rsplit('.').next().unwrap_or(function);
    Ok(("", NativeCall { file, function }))
}

/// `@ NNlibCUDA ~/.julia/packages/NNlib/k3xLs/ext/conv.jl:120 [inlined]`, below its call.
fn julia_place(text: &str) -> IResult<&str, NativeCall<'_>> {
    preceded(tag("@ "), julia_file).parse(text)
}

/// `NNlibCUDA ~/.julia/packages/NNlib/k3xLs/ext/conv.jl:120`, with or without its module.
fn julia_file(text: &str) -> IResult<&str, NativeCall<'_>> {
    let module = (take_while1(|c: char| c.is_alphanumeric() || "_.".contains(c)), char(' '));
    let path = verify(take_till1(|c: char| c.is_whitespace() || c == ':'), is_julia);
    let (left, (_, file, _, _)) = (opt(module), path, char(':'), digit1).parse(text)?;
    Ok((left, NativeCall { file: Cow::Borrowed(file), function: "" }))
}

fn is_julia(file: &str) -> bool {
    file.ends_with(".jl")
}

/// A call of a compiled program, after its number and address.
fn symbol(line: &str) -> IResult<&str, NativeCall<'_>> {
    let address = || (tag("0x"), hex_digit1);
    let number = alt((
        recognize((tag("[bt] ("), digit1, tag(")"), multispace0)),
        recognize((tag("frame #"), digit1, tag(":"), multispace0)),
        recognize((char('#'), digit1, multispace1, opt((address(), multispace1, opt((tag("in"), multispace1)))))),
        recognize((char('@'), multispace1, address(), multispace1, opt((tag("in"), multispace1)))),
        recognize((digit1, opt(char(':')), multispace1, opt((address(), multispace1, opt((tag("- "), multispace0)))))),
    ));
    // The library may stand before the symbol: `/usr/lib/libmxnet.so(mxnet::…+0x1f) [0x7f]`, `libtorch.so 0x1 c10::… + 12`.
    let path = || take_while1(|c: char| !c.is_whitespace() && !"()".contains(c));
    let library =
        || verify(path(), |path: &str| path.contains(".so") || path.contains(".dylib") || path.contains(".dll"));
    let (left, (number, before)) =
        (number, opt((library(), opt(alt((recognize(char('(')), recognize((multispace1, address(), multispace1))))))))
            .parse(line)?;
    match (qualified(left, number.contains("0x")), before) {
        (Ok(call), _) => Ok(call),
        // A library without its symbols: `libtriton_tensorrtllm.so(+0x35d85)`.
        (Err(_), Some((library, _))) => Ok((left, NativeCall { file: Cow::Borrowed(library), function: "" })),
        (Err(error), None) => Err(error),
    }
}

/// `caffe::SyncedMemory::mutable_gpu_data()`, `void at::native::copy_kernel<float>(at::Tensor&)`, `ggml_cuda_op_mul_mat (…)`; after an
/// address any name counts.
fn qualified(text: &str, has_address: bool) -> IResult<&str, NativeCall<'_>> {
    let text = ["void ", "std::enable_if ", "static ", "unsigned ", "int ", "bool "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let name = || recognize((opt(char('~')), take_while1(|c: char| c.is_alphanumeric() || c == '_')));
    // A trait's method of Rust: `<half::f16 as candle_core::Device>::alloc`.
    let of_trait = delimited(char('<'), take_until(" as "), (take_until(">::"), tag(">::")));
    let (text, class) = opt(of_trait).parse(text)?;
    let anonymous = || alt((tag("(anonymous namespace)"), tag("{anonymous}"), tag("{closure#0}"), tag("{{closure}}")));
    let part = alt((anonymous(), name()));
    let part = (part, take_templates);
    let (left, parts) = separated_list1(tag("::"), part.map(|(name, ())| name)).parse(text)?;
    let (_, _) = verify(rest, |left: &str| {
        let left = left.trim_start();
        left.is_empty() || left.starts_with(['(', '+', '[', '.'])
    })
    .parse(left)?;
    // The hash of a Rust symbol.
    let is_hash =
        |part: &&str| part.len() == 17 && part.starts_with('h') && part[1..].bytes().all(|b| b.is_ascii_hexdigit());
    let parts = match parts.split_last() {
        Some((last, parts)) if !parts.is_empty() && is_hash(last) => parts.to_vec(),
        _ => parts,
    };
    let Some((function, path)) = parts.split_last() else { unreachable!("a list of one at least") };
    // A single word is prose, unless it looks like a function.
    if path.is_empty() && class.is_none() && !(has_address || function.contains('_') || left.starts_with('(')) {
        return Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Verify)));
    }
    let file = class.map(|class| class.trim_start_matches('&').replace("::", "/")).into_iter();
    let file: Vec<String> = file.chain(path.iter().map(|part| (*part).to_owned())).collect();
    Ok((left, NativeCall { file: Cow::Owned(file.join("/")), function }))
}

/// Skips template arguments, nested ones included.
fn take_templates(text: &str) -> IResult<&str, ()> {
    if !text.starts_with('<') {
        return Ok((text, ()));
    }
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if text.as_bytes().get(at.wrapping_sub(1)) != Some(&b'-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok((&text[at + 1..], ()));
        }
    }
    Ok(("", ()))
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "Lua 5.1, Torch7",
        text: "stack traceback:\n\t[C]: in function 'new'\n\t./caption/updates.lua:69: in function 'adam'\n\ttrain.lua:12: in main chunk\n",
        states: &[("frame", "new"), ("frame", "adam"), ("frame", "main chunk")],
    },
    Example {
        version: "MATLAB R2012–R2026",
        text: "Error using vl_nnconv\nOut of memory on device.\n\nError in dagnn.Conv/backward (line 20)\n      [derInputs{1}, derParams{1}] = vl_nnconv(...\n\nError in cnn_train_dag>process_epoch (line 197)\n    net.eval(inputs) ;\n\nError in train (line 83)\n",
        states: &[("frame", "backward"), ("frame", "process_epoch"), ("frame", "train")],
    },
    Example {
        version: "glog 0.3–0.7, Caffe",
        text: "*** Check failure stack trace: ***\n    @     0x7f1c2a  google::LogMessage::Fail()\n    @     0x7f1c2b  caffe::SyncedMemory::mutable_gpu_data()\n    @           0x40a1  main\n    @     0x7f1c2c  caffe::Net<>::ForwardFromTo()\n",
        states: &[("frame", "mutable_gpu_data"), ("frame", "ForwardFromTo")],
    },
    Example {
        version: "dmlc-core, MXNet 0.7–1.9",
        text: "Stack trace returned 2 entries:\n[bt] (0) /usr/lib/libmxnet.so(dmlc::StackTrace()+0x1bc) [0x7f3b]\n[bt] (1) /usr/lib/libmxnet.so(mxnet::exec::GraphExecutor::InitDataEntryMemory(std::vector<mxnet::NDArray>*)+0x10) [0x7f3c]\n",
        states: &[("frame", "StackTrace"), ("frame", "InitDataEntryMemory")],
    },
    Example {
        version: "PyTorch 1.0–2.9",
        text: "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f in /opt/torch/lib/libc10.so)\nframe #1: at::native::conv2d_backward<float>(at::Tensor const&) + 0x10 (0x7f in /opt/torch/lib/libtorch.so)\n",
        states: &[("frame", "Error"), ("frame", "conv2d_backward")],
    },
    Example {
        version: "TensorRT-LLM 0.5–1.0",
        text: "1       0x7f387e888d85 /opt/backends/libtriton_tensorrtllm.so(+0x35d85) [0x7f387e888d85]\n2       0x7f387e8de386 tensorrt_llm::batch_manager::TrtGptModelInflightBatching::createBuffers(int) + 123\n",
        states: &[("frame", ""), ("frame", "createBuffers")],
    },
    Example {
        version: "gdb, llama.cpp",
        text: "#0  0x00007f13 in wait4 () from /lib/libc.so.6\n#1  0x00007f14 in ggml_backend_cuda_buffer_type_alloc_buffer (buft=0x1) at ggml-cuda.cu:500\n#2 llama_model_load (fname=0x2)\n",
        states: &[
            ("frame", "wait4"),
            ("frame", "ggml_backend_cuda_buffer_type_alloc_buffer"),
            ("frame", "llama_model_load"),
        ],
    },
    Example {
        version: "Julia 1.6–1.12",
        text: "Stacktrace:\n  [1] throw_api_error(res::CUDA.cudaError_enum)\n    @ CUDA ~/.julia/packages/CUDA/Il00B/lib/cudadrv/libcuda.jl:30\n  [2] #train!#7\n    @ ./train.jl:44 [inlined]\n",
        states: &[("frame", "throw_api_error"), ("frame", "train!")],
    },
    Example {
        version: "Go 1.10–1.25",
        text: "goroutine 1 [running]:\ngithub.com/ollama/ollama/server.(*Scheduler).load(0xc0001, 0x2)\n\t/go/src/server/sched.go:400 +0x1d\ngithub.com/ollama/ollama/llm.NewServer(0xc1)\n\t/go/src/llm/server.go:99 +0x1\n",
        states: &[("frame", "load"), ("frame", "NewServer")],
    },
    Example {
        version: "OpenJDK 8–21, Spark",
        text: "java.lang.OutOfMemoryError: Java heap space\n\tat java.util.Arrays.copyOf(Arrays.java:3332)\n\tat org.apache.spark.util.collection.ExternalSorter.insertAll(ExternalSorter.scala:199)\n",
        states: &[("frame", "copyOf"), ("frame", "insertAll")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(String, String)> {
        frame(line).map(|call| (call.file.into_owned(), call.function.to_owned()))
    }

    fn is(file: &str, function: &str) -> Option<(String, String)> {
        Some((file.to_owned(), function.to_owned()))
    }

    #[test]
    fn a_symbol_is_a_path_and_a_function() {
        assert_eq!(read("    @  0x7f1c2b  caffe::Net<float>::Backward()"), is("caffe/Net", "Backward"));
        assert_eq!(
            read(
                "frame #7: void at::native::(anonymous namespace)::gpu_kernel<float, std::map<int, int>>(int) + 0x1 (0x2 in libtorch.so)"
            ),
            is("at/native/(anonymous namespace)", "gpu_kernel")
        );
        assert_eq!(
            read("12  0x7f1 tensorrt_llm::runtime::TllmRuntime::TllmRuntime(int) + 1"),
            is("tensorrt_llm/runtime/TllmRuntime", "TllmRuntime")
        );
        assert_eq!(read("   5: candle_core::cuda_backend::alloc"), is("candle_core/cuda_backend", "alloc"));
        assert_eq!(
            read("   7: <candle_core::Tensor as mistral::Layer>::forward::h0123456789abcdef"),
            is("candle_core/Tensor", "forward")
        );
        assert_eq!(
            read("/usr/share/lua/5.1/torch/File.lua:351: in function 'readObject'"),
            is("/usr/share/lua/5.1/torch/File.lua", "readObject")
        );
        assert_eq!(read("/x/torch/File.lua:351: in function </x/torch/File.lua:245>"), is("/x/torch/File.lua", ""));
        assert_eq!(read("github.com/a/b/server.(*Scheduler).load(0x1)"), is("github.com/a/b/server/Scheduler", "load"));
        assert_eq!(read("github.com/a/b/llm.NewServer(0x1)"), is("github.com/a/b/llm", "NewServer"));
    }

    #[test]
    fn julias_calls_have_their_place_beside_or_below_them() {
        assert_eq!(read(" [3] ∇conv!(dx::CuArray{Float32}, w::CuArray)"), is("", "∇conv!"));
        assert_eq!(
            read("   @ NNlib ~/.julia/packages/NNlib/k3/src/conv.jl:120 [inlined]"),
            is("~/.julia/packages/NNlib/k3/src/conv.jl", "")
        );
        assert_eq!(read("   @ ./train.jl:44"), is("./train.jl", ""));
        assert_eq!(read(" [1] alloc(::Int64) at /x/CUDA/src/pool.jl:60"), is("/x/CUDA/src/pool.jl", "alloc"));
        assert_eq!(read(" [4] (::Flux.Conv{2})(x::CuArray)"), is("", "Conv"));
    }

    #[test]
    fn prose_is_no_call() {
        for line in [
            "[3] of 8 workers is gone",
            "[1] job(x) done",
            "[2] Killed (core dumped)",
            "[1] job(x) done",
            "[2] Killed (core dumped)",
            "1 of 8 workers is gone",
            "#1 cause of trouble",
            "3 epochs (of 10)",
            "12: done",
            "at the end (see x)",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
