//! Edits of serving and host jobs where their files have the settings: in lists of options, in variables, in an image's build, in a chart.

use std::error::Error;

use oomdoc::model::Report;

use crate::support::analyzed::{added_lines, cause, patches, report, turned};

type Outcome = Result<(), Box<dyn Error>>;

/// What the first change adds.
fn added(report: &Report) -> Result<String, Box<dyn Error>> {
    let diff = patches(report)?.first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
    Ok(added_lines(&diff).join("|"))
}

fn torch_oom(requested: &str) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 0 has a total capacity of 79.15 GiB of which 90.12 MiB is free. Process 3312 has 79.05 GiB memory in use. Of the allocated memory 78.30 GiB is allocated by PyTorch, and 101.20 MiB is reserved by PyTorch but unallocated.\n"
    )
}

#[test]
fn an_embedding_server_has_options_of_its_own() -> Outcome {
    let log = "tei-1  | 2024-09-10T12:01:20.1Z  INFO text_embeddings_router: router/src/main.rs:175: Args { model_id: \"o/m\", max_batch_tokens: 262144, max_batch_requests: None }
tei-1  | 2024-09-10T12:01:30.7Z  INFO text_embeddings_router: router/src/lib.rs:199: Maximum number of tokens per request: 8192
tei-1  | 2024-09-10T12:01:38.3Z  INFO text_embeddings_router: router/src/lib.rs:248: Warming up model
tei-1  | Error: Model backend is not healthy
tei-1  | 
tei-1  | Caused by:
tei-1  |     DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")
tei-1 exited with code 1
";
    let compose = "services:\n  tei:\n    image: ghcr.io/huggingface/text-embeddings-inference:1.5\n    command: --model-id o/m --max-batch-tokens 262144\n";
    let report = report(&[("job.log", log), ("compose.yaml", compose)])?;
    assert_eq!((report.job.framework.as_deref(), cause(&report)?), (Some("tei"), "activations_too_large"));
    assert_eq!(added(&report)?, "command: --model-id o/m --max-batch-tokens 16384");
    Ok(())
}

#[test]
fn a_heap_that_a_build_fills_is_raised_before_that_step() -> Outcome {
    let log = "#14 [build 6/6] RUN npm run build
#14 148.3 [41:0x7f4c1a0]   147112 ms: Mark-Compact 2041.1 (2083.7) -> 2040.2 (2084.4) MB, pooled: 0 MB, 1311.20 / 0.00 ms  (average mu = 0.112, current mu = 0.021) allocation failure; scavenge might not succeed
#14 148.3 FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed - JavaScript heap out of memory
#14 ERROR: process \"/bin/sh -c npm run build\" did not complete successfully: exit code: 134
";
    let file = "FROM node:22 AS build\nCOPY . .\nRUN npm run build\nFROM python:3.11\nCMD [\"bash\", \"start.sh\"]\n";
    let report = report(&[("job.log", log), ("Dockerfile", file)])?;
    let diff = patches(&report)?[0].diff.clone().unwrap_or_default();
    assert!(diff.contains("+ENV NODE_OPTIONS=--max-old-space-size=4096\n RUN npm run build"), "{diff}");
    assert!(!turned(&report)?.contains(&"MAX_JOBS"));
    Ok(())
}

#[test]
fn gpus_that_a_script_hides_are_used() -> Outcome {
    let gpus: String = (0..4).map(|gpu| format!("GPU {gpu}: NVIDIA A40 (UUID: GPU-5c2d7d8e-0d4b)\n")).collect();
    let log = |gpus: &str| {
        format!(
            "{gpus}INFO 10-02 16:40:12 api_server.py:526] vLLM API server version 0.6.2\nTraceback (most recent call last):\n  File \"/v/site-packages/vllm/worker/model_runner.py\", line 1016, in load_model\n    self.model = get_model(model_config=self.model_config,\n{}",
            torch_oom("1.75 GiB")
        )
    };
    let script = "export CUDA_VISIBLE_DEVICES=0,1\nvllm serve org/m --tensor-parallel-size 2\n";
    let more = report(&[("job.log", &log(&gpus)), ("launch.sh", script)])?;
    assert_eq!(added(&more)?, "export CUDA_VISIBLE_DEVICES=0,1,2,3|vllm serve org/m --tensor-parallel-size 4");
    let unknown = report(&[("job.log", &log("")), ("launch.sh", script)])?;
    let of_split = |patch: &&oomdoc::model::Patch| patch.knob == "--tensor-parallel-size";
    assert!(patches(&unknown)?.iter().filter(of_split).all(|patch| patch.diff.is_none()));
    Ok(())
}

