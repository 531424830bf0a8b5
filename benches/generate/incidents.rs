//! Incidents for a history of any size, made from a seed: the same seed and number give the same incident.

use serde_json::{Value, json};

use super::Random;

/// Kind, phase, most likely cause, and its share in percent.
const TROUBLES: [(&str, &str, &str, u64); 12] = [
    ("gpu_oom", "optimizer_step", "optimizer_states_on_gpu", 18),
    ("gpu_oom", "backward", "activations_too_large", 16),
    ("gpu_oom", "forward", "long_sequence_outlier", 12),
    ("gpu_oom", "rollout", "kv_cache_overcommit", 9),
    ("gpu_oom", "weight_sync", "colocated_memory_contention", 6),
    ("gpu_oom", "backward", "fragmentation", 5),
    ("host_oom_ray", "optimizer_step", "pinned_memory_pressure", 9),
    ("host_oom_ray", "checkpoint_save", "checkpoint_save_gather", 7),
    ("host_oom_cgroup", "data_loading", "container_limit_too_small", 8),
    ("host_oom_kernel", "checkpoint_resume", "checkpoint_load_duplication", 5),
    ("shm_exhausted", "data_loading", "shm_too_small", 3),
    ("host_alloc_failure", "engine_init", "unknown", 2),
];
const FRAMEWORKS: [&str; 6] = ["openrlhf", "deepspeed", "pytorch", "verl", "vllm", "megatron"];
const MODELS: [&str; 8] = [
    "Qwen/Qwen2.5-72B",
    "Qwen/Qwen2.5-7B",
    "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B",
    "deepseek-ai/DeepSeek-V3",
    "mistralai/Mistral-7B",
    "Qwen/Qwen3-32B",
    "google/gemma-2-27b",
];
const GPUS: [&str; 4] = ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA H200", "Ascend910B"];
const KNOBS: [&str; 6] = [
    "--zero_stage",
    "--micro_train_batch_size",
    "--adam_offload",
    "--gradient_checkpointing",
    "PYTORCH_CUDA_ALLOC_CONF",
    "--vllm_gpu_memory_utilization",
];
const FRAMES: [&str; 8] = [
    "stage_1_and_2.py:step",
    "adamw.py:_init_group",
    "engine.py:backward",
    "modeling_qwen2.py:forward",
    "partitioned_param_coordinator.py:fetch_sub_module",
    "ppo_actor.py:training_step",
    "worker.py:generate",
    "save.py:state_dict",
];
const GIB: f64 = (1_u64 << 30) as f64;

