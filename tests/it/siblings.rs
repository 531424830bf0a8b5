//! Processes of the job itself on one GPU, options that the failing program takes, and which process of a log a statement is about.

use std::error::Error;

use oomdoc::Language;
use oomdoc::internal::report::{Length, text};
use oomdoc::model::Report;

use crate::support::analyzed::{cause, patches, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What PyTorch says where it finds itself only under the host's number, on a GPU of 31.73 GiB with `held` GiB by each process.
fn numbered(held: &[f64], allocated: f64) -> String {
    let named: Vec<String> =
        (5200..).zip(held).map(|(pid, held)| format!("Process {pid} has {held:.2} GiB memory in use. ")).collect();
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has a total capacity of 31.73 GiB of which 70.00 MiB is free. {}Of the allocated memory {allocated:.2} GiB is allocated by PyTorch, and 4.10 MiB is reserved by PyTorch but unallocated.\n",
        named.concat()
    )
}

fn loading(file: &str) -> String {
    stack(&[
        (
            file,
            "__init__",
            "self.model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.float16).to(\"cuda\")",
        ),
        ("torch/nn/modules/module.py", "convert", "return t.to("),
    ])
}

/// Whether a change proposes devices that somebody else gives out, or to end a process of the job.
fn moves_away(end: &Report) -> Outcome<bool> {
    Ok(turned(end)?.iter().any(|knob| knob.contains("VISIBLE_DEVICES") || knob.contains("end the process")))
}

#[test]
fn replicas_that_share_a_gpu_by_fractions_get_more_of_it() -> Outcome {
    let log =
        "(ServeController pid=88) INFO controller 88 -- Adding 3 replicas to Deployment(name='Tagger', app='tags').\n"
            .to_owned()
            + &loading("/srv/tagger.py")
            + &numbered(&[16.2, 15.3], 14.8);
    let config = "applications:\n  - name: tags\n    import_path: tagger:app\n    deployments:\n      - name: Tagger\n        num_replicas: 3\n        ray_actor_options:\n          num_gpus: 0.33\n";
    let end = report(&[("job.log", &log), ("serve.yaml", config)])?;
    assert_eq!(cause(&end)?, "too_many_workers");
    assert_eq!(turned(&end)?[..2], ["ray_actor_options.num_gpus", "num_replicas"]);
    assert!(patches(&end)?[0].diff.is_some() && !moves_away(&end)?, "{:?}", turned(&end)?);
    // Ray gives the GPUs out also where the others are strangers.
    let alone = report(&[("job.log", &log), ("serve.yaml", &config.replace("0.33", "1"))])?;
    assert!(!moves_away(&alone)?, "{:?}", turned(&alone)?);
    Ok(())
}

