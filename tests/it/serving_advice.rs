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
    // Half of the cache is still more than the weights leave.
    assert!(!knobs(&without).contains(&"--flash-attn"), "{:?}", knobs(&without));
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

/// What the first patch sets: its own knob and those that it takes with it.
fn set_first(report: &Report) -> Vec<&str> {
    let first = patches(report).into_iter().take(1);
    first.flat_map(|patch| [&*patch.knob].into_iter().chain(patch.with.iter().map(|with| &*with.knob))).collect()
}

fn removed(report: &Report) -> String {
    let diff = patches(report).first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
    diff.lines().filter(|line| line.starts_with('-') && !line.starts_with("---")).collect()
}

const PREFILL: &str = r#"2026-05-04T08:00:00.101010Z  INFO text_generation_launcher: Args { model_id: "mistralai/Mixtral-8x7B-v0.1", num_shard: None, QUANTIZEmax_input_tokens: Some(30000), max_total_tokens: Some(31000), max_batch_prefill_tokens: Some(30000), cuda_memory_fraction: 1.0 }
2026-05-04T08:02:00.101010Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:125: Warming up model
2026-05-04T08:02:09.101010Z ERROR text_generation_launcher: Method Warmup encountered an error.
Traceback (most recent call last):
  File "/opt/conda/lib/python3.11/site-packages/text_generation_server/models/flash_causal_lm.py", line 1510, in warmup
    _, _batch, _ = self.generate_token(batch)
  File "/opt/conda/lib/python3.11/site-packages/text_generation_server/layers/gptq/exllamav2.py", line 240, in forward
    output = ext_q_gemm(x, self.q_handle)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.60 GiB. GPU 0 has a total capacity of 44.40 GiB of which 1.02 GiB is free. Process 31 has 43.37 GiB memory in use. Of the allocated memory 41.10 GiB is allocated by PyTorch, and 812.00 MiB is reserved by PyTorch but unallocated.

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/conda/lib/python3.11/site-packages/text_generation_server/models/flash_causal_lm.py", line 1512, in warmup
    raise RuntimeError(
RuntimeError: Not enough memory to handle 30000 prefill tokens. You need to decrease `--max-batch-prefill-tokens`
"#;

#[test]
fn what_the_program_asks_for_outranks_the_size_of_a_model_in_bits_that_it_is_not_served_in() -> Outcome {
    let script = |more: &str| {
        format!(
            "text-generation-launcher --model-id mistralai/Mixtral-8x7B-v0.1 --max-batch-prefill-tokens 30000 --max-input-tokens 30000 --max-total-tokens 31000{more}\n"
        )
    };
    for (printed, more) in [("quantize: Some(Gptq), ", ""), ("", " --quantize gptq"), ("", "")] {
        let log = PREFILL.replace("QUANTIZE", printed);
        let report = report(&[("job.log", &log), ("serve.sh", &script(more))])?;
        assert_eq!(cause(&report), "activations_too_large");
        assert_eq!(set_first(&report), ["--max-batch-prefill-tokens", "--max-input-tokens"]);
        assert!(added(&report).contains("--max-batch-prefill-tokens 15000 --max-input-tokens 15000"));
        assert!(knobs(&report).iter().all(|knob| !["--quantize", "a checkpoint in 4 bits"].contains(knob)));
    }
    Ok(())
}

const DRAFT: &str = "\
INFO 05-04 08:00:00 [api_server.py:1043] vLLM API server version 0.8.5
INFO 05-04 08:00:11 [llm_engine.py:240] Initializing a V0 LLM engine (v0.8.5) with config: model='/m/Llama-3.1-70B-Instruct-FP8', speculative_config=SpeculativeConfig(method='draft_model', model='/m/Llama-3.1-8B-Instruct', num_spec_tokens=4), dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, quantization=compressed-tensors
INFO 05-04 08:01:01 [model_runner.py:1140] Model loading took 33.9001 GiB and 58.2 seconds
INFO 05-04 08:01:09 [model_runner.py:1140] Model loading took 14.9901 GiB and 5.1 seconds
INFO 05-04 08:01:15 [worker.py:287] the current vLLM instance can use total_gpu_memory (47.53GiB) x gpu_memory_utilization (SHARE) = 42.80GiB
INFO 05-04 08:01:15 [worker.py:287] model weights take 48.89GiB; non_torch_memory takes 0.60GiB; PyTorch activation peak memory takes 1.20GiB; the rest of the memory reserved for KV Cache is -LESSGiB.
ERROR 05-04 08:01:16 [engine.py:448] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
";

#[test]
fn a_draft_that_takes_the_room_of_the_cache_goes_or_is_split() -> Outcome {
    let script = "vllm serve /m/Llama-3.1-70B-Instruct-FP8 --tensor-parallel-size 2 --max-model-len 8192 --gpu-memory-utilization SHARE \\\n  --speculative-config '{\"model\": \"/m/Llama-3.1-8B-Instruct\", \"num_speculative_tokens\": 4, \"draft_tensor_parallel_size\": 1}'\n";
    let told = |share: &str, less: &str| {
        let log = DRAFT.replace("SHARE", share).replace("LESS", less);
        report(&[("job.log", &log), ("serve.sh", &script.replace("SHARE", share))])
    };
    let far = told("0.93", "6.49")?;
    assert_eq!(cause(&far), "kv_cache_overcommit");
    assert_eq!(set_first(&far), ["--speculative-config"]);
    assert!(removed(&far).contains("--speculative-config '{"), "{:?}", patches(&far));
    assert!(knobs(&far).contains(&"speculative_config.model"));
    // Steps of fewer requests or without graphs spare less than is missing, and no other method takes weights that are in 8 bit.
    for knob in ["--quantization", "--max-num-seqs", "--enforce-eager", "--max-num-batched-tokens"] {
        assert!(!knobs(&far).contains(&knob), "{knob}");
    }
    let near = told("0.97", "2.1")?;
    assert_eq!(set_first(&near), ["speculative_config.draft_tensor_parallel_size"]);
    assert!(added(&near).contains("\"draft_tensor_parallel_size\": 2"), "{:?}", patches(&near));
    Ok(())
}

const SECOND_INSTANCE: &str = r#"I0504 08:00:00.101010 1 model_lifecycle.cc:472] "loading: tensorrt_llm:1"
[TensorRT-LLM][INFO] Loaded engine size: 13001 MiB
FIRST[TensorRT-LLM][INFO] Loaded engine size: 13001 MiB
[TensorRT-LLM][ERROR] IExecutionContext::executeV2: Error Code 2: OutOfMemory (Requested size was 13632536576 bytes.)
E0504 08:00:20.101010 1 backend_model.cc:692] "ERROR: Failed to create instance: unexpected error when creating modelInstanceState: [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): out of memory"
"#;