#[test]
fn outputs_with_graphs_are_seen_in_three_prints() -> Outcome {
    let log = format!(
        "step 0 mem 5.11 GiB\nstep 10 mem 41.20 GiB\nstep 20 mem 77.31 GiB\nTraceback (most recent call last):\n  File \"/w/embed.py\", line 6, in <module>\n    h = model(**x).last_hidden_state[:, 0]\n  File \"/v/site-packages/transformers/models/bert/modeling_bert.py\", line 1142, in forward\n    encoder_outputs = self.encoder(\n{}",
        torch_oom("128.00 MiB")
    );
    let script = "from transformers import AutoModel, AutoTokenizer\ntok = AutoTokenizer.from_pretrained(\"o/m\")\nmodel = AutoModel.from_pretrained(\"o/m\").cuda().eval()\nembs = []\nfor x in data:\n    h = model(**x).last_hidden_state[:, 0]\n    embs.append(h)\n";
    let report = report(&[("job.log", &log), ("embed.py", script)])?;
    assert_eq!((cause(&report)?, &*added(&report)?), ("gpu_memory_growth", "model.requires_grad_(False)"));
    assert!(turned(&report)?.contains(&"outputs to the host"), "{:?}", turned(&report)?);
    Ok(())
}

#[test]
fn options_of_an_engine_behind_an_evaluation_stand_in_one_argument() -> Outcome {
    let log = format!(
        "ERROR 06-03 10:14:20 [core.py:500] EngineCore encountered a fatal error.\nTraceback (most recent call last):\n  File \"/v/site-packages/vllm/v1/worker/gpu_model_runner.py\", line 1643, in _get_prompt_logprobs_dict\n    logprobs = self.sampler.compute_logprobs(logits)\n  File \"/v/site-packages/vllm/v1/sample/sampler.py\", line 120, in compute_logprobs\n    return logits.log_softmax(dim=-1, dtype=torch.float32)\n{}Traceback (most recent call last):\n  File \"/v/site-packages/lm_eval/models/vllm_causallms.py\", line 452, in _model_generate\n    outputs = self.model.generate(\n",
        torch_oom("2.94 GiB")
    );
    for (given, wanted) in [
        ("pretrained=o/m,max_num_batched_tokens=8192", "pretrained=o/m,max_num_batched_tokens=2048"),
        ("pretrained=o/m,dtype=bfloat16", "pretrained=o/m,dtype=bfloat16,max_num_batched_tokens=2048"),
    ] {
        let script = |list: &str| format!("lm_eval --model vllm --model_args {list} --tasks mmlu");
        let report = report(&[("job.log", &log), ("launch.sh", &format!("{}\n", script(given)))])?;
        assert_eq!(added(&report)?, script(wanted));
        assert!(!turned(&report)?.iter().any(|knob| knob.contains("prompt_logprobs")));
    }
    Ok(())
}

#[test]
fn memory_that_others_hold_is_no_reason_for_a_larger_share() -> Outcome {
    let log = "INFO 12-02 10:00:00 api_server.py:585] vLLM API server version 0.6.4
INFO 12-02 10:00:09 llm_engine.py:249] Initializing an LLM engine (v0.6.4) with config: model='Qwen/Qwen2.5-14B-Instruct', max_seq_len=8192, tensor_parallel_size=1, enforce_eager=False
INFO 12-02 10:00:32 worker.py:232] Memory profiling results: total_gpu_memory=39.39GiB initial_memory_usage=39.01GiB peak_torch_memory=29.04GiB memory_usage_post_profile=39.08GiB non_torch_memory=11.20GiB kv_cache_size=-4.79GiB gpu_memory_utilization=0.90
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
";
    let script = "vllm serve Qwen/Qwen2.5-14B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.9\n";
    let end = report(&[("job.log", log), ("launch.sh", script)])?;
    assert_eq!(cause(&end)?, "gpu_shared_with_others");
    assert!(!turned(&end)?.contains(&"--gpu-memory-utilization"));
    Ok(())
}

