//! What servers of models are told must fit: how many copies share a GPU, what a value needs besides, and where a file sets it.

use std::error::Error;

use oomdoc::model::{Diagnosis, Patch, Report};

use crate::support::analyzed::{added_lines, report};

type Outcome = Result<(), Box<dyn Error>>;

fn first(report: &Report) -> Result<&Diagnosis, Box<dyn Error>> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    Ok(first.ok_or("no diagnosis")?)
}

fn knobs(report: &Report) -> Result<Vec<&str>, Box<dyn Error>> {
    Ok(first(report)?.patches.iter().map(|patch| &*patch.knob).collect())
}

/// The lines that the patch of the first cause for `knob` adds.
fn added(report: &Report, knob: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let is_it = |patch: &&Patch| patch.knob == knob;
    let Some(patch) = first(report)?.patches.iter().find(is_it) else { return Ok(Vec::new()) };
    let diff = patch.diff.clone().unwrap_or_default();
    Ok(added_lines(&diff).into_iter().map(str::to_owned).collect())
}

#[test]
fn a_server_that_has_answered_has_its_weights_loaded() -> Outcome {
    let log = |served: &str| {
        format!(
            "2025-03-02 08:11:20,110 - lmdeploy - INFO - async_engine.py:259 - input backend=turbomind\nConvert to turbomind format: 100%|##########| 32/32 [00:09<00:00,  3.40it/s]\n{served}[TM][ERROR]  CUDA runtime error: out of memory /lmdeploy/src/turbomind/utils/memory_utils.cu:32\n"
        )
    };
    let launch = "lmdeploy serve api_server org/my-14b --tp 1 --cache-max-entry-count 0.93\n";
    let answered = "INFO:     10.4.0.7:41992 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n";
    let step = "[TM][INFO] ------------------------- step = 310 -------------------------\n";
    for served in [answered, step] {
        let report = report(&[("job.log", &log(served)), ("serve.sh", launch)])?;
        assert_eq!(report.incidents[0].phase.name.as_str(), "inference", "{served}");
        assert_eq!(added(&report, "--cache-max-entry-count")?, [launch.trim().replace("0.93", "0.8")]);
        assert_eq!(knobs(&report)?[0], "--cache-max-entry-count");
    }
    let before = report(&[("job.log", &log("")), ("serve.sh", launch)])?;
    assert_eq!(before.incidents[0].phase.name.as_str(), "model_load");
    Ok(())
}

