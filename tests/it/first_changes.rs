//! What leads among several changes: the remedy of the cause, as the framework spells it, in the given files.

use std::error::Error;

use crate::support::analyzed::{cause, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const ADAM: (&str, &str, &str) = ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg_sq\"] = torch.zeros_like(");

#[test]
fn the_engine_of_a_trainer_gets_more_room_and_keeps_its_length() -> Outcome {
    let log = "INFO 07-02 11:03:25 [worker.py:294] the current vLLM instance can use total_gpu_memory (79.25GiB) x gpu_memory_utilization (0.20) = 15.85GiB\nINFO 07-02 11:03:25 [worker.py:294] model weights take 14.25GiB; non_torch_memory takes 0.11GiB; PyTorch activation peak memory takes 1.40GiB; the rest of the memory reserved for KV Cache is 0.09GiB.\n".to_owned()
        + &stack(&[
            ("/w/train.py", "main", "trainer = GRPOTrainer("),
            ("trl/trainer/grpo_trainer.py", "__init__", "self.llm = LLM("),
            ("vllm/worker/worker.py", "initialize_cache", "raise_if_cache_size_invalid("),
        ])
        + "ValueError: The model's max seq len (4608) is larger than the maximum number of tokens that can be stored in KV cache (1680). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let script = "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(\n    use_vllm=True,\n    vllm_mode=\"colocate\",\n    vllm_gpu_memory_utilization=0.2,\n    max_prompt_length=512,\n    max_completion_length=4096,\n)\n";
    let end = report(&[("job.log", &log), ("train.py", script)])?;
    assert_eq!(turned(&end)?[0], "vllm_gpu_memory_utilization");
    // No class in code is given an option that it lacks.
    assert!(patches(&end)?.iter().all(|patch| patch.knob != "max_model_len"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn code_that_gathers_the_full_state_is_told_to_save_shards() -> Outcome {
    let log = "gathering full state dict for step 500\nsaving checkpoint\nE0801 05:11:04.114000 91 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 3 (pid: 114) of binary: /opt/conda/bin/python\n";
    let script = "from torch.distributed.fsdp import fully_shard\nmodel = AutoModel.from_pretrained(\"org/m\")\nfully_shard(model)\ndef save():\n    return get_state_dict(model, opt, options=StateDictOptions(full_state_dict=True))\n";
    let end =
        report(&[("job.log", log), ("train.py", script), ("launch.sh", "torchrun --nproc_per_node 8 train.py\n")])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("checkpoint_save_gather", "StateDictOptions.full_state_dict"));
    assert!(!turned(&end)?.contains(&"DeepSpeed ZeRO-3 or FSDP"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn an_edit_of_the_given_file_leads() -> Outcome {
    let log =
        stack(&[("/w/sd-scripts/sdxl_train.py", "train", "optimizer.step()"), ADAM]) + &refused("26.00 MiB", 23.99);
    let config = "optimizer_type = \"AdamW\"\ntrain_batch_size = 4\nmixed_precision = \"bf16\"\nfull_bf16 = true\n";
    let end = report(&[("job.log", &log), ("config.toml", config)])?;
    assert!(patches(&end)?[0].diff.is_some(), "{:?}", turned(&end)?);
    assert!(!turned(&end)?.iter().any(|knob| knob.contains("FSDP") || knob.contains("offload")));
    Ok(())
}

#[test]
fn an_asynchronous_save_that_fills_the_host_is_made_to_wait() -> Outcome {
    let log = "Training epoch 0, iteration 499/99999 | lr: 1.5e-05 | global_step: 499 | reduced_train_loss: 2.207\n[NeMo I 2025-07-01 02:39:44 nemo_logging:393] Async checkpoint save for step 500 (/ckpt/last.ckpt) scheduled.\nslurmstepd: error: Detected 1 oom_kill event in StepId=91231.0. Some of the step tasks have been OOM Killed.\n";
    let script = "from nemo import lightning as nl\nstrategy = nl.MegatronStrategy(\n    tensor_model_parallel_size=4,\n    ckpt_async_save=True,\n)\n";
    let end = report(&[("job.log", log), ("pretrain.py", script)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("checkpoint_save_gather", "MegatronStrategy.ckpt_async_save"));
    let done = log.replace("scheduled.", "finalized successfully.");
    assert_ne!(root(&report(&[("job.log", &done)])?)?.phase.name.as_str(), "checkpoint_save");
    Ok(())
}

#[test]
fn a_reference_model_is_asked_before_training() -> Outcome {
    let log = stack(&[
        ("/w/dpo.py", "<module>", "trainer.train()"),
        ("trl/trainer/dpo_trainer.py", "compute_ref_log_probs", "ref = self.concatenated_forward(batch)"),
        ("trl/trainer/utils.py", "selective_log_softmax", "row_logps = F.log_softmax(row_logits, dim=-1)"),
    ]) + &refused("1.16 GiB", 79.25);
    let script = "from trl import DPOConfig, DPOTrainer\nargs = DPOConfig(\n    per_device_train_batch_size=1,\n    max_length=4096,\n    bf16=True,\n)\ntrainer = DPOTrainer(model=model, ref_model=ref, args=args)\n";
    let end = report(&[("job.log", &log), ("dpo.py", script)])?;
    assert_eq!(turned(&end)?[0], "precompute_ref_log_probs");
    Ok(())
}

#[test]
fn what_contradicts_a_change_goes_with_it() -> Outcome {
    let log = stack(&[
        ("/opt/Megatron-LM/pretrain_gpt.py", "forward_step", "output_tensor = model(tokens)"),
        ("/opt/Megatron-LM/megatron/core/transformer/mlp.py", "forward", "x = self.activation_func(x)"),
    ]) + &refused("512.00 MiB", 79.15);
    let launch =
        "torchrun --nproc_per_node 8 pretrain_gpt.py \\\n  --micro-batch-size 1 --recompute-activations --bf16\n";
    let end = report(&[("job.log", &log), ("launch.sh", launch)])?;
    let full = patches(&end)?.iter().find(|patch| patch.knob == "--recompute-granularity").ok_or("no recomputation")?;
    let diff = full.diff.as_deref().unwrap_or_default();
    let added = diff.lines().filter(|line| line.starts_with('+')).collect::<String>();
    assert!(added.contains("--recompute-granularity full") && !added.contains("--recompute-activations"), "{diff}");
    Ok(())
}

#[test]
fn two_changes_that_suffice_together_are_a_set() -> Outcome {
    let log = stack(&[("recipes/full_finetune_single_device.py", "train", "self.optimizer.step()"), ADAM])
        + &refused("112.00 MiB", 23.64);
    let recipe = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\noptimizer_in_bwd: False\ngradient_accumulation_steps: 8\nenable_activation_checkpointing: True\ndtype: bf16\n";
    let launch = "tune run full_finetune_single_device --config config.yaml\n";
    let end = report(&[("job.log", &log), ("config.yaml", recipe), ("launch.sh", launch)])?;
    let set = root(&end)?.diagnoses[0].set.as_ref().ok_or("no set")?;
    assert_eq!(set.knobs, ["optimizer._component_", "optimizer_in_bwd"]);
    Ok(())
}

#[test]
fn the_joint_of_a_transducer_is_made_in_parts() -> Outcome {
    let log = stack(&[
        ("nemo/collections/asr/models/rnnt_models.py", "training_step", "joint = self.joint(encoder_outputs=encoded)"),
        ("nemo/collections/asr/modules/rnnt.py", "joint_after_projection", "inp = f + g  # [B, T, U, H]"),
    ]) + &refused("14.70 GiB", 39.39);
    let config = "model:\n  train_ds:\n    batch_size: 32\n  joint:\n    fuse_loss_wer: false\n    fused_batch_size: 16\ntrainer:\n  devices: 4\n";
    let end = report(&[("job.log", &log), ("config.yaml", config)])?;
    assert_eq!(turned(&end)?[0], "model.joint.fuse_loss_wer");
    assert!(patches(&end)?[0].diff.as_deref().is_some_and(|diff| diff.contains("+    fused_batch_size: 4")));
    Ok(())
}

#[test]
fn an_engine_that_cannot_wake_up_gets_what_training_leaves() -> Outcome {
    let log = "INFO 08-01 10:12:20 [gpu_worker.py:98] Sleep mode freed 57.91 GiB memory, 21.40 GiB memory is still in use.\n{'loss': 0.0, 'memory(GiB)': 51.2, 'global_step/max_steps': '1/500'}\n".to_owned()
        + &stack(&[
            ("swift/trainers/rlhf_trainer/grpo_trainer.py", "_fast_infer", "self.engine.engine.wake_up()"),
            ("vllm/device_allocator/cumem.py", "wake_up", "create_and_map(handle)"),
        ])
        + "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n";
    let launch = "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.75 --sleep_level 1\n";
    let end = report(&[("job.log", &log), ("grpo.sh", launch)])?;
    let (first, knobs) = (&patches(&end)?[0], turned(&end)?);
    assert_eq!(first.knob, "--vllm_gpu_memory_utilization");
    assert!(first.diff.as_deref().is_some_and(|diff| diff.contains("--vllm_gpu_memory_utilization 0.36")));
    assert!(knobs.contains(&"--offload_optimizer") && knobs.contains(&"--offload_model"), "{knobs:?}");
    Ok(())
}

#[test]
fn a_reference_that_is_asked_before_is_not_handed_over() -> Outcome {
    let log = stack(&[
        ("/w/dpo.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "train", "return inner_training_loop("),
        (
            "trl/trainer/dpo_trainer.py",
            "concatenated_forward",
            "per_token_logps = selective_log_softmax(logits, labels)",
        ),
    ]) + &refused("1.90 GiB", 79.25);
    let script = "from trl import DPOConfig, DPOTrainer\nargs = DPOConfig(\n    output_dir=\"out\",\n    per_device_train_batch_size=1,\n    gradient_checkpointing=True,\n    deepspeed=\"ds.json\",\n)\ntrainer = DPOTrainer(policy, reference, args=args, train_dataset=data)\ntrainer.train()\n";
    let config = "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": true}}\n";
    let end = report(&[("job.log", &log), ("dpo.py", script), ("ds.json", config)])?;
    let diff = patches(&end)?[0].diff.as_deref().ok_or("no edit")?;
    assert!(diff.contains("+    precompute_ref_log_probs=True,"), "{diff}");
    assert!(diff.contains("+trainer = DPOTrainer(policy, None, args=args, train_dataset=data)"), "{diff}");
    assert!(turned(&end)?.contains(&"zero_optimization.stage"), "{:?}", turned(&end)?);
    let without = script.replace("policy, reference, ", "policy, ");
    let end = report(&[("job.log", &log), ("dpo.py", &without), ("ds.json", config)])?;
    assert!(
        patches(&end)?[0].diff.as_deref().is_some_and(|diff| !diff.contains("+trainer")),
        "{:?}",
        patches(&end)?[0]
    );
    Ok(())
}

#[test]
fn a_second_change_by_one_lever_waits_for_one_by_another() -> Outcome {
    let log = "Adam Optimizer #0 is created with AVX512 arithmetic capability.\nParameter Offload: Total persistent parameters: 266240 in 65 params\n[2026-03-01 10:41:31,450] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 701\n[2026-03-01 10:41:31,451] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python', '-u', 'sft.py', '--local_rank=0', '--deepspeed', 'ds.json'] exits with return code = -9\n";
    let config = "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}, \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}}}\n";
    let end = report(&[("job.log", log), ("ds.json", config)])?;
    let levers: Vec<&str> = patches(&end)?.iter().map(|patch| &*patch.lever).collect();
    let first: std::collections::BTreeSet<&str> = levers.iter().take(3).copied().collect();
    assert_eq!(first.len(), 3, "{levers:?}");
    Ok(())
}

#[test]
fn who_is_killed_inside_a_limit_reads_of_a_higher_one() -> Outcome {
    let log = "[88.1] pt_data_worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n[88.2] memory: usage 67108864kB, limit 67108864kB, failcnt 811\n[88.3] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/docker/7c,task_memcg=/docker/7c,task=python3,pid=412,uid=0\n[88.4] Memory cgroup out of memory: Killed process 412 (python3) total-vm:44009324kB, anon-rss:9999920kB, file-rss:40960kB, shmem-rss:0kB, UID:0 pgtables:8878kB oom_score_adj:0\n";
    let script =
        "loader = DataLoader(data, batch_size=64, num_workers=12, prefetch_factor=4, persistent_workers=True)\n";
    let end = report(&[("dmesg.log", log), ("train.py", script)])?;
    assert_eq!(cause(&end)?, "dataloader_memory");
    let levers: Vec<&str> = patches(&end)?.iter().map(|patch| &*patch.lever).collect();
    assert!(levers.iter().take(3).any(|lever| *lever == "host_memory_limit"), "{levers:?}");
    Ok(())
}