#[test]
fn of_two_loads_the_one_with_weights_gets_the_data_type() -> Outcome {
    let log = "Loading checkpoint shards:  23%|##3       | 7/30 [00:38<02:02,  5.34s/it]\nslurmstepd: error: Detected 1 oom_kill event in StepId=4412310.0. Some of the step tasks have been OOM Killed.\n";
    let code = "import accelerate\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\ntok = AutoTokenizer.from_pretrained(\"o/m\")\nmodel = AutoModelForCausalLM.from_pretrained(\"o/m\")\n";
    let batch = "#!/bin/bash\n#SBATCH --mem=64G\nsrun python infer.py\n";
    let report = report(&[("job.log", log), ("infer.py", code), ("job.sbatch", batch)])?;
    assert_eq!(added(&report)?, "model = AutoModelForCausalLM.from_pretrained(\"o/m\", torch_dtype=\"bfloat16\")");
    Ok(())
}

#[test]
fn each_worker_of_a_server_has_a_model() -> Outcome {
    let log = "INFO:     Started parent process [711]\nProcess SpawnProcess-3:\nTraceback (most recent call last):\n  File \"/srv/server.py\", line 3, in <module>\n    model = WhisperModel(\"large-v3\", device=\"cuda\")\n  File \"/v/dist-packages/faster_whisper/transcribe.py\", line 634, in __init__\n    self.model = ctranslate2.models.Whisper(\nRuntimeError: CUDA failed with error out of memory\n";
    let script = "uvicorn server:app --port 9000 --workers 4\n";
    let report = report(&[("job.log", log), ("launch.sh", script)])?;
    assert_eq!(added(&report)?, "uvicorn server:app --port 9000 --workers 1");
    Ok(())
}

#[test]
fn a_modelfiles_parameters_are_changed() -> Outcome {
    let log = "time=2025-06-01T10:00:02Z level=INFO source=server.go:168 msg=offload library=cuda layers.requested=-1 layers.model=65 layers.offload=65 memory.required.full=\"22.9 GiB\"
time=2025-06-01T10:00:09Z level=ERROR source=sched.go:478 msg=\"error loading llama server\" error=\"llama runner process has terminated: cudaMalloc failed: out of memory\\nggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1313251456\"
";
    let file = "FROM qwen2.5:32b\nPARAMETER num_ctx 8192\nPARAMETER num_gpu 65\n";
    let report = report(&[("job.log", log), ("Modelfile", file)])?;
    assert_eq!(added(&report)?, "PARAMETER num_ctx 4096");
    let diffs: Vec<&str> = patches(&report)?.iter().filter_map(|patch| patch.diff.as_deref()).collect();
    assert!(diffs.iter().any(|diff| diff.contains("+PARAMETER num_gpu 5")), "{diffs:?}");
    Ok(())
}

#[test]
fn a_charts_values_get_what_the_engine_lacks() -> Outcome {
    let log = "(APIServer pid=1) INFO 08-22 11:03:45 [api_server.py:1805] vLLM API server version 0.10.1
(EngineCore_0 pid=271) INFO 08-22 11:05:26 [gpu_worker.py:276] Available KV cache memory: 5.02 GiB
(EngineCore_0 pid=271) ERROR 08-22 11:05:26 [core.py:700] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (5.02 GiB). Based on the available memory, the estimated maximum model length is 41104. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
";
    let values = "servingEngineSpec:\n  modelSpec:\n  - name: m\n    repository: vllm/vllm-openai\n    modelURL: org/m-8B\n    requestGPU: 1\n    vllmConfig:\n      maxNumSeqs: 64\n";
    let report = report(&[("job.log", log), ("values.yaml", values)])?;
    assert_eq!(added(&report)?, "maxModelLen: 41104");
    Ok(())
}

