//! The answers of drivers and libraries, as words and as codes, and what each proves.

use crate::model::OtherFailureName;
use crate::parse::text;

/// What an answer proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The device has no memory left.
    OutOfMemory,
    /// The host has none.
    OutOfHostMemory,
    /// A library could not be set up, most often because device memory ran out.
    Perhaps,
    /// A call was refused. A request for page-locked memory fails this way.
    Invalid,
    /// Something else went wrong.
    Failed(OtherFailureName),
}

use Answer::{Failed, Invalid, OutOfHostMemory, OutOfMemory, Perhaps};
use OtherFailureName::{
    ConfigError, CublasError, CudnnError, DeviceAssert, GpuHardware, GpuUnavailable, IllegalMemoryAccess,
    LaunchFailure, Unknown, VersionMismatch,
};

/// Beginnings of messages; the first that fits counts.
const WORDS: &[(&str, Answer)] = &[
    ("out of memory", OutOfMemory),
    ("resource allocation failed", OutOfMemory),
    ("the resource allocation failed", OutOfMemory),
    ("library not initialized", Perhaps),
    ("an illegal memory access", Failed(IllegalMemoryAccess)),
    ("unspecified launch failure", Failed(LaunchFailure)),
    ("too many resources requested for launch", Failed(LaunchFailure)),
    ("invalid configuration argument", Failed(LaunchFailure)),
    ("the launch timed out", Failed(LaunchFailure)),
    ("misaligned address", Failed(LaunchFailure)),
    ("an illegal instruction", Failed(LaunchFailure)),
    ("invalid program counter", Failed(LaunchFailure)),
    ("hardware stack error", Failed(LaunchFailure)),
    ("device-side assert triggered", Failed(DeviceAssert)),
    ("uncorrectable ECC error", Failed(GpuHardware)),
    ("uncorrectable NVLink error", Failed(GpuHardware)),
    ("no kernel image is available", Failed(VersionMismatch)),
    ("invalid device function", Failed(VersionMismatch)),
    ("device kernel image is invalid", Failed(VersionMismatch)),
    ("the provided PTX was compiled", Failed(VersionMismatch)),
    ("CUDA driver version is insufficient", Failed(VersionMismatch)),
    ("forward compatibility was attempted", Failed(VersionMismatch)),
    ("system has unsupported display driver", Failed(VersionMismatch)),
    ("invalid device ordinal", Failed(ConfigError)),
    ("no CUDA-capable device", Failed(GpuUnavailable)),
    ("all CUDA-capable devices are busy", Failed(GpuUnavailable)),
    ("CUDA-capable device(s) is/are busy", Failed(GpuUnavailable)),
    ("system not yet initialized", Failed(GpuUnavailable)),
    ("CUBLAS_STATUS_ALLOC_FAILED", OutOfMemory),
    ("CUBLAS_STATUS_NOT_INITIALIZED", Perhaps),
    ("CUBLAS_STATUS_", Failed(CublasError)),
    ("CUDNN_STATUS_ALLOC_FAILED", OutOfMemory),
    ("CUDNN_STATUS_", Failed(CudnnError)),
    ("the GPU program failed to execute", Failed(CublasError)),
    ("invalid argument", Invalid),
];

/// Codes of libraries and drivers; the first that fits counts.
const CODES: &[(&str, Answer)] = &[
    ("CUBLAS_STATUS_ALLOC_FAILED", OutOfMemory),
    ("CUDNN_STATUS_ALLOC_FAILED", OutOfMemory),
    ("CUSOLVER_STATUS_ALLOC_FAILED", OutOfMemory),
    ("CUDA_ERROR_OUT_OF_MEMORY", OutOfMemory),
    ("cudaErrorMemoryAllocation", OutOfMemory),
    ("hipErrorOutOfMemory", OutOfMemory),
    ("UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", OutOfMemory),
    ("UR_RESULT_ERROR_OUT_OF_HOST_MEMORY", OutOfHostMemory),
    ("CUBLAS_STATUS_NOT_INITIALIZED", Perhaps),
    ("CUDNN_STATUS_NOT_INITIALIZED", Failed(CudnnError)),
    ("CUBLAS_STATUS_EXECUTION_FAILED", Failed(CublasError)),
    ("CUDNN_STATUS_EXECUTION_FAILED", Failed(CudnnError)),
    ("CUDA_ERROR_ILLEGAL_ADDRESS", Failed(IllegalMemoryAccess)),
    ("CUDA_ERROR_LAUNCH_", Failed(LaunchFailure)),
    ("CUDA_ERROR_ILLEGAL_INSTRUCTION", Failed(LaunchFailure)),
    ("CUDA_ERROR_MISALIGNED_ADDRESS", Failed(LaunchFailure)),
    ("cudaErrorLaunch", Failed(LaunchFailure)),
    ("hipErrorLaunch", Failed(LaunchFailure)),
    ("CUDA_ERROR_NO_BINARY_FOR_GPU", Failed(VersionMismatch)),
    ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", Failed(VersionMismatch)),
    ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", Failed(VersionMismatch)),
    ("cudaErrorInsufficientDriver", Failed(VersionMismatch)),
    ("cudaErrorNoKernelImageForDevice", Failed(VersionMismatch)),
    ("hipErrorNoBinaryForGpu", Failed(VersionMismatch)),
    ("CUDA_ERROR_DEVICE_UNAVAILABLE", Failed(GpuUnavailable)),
    ("cudaErrorDevicesUnavailable", Failed(GpuUnavailable)),
    ("cudaErrorIllegalAddress", Failed(IllegalMemoryAccess)),
    ("hipErrorIllegalAddress", Failed(IllegalMemoryAccess)),
    ("Memory access fault by GPU", Failed(IllegalMemoryAccess)),
    ("CUDA_ERROR_ASSERT", Failed(DeviceAssert)),
    ("CUDA_ERROR_ECC_UNCORRECTABLE", Failed(GpuHardware)),
    ("UR_RESULT_ERROR_DEVICE_LOST", Failed(GpuHardware)),
    ("GPU is lost", Failed(GpuHardware)),
];

/// What `reason`, the words after the speaker's name, proves. `None` if it has no words.
pub(super) fn of(reason: &str) -> Option<Answer> {
    let known = WORDS.iter().chain(CODES).find(|(words, _)| reason.starts_with(words)).map(|(_, answer)| *answer);
    known.or_else(|| reason.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(Failed(Unknown)))
}

/// `reason` without the places and calls after it.
pub(super) fn alone(reason: &str) -> &str {
    let ends = [" at ", ")", " (", " when calling", ". ", "\n"];
    let end = ends.iter().filter_map(|end| reason.find(end)).min().unwrap_or(reason.len());
    reason[..end].trim_end()
}

/// A code that stands alone, and the text from it on: `39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)`.
pub(super) fn code(text: &str) -> Option<(&str, Answer)> {
    CODES.iter().find_map(|(code, answer)| {
        let stated = text::each(text, code).find(|words| {
            let before = text::before(text, words);
            let called = [" (", "results in ", "with ", "to determine the device handle for "];
            text::may_begin(before) || called.iter().any(|words| before.ends_with(words)) || *code == "GPU is lost"
        });
        stated.map(|words| (words, *answer))
    })
}
