//! The exception at the end of a Python traceback, by its class.
//!
//! Mirrors the builtin exceptions of CPython (3.6–3.14), pydantic, hydra and omegaconf, requests, urllib3 and httpx.

use OtherFailureName::{
    AccessDenied, Assertion, Cancelled, ConfigError, ImportError, IoError, Network, NotANumber, PythonError,
    QuotaExceeded, Timeout,
};
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::space1;
use nom::combinator::{opt, verify};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use crate::model::OtherFailureName;
use crate::parse::text;

/// Classes by the end of their names; the first match counts. The flag says that the failure tends to follow the end of another process.
const CLASSES: &[(&str, OtherFailureName, bool)] = &[
    ("ModuleNotFoundError", ImportError, false),
    ("ImportError", ImportError, false),
    ("AssertionError", Assertion, false),
    // A person interrupts a job that hangs.
    ("KeyboardInterrupt", Cancelled, true),
    ("ConnectionResetError", Network, true),
    ("ConnectionAbortedError", Network, true),
    ("ConnectionRefusedError", Network, true),
    ("BrokenPipeError", Network, true),
    ("DistNetworkError", Network, true),
    ("DistStoreError", Network, true),
    ("ConnectionError", Network, false),
    ("MaxRetryError", Network, false),
    ("ConnectTimeout", Network, false),
    ("ConnectTimeoutError", Network, false),
    ("ReadTimeout", Network, false),
    ("ReadTimeoutError", Network, false),
    ("SSLError", Network, false),
    ("SSLCertVerificationError", Network, false),
    ("ChunkedEncodingError", Network, false),
    ("ConnectError", Network, false),
    ("ClientConnectorError", Network, false),
    ("ServerDisconnectedError", Network, false),
    ("ClientPayloadError", Network, false),
    ("RemoteProtocolError", Network, false),
    ("LocalEntryNotFoundError", Network, false),
    // What is waited for has often died.
    ("TimeoutError", Timeout, true),
    ("PermissionError", AccessDenied, false),
    ("GatedRepoError", AccessDenied, false),
    ("RepositoryNotFoundError", AccessDenied, false),
    ("NoCredentialsError", AccessDenied, false),
    ("CredentialRetrievalError", AccessDenied, false),
    ("DefaultCredentialsError", AccessDenied, false),
    ("AuthenticationError", AccessDenied, false),
    ("RateLimitError", QuotaExceeded, false),
    ("FloatingPointError", NotANumber, false),
    ("FileNotFoundError", IoError, false),
    ("UnpicklingError", IoError, false),
    ("UnidentifiedImageError", IoError, false),
    ("IsADirectoryError", IoError, false),
    ("SafetensorError", IoError, false),
    ("ValidationError", ConfigError, false),
    ("yaml.scanner.ScannerError", ConfigError, false),
    ("yaml.parser.ParserError", ConfigError, false),
    ("ConfigAttributeError", ConfigError, false),
    ("ConfigKeyError", ConfigError, false),
    ("ConfigCompositionException", ConfigError, false),
    ("DeepSpeedConfigError", ConfigError, false),
];

/// Exceptions that a program raises because of what it computes with, and not because another process is gone.
const OWN: &[&str] = &[
    "KeyError",
    "ValueError",
    "TypeError",
    "AttributeError",
    "IndexError",
    "NameError",
    "UnboundLocalError",
    "ZeroDivisionError",
    "DecodeError",
    "NotImplementedError",
];

/// Classes whose messages name modules and files, so that words in them say nothing more.
const CLASSES_OF_FILES: &[&str] = &["ModuleNotFoundError", "ImportError", "FileNotFoundError", "PermissionError"];

/// Words of exceptions that other grammars read, or that only wrap the exception of another process.
const READ_ELSEWHERE: &[&str] = &[
    "emory",
    "bad_alloc",
    "CUDA",
    "cuda",
    "cuDNN",
    "CUDNN",
    "CUBLAS",
    "HIP ",
    "NPU",
    "NCCL",
    "nccl",
    "XlaRuntimeError",
    "RESOURCE_EXHAUSTED",
    "PT_DEVMEM",
    "UR_RESULT_ERROR",
    "Timed out waiting ",
    "ResourceExhausted",
    "DataLoader worker",
    "DataLoader process",
    "ChildFailedError",
    "CalledProcessError",
    "SignalException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "BrokenProcessPool",
    "TerminatedWorkerError",
    "abruptly died",
    "ray.exceptions.",
    "RayTaskError",
    "RayActorError",
    "ObjectStoreFull",
    "EngineDeadError",
    "Engine core initialization failed",
    "Engine process failed",
    "No executable batch size",
    "enforce fail",
    "Worker failed with error",
    "background loop",
];

/// Whether `line` is an exception that comes of what the program computes with, whatever happened to other processes.
pub(crate) fn is_own(line: &str) -> bool {
    exception(line.trim()).is_ok_and(|(_, class)| OWN.iter().any(|own| class.ends_with(own)))
}

/// The exception that is the whole of `line`, what it is, and whether it tends to follow.
pub(super) fn find(line: &str) -> Option<(&str, OtherFailureName, bool)> {
    let words = line.trim();
    let (_, class) = exception(words).ok()?;
    let known = CLASSES.iter().find(|(name, _, _)| class.ends_with(name)).map(|(_, name, follows)| (*name, *follows));
    // What could not be imported or found may well be called after CUDA.
    let names_a_file = CLASSES_OF_FILES.iter().any(|name| class.ends_with(name));
    if !names_a_file && READ_ELSEWHERE.iter().any(|known| words.contains(known)) {
        return None;
    }
    // An unknown exception may itself be the consequence of another process's end.
    let (name, follows) = known.unwrap_or_else(|| match class.ends_with("OSError") && words.contains("[Errno ") {
        true => (IoError, false),
        false => (PythonError, true),
    });
    Some((words, name, follows))
}

/// `torch.cuda.Foo.BarError: …`, `KeyboardInterrupt`, and with pytest's `E   ` before it.
fn exception(words: &str) -> IResult<&str, &str> {
    const ENDS: &[&str] = &["Error", "Exception", "KeyboardInterrupt", "Timeout", "Expired", "Exit", "Empty"];
    let name = take_while1(|c: char| c.is_alphanumeric() || "._".contains(c));
    let class = verify(name, |class: &str| {
        let last = class.rsplit('.').next().unwrap_or(class);
        let camel = last.starts_with(|c: char| c.is_uppercase() || c == '_');
        camel && !ENDS.contains(&last) && last != "SystemExit" && ENDS.iter().any(|end| last.ends_with(end))
            || last == "KeyboardInterrupt"
    });
    let (rest, class) = preceded(opt((tag("E"), space1)), class).parse(words)?;
    let (rest, _) = verify(nom::combinator::rest, |rest: &str| rest.is_empty() || rest.starts_with(':')).parse(rest)?;
    Ok((rest, text::token(class, "")))
}
