//! PyTorch's allocator in the words of those who ask it: trainers, example scripts, PyTorch's own summary.
//!
//! Mirrors Megatron-LM `megatron/training/utils.py:report_memory`, torchtitan `components/metrics.py`, accelerate's and
//! peft's `examples/` (`b2mb`), llama-recipes `utils/memory_utils.py`, axolotl `utils/bench.py`, ms-swift
//! `trainers/patcher.py`, `torch/cuda/memory.py:memory_summary` (1.4–2.15). Whatever they call the unit, it is a power of
//! two.

use crate::model::Bytes;
use crate::model::FigureName::{
    AllocatedPeak, GpuTotal, Other, TorchAllocated, TorchReserved, TorchReservedUnallocated, WorkerUsed,
};
use crate::parse::Example;
use crate::parse::table::Value::{self, Counted, Size, SizeBefore, Until};
use crate::parse::table::{Table, fact, memory};

/// A number of MiB without its unit.
const MIB: Value = Counted(Bytes::MIB);

/// `[Rank 0] (after 2 iterations) memory (MB) | allocated: … | max allocated: … | reserved: … | max reserved: …`
pub static MEGATRON: Table = Table {
    producer: "megatron",
    series: "Megatron",
    triggers: &["memory (MB) | allocated: "],
    rows: &[
        memory("| allocated: ", MIB, TorchAllocated),
        memory("| max allocated: ", MIB, AllocatedPeak),
        memory("| reserved: ", MIB, TorchReserved),
        memory("| total device memory used: ", MIB, Other),
    ],
    examples: &[Example {
        version: "Megatron-LM 2019–2026",
        text: "[Rank 16] (after 2 iterations) memory (MB) | allocated: 20480.25 | max allocated: 49152.75 | reserved: 57344.0 | max reserved: 57346.0",
        states: &[
            ("series", "Megatron rank 16"),
            ("torch_allocated", "20480.25"),
            ("allocated_peak", "49152.75"),
            ("torch_reserved", "57344.0"),
        ],
    }],
};

/// `step: 10  loss:  2.1250  memory: 48.25GiB(61.00%)`: the most that was reserved since the step before.
pub static TORCHTITAN: Table = Table {
    producer: "torchtitan",
    series: "torchtitan",
    triggers: &["memory: ", "CUDA capacity: "],
    rows: &[
        memory("memory: ", Size, TorchReserved).within(&["tps: ", "tflops"]),
        memory(" memory", SizeBefore, GpuTotal).within(&["CUDA capacity: "]),
        fact("CUDA capacity: ", Until(" with "), "job.gpu"),
    ],
    examples: &[Example {
        version: "torchtitan 0.1–0.2",
        text: "[rank0]:[titan] 2026-03-01 10:00:00,100 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.25GiB memory\n[rank0]:[titan] 2026-03-01 10:00:09,897 - root - INFO - step: 10  loss:  2.1250  grad_norm:  0.5000  memory: 48.25GiB(61.00%)  tps: 2,048  tflops: 99.50  mfu: 10.06%",
        states: &[
            ("series", "torchtitan rank 0"),
            ("job.gpu", "NVIDIA H100 80GB HBM3"),
            ("gpu_total", "79.25GiB"),
            ("torch_reserved", "48.25GiB"),
        ],
    }],
};