#[test]
fn files_in_memory_are_no_processes() -> Outcome {
    let log = "[Wed Apr  2 03:11:02 2025] java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0
[Wed Apr  2 03:11:02 2025] Mem-Info:
[Wed Apr  2 03:11:02 2025] active_anon:2110120 inactive_anon:5510120 isolated_anon:0
                            mapped:10112 shmem:8012010 pagetables:41120
[Wed Apr  2 03:11:02 2025] 16512011 pages RAM
[Wed Apr  2 03:11:02 2025] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice,task=text-generation,pid=4410,uid=0
[Wed Apr  2 03:11:02 2025] Out of memory: Killed process 4410 (text-generation) total-vm:40448004kB, anon-rss:20440004kB, file-rss:40040kB, shmem-rss:0kB, UID:0 pgtables:43008kB oom_score_adj:0
";
    let report = report(&[("dmesg.log", log)])?;
    assert_eq!((cause(&report)?, turned(&report)?[0]), ("machine_wide_pressure", "files in tmpfs"));
    Ok(())
}

#[test]
fn a_workers_own_limit_is_not_too_many_workers() -> Outcome {
    let log = "2025-01-21 11:02:13,402 - distributed.worker.memory - WARNING - Worker is at 81% memory usage. Pausing worker.  Process memory: 3.03 GiB -- Worker memory limit: 3.73 GiB\n2025-01-21 11:02:14,201 - distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:40121 (pid=3321) exceeded 95% memory budget. Restarting...\n";
    let code = "from dask.distributed import Client, LocalCluster\nc = Client(LocalCluster(n_workers=16, memory_limit=\"4GB\"))\n";
    let end = report(&[("job.log", log), ("prep.py", code)])?;
    assert_eq!(cause(&end)?, "container_limit_too_small");
    assert!(added(&end)?.contains("memory_limit=\"8GB\""));
    assert!(!turned(&end)?.contains(&"RAM"));
    Ok(())
}

#[test]
fn an_object_larger_than_the_store_asks_for_a_store_that_holds_it() -> Outcome {
    let log = "ray.exceptions.RayTaskError(ObjectStoreFullError): ray::Trainer.weights() (pid=77, ip=10.1.0.9)\nray.exceptions.ObjectStoreFullError: Failed to put object 00ffffffffffffffffffffffffffffffffffffff0100000001e1f505 in object store because it is full. Object size is 9020431360 bytes.\nThe local object store is full of objects that are still in scope and cannot be evicted.\n";
    let cluster = "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata:\n  name: tuner\nspec:\n  headGroupSpec:\n    rayStartParams:\n      num-cpus: '0'\n    template:\n      spec:\n        containers:\n        - name: head\n          image: r/ray:2.44\n  workerGroupSpecs:\n  - groupName: gpus\n    replicas: 2\n    rayStartParams:\n      object-store-memory: '4294967296'\n    template:\n      spec:\n        containers:\n        - name: worker\n          image: r/ray:2.44\n";
    let end = report(&[("job.log", log), ("cluster.yaml", cluster)])?;
    // 2.2 times the object, in whole GiB, and in bytes, which alone Ray reads there.
    assert_eq!(added(&end)?, "object-store-memory: '20401094656'");
    assert!(!turned(&end)?.iter().any(|knob| knob.contains("PROPORTION")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn files_in_a_volume_of_memory_go_to_the_disk_before_the_limit_is_raised() -> Outcome {
    let log = "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n[9120.5] anon 1610612736 file 21474836480 kernel 88080384 shmem 20401094656 file_mapped 409600\n[9120.6] Memory cgroup out of memory: Killed process 4071 (python3) total-vm:20411520kB, anon-rss:1204224kB, file-rss:80240kB, shmem-rss:0kB, UID:0 pgtables:4096kB oom_score_adj:988\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: reader\nspec:\n  containers:\n  - name: reader\n    image: r/reader:3\n    resources:\n      limits:\n        memory: 22Gi\n    volumeMounts:\n    - {name: cache, mountPath: /cache}\n  volumes:\n  - name: cache\n    emptyDir:\n      medium: Memory\n      sizeLimit: 30Gi\n";
    let end = report(&[("job.log", log), ("pod.yaml", pod)])?;
    assert_eq!(turned(&end)?[0], "emptyDir.medium: Memory");
    // A volume on the disk holds no memory.
    let on_disk = report(&[("job.log", log), ("pod.yaml", &pod.replace("      medium: Memory\n", ""))])?;
    assert!(!turned(&on_disk)?.contains(&"emptyDir.medium: Memory"), "{:?}", turned(&on_disk)?);
    Ok(())
}