#[test]
fn a_request_of_the_size_of_an_engine_that_serves_is_one_more_copy_of_it() -> Outcome {
    let config = "name: \"tensorrt_llm\"\nbackend: \"tensorrtllm\"\nmax_batch_size: 64\ninstance_group [\n  {\n    count: 2\n    kind: KIND_CPU\n  }\n]\nparameters: {\n  key: \"kv_cache_free_gpu_mem_fraction\"\n  value: { string_value: \"0.9\" }\n}\n";
    let first = "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 79.11 GiB, available: 60.00 GiB\n[TensorRT-LLM][INFO] [MemUsageChange] Allocated 54.00 GiB for max tokens in paged KV cache (442368).\n";
    let two = report(&[("job.log", &SECOND_INSTANCE.replace("FIRST", first)), ("config.pbtxt", config)])?;
    assert_eq!(cause(&two), "too_many_workers");
    assert_eq!(knobs(&two), ["instance_group[0].count", "parameters.kv_cache_free_gpu_mem_fraction"]);
    assert!(added(&two).contains("count: 1"));
    // No builder runs, and nothing shows that another engine is there.
    let one = report(&[("job.log", &SECOND_INSTANCE.replace("FIRST", "")), ("config.pbtxt", config)])?;
    assert_ne!(cause(&one), "too_many_workers");
    assert_ne!(cause(&one), "activations_too_large");
    Ok(())
}

const EMBEDDER: &str = r#"2026-05-04T08:00:00.101010Z  INFO text_embeddings_router: router/src/main.rs:185: Args { model_id: "org/***-embed", revision: None, tokenization_workers: None, dtype: Some(Float16), pooling: None, max_concurrent_requests: 512, max_batch_tokens: 65536, max_batch_requests: None, max_client_batch_size: 32, auto_truncate: false }
2026-05-04T08:00:01.101010Z  INFO text_embeddings_router: router/src/lib.rs:188: Maximum number of tokens per request: LONGEST
2026-05-04T08:00:09.101010Z  INFO text_embeddings_router: router/src/lib.rs:248: Warming up model
Error: Model backend is not healthy

Caused by:
    DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")
"#;

#[test]
fn the_configured_size_of_the_warm_up_is_what_changes() -> Outcome {
    let compose = "services:\n  embed:\n    image: ghcr.io/huggingface/text-embeddings-inference:86-1.6\n    environment:\n      MODEL_ID: org/my-embed\n      MAX_BATCH_TOKENS: 65536\n    ports:\n      - \"8080:80\"\n";
    for (longest, partners, lines) in [
        (
            "65536",
            vec!["MAX_BATCH_TOKENS", "AUTO_TRUNCATE"],
            "+      MAX_BATCH_TOKENS: 16384+      AUTO_TRUNCATE: 'true'",
        ),
        ("8192", vec!["MAX_BATCH_TOKENS"], "+      MAX_BATCH_TOKENS: 16384"),
    ] {
        let report = report(&[("job.log", &EMBEDDER.replace("LONGEST", longest)), ("compose.yaml", compose)])?;
        assert_eq!(set_first(&report), partners, "{longest}");
        assert_eq!(added(&report), lines);
        assert!(!knobs(&report).contains(&"MAX_BATCH_REQUESTS"), "{longest}");
    }
    Ok(())
}

