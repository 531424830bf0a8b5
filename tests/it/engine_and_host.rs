//! Advice for engines and for what runs beside them on a host: what each setting holds, and what cannot help where it failed.

use std::error::Error;

use oomdoc::model::{Patch, Report};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

/// The cause, and the changes against it as `knob → value`.
fn advice(report: &Report) -> (&str, Vec<String>) {
    let Some(first) = report.incidents.first().and_then(|incident| incident.diagnoses.first()) else {
        return ("", Vec::new());
    };
    let value = |patch: &Patch| patch.to.as_ref().map(ToString::to_string).unwrap_or_default();
    (&first.cause, first.patches.iter().map(|patch| format!("{} {}", patch.knob, value(patch))).collect())
}

/// Whether one of `changes` turns `knob`.
fn turns(changes: &[String], knob: &str) -> bool {
    changes.iter().any(|change| change.starts_with(&format!("{knob} ")))
}

#[test]
fn a_probe_that_ends_a_container_is_no_shortage() -> Outcome {
    for probe in ["liveness", "startup"] {
        let log = format!(
            "INFO 05-20 10:00:20 [gpu_model_runner.py:1329] Starting to load model org/My-8x7B...
Containers:
  engine:
    Last State:     Terminated
      Reason:       Error
      Exit Code:    137
    Limits:
      memory:          128Gi
Events:
  Normal   Killing    2m (x7 over 14m)      kubelet  Container engine failed {probe} probe, will be restarted
"
        );
        let report = report(&[("job.log", &log)])?;
        assert_eq!(report.incidents.len(), 0, "{probe}");
        let failure = report.other_failure.as_ref().map(|failure| failure.name.as_str());
        assert_eq!(failure, Some("probe_failed"), "{probe}");
    }
    Ok(())
}

const OFFLOADED: &str = "\
(Worker pid=11) INFO 03-10 10:02:01 [model_runner.py:1110] Starting to load model org/My-400B...
[99211.200001] vllm invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0
[99211.200100] 50331648 pages RAM
[99211.200200] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python3,pid=3212,uid=1000
[99211.200210] Out of memory: Killed process 3212 (python3) total-vm:100044804kB, anon-rss:47001000kB, file-rss:87440kB, shmem-rss:600000kB, UID:1000 pgtables:96787kB oom_score_adj:0
";

#[test]
fn what_an_engine_offloads_counts_for_each_gpu() -> Outcome {
    let launch = |gib: u32| {
        format!("vllm serve org/My-400B --tensor-parallel-size 4 --cpu-offload-gb {gib} --max-model-len 8192\n")
    };
    let offloads = report(&[("job.log", OFFLOADED), ("run.sh", &launch(60))])?;
    let (cause, changes) = advice(&offloads);
    // 0.6 × 192 GiB for four.
    assert_eq!((cause, &*changes[0]), ("host_offload_pressure", "--cpu-offload-gb 28"));
    assert!(!turns(&changes, "--tensor-parallel-size"), "{changes:?}");
    let hardly = report(&[("job.log", OFFLOADED), ("run.sh", &launch(4))])?;
    assert_ne!(advice(&hardly).0, "host_offload_pressure");
    Ok(())
}

#[test]
fn a_share_below_the_engines_own_is_raised_first() -> Outcome {
    let log = "INFO 05-14 09:12:29 [gpu_model_runner.py:1347] Model loading took 14.9889 GiB and 4.012345 seconds
ERROR 05-14 09:13:11 [core.py:396] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (13.41 GiB). Based on the available memory, the estimated maximum model length is 109856. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
";
    let of_share = |share: &str| {
        let launch = format!("vllm serve org/My-8B --gpu-memory-utilization {share}\n");
        report(&[("job.log", log), ("run.sh", &launch)]).map(|report| advice(&report).1)
    };
    let (low, high) = (of_share("0.70")?, of_share("0.90")?);
    assert_eq!(low[..2], ["--gpu-memory-utilization 0.9", "--max-model-len 109856"]);
    assert_eq!(high[0], "--max-model-len 109856");
    // A step of a twentieth leads nowhere from a third of the GPU.
    let none = "ERROR 05-14 09:13:11 [core.py:396] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n";
    let launch = "vllm serve org/My-8B --gpu-memory-utilization 0.3\n";
    let report = report(&[("job.log", none), ("run.sh", launch)])?;
    assert_eq!(advice(&report).1[0], "--gpu-memory-utilization 0.9");
    Ok(())
}

#[test]
fn a_share_goes_down_to_what_others_leave_if_the_model_fits_there() -> Outcome {
    let log = "(EngineCore_DP0 pid=142) ERROR 10-20 14:02:29 [core.py:708] ValueError: Free memory on device (21.63/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n";
    let of_model = |model: &str| {
        let launch = format!("vllm serve {model} --max-model-len 16384\n");
        report(&[("job.log", log), ("run.sh", &launch)]).map(|report| advice(&report).1)
    };
    assert!(of_model("Qwen/Qwen2.5-7B-Instruct")?.contains(&"--gpu-memory-utilization 0.26".to_owned()));
    assert!(!turns(&of_model("Qwen/Qwen2.5-14B-Instruct")?, "--gpu-memory-utilization"));
    Ok(())
}

