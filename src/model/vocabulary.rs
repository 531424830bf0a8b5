//! The words of a report. They are a contract with everybody who reads one: add, never rename.

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

/// An enum whose variants are written as fixed words, with the list of all of them.
macro_rules! vocabulary {
    ($(#[$about:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Every word, in the order of the vocabulary.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word as reports, rules and searches write it.
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
    /// On what a statement rests.
    Basis, "basis" {
        /// The words of a program whose messages are known to the letter: proof.
        Grammar = "grammar",
        /// General words of shortage or of a kill, by whatever program: likely.
        Reader = "reader",
    }
}

impl Default for Basis {
    /// What was recorded before there was a reader.
    fn default() -> Basis {
        Basis::Grammar
    }
}

vocabulary! {
    /// What ran out, told by who refused the memory or did the killing.
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
        /// Killed, and nothing in the input proves by whom.
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
        /// Weights from disk into the model.
        ModelLoad = "model_load",
        /// Model and optimizer state from a checkpoint.
        CheckpointResume = "checkpoint_resume",
        /// Start of an inference engine: weights, profiling, KV cache, graphs.
        EngineInit = "engine_init",
        /// Generation inside training.
        Rollout = "rollout",
        /// Log-probabilities, values, rewards, advantages of a rollout.
        Experience = "experience",
        /// Weights or samples sent between ranks or engines; wake-up and sleep.
        WeightSync = "weight_sync",
        /// Forward pass.
        Forward = "forward",
        /// Backward pass, recomputation and gradient reduction included.
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
        /// What the process may take of the device at most, by its own limit (`set_per_process_memory_fraction`).
        GpuAllowed = "gpu_allowed",
        /// All device memory of a process, PyTorch's or not.
        ProcessInUse = "process_in_use",
        /// Handed out by PyTorch's allocator.
        TorchAllocated = "torch_allocated",
        /// Held by PyTorch's allocator in all.
        TorchReserved = "torch_reserved",
        /// Held by PyTorch's allocator but not handed out.
        TorchReservedUnallocated = "torch_reserved_unallocated",
        /// Maximum handed out so far.
        AllocatedPeak = "allocated_peak",
        /// Number of the device as the process counts.
        GpuIndex = "gpu_index",
        /// Host memory in use on the node.
        NodeUsed = "node_used",
        /// Host memory of the node as the producer counts it.
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
        /// Worth keeping, without a name of its own.
        Other = "other",
    }
}

vocabulary! {
    /// What a job died of when it was no lack of memory.
    OtherFailureName, "other failure" {
        /// A collective operation did not end in time.
        NcclTimeout = "nccl_timeout",
        /// NCCL failed otherwise.
        NcclError = "nccl_error",
        /// A kernel touched memory that it must not.
        IllegalMemoryAccess = "illegal_memory_access",
        /// An assertion inside a GPU kernel.
        DeviceAssert = "device_assert",
        /// cuDNN failed.
        CudnnError = "cudnn_error",
        /// cuBLAS failed.
        CublasError = "cublas_error",
        /// The device itself: Xid, ECC, fallen off the bus.
        GpuHardware = "gpu_hardware",
        /// SIGSEGV.
        Segfault = "segfault",
        /// SIGABRT or `terminate`.
        Abort = "abort",
        /// No space left on a disk.
        DiskFull = "disk_full",
        /// Reading or writing failed.
        IoError = "io_error",
        /// The scheduler or cloud took the machine away.
        Preempted = "preempted",
        /// Somebody stopped it.
        Cancelled = "cancelled",
        /// The scheduler's time limit.
        TimeLimit = "time_limit",
        /// A connection failed.
        Network = "network",
        /// A module could not be imported.
        ImportError = "import_error",
        /// A configuration was refused.
        ConfigError = "config_error",
        /// An assertion in Python.
        Assertion = "assertion",
        /// Another Python exception.
        PythonError = "python_error",
        /// A test failed.
        TestFailure = "test_failure",
        /// It failed, and the input does not say of what.
        Unknown = "unknown",
    }
}

impl Phase {
    /// Whether it is over once training steps.
    pub const fn comes_before_steps(self) -> bool {
        matches!(self, Phase::Setup | Phase::ModelLoad | Phase::CheckpointResume | Phase::EngineInit)
    }

    /// Whether training steps do not go on in it: the next step shows that it is over.
    pub const fn is_outside_steps(self) -> bool {
        matches!(
            self,
            Phase::Setup
                | Phase::DataLoading
                | Phase::ModelLoad
                | Phase::CheckpointResume
                | Phase::CheckpointSave
                | Phase::Evaluation
        )
    }
}

impl Kind {
    /// Whether this kind is about the memory of the host rather than of a device.
    pub const fn is_host(self) -> bool {
        !matches!(self, Kind::GpuOom | Kind::None)
    }

    /// Whether somebody outside of the process refuses the memory, and kills it.
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