const PROMPT_LOGPROBS: &str = "\
INFO 05-04 08:00:30 model_runner.py:1110] Loading model weights took 27.5681 GB
PREFILLRunning loglikelihood requests:   0%|          | 0/70 [00:00<?, ?it/s]
Traceback (most recent call last):
  File \"/opt/venv/lib/python3.11/site-packages/lm_eval/models/vllm_causallms.py\", line 402, in _loglikelihood_tokens
    outputs = self._model_generate(requests=inputs, generate=False)
  File \"/opt/venv/lib/python3.11/site-packages/vllm/model_executor/layers/sampler.py\", line 271, in forward
    logprobs = torch.log_softmax(logits, dim=-1, dtype=torch.float)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 79.15 GiB of which 2.90 GiB is free. Including non-PyTorch memory, this process has 76.20 GiB memory in use. Of the allocated memory 74.61 GiB is allocated by PyTorch, and 201.00 MiB is reserved by PyTorch but unallocated.
";

#[test]
fn an_engine_that_takes_prompts_whole_gets_no_smaller_steps() -> Outcome {
    let script = "lm_eval --model vllm \\\n  --model_args pretrained=Qwen/Qwen2.5-14B,dtype=auto,gpu_memory_utilization=0.9,max_model_len=16384 \\\n  --tasks wikitext\n";
    let whole = report(&[("job.log", &PROMPT_LOGPROBS.replace("PREFILL", "")), ("eval.sh", script)])?;
    assert_eq!(set_first(&whole), ["--model_args max_model_len"]);
    assert!(!knobs(&whole).contains(&"--model_args max_num_batched_tokens"));
    let chunked = "INFO 05-04 08:00:02 config.py:1485] Chunked prefill is enabled with max_num_batched_tokens=16384.\n";
    let pieces = report(&[("job.log", &PROMPT_LOGPROBS.replace("PREFILL", chunked)), ("eval.sh", script)])?;
    assert_eq!(set_first(&pieces), ["--model_args max_num_batched_tokens"]);
    Ok(())
}

const ADAPTERS: &str = "\
INFO 05-04 08:00:00 [api_server.py:1395] vLLM API server version 0.9.2
INFO 05-04 08:00:00 [cli_args.py:325] non-default args: {'model': 'meta-llama/Llama-3.1-8B', 'enable_lora': True, 'max_loras': 12, 'max_lora_rank': 256, 'lora_modules': [LoRAModulePath(name='a', path='/adapters/aFIRST'), LoRAModulePath(name='b', path='/adapters/bSECOND')]}
ERROR 05-04 08:00:33 [core.py:586] Traceback (most recent call last):
ERROR 05-04 08:00:33 [core.py:586]   File \"/opt/venv/lib/python3.11/site-packages/vllm/v1/worker/lora_model_runner_mixin.py\", line 54, in load_lora_model
ERROR 05-04 08:00:33 [core.py:586]     return self.lora_manager.create_lora_manager(model)
ERROR 05-04 08:00:33 [core.py:586]   File \"/opt/venv/lib/python3.11/site-packages/vllm/lora/layers.py\", line 330, in create_lora_weights
ERROR 05-04 08:00:33 [core.py:586]     torch.zeros(
ERROR 05-04 08:00:33 [core.py:586] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of 22.03 GiB of which 70.12 MiB is free. Including non-PyTorch memory, this process has 21.95 GiB memory in use. Of the allocated memory 21.70 GiB is allocated by PyTorch, and 10.42 MiB is reserved by PyTorch but unallocated.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
";

#[test]
fn room_for_adapters_is_their_number_times_their_rank() -> Outcome {
    let script = "vllm serve meta-llama/Llama-3.1-8B --enable-lora --max-loras 12 --max-lora-rank 256 --gpu-memory-utilization 0.9\n";
    let named = ADAPTERS.replace("FIRST", "-r8").replace("SECOND", "_rank32");
    let report_named = report(&[("job.log", &named), ("serve.sh", script)])?;
    assert!(added(&report_named).contains("--max-lora-rank 32 "), "{:?}", patches(&report_named));
    // An adapter of rank 256 on an 8B takes 1.25 GiB, and beside its weights of 15 GiB two find room.
    let unnamed = ADAPTERS.replace("FIRST", "").replace("SECOND", "");
    let report_unnamed = report(&[("job.log", &unnamed), ("serve.sh", script)])?;
    assert!(added(&report_unnamed).contains("--max-loras 2 "), "{:?}", patches(&report_unnamed));
    Ok(())
}