#[test]
fn a_batch_that_was_found_by_trying_is_set_below_it() -> Outcome {
    let log = "Passed argument batch_size = auto:1. Detecting largest batch size
Determined largest batch size: 32
Traceback (most recent call last):
  File \"/opt/venv/lib/python3.11/site-packages/lm_eval/models/huggingface.py\", line 1144, in _loglikelihood_tokens
    multi_logits = F.log_softmax(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 37.12 GiB. GPU 0 has a total capacity of 79.15 GiB of which 25.33 GiB is free.
";
    let launch = "lm_eval --model hf --model_args pretrained=org/My-7B --tasks hellaswag --batch_size auto\n";
    let report = report(&[("job.log", log), ("run.sh", launch)])?;
    let changes = advice(&report).1;
    assert_eq!(changes[0], "--batch_size 16");
    assert!(!turns(&changes, "DataLoader.batch_size"), "{changes:?}");
    Ok(())
}

#[test]
fn a_cache_that_grows_with_each_token_is_named() -> Outcome {
    let log = "Traceback (most recent call last):
  File \"/work/run.py\", line 8, in <module>
    for out in pipe(prompts, batch_size=32, max_new_tokens=8192):
  File \"/opt/venv/lib/python3.11/site-packages/transformers/generation/utils.py\", line 3434, in _sample
    outputs = model_forward(**model_inputs, return_dict=True)
  File \"/opt/venv/lib/python3.11/site-packages/transformers/cache_utils.py\", line 450, in update
    self.key_cache[layer_idx] = torch.cat([self.key_cache[layer_idx], key_states], dim=-2)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 530.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 401.25 MiB is free.
";
    let script = "from transformers import pipeline
pipe = pipeline(\"text-generation\", model=\"org/My-14B\", device_map=\"cuda\")
for out in pipe(prompts, batch_size=32, max_new_tokens=8192):
    print(out)
";
    let report = report(&[("job.log", log), ("run.py", script)])?;
    let (cause, changes) = advice(&report);
    assert_eq!(cause, "kv_cache_overcommit");
    assert_eq!(changes[..2], ["pipe.batch_size 16", "pipe.max_new_tokens 4096"]);
    for idle in ["from_pretrained.attn_implementation", "from_pretrained.device_map"] {
        assert!(!turns(&changes, idle), "{idle}: {changes:?}");
    }
    Ok(())
}

#[test]
fn a_hessian_that_did_not_fit_was_calibration() -> Outcome {
    let log = "Loading checkpoint shards: 100%|██████████| 17/17 [00:40<00:00,  2.41s/it]
(1/65): Calibrating:  23%|██▎       | 236/1024 [00:31<01:44,  7.52it/s]
Traceback (most recent call last):
  File \"/opt/venv/lib/python3.11/site-packages/llmcompressor/modifiers/quantization/gptq/base.py\", line 235, in calibrate_module
    self._hessians[module] = make_empty_hessian(module, device=init_device)
  File \"/opt/venv/lib/python3.11/site-packages/llmcompressor/modifiers/quantization/gptq/gptq_quantize.py\", line 30, in make_empty_hessian
    return torch.zeros((num_columns, num_columns), device=device, dtype=GPTQ_PRECISION)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.85 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.91 GiB is free.
";
    let script = "from llmcompressor import oneshot
model = AutoModelForCausalLM.from_pretrained(\"org/My-32B\", device_map=\"auto\")
recipe = GPTQModifier(targets=\"Linear\", scheme=\"W4A16\")
oneshot(model=model, dataset=ds, recipe=recipe, num_calibration_samples=1024)
";
    let report = report(&[("job.log", log), ("quant.py", script)])?;
    let incident = report.incidents.first().ok_or("no incident")?;
    assert_eq!(incident.phase.name.as_str(), "forward");
    let changes = advice(&report).1;
    assert_eq!(changes[..2], ["GPTQModifier.offload_hessians true", "from_pretrained.device_map cpu"]);
    assert!(!turns(&changes, "oneshot.pipeline"), "it is sequential already: {changes:?}");
    Ok(())
}

#[test]
fn a_limit_below_the_weights_is_raised_beyond_them_with_its_request() -> Outcome {
    let log = "2025-02-11 13:00:01.440 1 kserve INFO [storage.py:download():66] Copying contents of tiiuae/falcon-7b-instruct to local
Loading checkpoint shards:   0%|          | 0/2 [00:00<?, ?it/s]
Containers:
  kserve-container:
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Limits:
      memory:          8Gi
";
    let service = |request: &str| {
        format!(
            "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nspec:\n  predictor:\n    model:\n      resources:\n        requests: {{memory: {request}}}\n        limits: {{memory: 8Gi}}\n"
        )
    };
    let diff = |request: &str| -> Result<String, Box<dyn Error>> {
        let report = report(&[("job.log", log), ("isvc.yaml", &service(request))])?;
        let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
        Ok(first.and_then(|cause| cause.patches.first()?.diff.clone()).unwrap_or_default())
    };
    // 7.2 billion parameters in 16 bit, and a quarter.
    let same = diff("8Gi")?;
    assert!(
        same.contains("+        limits: {memory: 17Gi}") && same.contains("+        requests: {memory: 17Gi}"),
        "{same}"
    );
    assert!(!diff("4Gi")?.contains("+        requests"), "a request of its own stays");
    Ok(())
}

#[test]
fn a_loader_that_asks_for_model_and_cache_at_once_may_make_the_cache_smaller() -> Outcome {
    let log = "2025-02-02 12:00:02.444 INFO:     Loading model: /app/models/My-32B-exl2
Traceback (most recent call last):
  File \"/usr/local/lib/python3.11/dist-packages/exllamav2/model.py\", line 548, in load_autosplit_gen
    raise RuntimeError(\"Insufficient VRAM for model and cache\")
RuntimeError: Insufficient VRAM for model and cache
";
    let config = "model:\n  model_name: My-32B-exl2\n  max_seq_len: 65536\n  cache_size: 65536\n  cache_mode: FP16\n";
    let report = report(&[("job.log", log), ("config.yml", config)])?;
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first()).ok_or("no cause")?;
    let diff = first.patches.first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
    assert_eq!(&*first.cause, "kv_cache_overcommit");
    assert!(diff.contains("+  max_seq_len: 32768") && diff.contains("+  cache_size: 32768"), "{diff}");
    Ok(())
}

#[test]
fn processes_that_a_program_starts_are_fewer_where_it_says_how_many() -> Outcome {
    let killed = "2025-05-10T10:02:19.8100000Z 16 workers [212 items]
2025-05-10T10:03:40.1010000Z ..........[gw3] node down: Not properly terminated
2025-05-10T10:04:22.9010000Z /home/runner/work/_temp/8f0e1a.sh: line 1:  2311 Killed                  pytest -n 16 tests/
";
    let steps = "jobs:\n  test:\n    steps:\n      - run: pip install -e .\n      - name: run it\n        run: pytest -n 16 tests/\n";
    assert_eq!(advice(&report(&[("job.log", killed), ("ci.yml", steps)])?).1[0], "-n 4");
    let kernel = "[88211.401300] memory: usage 12582912kB, limit 12582912kB, failcnt 18211
[88211.401400] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=9f2a,mems_allowed=0,oom_memcg=/docker/9f2a,task_memcg=/docker/9f2a,task=celery,pid=40237,uid=0
[88211.401420] Memory cgroup out of memory: Killed process 40237 (celery) total-vm:5680044kB, anon-rss:1570120kB, file-rss:22360kB, shmem-rss:0kB, UID:0 pgtables:4004kB oom_score_adj:0
";
    let services = "services:\n  worker:\n    command: celery -A tasks worker --concurrency=8\n    mem_limit: 12g\n";
    let celery = report(&[("dmesg.log", kernel), ("compose.yaml", services)])?;
    assert!(advice(&celery).1.contains(&"--concurrency 4".to_owned()), "{:?}", advice(&celery));
    Ok(())
}

#[test]
fn a_job_of_one_process_has_no_workers() -> Outcome {
    let log = |peak: &str| {
        format!(
            "# LSBATCH: User input
#!/bin/bash
#BSUB -M 32GB
python prep.py
------------------------------------------------------------
TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.
Exited with exit code 137.
    Max Memory :                                 {peak}
"
        )
    };
    let launch = "#!/bin/bash\n#BSUB -M 32GB\npython prep.py\n";
    let report = report(&[("job.log", &log("32 GB")), ("run.sh", launch)])?;
    let changes = advice(&report).1;
    assert!(turns(&changes, "-M") && !turns(&changes, "worker processes"), "{changes:?}");
    Ok(())
}

#[test]
fn a_step_has_no_more_tokens_than_it_may_take() -> Outcome {
    let log = |tokens: u32| {
        format!(
            "[2025-08-10 12:00:01] server_args=ServerArgs(model_path='Qwen/Qwen3-30B-A3B', chunked_prefill_size={tokens}, tp_size=1)
[2025-08-10 12:09:13] Scheduler hit an exception: Traceback (most recent call last):
  File \"/usr/local/lib/python3.10/dist-packages/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py\", line 1391, in fused_experts_impl
    intermediate_cache3 = torch.empty(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 331.94 MiB is free.
"
        )
    };
    let matches = |tokens: u32| -> Result<bool, Box<dyn Error>> {
        let launch = format!(
            "python3 -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --chunked-prefill-size {tokens}\n"
        );
        let report = report(&[("job.log", &log(tokens)), ("run.sh", &launch)])?;
        let first = report.incidents.first().and_then(|incident| incident.diagnoses.first()).ok_or("no cause")?;
        Ok(first.why.contains("tokens × 2048 hidden"))
    };
    assert!(matches(131072)? && !matches(16384)?);
    Ok(())
}
