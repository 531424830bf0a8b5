//! The fixed words of a report. Readers rely on them: words may be added, but never renamed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A word that is not in the vocabulary.
#[derive(Debug, Error)]
#[error("unknown {what} `{word}`; one of: {known}")]
#[non_exhaustive]
pub struct UnknownWord {
    what: &'static str,
    word: String,
    known: String,
}

/// Declares an enum whose variants are written as fixed words, and the list of all variants.
macro_rules! vocabulary {
    ($(#[$about:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// All variants, in the order of the vocabulary.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word that reports, rules and searches use.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or_else(|| UnknownWord {
                    what: $what,
                    word: word.to_owned(),
                    known: Self::ALL.iter().map(|known| known.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

vocabulary! {
    /// How a statement was recognised.
    Basis, "basis" {
        /// From a message whose exact wording is known: proof.
        Grammar = "grammar",
        /// From general words about a shortage or a kill, in any program's message: likely.
        Reader = "reader",
    }
}

impl Default for Basis {
    /// The value for reports that were stored before this field existed.
    fn default() -> Basis {
        Basis::Grammar
    }
}

vocabulary! {
    /// What ran out, and who refused the memory or killed the process.
    Kind, "kind" {
        /// An accelerator's allocator or driver could not give memory.
        GpuOom = "gpu_oom",
        /// The kernel's OOM killer, machine-wide.
        HostOomKernel = "host_oom_kernel",
        /// The kernel's OOM killer inside a memory cgroup: container, pod, Slurm step.
        HostOomCgroup = "host_oom_cgroup",
        /// A user-space daemon that watches memory: systemd-oomd, earlyoom, kubelet, Slurm's accounting.
        HostOomUserspace = "host_oom_userspace",
        /// Ray's memory monitor.
        HostOomRay = "host_oom_ray",
        /// An allocation on the host failed inside the process.
        HostAllocFailure = "host_alloc_failure",
        /// Shared memory is full: /dev/shm or Ray's object store.
        ShmExhausted = "shm_exhausted",
        /// A process was killed, and nothing in the input proves by whom.
        SigkillUnattributed = "sigkill_unattributed",
        /// No out-of-memory incident.
        None = "none",
    }
}

vocabulary! {
    /// What the job was doing when memory ran out.
    Phase, "phase" {
        /// Imports, process groups, trainer initialisation, `ray start`.
        Setup = "setup",
        /// Reading, tokenising and batching of data.
        DataLoading = "data_loading",
        /// Reading weights from disk into the model.
        ModelLoad = "model_load",
        /// Reading model and optimizer state from a checkpoint.
        CheckpointResume = "checkpoint_resume",
        /// Start of an inference engine: weights, profiling, KV cache, graphs.
        EngineInit = "engine_init",
        /// Generation inside training.
        Rollout = "rollout",
        /// Computing log-probabilities, values, rewards and advantages of a rollout.
        Experience = "experience",
        /// Sending weights or samples between ranks or engines; waking an engine up and putting it to sleep.
        WeightSync = "weight_sync",
        /// Forward pass.
        Forward = "forward",
        /// Backward pass, including recomputation and gradient reduction.
        Backward = "backward",
        /// Gradient clipping and the optimizer's step.
        OptimizerStep = "optimizer_step",
        /// Writing a checkpoint or an export.
        CheckpointSave = "checkpoint_save",
        /// Validation.
        Evaluation = "evaluation",
        /// Serving a request.
        Inference = "inference",
        /// The end of the job.
        Teardown = "teardown",
        /// The input does not say.
        Unknown = "unknown",
    }
}

vocabulary! {
    /// What a figure measures.
    FigureName, "figure" {
        /// Size of the allocation that failed.
        Requested = "requested",
        /// Capacity of the device.
        GpuTotal = "gpu_total",
        /// Free memory of the device.
        GpuFree = "gpu_free",
        /// Most device memory that the process may use, by its own limit (`set_per_process_memory_fraction`).
        GpuAllowed = "gpu_allowed",
        /// All device memory of a process, including memory outside PyTorch's allocator.
        ProcessInUse = "process_in_use",
        /// Handed out by PyTorch's allocator.
        TorchAllocated = "torch_allocated",
        /// All memory held by PyTorch's allocator.
        TorchReserved = "torch_reserved",
        /// Held by PyTorch's allocator but not handed out.
        TorchReservedUnallocated = "torch_reserved_unallocated",
        /// Maximum handed out so far.
        AllocatedPeak = "allocated_peak",
        /// Number of the device, as the process counts.
        GpuIndex = "gpu_index",
        /// Host memory in use on the node.
        NodeUsed = "node_used",
        /// Host memory of the node, as the producer of the message counts.
        NodeTotal = "node_total",
        /// Share of the node's memory in use, 0–1.
        NodeFraction = "node_fraction",
        /// Share (0–1) or number of bytes at which a monitor kills.
        NodeThreshold = "node_threshold",
        /// Memory of the process that a monitor chose.
        WorkerUsed = "worker_used",
        /// Virtual size of the killed process.
        TotalVm = "total_vm",
        /// Anonymous resident memory of the killed process.
        AnonRss = "anon_rss",
        /// File-backed resident memory of the killed process.
        FileRss = "file_rss",
        /// Shared resident memory of the killed process.
        ShmemRss = "shmem_rss",
        /// Memory charged to the cgroup.
        MemcgUsage = "memcg_usage",
        /// The cgroup's limit.
        MemcgLimit = "memcg_limit",
        /// The kernel's adjustment of the victim's score.
        OomScoreAdj = "oom_score_adj",
        /// Process id of the victim.
        VictimPid = "victim_pid",
        /// Host memory in use, of the whole machine.
        HostUsed = "host_used",
        /// Share of the host's memory in use, 0–100.
        HostPercent = "host_percent",
        /// Room for the KV cache; may be negative.
        KvCacheAvailable = "kv_cache_available",
        /// A figure worth keeping that has no name of its own.
        Other = "other",
    }
}

vocabulary! {
    /// What a job failed of, if it was not memory.
    OtherFailureName, "other failure" {
        /// A collective operation timed out.
        NcclTimeout = "nccl_timeout",
        /// NCCL failed otherwise.
        NcclError = "nccl_error",
        /// A GPU kernel accessed memory that is not its own.
        IllegalMemoryAccess = "illegal_memory_access",
        /// A GPU kernel could not be launched, or failed otherwise.
        LaunchFailure = "launch_failure",
        /// An assertion inside a GPU kernel failed.
        DeviceAssert = "device_assert",
        /// cuDNN failed.
        CudnnError = "cudnn_error",
        /// cuBLAS failed.
        CublasError = "cublas_error",
        /// The device failed: Xid, ECC, fallen off the bus.
        GpuHardware = "gpu_hardware",
        /// The process got no GPU: none is visible, or all are taken.
        GpuUnavailable = "gpu_unavailable",
        /// Driver, libraries, device or file format are too old or too new for each other.
        VersionMismatch = "version_mismatch",
        /// SIGSEGV.
        Segfault = "segfault",
        /// SIGABRT or `terminate`.
        Abort = "abort",
        /// No space left on a disk.
        DiskFull = "disk_full",
        /// Reading or writing failed.
        IoError = "io_error",
        /// A permission or login is missing.
        AccessDenied = "access_denied",
        /// A quota or a limit of requests is used up.
        QuotaExceeded = "quota_exceeded",
        /// No more threads, processes or open files were allowed.
        ProcessLimit = "process_limit",
        /// The scheduler or cloud provider took the machine away.
        Preempted = "preempted",
        /// A node, or what ran on it, no longer answers.
        LostNode = "lost_node",
        /// A health check of the platform got no answer in time, so it ended the container.
        ProbeFailed = "probe_failed",
        /// Somebody stopped the job.
        Cancelled = "cancelled",
        /// The scheduler's time limit was reached.
        TimeLimit = "time_limit",
        /// A connection failed.
        Network = "network",
        /// Another program listens on the port.
        PortInUse = "port_in_use",
        /// Something did not answer in time.
        Timeout = "timeout",
        /// A module could not be imported.
        ImportError = "import_error",
        /// A configuration was refused.
        ConfigError = "config_error",
        /// Shapes, types or devices of tensors do not fit each other.
        TensorMismatch = "tensor_mismatch",
        /// The loss or a gradient was not a finite number.
        NotANumber = "not_a_number",
        /// An assertion in Python failed.
        Assertion = "assertion",
        /// Any other Python exception.
        PythonError = "python_error",
        /// A test failed.
        TestFailure = "test_failure",
        /// An error that only points to another one, which the input does not show.
        CauseElsewhere = "cause_elsewhere",
        /// It failed, and the input does not say why.
        Unknown = "unknown",
    }
}

impl Phase {
    /// Whether a job is still starting in this phase, and has computed nothing yet.
    pub(crate) const fn is_start(self) -> bool {
        matches!(self, Phase::Setup | Phase::ModelLoad | Phase::EngineInit)
    }

    /// Whether this phase is over once training steps begin.
    pub const fn comes_before_steps(self) -> bool {
        self.is_start() || matches!(self, Phase::CheckpointResume)
    }

    /// Whether no training steps happen during this phase, so that the next step shows that it is over.
    pub const fn is_outside_steps(self) -> bool {
        matches!(
            self,
            Phase::Setup
                | Phase::DataLoading
                | Phase::ModelLoad
                | Phase::CheckpointResume
                | Phase::CheckpointSave
                | Phase::Evaluation
                | Phase::Inference
        )
    }
}

impl Kind {
    /// Whether this kind is about the memory of the host rather than of a device.
    pub const fn is_host(self) -> bool {
        !matches!(self, Kind::GpuOom | Kind::None)
    }

    /// Whether the process was killed from outside, rather than refused memory.
    pub const fn is_kill(self) -> bool {
        matches!(self, Kind::HostOomKernel | Kind::HostOomCgroup | Kind::HostOomUserspace | Kind::HostOomRay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_as_themselves() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse::<Kind>().ok(), Some(*kind));
        }
        for phase in Phase::ALL {
            assert_eq!(serde_json::to_value(phase).ok(), Some(phase.as_str().into()));
        }
        assert!("sunday".parse::<Phase>().is_err_and(|error| error.to_string().contains("optimizer_step")));
    }
}
