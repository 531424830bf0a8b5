//! Messages of PyTorch's allocators over the versions.

use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "torch 2.0, copied without its bracket",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 34.00 MiB \nGPU 1; 24.00 GiB total capacity; 21.20 GiB already allocated; 0 bytes free; 22.30 GiB reserved in total by PyTorch\n",
        states: &[
            ("requested", "34.00 MiB"),
            ("gpu_index", "GPU 1"),
            ("gpu_total", "24.00 GiB"),
            ("torch_allocated", "21.20 GiB"),
            ("torch_reserved", "22.30 GiB"),
        ],
    },
    Example {
        version: "torch 2.4, retold",
        text: "torch.OutOfMemoryError: Tried to allocate 5.20 GiB. GPU 1 has total 39.40 GiB of which 1.46 GiB is free.",
        states: &[
            ("requested", "5.20 GiB"),
            ("gpu_index", "GPU 1"),
            ("gpu_total", "39.40 GiB"),
            ("gpu_free", "1.46 GiB"),
        ],
    },
    Example {
        version: "torch_npu, shortened",
        text: "RuntimeError: NPU out of memory. Tried to allocate 2.40 GiB\n  (64.00 GiB total; 58.00 GiB already allocated; 641.02 MiB free)\n",
        states: &[("requested", "2.40 GiB"), ("gpu_total", "64.00 GiB"), ("gpu_free", "641.02 MiB")],
    },
    Example {
        version: "torch 1.1–1.3, CUDA",
        text: "RuntimeError: CUDA out of memory. Tried to allocate 2.74 GiB (GPU 0; 10.91 GiB total capacity; 6.10 GiB already allocated; 2.56 GiB free; 1.35 GiB cached)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "2.74 GiB"),
            ("gpu_index", "GPU 0"),
            ("gpu_total", "10.91 GiB"),
            ("torch_allocated", "6.10 GiB"),
            ("gpu_free", "2.56 GiB"),
            ("torch_reserved_unallocated", "1.35 GiB"),
        ],
    },
    Example {
        version: "torch 2.3, CUDA",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 612.00 MiB. GPU  has a total capacity of 31.74 GiB of which 405.88 MiB is free. Including non-PyTorch memory, this process has 31.33 GiB memory in use. Of the allocated memory 29.90 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated.",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "612.00 MiB"),
            ("gpu_total", "31.74 GiB"),
            ("gpu_free", "405.88 MiB"),
            ("process_in_use", "31.33 GiB"),
            ("torch_allocated", "29.90 GiB"),
            ("torch_reserved_unallocated", "1.02 GiB"),
        ],
    },
    Example {
        version: "torch 1.4–2.0, CUDA",
        text: "RuntimeError: CUDA out of memory. Tried to allocate 1.16 GiB (GPU 3; 79.15 GiB total capacity; 74.02 GiB already allocated; 812.62 MiB free; 77.40 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "1.16 GiB"),
            ("gpu_index", "GPU 3"),
            ("gpu_total", "79.15 GiB"),
            ("torch_allocated", "74.02 GiB"),
            ("gpu_free", "812.62 MiB"),
            ("torch_reserved", "77.40 GiB"),
        ],
    },
    Example {
        version: "torch 1.4–2.0, CUDA, copied without its head",
        text: "(GPU 1; 15.75 GiB total capacity; 79.11 MiB already allocated; 3.62 MiB free; 86.00 MiB reserved in total by PyTorch)",
        states: &[
            ("kind", "gpu_oom"),
            ("gpu_index", "GPU 1"),
            ("gpu_total", "15.75 GiB"),
            ("torch_allocated", "79.11 MiB"),
            ("gpu_free", "3.62 MiB"),
            ("torch_reserved", "86.00 MiB"),
        ],
    },
    Example {
        version: "torch 1.4–2.0, CUDA, its head lost and its clauses broken into lines",
        text: "Tried to allocate 418.00 MiB\n (GPU 0; 6.00 GiB total capacity; \n 3.01 GiB already allocated;\n 363.12 MiB free; \n 3.82 GiB reserved in total by PyTorch)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "418.00 MiB"),
            ("gpu_total", "6.00 GiB"),
            ("gpu_free", "363.12 MiB"),
        ],
    },
    Example {
        version: "torch 2.0–2.15, cudaMallocAsync, in somebody's quotes",
        text: "panicked at 'Unable to warmup: Generation(\"Allocation on device 0 would exceed allowed memory. (out of memory)\\nCurrently allocated     : 16.08 GiB\\nRequested               : 4.83 GiB\\nDevice limit            : 22.20 GiB\")'",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "4.83 GiB"),
            ("torch_allocated", "16.08 GiB"),
            ("gpu_total", "22.20 GiB"),
        ],
    },
    Example {
        version: "torch 2.1–2.12, CUDA, with a memory fraction set",
        text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 54.00 MiB. GPU 0 has a total capacity of 79.18 GiB of which 50.10 GiB is free. Including non-PyTorch memory, this process has 29.07 GiB memory in use. 28.50 GiB allowed; Of the allocated memory 28.01 GiB is allocated by PyTorch, and 483.83 MiB is reserved by PyTorch but unallocated.",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "54.00 MiB"),
            ("gpu_free", "50.10 GiB"),
            ("gpu_allowed", "28.50 GiB"),
            ("torch_allocated", "28.01 GiB"),
        ],
    },
    Example {
        version: "torch 1.4–2.0, CUDA, with a memory fraction set",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB (GPU 3; 11.93 GiB total capacity; 10.67 GiB already allocated; 515.38 MiB free; 11.93 GiB allowed; 10.92 GiB reserved in total by PyTorch)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "4.00 GiB"),
            ("gpu_free", "515.38 MiB"),
            ("gpu_allowed", "11.93 GiB"),
            ("torch_reserved", "10.92 GiB"),
        ],
    },
    Example {
        version: "torch 2.1, CUDA, in a container",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacty of 39.39 GiB of which 5.06 MiB is free. Process 812344 has 39.38 GiB memory in use. Of the allocated memory 37.90 GiB is allocated by PyTorch, and 412.33 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "20.00 MiB"),
            ("gpu_index", "GPU 0"),
            ("gpu_total", "39.39 GiB"),
            ("gpu_free", "5.06 MiB"),
            ("process_in_use", "39.38 GiB"),
            ("pid", "812344"),
            ("torch_allocated", "37.90 GiB"),
            ("torch_reserved_unallocated", "412.33 MiB"),
        ],
    },
    Example {
        version: "torch 2.1, CUDA, in a container, cut short: one process holds all that is taken",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 1 has a total capacty of 47.54 GiB of which 1.31 GiB is free. Process 60417 has 46.22 GiB memory in use. Of the alloc",
        states: &[("kind", "gpu_oom"), ("device", "1"), ("pid", "60417"), ("process_in_use", "46.22 GiB")],
    },
    Example {
        version: "1.13–2.0, cut off before the last label",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB (GPU 1; 23.69 GiB total capacity; 20.40 GiB already allocated; 712.56 MiB free; 21.77 GiB",
        states: &[("requested", "1.10 GiB"), ("gpu_free", "712.56 MiB"), ("torch_reserved", "21.77 GiB")],
    },
    Example {
        version: "torch 2.4–2.9, CUDA, with a neighbour and CUDA graphs",
        text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.05 GiB is free. Process 401233 has 30.11 GiB memory in use. Including non-PyTorch memory, this process has 47.98 GiB memory in use. Of the allocated memory 44.03 GiB is allocated by PyTorch, with 512.00 MiB allocated in private pools (e.g., CUDA Graphs), and 1.90 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "2.32 GiB"),
            ("gpu_total", "79.15 GiB"),
            ("gpu_free", "1.05 GiB"),
            ("process_in_use", "47.98 GiB"),
            ("consumer", "30.11 GiB"),
            ("torch_allocated", "44.03 GiB"),
            ("torch.private_pools", "512.00 MiB"),
            ("torch_reserved_unallocated", "1.90 GiB"),
        ],
    },
    Example {
        version: "torch 2.15, CUDA, per_process_memory_fraction",
        text: "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 1.50 GiB",
        states: &[("kind", "gpu_oom"), ("requested", "1.50 GiB")],
    },
    Example {
        version: "torch 1.13–2.15, CUDA, a negative size",
        text: "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "torch ≥2.10, CUDA, expandable segments, a retry",
        text: "[rank2]:[W512 07:57:26.100000000 CUDACachingAllocator.cpp:508] expandable_segments: memory mapping failed with OOM on device 2 while trying to map 20971520 bytes (free: 13107200, total: 85045608448)",
        states: &[
            ("pressure", "gpu_oom"),
            ("requested", "20971520 bytes"),
            ("gpu_free", "13107200"),
            ("gpu_total", "85045608448"),
        ],
    },
    Example {
        version: "torch 2.15, CUDA, plain blocks, a retry",
        text: "[W906 15:02:06.204334026 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on device 0 while trying to allocate 1000341504 bytes (free: 916848640, total: 25243287552). Set throw_on_cudamalloc_oom:false to disable.",
        states: &[("pressure", "gpu_oom"), ("requested", "1000341504 bytes"), ("gpu_free", "916848640")],
    },
    Example {
        version: "torch 2.0–2.15, cudaMallocAsync",
        text: "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 9.43 GiB\nRequested               : 640.00 MiB\nDevice limit            : 11.59 GiB\nFree (according to CUDA): 7.12 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
        states: &[
            ("kind", "gpu_oom"),
            ("torch_allocated", "9.43 GiB"),
            ("requested", "640.00 MiB"),
            ("gpu_total", "11.59 GiB"),
            ("gpu_free", "7.12 MiB"),
        ],
    },
    Example {
        version: "torch ≥1.8, HIP",
        text: "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.49 GiB of which 84.98 GiB is free. Of the allocated memory 1.67 GiB is allocated by PyTorch, and 8.08 GiB is reserved by PyTorch but unallocated.",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "16.00 GiB"),
            ("gpu_free", "84.98 GiB"),
            ("torch_reserved_unallocated", "8.08 GiB"),
        ],
    },
    Example {
        version: "torch_npu, NPU",
        text: "RuntimeError: NPU out of memory. Tried to allocate 260.00 MiB (NPU 0; 60.97 GiB total capacity; 58.10 GiB already allocated; 58.10 GiB current active; 149.57 MiB free; 59.02 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
        states: &[
            ("kind", "gpu_oom"),
            ("gpu_index", "NPU 0"),
            ("requested", "260.00 MiB"),
            ("torch_allocated", "58.10 GiB"),
            ("gpu_free", "149.57 MiB"),
            ("torch_reserved", "59.02 GiB"),
        ],
    },
    Example {
        version: "torch ≥2.4, XPU",
        text: "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 47.97 GiB of which 0.71 GiB is free. Of the allocated memory 44.20 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "1.50 GiB"),
            ("gpu_free", "0.71 GiB"),
            ("torch_reserved_unallocated", "1.02 GiB"),
        ],
    },
    Example {
        version: "torch ≥1.12, MPS",
        text: "RuntimeError: MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: 613.56 MB, max allowed: 18.13 GB). Tried to allocate 192.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
        states: &[
            ("kind", "gpu_oom"),
            ("torch_allocated", "17.36 GB"),
            ("mps.others", "613.56 MB"),
            ("gpu_total", "18.13 GB"),
            ("requested", "192.00 MB"),
        ],
    },
    Example {
        version: "torch ≥2.9, MPS, wrapped by whoever printed it",
        text: "RuntimeError: MPS backend out of memory (MPS allocated: 17.36 GiB, other allocations: 613.56 KiB, max allowed: 18.13 GiB).\nTried to allocate 256 bytes on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory \nallocations (may cause system failure).",
        states: &[
            ("kind", "gpu_oom"),
            ("torch_allocated", "17.36 GiB"),
            ("gpu_total", "18.13 GiB"),
            ("requested", "256 bytes"),
        ],
    },
    Example {
        version: "torch 1.12–2.0, a warning that goes on without",
        text: "/opt/torch/distributed/fsdp/fully_sharded_data_parallel.py:2224: UserWarning: Failed to clone() tensor with name lm_head.weight. This may mean that this state_dict entry could point to invalid memory regions after returning from state_dict() call if this parameter is managed by FSDP. Please check clone implementation of lm_head.weight. Error: CUDA out of memory. Tried to allocate 502.00 MiB (GPU 1; 39.59 GiB total capacity; 35.54 GiB already allocated; 276.19 MiB free; 37.22 GiB reserved in total by PyTorch)",
        states: &[("swallowed", "gpu_oom"), ("requested", "502.00 MiB"), ("gpu_index", "GPU 1")],
    },
];
