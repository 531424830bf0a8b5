//! Advice for inference servers: edits with which the server starts, by the numbers that its own log states.

use std::error::Error;

use oomdoc::model::{Patch, Report};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

/// The patches of the first cause.
fn patches(report: &Report) -> Vec<&Patch> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    first.map(|diagnosis| diagnosis.patches.iter().collect()).unwrap_or_default()
}

fn knobs(report: &Report) -> Vec<&str> {
    patches(report).iter().map(|patch| &*patch.knob).collect()
}

fn cause(report: &Report) -> &str {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    first.map(|diagnosis| &*diagnosis.cause).unwrap_or_default()
}

/// What the first patch adds.
fn added(report: &Report) -> String {
    let diff = patches(report).first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
    let is_added = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    diff.lines().filter(is_added).collect()
}

const STORED: &str = "\
INFO 11-02 10:11:01 api_server.py:528] vLLM API server version 0.6.2
INFO 11-02 10:11:01 api_server.py:529] args: Namespace(host='0.0.0.0', model='org/My-12B', max_model_len=None, gpu_memory_utilization=0.9, tensor_parallel_size=1)
Traceback (most recent call last):
  File \"/opt/vllm/worker/worker.py\", line 493, in raise_if_cache_size_invalid
    raise ValueError(
ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (50224). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
";

#[test]
fn the_tokens_that_the_cache_holds_are_the_longest_sequence() -> Outcome {
    for (name, text) in [
        ("launch.sh", "CUDA_VISIBLE_DEVICES=0 vllm serve org/My-12B --gpu-memory-utilization 0.9\n"),
        ("launch.sh", "vllm serve org/My-12B --gpu-memory-utilization 0.9 --max-model-len 131072\n"),
        (
            "compose.yaml",
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.6.2\n    command: --model org/My-12B\n    deploy:\n      resources:\n        reservations:\n          devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]\n",
        ),
    ] {
        let report = report(&[("job.log", STORED), (name, text)])?;
        assert!(added(&report).contains("--max-model-len 50224"), "{:?}", patches(&report));
        assert_eq!(patches(&report)[0].from.as_deref().filter(|from| *from != "131072"), None);
    }
    Ok(())
}

#[test]
fn more_gpus_than_are_granted_are_no_edit() -> Outcome {
    let pod = |count: u32| {
        format!(
            "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: llm\n    image: vllm/vllm-openai:v0.6.2\n    args: [\"--model\", \"org/My-12B\"]\n    resources: {{limits: {{nvidia.com/gpu: {count}}}}}\n"
        )
    };
    let split = |report: &Report| {
        let place = knobs(report).iter().position(|knob| *knob == "--tensor-parallel-size");
        place.map(|place| (place + 1 == patches(report).len(), patches(report)[place].diff.is_some()))
    };
    assert_eq!(split(&report(&[("job.log", STORED), ("pod.yaml", &pod(1))])?), Some((true, false)));
    assert_eq!(split(&report(&[("job.log", STORED), ("pod.yaml", &pod(2))])?).map(|(_, edits)| edits), Some(true));
    Ok(())
}