#[test]
fn workers_of_a_web_server_are_no_strangers() -> Outcome {
    let log = "+ exec gunicorn -c gunicorn.conf.py app:app\n".to_owned()
        + &loading("/srv/app.py")
        + &numbered(&[14.0, 13.9, 3.7], 3.2);
    let files = |workers: &str| format!("bind = \"0.0.0.0:80\"\nworkers = {workers}\n");
    let (own, few) = (files("3"), files("1"));
    let end = report(&[("job.log", &log), ("gunicorn.conf.py", &own)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("too_many_workers", "workers"));
    assert!(!moves_away(&end)?, "{:?}", turned(&end)?);
    let strange = report(&[("job.log", &log), ("gunicorn.conf.py", &few)])?;
    assert_eq!(cause(&strange)?, "gpu_shared_with_others");
    Ok(())
}

#[test]
fn the_failing_process_is_no_holder_beside_itself() -> Outcome {
    let log = stack(&[("/srv/run.py", "step", "out = model(x)")]) + &numbered(&[31.5], 28.7);
    let end = report(&[("job.log", &log)])?;
    assert!(!turned(&end)?.contains(&"end the process that holds the GPU"));
    let shown = text(&end, Language::En, Length::Full, Some(100));
    assert!(!shown.contains("Held by"), "{shown}");
    Ok(())
}

#[test]
fn what_continues_the_numbers_of_ranks_is_a_rank() -> Outcome {
    let log = stack(&[
        ("/proj/tune.py", "<module>", "state = torch.load(\"/ckpt/last.pth\")"),
        ("torch/serialization.py", "_deserialize", "return obj.to(device=device, non_blocking=non_blocking)"),
    ])
    .replace("Traceback", "[rank2]: Traceback")
        + "[rank2]: "
        + &numbered(&[11.0, 9.0, 6.0, 5.6], 5.8)
        + "W1118 21:00:40.510000 3301 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 5200 closing signal SIGTERM\nE1118 21:00:41.001000 3301 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 2 (pid: 5202) of binary: /opt/conda/bin/python\n";
    let end = report(&[("job.log", &log), ("run.sh", "torchrun --standalone --nproc_per_node=4 tune.py\n")])?;
    assert_eq!(cause(&end)?, "checkpoint_load_duplication");
    let why = &root(&end)?.diagnoses[0].why;
    assert!(why.contains("Other ranks of this job hold 25.60 GiB"), "{why}");
    Ok(())
}

#[test]
fn an_evaluation_by_transformers_has_no_options_of_an_engine() -> Outcome {
    let log = "2026-03-01:10:00:31,881 INFO     [huggingface.py:129] Using device 'cpu'\nLoading checkpoint shards:  50%|#####     | 1/2 [00:15<00:15, 15.61s/it]\nrun.sh: line 2:  2304 Killed                  lm_eval --model hf --model_args pretrained=o/m-4b,dtype=float32 --tasks piqa --batch_size 8 --device cpu\n";
    let script = "#!/bin/bash\nlm_eval --model hf --model_args pretrained=o/m-4b,dtype=float32 --tasks piqa --batch_size 8 --device cpu\n";
    let end = report(&[("job.log", log), ("run.sh", script)])?;
    assert_eq!(turned(&end)?[0], "--model_args dtype");
    let diff = patches(&end)?[0].diff.as_deref().ok_or("no edit")?;
    assert!(diff.contains("+lm_eval --model hf --model_args pretrained=o/m-4b,dtype=bfloat16 "), "{diff}");
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("batch") && !knob.contains("parallel-loading")));
    // In 16 bit already.
    let script = script.replace("float32", "bfloat16");
    let end = report(&[("job.log", &log.replace("float32", "bfloat16")), ("run.sh", &script)])?;
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("dtype")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn the_model_is_that_of_the_service_that_failed() -> Outcome {
    let engine = |service: &str, pid: u32, model: &str| {
        format!(
            "{service}-1  | (EngineCore_0 pid={pid}) INFO 03-01 10:00:02 [core.py:72] Initializing a V1 LLM engine (v0.10.1) with config: model='{model}', dtype=torch.bfloat16, max_seq_len=8192\n"
        )
    };
    let log = engine("talk", 91, "Qwen/Qwen2.5-14B-Instruct")
        + "talk-1  | INFO:     Application startup complete.\n"
        + &engine("rank", 97, "Qwen/Qwen2.5-7B-Instruct")
        + "rank-1  | (EngineCore_0 pid=97) ERROR 03-01 10:02:04 [core.py:700] ValueError: Free memory on device (30.07/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.33 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n";
    let end = report(&[("job.log", &log)])?;
    assert_eq!(end.job.model.as_deref(), Some("Qwen/Qwen2.5-7B-Instruct"));
    Ok(())
}

