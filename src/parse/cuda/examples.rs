use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "torch ≥1.8",
        text: "[rank1]: RuntimeError: CUDA error: out of memory\n[rank1]: CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        states: &[("kind", "gpu_oom"), ("rank", "1"), ("cuda.error", "out of memory")],
    },
    Example {
        version: "torch ≥2.1, the driver's interface",
        text: "RuntimeError: CUDA driver error: out of memory",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "torch ≥1.8, HIP",
        text: "RuntimeError: HIP error: out of memory",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "torch 0.4–1.7",
        text: "RuntimeError: cuda runtime error (2) : out of memory at /src/aten/src/THC/generic/THCStorage.cu:66",
        states: &[("kind", "gpu_oom"), ("cuda.place", "/src/aten/src/THC/generic/THCStorage.cu:66")],
    },
    Example {
        version: "torch 0.3–1.7, behind a progress bar",
        text: "Valid epoch 2:  18%|█▊       | 2/11 [00:02<00:10,  1.20s/it]THCudaCheck FAIL file=/src/aten/src/THC/generic/THCStorage.cu line=66 error=2 : out of memory",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "vLLM ≥0.7, sleep mode",
        text: "(LLMRayActor pid=4711) CUDA Error: out of memory at /src/csrc/cumem_allocator.cpp:62 [repeated 3x across cluster]",
        states: &[("kind", "gpu_oom"), ("pid", "4711"), ("cuda.place", "/src/csrc/cumem_allocator.cpp:62")],
    },
    Example {
        version: "torch_memory_saver",
        text: "(SGLangHttpServer pid=4711) [torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h func=cu_mem_create line=188",
        states: &[
            ("kind", "gpu_oom"),
            ("pid", "4711"),
            ("cuda.error", "out of memory"),
            ("cuda.place", "csrc/utils.h"),
        ],
    },
    Example {
        version: "torch, cuBLAS",
        text: "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "torch, cuBLAS, not certain",
        text: "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
        states: &[("kind", "gpu_oom"), ("cuda.certain", "no")],
    },
    Example {
        version: "torch, cuDNN",
        text: "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "torch, cuDNN, which does not say why",
        text: "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
        states: &[("failure", "cudnn_error")],
    },
    Example {
        version: "TensorFlow 1–2, which then asks for less",
        text: "2026-03-01 10:00:00.123456: E tensorflow/stream_executor/cuda/cuda_driver.cc:806] failed to allocate 2.50G (2684354560 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        states: &[("pressure", "gpu_oom"), ("cuda.error", "CUDA_ERROR_OUT_OF_MEMORY")],
    },
    Example {
        version: "ggml",
        text: "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 612.25 MiB on device 0: cudaMalloc failed: out of memory",
        states: &[("kind", "gpu_oom"), ("requested", "612.25 MiB"), ("gpu_index", "0"), ("device", "0")],
    },
    Example {
        version: "bitsandbytes",
        text: "Error out of memory at line 380 in file /src/csrc/ops.cu",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "TensorRT-LLM, page-locked memory",
        text: "RuntimeError: [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaHostAlloc(ptr, n, cudaHostAllocDefault): out of memory (/src/cpp/tensorrt_llm/runtime/tllmBuffers.h:165)",
        states: &[("kind", "host_alloc_failure")],
    },
    Example {
        version: "torch, page-locked memory that is refused",
        text: "ERROR engine.py:518] allocating tensors in pinned memory of shape (2, 512, 8, 128)\nERROR engine.py:518] CUDA error: invalid argument",
        states: &[("kind", "host_alloc_failure"), ("cuda.error", "invalid argument")],
    },
    Example {
        version: "torch, another call that is refused",
        text: "RuntimeError: CUDA error: invalid argument",
        states: &[("cuda.error", "invalid argument")],
    },
    Example {
        version: "torch, a kernel's bad address",
        text: "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        states: &[("failure", "illegal_memory_access")],
    },
    Example {
        version: "torch, a kernel that could not run, and one for another device",
        text: "RuntimeError: CUDA error: too many resources requested for launch\nRuntimeError: CUDA error: no kernel image is available for execution on the device",
        states: &[("failure", "launch_failure"), ("failure", "version_mismatch")],
    },
    Example {
        version: "torch, an assertion in a kernel",
        text: "/src/aten/src/ATen/native/cuda/Indexing.cu:1289: indexSelectLargeIndex: block: [7,0,0], thread: [32,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\nRuntimeError: CUDA error: device-side assert triggered",
        states: &[("failure", "device_assert"), ("cuda.assertion", "srcIndex < srcSelectDimSize")],
    },
    Example {
        version: "torch, cuBLAS and cuDNN that failed",
        text: "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa, opb, m, n, k)`\nRuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        states: &[("failure", "cublas_error"), ("failure", "cudnn_error")],
    },
    Example {
        version: "NVIDIA's kernel driver, r515–r570, the device",
        text: "[ 1200.123456] NVRM: Xid (PCI:0000:5e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        states: &[("failure", "gpu_hardware"), ("cuda.xid", "79"), ("cuda.bus", "PCI:0000:5e:00")],
    },
    Example {
        version: "NVIDIA's kernel driver, r515–r570, the process",
        text: "[ 1200.123456] NVRM: Xid (PCI:0000:5e:00): 31, pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f_b0000000.",
        states: &[
            ("failure", "illegal_memory_access"),
            ("cuda.xid", "31"),
            ("cuda.pid", "4711"),
            ("cuda.process", "python3"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use crate::model::What;
    use crate::parse::testing;

    fn states(text: &str) -> Vec<String> {
        let states = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Shortage(shortage) => Some(shortage.kind.to_string()),
            What::Failure(failure) => Some(failure.name.to_string()),
            _ => None,
        });
        states.collect()
    }

    #[test]
    fn other_vendors_are_read() {
        let sycl = "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)";
        assert_eq!(states(sycl), ["gpu_oom"]);
        let tensorflow = "failed to alloc 34359738368 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory";
        assert_eq!(states(tensorflow), ["host_alloc_failure"]);
        let npu = "EL0004: [PID: 4711] 2026-03-01-10:00:00.123.456 Failed to allocate memory.";
        assert_eq!(states(npu), ["gpu_oom"]);
        let size = "        Failed to allocate resource[DeviceMemory] with info [size:1073741824]. Reason: Memory resources are exhausted.";
        let events = testing::read(size.as_bytes());
        assert_eq!(events[0].figures[0].text, "1073741824");
        let cupy = "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,073,741,824 bytes (allocated so far: 512 bytes).";
        assert_eq!(testing::read(cupy.as_bytes())[0].figures[0].bytes.map(|bytes| bytes.0), Some(1 << 30));
        assert_eq!(
            states("Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x2."),
            ["illegal_memory_access"]
        );
        assert_eq!(
            states(
                "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /src/mr.hpp:70: cudaErrorMemoryAllocation out of memory"
            ),
            ["gpu_oom"]
        );
    }

    #[test]
    fn pinned_memory_counts_only_near_the_refusal() {
        let far = "pin_memory: true\n".to_owned() + &"step\n".repeat(40) + "RuntimeError: CUDA error: invalid argument";
        assert_eq!(states(&far), Vec::<String>::new());
        let other = "pin_memory: true\nRuntimeError: CUDA error: an illegal memory access was encountered";
        assert_eq!(states(other), ["illegal_memory_access"]);
        let code = "    return data.pin_memory(device)\nRuntimeError: CUDA error: invalid argument";
        assert_eq!(states(code), ["host_alloc_failure"]);
        let refused = "RuntimeError: CUDA error: out of memory";
        assert_eq!(states(&format!("    return tensor.pin_memory()\n{refused}")), ["host_alloc_failure"]);
        let created = "    cpu_data = torch.empty_strided(size, stride, device='cpu', pin_memory=pin_memory)";
        assert_eq!(states(&format!("{created}\n{refused}")), ["host_alloc_failure"]);
        // The loader that pins is only built here.
        assert_eq!(states(&format!("    loader = DataLoader(data, pin_memory=True)\n{refused}")), ["gpu_oom"]);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "If you see CUDA error: out of memory, use a smaller batch",
            "        raise RuntimeError(\"CUDA error: out of memory\")",
            "CUBLAS_STATUS_SUCCESS",
            "set CUBLAS_WORKSPACE_CONFIG",
            "Error handling CUDA_ERROR_OUT_OF_MEMORY is left to the caller",
            "assert x, \"Assertion `x` failed\"",
            "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.10",
            "NVRM: Xid (PCI:00",
        ] {
            assert_eq!(states(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        let cut = "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,073,7";
        assert!(testing::read(cut.as_bytes()).iter().all(|event| event.figures.is_empty()));
        assert_eq!(states(cut), ["gpu_oom"]);
        assert_eq!(states("RuntimeError: CUDA error: "), Vec::<String>::new());
    }
}
