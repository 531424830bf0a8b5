//! Words that name a failure wherever they are said.
//!
//! Mirrors glibc's `strerror` and `strsignal`, `malloc/malloc.c`, the kernel's `panic.c` and `fault.c`, gloo's
//! `transport/tcp/pair.cc`, PyTorch's `caffe2/serialize/inline_container.cc`, argparse, pytest, PBS and LSF, GitHub's
//! runner.

use OtherFailureName::{
    Abort, Cancelled, ConfigError, DiskFull, IllegalMemoryAccess, IoError, Network, Preempted, Segfault, TestFailure,
    TimeLimit, Unknown,
};

use crate::model::OtherFailureName;
use crate::parse::text;

/// A failure by its words.
pub(super) struct Row {
    /// What is said.
    words: &'static str,
    /// What must stand on the line too.
    with: &'static str,
    /// What must not: then others read it, or it means something else.
    without: &'static [&'static str],
    /// What it is.
    pub name: OtherFailureName,
    /// Whether it tends to follow the death of another process.
    pub follows: bool,
}

const fn row(words: &'static str, name: OtherFailureName) -> Row {
    Row { words, with: "", without: &[], name, follows: false }
}

/// A lost connection: the other side is gone, and more often than not that is the failure.
const fn lost(words: &'static str) -> Row {
    Row { words, with: "", without: &["NCCL"], name: Network, follows: true }
}

const ROWS: &[Row] = &[
    Row {
        without: &[
            "CUDA error: ",
            "CUDA Error: ",
            "HIP error: ",
            "CUDA failure",
            "cuda runtime error",
            "CUDA runtime error",
            "CUDA driver error",
        ],
        ..row("an illegal memory access was encountered", IllegalMemoryAccess)
    },
    row("Segmentation fault", Segfault),
    Row { with: " ip ", ..row("segfault at ", Segfault) },
    row("Signal 11 (SIGSEGV) received by PID", Segfault),
    row("(exitcode: -11)", Segfault),
    row("return code = -11", Segfault),
    row("*** SIGSEGV received at ", Segfault),
    row("Fatal Python error: Aborted", Abort),
    row("double free or corruption", Abort),
    row("free(): invalid pointer", Abort),
    row("malloc(): ", Abort),
    row("corrupted size vs. prev_size", Abort),
    row("*** stack smashing detected ***", Abort),
    Row {
        without: &["shm", "shared memory", "torch_", "nccl", "NCCL", "cgroup", "/dev/shm", "inotify"],
        ..row("No space left on device", DiskFull)
    },
    row("Disk quota exceeded", DiskFull),
    Row { with: "inline_container.cc", ..row(". unexpected pos ", DiskFull) },
    // What a full disk does to a stream; the reason comes after it.
    Row { follows: true, ..row("basic_ios::clear: iostream error", IoError) },
    row("PytorchStreamWriter failed writing file", IoError),
    row("PytorchStreamReader failed", IoError),
    row("Error while deserializing header", IoError),
    row("Input/output error", IoError),
    row("Remote I/O error", IoError),
    row("Stale file handle", IoError),
    row("Read-only file system", IoError),
    row("Transport endpoint is not connected", IoError),
    lost("Connection reset by peer"),
    lost("Connection closed by peer"),
    lost("Connection refused"),
    lost("Broken pipe"),
    lost("The client socket has timed out"),
    Row { with: "waiting for clients", ..lost("Timed out after ") },
    row("Max retries exceeded with url", Network),
    row("Temporary failure in name resolution", Network),
    row("Name or service not known", Network),
    row("Network is unreachable", Network),
    row("No route to host", Network),
    row("Spot Instance interruption notice", Preempted),
    row("spot interruption notice", Preempted),
    row("Instance was preempted", Preempted),
    row("The instance was preempted", Preempted),
    row("Preempted by pod ", Preempted),
    row("Preempted in order to admit critical pod", Preempted),
    row("PBS: job killed: walltime", TimeLimit),
    row("TERM_RUNLIMIT: job killed", TimeLimit),
    row("has exceeded the maximum execution time of", TimeLimit),
    row("timeout: sending signal ", TimeLimit),
    row("The operation was canceled.", Cancelled),
    Row { without: &["Out of memory", "deadlocked on memory"], ..row("Kernel panic - not syncing", Unknown) },
    row("Partial offloading only supported for ZeRO Stage 3", ConfigError),
    row("error: unrecognized arguments: ", ConfigError),
    row("error: the following arguments are required: ", ConfigError),
    row("error: argument -", ConfigError),
    row("Could not override '", ConfigError),
    Row { with: "::", ..row("FAILED tests/", TestFailure) },
    row("FAILED (failures=", TestFailure),
];

/// The words above, and how Python's exceptions end.
pub(super) const TRIGGERS: &[&str] = &[
    "illegal memory access",
    "Segmentation fault",
    "segfault at ",
    "(SIGSEGV) received",
    "(exitcode: -11)",
    "return code = -11",
    "SIGSEGV received",
    "Fatal Python error",
    "double free",
    "free(): invalid",
    "malloc(): ",
    "corrupted size",
    "stack smashing",
    "No space left on device",
    "Disk quota exceeded",
    "unexpected pos ",
    "iostream error",
    "PytorchStream",
    "deserializing header",
    "Input/output error",
    "Remote I/O error",
    "Stale file handle",
    "Read-only file system",
    "Transport endpoint",
    "reset by peer",
    "closed by peer",
    "Connection refused",
    "Broken pipe",
    "client socket has timed",
    "Timed out after ",
    "Max retries exceeded",
    "name resolution",
    "Name or service",
    "Network is unreachable",
    "No route to host",
    "interruption notice",
    "nstance was preempted",
    "Preempted ",
    "PBS: job killed",
    "TERM_RUNLIMIT",
    "maximum execution time",
    "timeout: sending",
    "operation was canceled",
    "Kernel panic",
    "Partial offloading",
    "error: unrecognized",
    "error: the following",
    "error: argument -",
    "Could not override",
    "FAILED ",
    "terminate called ",
    " 100% /",
    "Error",
    "Exception",
    "KeyboardInterrupt",
    "Timeout",
    "Expired",
];

/// The first failure that `line` names, and the words.
pub(super) fn find(line: &str) -> Option<(&str, &'static Row)> {
    ROWS.iter().find_map(|row| {
        let fits = line.contains(row.with) && !row.without.iter().any(|words| line.contains(words));
        let words = text::each(line, row.words).find(|words| is_said(text::before(line, words)));
        words.filter(|_| fits).map(|words| (words, row))
    })
}

/// Whether words behind `before` are said of a failure, not quoted in code or a sentence.
fn is_said(before: &str) -> bool {
    let reports = ["rror", "ailed", "failure", "signal", "python", ": line "].iter().any(|word| before.contains(word));
    let quoted = before.trim_end().ends_with(['"', '\'', '`']) || text::is_in_call(before);
    text::may_begin(before) || (reports && !quoted)
}