#[test]
fn sglang_needs_the_share_that_its_own_numbers_ask_for() -> Outcome {
    let log = "[2025-08-21 11:01:10] server_args=ServerArgs(model_path='org/My-32B', mem_fraction_static=0.7, tp_size=1)
[2025-08-21 11:03:12 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=17.40 GB, mem usage=61.10 GB.
[2025-08-21 11:03:13 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File \"/sgl-workspace/sglang/python/sglang/srt/model_executor/model_runner.py\", line 1211, in init_memory_pool
    raise RuntimeError(
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
";
    let launch = "python3 -m sglang.launch_server --model-path org/My-32B --mem-fraction-static 0.7\n";
    let report = report(&[("job.log", log), ("run.sh", launch)])?;
    // 1 − 17.4 / 78.5 is 0.778, where nothing is left for the cache: it gets half of what the weights leave.
    assert!(added(&report).contains("--mem-fraction-static 0.89"), "{:?}", patches(&report));
    Ok(())
}

#[test]
fn a_step_of_too_many_tokens_goes_before_a_larger_share() -> Outcome {
    let log = "(EngineCore_0 pid=211) INFO 08-20 10:11:30 [core.py:74] Initializing a V1 LLM engine (v0.10.1) with config: model='org/My-32B', max_seq_len=16384, tensor_parallel_size=1
(EngineCore_0 pid=211) INFO 08-20 10:13:51 [gpu_worker.py:276] Available KV cache memory: -2.40 GiB
(EngineCore_0 pid=211) ERROR 08-20 10:13:51 [core.py:700] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
";
    let launch =
        |tokens: u32| format!("vllm serve org/My-32B --max-model-len 16384 --max-num-batched-tokens {tokens}\n");
    let large = report(&[("job.log", log), ("run.sh", &launch(65536))])?;
    assert!(added(&large).contains("--max-num-batched-tokens 8192"), "{:?}", patches(&large));
    let usual = report(&[("job.log", log), ("run.sh", &launch(8192))])?;
    assert_eq!(knobs(&usual).first(), Some(&"--gpu-memory-utilization"));
    Ok(())
}

#[test]
fn options_of_which_one_bounds_the_other_are_edited_together() -> Outcome {
    let log = "2025-05-19T08:02:04.201Z ERROR text_generation_launcher: Method Warmup encountered an error.
Traceback (most recent call last):
  File \"/usr/src/server/text_generation_server/models/flash_causal_lm.py\", line 1603, in warmup
    _, _batch, _ = self.generate_token(batch)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 11.50 GiB. GPU 0 has a total capacity of 79.10 GiB of which 9.74 GiB is free. Of the allocated memory 66.21 GiB is allocated by PyTorch, and 2.11 GiB is reserved by PyTorch but unallocated.
RuntimeError: Not enough memory to handle 24000 prefill tokens. You need to decrease `--max-batch-prefill-tokens`
";
    let launch = |prompt: u32| {
        format!(
            "text-generation-launcher --model-id org/My-27B --max-input-tokens {prompt} --max-total-tokens 24800 --max-batch-prefill-tokens 24000\n"
        )
    };
    let both = added(&report(&[("job.log", log), ("run.sh", &launch(24000))])?);
    assert!(both.contains("--max-input-tokens 12000") && both.contains("--max-batch-prefill-tokens 12000"), "{both}");
    let one = added(&report(&[("job.log", log), ("run.sh", &launch(4000))])?);
    assert!(one.contains("--max-input-tokens 4000") && one.contains("--max-batch-prefill-tokens 12000"), "{one}");
    Ok(())
}

#[test]
fn a_context_of_llamacpp_is_as_long_as_its_numbers_allow() -> Outcome {
    let log = |flash: &str, cache: u64| {
        let bytes = cache << 20;
        format!(
            "ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 24000 MiB free
load_tensors: offloaded 49/49 layers to GPU
load_tensors:        CUDA0 model buffer size = 16000.00 MiB
llama_context: n_ctx         = 65536
llama_context: flash_attn    = {flash}
ggml_backend_cuda_buffer_type_alloc_buffer: allocating {cache}.00 MiB on device 0: cudaMalloc failed: out of memory
alloc_tensor_range: failed to allocate CUDA0 buffer of size {bytes}
llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache
"
        )
    };
    let launch = "llama-server -m /models/My-14B.gguf -c 65536 -ngl 99\n";
    let without = report(&[("job.log", &log("0", 16384)), ("run.sh", launch)])?;
    assert!(added(&without).contains("-c 18432"), "{:?}", patches(&without));
    assert!(knobs(&without).contains(&"--flash-attn"), "{:?}", knobs(&without));
    // Values cannot be quantised without it.
    assert!(!knobs(&without).contains(&"--cache-type-k"), "{:?}", knobs(&without));
    let with = report(&[("job.log", &log("auto", 16384)), ("run.sh", launch)])?;
    assert!(added(&with).contains("-c 26624"), "{:?}", patches(&with));
    assert!(!knobs(&with).contains(&"--flash-attn"), "{:?}", knobs(&with));
    // 16000 MiB of weights and half of 16384 are more than 24000.
    assert!(!knobs(&with).contains(&"--cache-type-k"), "{:?}", knobs(&with));
    let smaller = report(&[("job.log", &log("auto", 12288)), ("run.sh", launch)])?;
    assert!(knobs(&smaller).contains(&"--cache-type-k"), "{:?}", knobs(&smaller));
    Ok(())
}

#[test]
fn ollama_is_known_by_its_own_log() -> Outcome {
    let log = "time=2025-03-15T11:39:01.009Z level=INFO source=routes.go:1225 msg=\"server config\" env=\"map[CUDA_VISIBLE_DEVICES: OLLAMA_CONTEXT_LENGTH:4096 OLLAMA_FLASH_ATTENTION:false OLLAMA_KV_CACHE_TYPE: OLLAMA_NUM_PARALLEL:2 OLLAMA_MAX_LOADED_MODELS:0]\"
time=2025-03-15T11:39:04.330Z level=INFO source=server.go:405 msg=\"starting llama server\" cmd=\"/usr/bin/ollama runner --model /root/.ollama/models/blobs/sha256-ab --ctx-size 4096 --batch-size 512 --parallel 2 --port 41211\"
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4416.00 MiB on device 0: cudaMalloc failed: out of memory
ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4630511616
time=2025-03-15T11:39:06.221Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"llama runner process has terminated: cudaMalloc failed: out of memory\"
";
    let known = report(&[("server.log", log)])?;
    assert_eq!(known.job.framework.as_deref(), Some("ollama"));
    assert_eq!(knobs(&known)[..2], ["OLLAMA_NUM_PARALLEL", "OLLAMA_FLASH_ATTENTION"]);
    // What it is already helps nobody.
    assert!(!knobs(&known).contains(&"OLLAMA_CONTEXT_LENGTH"), "{:?}", knobs(&known));
    let too_large = "time=2025-07-11T10:01:01.222Z level=INFO source=sched.go:428 msg=\"NewLlamaServer failed\" model=/blobs/sha256-48 error=\"model requires more system memory (38.9 GiB) than is available (24.1 GiB)\"\n";
    let too_large = report(&[("server.log", too_large)])?;
    assert!(!knobs(&too_large).contains(&"OLLAMA_NUM_PARALLEL"), "{:?}", knobs(&too_large));
    Ok(())
}

#[test]
fn a_server_that_wakes_up_trains_nothing() -> Outcome {
    let log = "(EngineCore_DP0 pid=901) INFO 12-01 09:01:01 [core.py:77] Initializing a V1 LLM engine (v0.11.2) with config: model='org/My-14B', tensor_parallel_size=1, enable_sleep_mode=True
(APIServer pid=1) INFO:     127.0.0.1:50356 - \"POST /sleep?level=1 HTTP/1.1\" 200 OK
(EngineCore_DP0 pid=901) INFO 12-01 09:15:11 [gpu_worker.py:144] Sleep mode freed 50.50 GiB memory, 2.19 GiB memory is still in use.
(EngineCore_DP0 pid=901) ERROR 12-01 09:44:19 [core.py:845] Invocation of wake_up method failed
(EngineCore_DP0 pid=901) ERROR 12-01 09:44:19 [core.py:845] Traceback (most recent call last):
(EngineCore_DP0 pid=901) ERROR 12-01 09:44:19 [core.py:845]   File \"/opt/vllm/v1/worker/gpu_worker.py\", line 161, in wake_up
(EngineCore_DP0 pid=901) ERROR 12-01 09:44:19 [core.py:845]     allocator.wake_up(tags)
(EngineCore_DP0 pid=901) ERROR 12-01 09:44:19 [core.py:845]   File \"/opt/vllm/device_allocator/cumem.py\", line 78, in create_and_map
(EngineCore_DP0 pid=901) ERROR 12-01 09:44:19 [core.py:845]     python_create_and_map(*allocation_handle)
(EngineCore_DP0 pid=901) ERROR 12-01 09:44:19 [core.py:845] RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:163
";
    let report = report(&[("job.log", log)])?;
    assert_eq!(cause(&report), "gpu_shared_with_others");
    assert!(knobs(&report).iter().all(|knob| !knob.contains("parameters")), "{:?}", knobs(&report));
    Ok(())
}

#[test]
fn nvidia_smi_names_who_holds_the_gpu() -> Outcome {
    let log = "ValueError: Free memory on device (21.33/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.19 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n";
    let table = "|    0   N/A  N/A            7701      C   python embed.py                        59142MiB |\n";
    let report = report(&[("job.log", log), ("nvidia-smi.txt", table)])?;
    let holder = report.incidents.first().and_then(|incident| incident.consumers.first()).ok_or("nobody")?;
    assert_eq!((holder.pid, holder.role.as_deref()), (Some(7701), Some("python embed.py")));
    Ok(())
}

#[test]
fn json_is_written_as_one_word_of_a_shell() -> Outcome {
    let log = "INFO 07-02 10:11:01 [api_server.py:1395] vLLM API server version 0.9.1
ERROR 07-02 10:12:47 [core.py:515] Traceback (most recent call last):
ERROR 07-02 10:12:47 [core.py:515]   File \"/opt/vllm/v1/worker/gpu_model_runner.py\", line 2002, in profile_run
ERROR 07-02 10:12:47 [core.py:515]     dummy_encoder_outputs = self.model.get_multimodal_embeddings(
ERROR 07-02 10:12:47 [core.py:515]   File \"/opt/vllm/model_executor/models/qwen2_5_vl.py\", line 322, in forward
ERROR 07-02 10:12:47 [core.py:515]     output = F.scaled_dot_product_attention(q_i,
ERROR 07-02 10:12:47 [core.py:515] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 23.53 GiB of which 3.71 GiB is free. Including non-PyTorch memory, this process has 19.81 GiB memory in use. Of the allocated memory 19.22 GiB is allocated by PyTorch, and 211.02 MiB is reserved by PyTorch but unallocated.
";
    let launch = "vllm serve org/My-VL-7B --limit-mm-per-prompt '{\"image\": 16}' --max-model-len 65536\n";
    let report = report(&[("job.log", log), ("launch.sh", launch)])?;
    let limit =
        patches(&report).into_iter().find(|patch| patch.knob == "--limit-mm-per-prompt").ok_or("no such patch")?;
    assert!(limit.diff.as_deref().unwrap_or_default().contains("'{\"image\": 1, \"video\": 0}'"), "{limit:?}");
    Ok(())
}
