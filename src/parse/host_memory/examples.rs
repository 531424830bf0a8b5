use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "torch ≥1.11",
        text: "[rank3]: RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)",
        states: &[("kind", "host_alloc_failure"), ("requested", "68719476736 bytes"), ("rank", "3")],
    },
    Example {
        version: "torch 1.1–1.10",
        text: "RuntimeError: [enforce fail at CPUAllocator.cpp:64] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 33177600 bytes. Error code 12 (Cannot allocate memory)",
        states: &[("kind", "host_alloc_failure"), ("requested", "33177600 bytes")],
    },
    Example {
        version: "torch ≥1.2, Windows",
        text: "RuntimeError: [enforce fail at C:\\src\\c10\\core\\impl\\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate 15728640000 bytes.",
        states: &[("kind", "host_alloc_failure"), ("requested", "15728640000 bytes")],
    },
    Example {
        version: "torch 1.0–1.1, Windows: the size is no size",
        text: "RuntimeError: [enforce fail at ..\\c10\\core\\CPUAllocator.cpp:62] data. DefaultCPUAllocator: not enough memory: you tried to allocate %dGB. Buy new RAM!104600001",
        states: &[("kind", "host_alloc_failure")],
    },
    Example {
        version: "torch ≥1.11, wrapped between words",
        text: "RuntimeError: [enforce fail at alloc_cpu.cpp:88] err == 0. DefaultCPUAllocator: can't allocate memory:\nyou tried to allocate 536870912 bytes. Error code 12 (Cannot allocate memory)",
        states: &[("kind", "host_alloc_failure"), ("requested", "536870912 bytes")],
    },
    Example {
        version: "torch ≥1.0, a checkpoint mapped from disk",
        text: "RuntimeError: unable to mmap 4976698672 bytes from file </models/model-00002-of-00004.safetensors>: Cannot allocate memory (12)",
        states: &[
            ("kind", "host_alloc_failure"),
            ("requested", "4976698672 bytes"),
            ("host.file", "/models/model-00002-of-00004.safetensors"),
        ],
    },
    Example {
        version: "Python: the last line of a traceback",
        text: "[rank1]:   File \"/home/me/train.py\", line 40, in main\n[rank1]:     rows.append(read(shard))\n[rank1]: MemoryError",
        states: &[("kind", "host_alloc_failure"), ("rank", "1")],
    },
    Example {
        version: "numpy ≥2",
        text: "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 745. GiB for an array with shape (800000, 125000) and data type int64",
        states: &[
            ("kind", "host_alloc_failure"),
            ("requested", "745. GiB"),
            ("numpy.shape", "(800000, 125000)"),
            ("numpy.dtype", "int64"),
        ],
    },
    Example {
        version: "numpy 1.17–1.19",
        text: "MemoryError: Unable to allocate 1.46 TiB for an array with shape (448000, 448000) and data type float64",
        states: &[("kind", "host_alloc_failure"), ("requested", "1.46 TiB"), ("numpy.dtype", "float64")],
    },
    Example {
        version: "Python, fork or mmap",
        text: "(TaskRunner pid=4711) OSError: [Errno 12] Cannot allocate memory",
        states: &[("kind", "host_alloc_failure"), ("pid", "4711")],
    },
    Example {
        version: "libstdc++, behind a progress bar",
        text: "Map (num_proc=16):  41%|████▏     | 41000/100000 [01:02<01:29, 661.29 examples/s]terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
        states: &[("kind", "host_alloc_failure")],
    },
    Example {
        version: "Arrow",
        text: "pyarrow.lib.ArrowMemoryError: malloc of size 137438953472 failed",
        states: &[("kind", "host_alloc_failure"), ("requested", "137438953472")],
    },
    Example {
        version: "Java",
        text: "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space",
        states: &[("kind", "host_alloc_failure")],
    },
    Example {
        version: "free of procps ≥3.3.10",
        text: "OSError: [Errno 12] Cannot allocate memory\n$ free\n              total        used        free      shared  buff/cache   available\nMem:       65841234     1288212    63001144       10240     1551878    63822200\nSwap:             0           0           0",
        states: &[("node_total", "65841234"), ("host_used", "1288212"), ("other", "63822200")],
    },
];