#[test]
fn an_option_that_hands_a_value_on_is_the_engines_own() -> Outcome {
    let log = "(LLMRayActor pid=70) INFO 03-01 09:31:12 [gpu_worker.py:227] Available KV cache memory: 28.83 GiB\n"
        .to_owned()
        + &stack(&[
            ("/o/openrlhf/trainer/ray/ppo_actor.py", "training_step", "self.strategy.optimizer_step(self.actor_optim)"),
            ("deepspeed/runtime/zero/stage3.py", "step", "self._optimizer_step(sub_group_id)"),
        ])
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.87 GiB. GPU 2 has a total capacity of 79.10 GiB of which 1.02 GiB is free. Process 71 has 40.33 GiB memory in use. Process 74 has 12.50 GiB memory in use. Including non-PyTorch memory, this process has 25.20 GiB memory in use. Of the allocated memory 21.80 GiB is allocated by PyTorch, and 1.15 GiB is reserved by PyTorch but unallocated.\n";
    let script = "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --critic_num_nodes 1 --critic_num_gpus_per_node 8 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --vllm_gpu_memory_utilization 0.5 --colocate_all_models --pretrain OpenRLHF/Llama-3-8b-sft-mixture --zero_stage 3 --bf16\n";
    let end = report(&[("job.log", &log), ("ppo.sh", script)])?;
    let turned = turned(&end)?;
    assert_eq!(turned[..2], ["--vllm_enable_sleep", "--deepspeed_enable_sleep"]);
    assert!(!turned.contains(&"--enable-sleep-mode"), "{turned:?}");
    Ok(())
}

#[test]
fn an_engines_merged_product_is_twice_as_wide_in_16_bit() -> Outcome {
    let log = "[2026-03-01 03:10:02] server_args=ServerArgs(model_path='Qwen/Qwen2.5-7B-Instruct', tokenizer_path='Qwen/Qwen2.5-7B-Instruct', port=30000, mem_fraction_static=0.9, max_running_requests=64, chunked_prefill_size=8192, max_prefill_tokens=8192, tp_size=1)\n[2026-03-01 03:10:55] The server is fired up and ready to roll!\n[2026-03-01 03:41:17] Prefill batch. #new-seq: 2, #new-token: 8192, #cached-token: 0, token usage: 0.31, #running-req: 9, #queue-req: 3\n".to_owned()
        + &stack(&[
            ("sglang/srt/model_executor/model_runner.py", "forward_extend", "return self.model.forward("),
            ("sglang/srt/models/qwen2.py", "forward", "gate_up, _ = self.gate_up_proj(x)"),
        ])
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 592.00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 301.19 MiB is free. Including non-PyTorch memory, this process has 78.79 GiB memory in use. Of the allocated memory 76.72 GiB is allocated by PyTorch, and 301.55 MiB is reserved by PyTorch but unallocated.\n";
    let script = "python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --mem-fraction-static 0.9 --chunked-prefill-size 8192\n";
    let end = report(&[("job.log", &log), ("serve.sh", script)])?;
    let why = &root(&end)?.diagnoses[0].why;
    assert!(why.contains("592.00 MiB = 8192 tokens × 2 × 18944 intermediate × 2 bytes"), "{why}");
    Ok(())
}

#[test]
fn what_one_slot_of_a_context_gets_is_said() -> Outcome {
    let log = "llama_init_from_model: n_seq_max     = 4\nllama_init_from_model: n_ctx         = 65536\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory\nllama_kv_cache_init: failed to allocate buffer for kv cache\n";
    for (script, is_said) in
        [("llama-server -m m.gguf -c 65536\n", true), ("llama-server -m m.gguf -c 65536 -np 1\n", false)]
    {
        let log = if is_said { log.to_owned() } else { log.replace("= 4", "= 1") };
        let end = report(&[("job.log", &log), ("start.sh", script)])?;
        let context = patches(&end)?.iter().find(|patch| patch.knob == "-c").ok_or("no context")?;
        let note = context.note.as_deref().unwrap_or_default();
        assert_eq!(note.contains("number of parallel slots"), is_said, "{note}");
    }
    Ok(())
}