/// Incident `number` of the history of `seed`, as a line of an export: `{"incident": …}`.
pub fn incident(seed: u64, number: u64) -> Value {
    let mut random =
        Random((seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1);
    // Neighbouring seeds begin with similar numbers, so the first few are skipped.
    for _ in 0..4 {
        random.below(2);
    }
    let mut lot = random.below(100);
    let (kind, phase, cause, _) = TROUBLES
        .into_iter()
        .find(|trouble| {
            let is_it = lot < trouble.3;
            lot = lot.saturating_sub(trouble.3);
            is_it
        })
        .unwrap_or(TROUBLES[0]);
    let mut one = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
    let (framework, model, gpu) = (one(&FRAMEWORKS), one(&MODELS), one(&GPUS));
    let (frame, caller, knob, other_knob) = (one(&FRAMES), one(&FRAMES), one(&KNOBS), one(&KNOBS));
    let host = format!("node-{:03}", random.below(400));
    let (rank, pid, line) = (random.below(512), 1000 + random.below(90_000), 1 + random.below(2_000_000));
    let requested = (1 + random.below(4000)) as f64 / 100.0;
    let free = random.below(300) as f64 / 100.0;
    let used = 200.0 + random.below(180_000) as f64 / 100.0;
    // Three years from 2024 on.
    let seconds = 1_704_067_200 + random.below(3 * 365 * 86_400) as i64;
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let path = format!("/mnt/logs/{framework}/run-{:05}/rank_{rank}.log", random.below(60_000));
    let cite = |below: u64, text: String| json!({"path": path, "line": line + below, "column": 1, "text": text});
    let is_gpu = kind == "gpu_oom";
    let proof = match is_gpu {
        true => format!(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested:.2} GiB. GPU {} has a total capacity of \
            79.15 GiB of which {free:.2} GiB is free. Including non-PyTorch memory, this process has {:.2} GiB memory in use.",
            rank % 8,
            79.15 - free
        ),
        false => format!(
            "Memory on the node (IP: 10.0.{}.{}, ID: {pid:08x}) where the task was running was {used:.2}GB / 2015.51GB, \
            which exceeds the memory usage threshold of 0.95. Killed process {pid} (python)",
            rank / 256,
            rank % 256
        ),
    };
    let mut evidence = vec![cite(9, proof.clone())];
    if cause == "pinned_memory_pressure" || random.below(8) == 0 {
        evidence.push(cite(
            10,
            format!("RuntimeError: cannot allocate pinned memory of {requested:.2} GiB in cudaHostAlloc"),
        ));
    }
    if random.below(12) == 0 {
        evidence.push(cite(11, "显存不足: 优化器状态放不下, 请减小批次".to_owned()));
    }
    let figure = |name: &str, gib: f64| {
        json!({"name": name, "bytes": (gib * GIB) as i64, "value": null,
        "text": format!("{gib:.2} GiB"), "source": {"path": path, "line": line + 9, "column": 40}, "derived": null})
    };
    let figures = match is_gpu {
        true => vec![figure("requested", requested), figure("gpu_total", 79.15), figure("gpu_free", free)],
        false => vec![figure("node_used", used), figure("node_total", 2015.51)],
    };
    let patch = |lever: &str, knob: &str| {
        json!({"lever": lever, "knob": knob, "from": "2", "to": "3", "target": "cli", "file": null,
        "diff": null, "effect": {"gpu_bytes": -(1_i64 << 33), "host_bytes": null}, "cost": "More communication in each step.", "constraint": null})
    };
    let diagnoses = json!([
        {"cause": cause, "rule": cause, "confidence": 0.81, "title": cause.replace('_', " "),
         "why": format!("In {phase} of {framework} on {model}, {frame} asked for what was not there."),
         "evidence": [cite(9, proof)], "patches": [patch("partition", knob), patch("micro_batch", other_knob)], "not_advised": []},
        {"cause": "unknown", "rule": "unknown", "confidence": 0.05, "title": "The cause cannot be told from this input",
         "why": "What was read proves what ran out, not why.", "evidence": [], "patches": [], "not_advised": []},
    ]);
    let victim = json!({"host": host, "rank": rank, "device": rank % 8, "pid": pid, "role": if is_gpu { "ActorModel" } else { "RolloutWorker" }});
    let parts = json!([kind, phase, frame, caller, cause]);
    let key = FRAMES.iter().position(|known| *known == frame).unwrap_or(0) * 8
        + FRAMES.iter().position(|known| *known == caller).unwrap_or(0);
    json!({"incident": {
        "schema": "oomdoc.incident/1", "version": "0.1.0", "saved": time, "time": time,
        "inputs": [{"path": path, "role": "log", "bytes": 40 * line, "lines": line, "producers": ["torch"], "warning": null}],
        "job": {"framework": framework, "framework_version": null, "model": model, "parameters": null, "world_size": 512,
                "gpu": gpu, "config_digest": null},
        "incident": {
            // The fields in the order of an export.
            "id": format!("{:016x}", number << 24 | (seed << 40 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40),
            "fingerprint": {"version": 1, "key": format!("{kind}-{phase}-{cause}-{key}").replace('_', "-"), "parts": parts},
            "kind": kind, "recovered": false, "started": null, "failed_at": time.trim_end_matches('Z'),
            "phase": {"name": phase, "site": frame, "confidence": 0.9,
                      "evidence": [cite(3, format!("  File \"/opt/venv/lib/python3.11/site-packages/{framework}/{}\", line {}", frame.replace(':', ", in "), line % 2000))]},
            "victim": victim, "victims": [victim], "consumers": [], "figures": figures, "timeline": [],
            "memory": {"predicted": [], "observed": [], "explains": null}, "evidence": evidence, "diagnoses": diagnoses,
            "not_checked": [], "capture_next": [], "seen": {"count": 0, "first": null, "last": null, "worked": []}},
    }})
}