const REPLICAS: &str = "2025-06-02 11:40:14,210	INFO serve.py:168 -- Deploying app tags
(ServeReplica:tags:Tagger pid=4401) Loading checkpoint shards: 100%|##########| 3/3 [00:10<00:00,  3.41s/it]
(ServeReplica:tags:Tagger pid=4402) Loading checkpoint shards: 100%|##########| 3/3 [00:10<00:00,  3.44s/it]
(ServeReplica:tags:Tagger pid=4403) Loading checkpoint shards: 100%|##########| 3/3 [00:10<00:00,  3.47s/it]
(ServeController pid=4310) ray::ServeReplica:tags:Tagger.initialize_and_get_metadata() (pid=4403, ip=10.0.3.9, actor_id=77ab)
(ServeController pid=4310)   File \"/srv/tagger.py\", line 9, in __init__
(ServeController pid=4310)     self.model = AutoModelForCausalLM.from_pretrained(\"org/my-10b\", torch_dtype=torch.float16).to(\"cuda\")
(ServeController pid=4310)   File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1329, in convert
(ServeController pid=4310)     return t.to(
(ServeController pid=4310) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 170.19 MiB is free. Process 4401 has 24.06 GiB memory in use. Process 4402 has 24.06 GiB memory in use. Process 4404 has 24.06 GiB memory in use. Including non-PyTorch memory, this process has 6.80 GiB memory in use. Of the allocated memory 6.31 GiB is allocated by PyTorch, and 12.00 MiB is reserved by PyTorch but unallocated.
";

#[test]
fn replicas_on_one_gpu_are_as_many_as_it_holds() -> Outcome {
    let code = "import torch\nfrom ray import serve\nfrom transformers import AutoModelForCausalLM\n\n@serve.deployment\nclass Tagger:\n    def __init__(self):\n        self.model = AutoModelForCausalLM.from_pretrained(\"org/my-10b\", torch_dtype=torch.float16).to(\"cuda\")\n\ndeployment = Tagger.bind()\n";
    let config = "applications:\n  - name: tags\n    import_path: tagger:deployment\n    deployments:\n      - name: Tagger\n        num_replicas: 5\n        ray_actor_options:\n          num_gpus: 0.2\n";
    let report = report(&[("job.log", REPLICAS), ("tagger.py", code), ("serve.yaml", config)])?;
    assert_eq!(&*first(&report)?.cause, "too_many_workers");
    // Three of 24 GiB fit on 79.
    assert_eq!(added(&report, "ray_actor_options.num_gpus")?, ["num_gpus: 0.34"]);
    assert_eq!(added(&report, "num_replicas")?, ["num_replicas: 3"]);
    // What a training loop has, and what takes as many bits, is not offered.
    let all = report.incidents[0].diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    for patch in all {
        let shown = format!("{} {:?}", patch.knob, patch.to);
        for wrong in ["optimizer offload", "fully_shard", "torch_dtype", "bfloat16()"] {
            assert!(!shown.contains(wrong), "{shown}");
        }
    }
    Ok(())
}

#[test]
fn workers_of_a_web_server_are_found_in_its_own_file() -> Outcome {
    let log = "[2025-05-11 07:30:01 +0000] [1] [INFO] Starting gunicorn 23.0.0\n[2025-05-11 07:30:01 +0000] [1] [INFO] Using worker: uvicorn.workers.UvicornWorker\n[2025-05-11 07:30:14 +0000] [9] [INFO] Application startup complete.\n[2025-05-11 07:30:15 +0000] [12] [ERROR] Exception in worker process\nTraceback (most recent call last):\n  File \"/usr/local/lib/python3.11/site-packages/gunicorn/arbiter.py\", line 608, in spawn_worker\n    worker.init_process()\n  File \"/srv/api.py\", line 6, in <module>\n    model = WhisperModel(\"medium\", device=\"cuda\", compute_type=\"float16\")\n  File \"/usr/local/lib/python3.11/site-packages/faster_whisper/transcribe.py\", line 663, in __init__\n    self.model = ctranslate2.models.Whisper(\nRuntimeError: CUDA failed with error out of memory\n";
    let code = "from faster_whisper import WhisperModel\n\nmodel = WhisperModel(\"medium\", device=\"cuda\", compute_type=\"float16\")\n";
    for settings in [
        "bind = \"0.0.0.0:8000\"\nworkers = 6\nworker_class = \"uvicorn.workers.UvicornWorker\"\n",
        "workers = 6\n\ndef on_starting(server):\n    server.log.info(\"starting\")\n",
    ] {
        let files = [
            ("job.log", log),
            ("api.py", code),
            ("gunicorn.conf.py", settings),
            ("start.sh", "gunicorn -c gunicorn.conf.py api:app\n"),
        ];
        let report = report(&files)?;
        assert_eq!(&*first(&report)?.cause, "too_many_workers");
        assert_eq!(added(&report, "workers")?, ["workers = 3"]);
        assert_eq!(knobs(&report)?[0], "workers");
    }
    Ok(())
}

#[test]
fn what_lay_on_the_host_must_fit_on_the_gpu_before_it_comes_back() -> Outcome {
    let log = |capacity: &str| {
        format!(
            "INFO 09-02 07:51:10 [core.py:69] Initializing a V1 LLM engine (v0.9.2) with config: model='Qwen/Qwen2.5-32B-Instruct', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1\n{capacity}INFO 09-02 07:51:18 [gpu_model_runner.py:1770] Starting to load model Qwen/Qwen2.5-32B-Instruct...\n$ kubectl describe pod llm\nContainers:\n  llm:\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      memory:          32Gi\n"
        )
    };
    let pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: llm\n      image: vllm/vllm-openai:v0.9.2\n      args: [\"--model\", \"Qwen/Qwen2.5-32B-Instruct\", \"--cpu-offload-gb\", \"44\"]\n      resources:\n        limits: {memory: 32Gi, nvidia.com/gpu: 1}\n";
    let report = report(&[("job.log", &log("")), ("pod.yaml", pod)])?;
    let patch = first(&report)?.patches.first().ok_or("no patch")?;
    // 44 GiB and what the engine itself needs.
    assert_eq!(patch.to.as_ref().map(ToString::to_string).as_deref(), Some("58Gi"), "{}", patch.knob);
    assert!(!knobs(&report)?.iter().any(|knob| knob.contains("pinned_max_round")));
    Ok(())
}

#[test]
fn a_batch_holds_the_longest_request() -> Outcome {
    let log = |longest: u32| {
        format!(
            "2026-01-10T10:02:10.811291Z  INFO text_embeddings_router: router/src/main.rs:189: Args {{ model_id: \"org/***-model\", revision: None, max_concurrent_requests: 512, max_batch_tokens: 262144, auto_truncate: false }}\n2026-01-10T10:02:12.119030Z  INFO text_embeddings_router: router/src/lib.rs:188: Maximum number of tokens per request: {longest}\n2026-01-10T10:02:39.880112Z  INFO text_embeddings_router: router/src/lib.rs:248: Warming up model\nError: Model backend is not healthy\n\nCaused by:\n    DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")\n"
        )
    };
    let launch = "text-embeddings-router --model-id org/my-model --max-batch-tokens 262144\n";
    for (longest, wanted) in [(40960, "40960"), (512, "16384")] {
        let report = report(&[("job.log", &log(longest)), ("run.sh", launch)])?;
        assert_eq!(added(&report, "--max-batch-tokens")?, [launch.trim().replace("262144", wanted)]);
    }
    Ok(())
}

#[test]
fn a_smaller_cache_that_does_not_fit_either_is_not_offered() -> Outcome {
    let log = |needed: &str| {
        format!(
            "INFO 08-20 10:20:47 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='org/my-8b', max_seq_len=131072, tensor_parallel_size=1\nERROR 08-20 10:21:23 [core.py:632] ValueError: To serve at least one request with the models's max seq len (131072), ({needed} GiB KV cache is needed, which is larger than the available KV cache memory (6.00 GiB). Based on the available memory, the estimated maximum model length is 49152. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
        )
    };
    let launch = "vllm serve org/my-8b --max-model-len 131072\n";
    let halved = |needed: &str| -> Result<bool, Box<dyn Error>> {
        let report = report(&[("job.log", &log(needed)), ("run.sh", launch)])?;
        Ok(knobs(&report)?.contains(&"--kv-cache-dtype"))
    };
    assert!(halved("10.00")?);
    assert!(!halved("16.00")?);
    Ok(())
}

const LAYERS: &str = "ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 20000 MiB free
load_tensors: offloading 40 repeating layers to GPU
load_tensors: offloading output layer to GPU
load_tensors: offloaded 41/41 layers to GPU
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 25000.00 MiB on device 0: cudaMalloc failed: out of memory
alloc_tensor_range: failed to allocate CUDA0 buffer of size 26214400000
llama_model_load: error loading model: unable to allocate CUDA0 buffer
Traceback (most recent call last):
  File \"/srv/chat.py\", line 3, in <module>
    llm = Llama(model_path=\"/models/my-40b-q4.gguf\", n_gpu_layers=-1, n_ctx=4096)
  File \"/srv/venv/lib/python3.11/site-packages/llama_cpp/llama.py\", line 374, in __init__
    internals.LlamaModel(
ValueError: Failed to load model from file: /models/my-40b-q4.gguf
";

#[test]
fn layers_on_the_gpu_are_an_argument_in_code_as_many_as_find_room() -> Outcome {
    for given in ["-1", "41", "99"] {
        let code = format!(
            "from llama_cpp import Llama\n\nllm = Llama(model_path=\"/models/my-40b-q4.gguf\", n_gpu_layers={given}, n_ctx=4096)\n"
        );
        let report = report(&[("job.log", LAYERS), ("chat.py", &code)])?;
        // 20000 of 25000 MiB for 41 layers, with room for the cache.
        let wanted =
            code.trim().lines().last().unwrap_or_default().replace(&format!("n_gpu_layers={given}"), "n_gpu_layers=28");
        assert_eq!(added(&report, "Llama.n_gpu_layers")?, [wanted]);
    }
    Ok(())
}

#[test]
fn a_parameter_of_a_model_in_triton_is_edited_where_it_stands() -> Outcome {
    let log = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 2.18 GB GPU memory for runtime buffers.\n[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, available: 40.61 GiB\n[TensorRT-LLM][INFO] [MemUsageChange] Allocated 38.58 GiB for max tokens in paged KV cache (316000).\nI0211 12:40:31.403318 118 model_lifecycle.cc:839] \"successfully loaded 'tensorrt_llm'\"\nI0211 12:40:31.410882 118 model_lifecycle.cc:472] \"loading: scorer:1\"\n2025-02-11 12:40:34.661190211 [E:onnxruntime:log, bfc_arena.cc:330 AllocateRawInternal] Failed to allocate memory for requested buffer of size 2147483648\nE0211 12:40:34.700415 118 model_lifecycle.cc:642] \"failed to load 'scorer' version 1: Internal: onnx runtime error 6: Exception during initialization: bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 2147483648\"\n";
    let head = "name: \"tensorrt_llm\"\nbackend: \"tensorrtllm\"\nmax_batch_size: 32\nmodel_transaction_policy { decoupled: true }\n";
    let several = format!(
        "{head}parameters: {{\n  key: \"gpt_model_type\"\n  value: {{\n    string_value: \"inflight_fused_batching\"\n  }}\n}}\nparameters: {{\n  key: \"kv_cache_free_gpu_mem_fraction\"\n  value: {{\n    string_value: \"0.95\"\n  }}\n}}\n"
    );
    let one =
        format!("{head}parameters {{ key: \"kv_cache_free_gpu_mem_fraction\" value: {{ string_value: \"0.95\" }} }}\n");
    for config in [&several, &one] {
        let report = report(&[("job.log", log), ("config.pbtxt", config)])?;
        let added = added(&report, "parameters.kv_cache_free_gpu_mem_fraction")?;
        assert!(added.iter().any(|line| line.contains("string_value: \"0.85\"")), "{added:?}");
    }
    Ok(())
}

/// What takes all GPUs of a machine already does not get more of them by an option.
#[test]
fn weights_that_fill_a_machine_go_to_two() -> Outcome {
    let log = "[2026-02-11 10:12:56 TP5] Load weight begin. avail mem=78.41 GB\n[2026-02-11 10:13:04 TP5] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/python/sglang/srt/managers/scheduler.py\", line 1999, in run_scheduler_process\n    scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank, dp_rank)\n  File \"/s/python/sglang/srt/model_executor/model_runner.py\", line 424, in load_model\n    self.model = get_model(\n  File \"/s/python/sglang/srt/layers/quantization/fp8.py\", line 518, in create_weights\n    w13_weight = torch.nn.Parameter(\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 5 has a total capacity of 79.11 GiB of which 402.81 MiB is free. Process 4412 has 78.70 GiB memory in use. Of the allocated memory 77.30 GiB is allocated by PyTorch, and 12.32 MiB is reserved by PyTorch but unallocated.\n";
    let report = |tp: u32| {
        report(&[
            ("job.log", log),
            (
                "serve.sh",
                &format!("python -m sglang.launch_server --model-path org/Large-MoE --tp {tp} --port 30000\n"),
            ),
        ])
    };
    let full = report(8)?;
    let patch = first(&full)?.patches.first().ok_or("no change")?;
    assert_eq!((&*patch.knob, patch.diff.is_some()), ("--nnodes", false));
    let line = patch.line.as_deref().unwrap_or_default();
    assert_eq!((line.lines().count(), line.matches("--node-rank").count()), (2, 2), "{line}");
    assert!(first(&full)?.patches.iter().all(|patch| patch.knob != "--pp-size"));
    assert!(!patch.constraint.as_deref().unwrap_or_default().contains("nvidia.com/gpu"));
    let half = report(4)?;
    assert!(first(&half)?.patches.iter().any(|patch| patch.knob == "--tp"));
    Ok(())
}