/// accelerate, peft, llama-recipes and what was copied from them.
pub static EXAMPLE_SCRIPTS: Table = Table {
    producer: "accelerate",
    series: "example script",
    triggers: &[
        "GPU Memory before entering the ",
        "CPU Memory before entering the ",
        "Total Peak Memory consumed during the ",
        "Max CUDA memory ",
    ],
    rows: &[
        memory(" : ", MIB, TorchAllocated).within(&["GPU Memory before"]),
        memory(" : ", MIB, WorkerUsed).within(&["CPU Memory before"]),
        memory("(max): ", MIB, AllocatedPeak).within(&["GPU Total Peak"]),
        memory("(max): ", Size, WorkerUsed).within(&["CPU Total Peak"]),
        memory("(max): ", MIB, WorkerUsed).within(&["CPU Total Peak"]),
        memory("memory allocated was ", Size, AllocatedPeak),
        memory("memory reserved was ", Size, TorchReserved),
    ],
    examples: &[
        Example {
            version: "accelerate, peft: examples, in MB",
            text: "GPU Memory before entering the train : 2048\nGPU Memory consumed at the end of the train (end-begin): 64\nGPU Peak Memory consumed during the train (max-begin): 6144\nGPU Total Peak Memory consumed during the train (max): 8192\nCPU Memory before entering the train : 16384\nCPU Total Peak Memory consumed during the train (max): 16385",
            states: &[
                ("torch_allocated", "2048"),
                ("allocated_peak", "8192"),
                ("worker_used", "16384"),
                ("worker_used", "16385"),
            ],
        },
        Example {
            version: "llama-recipes",
            text: "Max CUDA memory allocated was 55 GB\nMax CUDA memory reserved was 61 GB\nPeak active CUDA memory was 56 GB\nCUDA Malloc retries : 0\nCPU Total Peak Memory consumed during the train (max): 7 GB",
            states: &[("allocated_peak", "55 GB"), ("torch_reserved", "61 GB"), ("worker_used", "7 GB")],
        },
    ],
};

/// `cuda memory usage after model load: 7.125GB (+0.375GB cache, +1.125GB misc)`: what is neither is not PyTorch's.
pub static AXOLOTL: Table = Table {
    producer: "axolotl",
    series: "axolotl",
    triggers: &[" memory usage "],
    rows: &[
        memory(": ", Size, TorchAllocated).within(AXOLOTL_PARTS),
        memory("(+", Size, TorchReservedUnallocated).within(&["GB cache"]),
    ],
    examples: &[Example {
        version: "axolotl 0.3–0.9",
        text: "[2026-03-01 10:00:00,000] [INFO] [axolotl.utils.bench.log_gpu_memory_usage:107] [PID:4711] [RANK:0] cuda memory usage after model load: 7.125GB (+0.375GB cache, +1.125GB misc)",
        states: &[("torch_allocated", "7.125GB"), ("torch_reserved_unallocated", "0.375GB")],
    }],
};

const AXOLOTL_PARTS: &[&str] = &["GB cache", "GB misc"];

/// `{'loss': 0.75, …, 'memory(GiB)': 30.25, 'train_speed(iter/s)': 0.5}`: the most that was reserved so far.
pub static MS_SWIFT: Table = Table {
    producer: "ms-swift",
    series: "ms-swift",
    triggers: &["'memory(GiB)': "],
    rows: &[
        memory("'memory(GiB)': ", Counted(Bytes::GIB), TorchReserved),
        memory("'memory(GiB)': '", Counted(Bytes::GIB), TorchReserved),
    ],
    examples: &[Example {
        version: "ms-swift 2.0–3.12",
        text: "Train:  50%|█████     | 8/16 [00:16<00:16,  2.0s/it]{'loss': 0.75, 'epoch': 0.32, 'global_step/max_steps': '5/16', 'memory(GiB)': 30.25, 'train_speed(iter/s)': 0.5}\n{'loss': '0.5', 'memory(GiB)': '62.5', 'train_speed(s/it)': '12.5'}",
        states: &[("torch_reserved", "30.25"), ("torch_reserved", "62.5")],
    }],
};

/// `torch.cuda.memory_summary()`: now and at most, in a box.
pub static SUMMARY: Table = Table {
    producer: "torch",
    series: "torch",
    triggers: &["| Allocated memory ", "| GPU reserved memory "],
    rows: &[
        memory("| Allocated memory      |", Size, TorchAllocated),
        memory("| GPU reserved memory   |", Size, TorchReserved),
    ],
    examples: &[Example {
        version: "torch 1.4–2.15",
        text: "|===========================================================================|\n|                  PyTorch CUDA memory summary, device ID 0                 |\n|---------------------------------------------------------------------------|\n|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |\n|===========================================================================|\n|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n|---------------------------------------------------------------------------|\n| Allocated memory      |  34122 MiB |  38120 MiB |    102 GiB |     69 GiB |\n|---------------------------------------------------------------------------|\n| GPU reserved memory   |  38656 MiB |  38656 MiB |  38656 MiB |      0 B   |",
        states: &[("torch_allocated", "34122 MiB"), ("torch_reserved", "38656 MiB")],
    }],
};
