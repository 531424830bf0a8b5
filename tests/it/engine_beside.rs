//! Advice where an engine, or a copy of the job itself, holds what is missing: shares, limits and names of shipped files, by the log's figures.

use std::error::Error;

use oomdoc::model::{Patch, Report};

use crate::support::analyzed::{diff, report};

type Outcome = Result<(), Box<dyn Error>>;

/// The first cause, and the changes against it as `knob value`.
fn advice(report: &Report) -> (&str, Vec<String>) {
    let Some(first) = report.incidents.first().and_then(|incident| incident.diagnoses.first()) else {
        return ("", Vec::new());
    };
    let value = |patch: &Patch| match (&patch.to, &patch.change) {
        (Some(to), _) => to.to_string(),
        (None, change) => format!("{change:?}"),
    };
    (&first.cause, first.patches.iter().map(|patch| format!("{} {}", patch.knob, value(patch))).collect())
}

const ENGINE: &str = "\
INFO 02-11 09:00:10 [gpu_model_runner.py:1801] Model loading took 14.2105 GiB and 4.200000 seconds
INFO 02-11 09:00:31 [gpu_worker.py:232] Available KV cache memory: 45.20 GiB
";

#[test]
fn an_engine_that_stays_awake_gives_back_part_of_its_share() -> Outcome {
    let step = "\
[rank1]: Traceback (most recent call last):
[rank1]:   File \"/opt/venv/lib/python3.11/site-packages/deepspeed/runtime/zero/stage3.py\", line 1030, in initialize_optimizer_states
[rank1]:     self._optimizer_step(i)
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 76.80 GiB is allocated by PyTorch, and 140.00 MiB is reserved by PyTorch but unallocated.
";
    let launch = "NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.85 --train_type full --torch_dtype bfloat16 --per_device_train_batch_size 2 --deepspeed zero3\n";
    let report = report(&[("job.log", &format!("{ENGINE}{step}")), ("run.sh", launch)])?;
    let (cause, changes) = advice(&report);
    assert_eq!(cause, "colocated_memory_contention");
    assert!(changes[0].starts_with("--vllm_gpu_memory_utilization 0.4"), "{changes:?}");
    // What would return cached blocks returns less than is missing.
    assert!(!changes.iter().any(|change| change.contains("empty_cache")), "{changes:?}");
    Ok(())
}

#[test]
fn a_share_is_lowered_by_most_of_the_cache_where_there_is_no_plan() -> Outcome {
    let step = "\
Traceback (most recent call last):
  File \"/work/rl.py\", line 31, in <module>
    trainer.train()
  File \"/work/unsloth_compiled_cache/UnslothGRPOTrainer.py\", line 2391, in _get_per_token_logps
    logits = model(input_ids = input_ids).logits
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 210.00 MiB is free. Process 511 has 78.90 GiB memory in use. Of the allocated memory 77.60 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.
";
    let script = "from unsloth import FastLanguageModel\nmodel, tok = FastLanguageModel.from_pretrained(model_name=\"unsloth/Qwen3-8B\", fast_inference=True, gpu_memory_utilization=0.9)\ntrainer.train()\n";
    let report = report(&[("job.log", &format!("{ENGINE}{step}")), ("rl.py", script)])?;
    assert_eq!(advice(&report).0, "colocated_memory_contention");
    assert!(diff(&report)?.contains("gpu_memory_utilization=0.55"), "{:?}", advice(&report));
    Ok(())
}

#[test]
fn an_engine_that_finds_no_room_for_its_weights_shares_with_the_one_beside_it() -> Outcome {
    let log = "\
chat-1   | INFO 06-02 13:01:40 [gpu_worker.py:255] Available KV cache memory: 50.10 GiB
embed-1  | INFO 06-02 13:02:44 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='Qwen/Qwen3-Embedding-4B', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1
embed-1  | ERROR 06-02 13:02:49 [core.py:632] ValueError: Free memory on device (5.90/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
embed-1 exited with code 1
";
    let compose = "services:\n  chat:\n    image: vllm/vllm-openai:v0.10.0\n    command: --model Qwen/Qwen3-8B\n  embed:\n    image: vllm/vllm-openai:v0.10.0\n    command: --model Qwen/Qwen3-Embedding-4B --task embed\n";
    let report = report(&[("job.log", log), ("compose.yaml", compose)])?;
    let (_, changes) = advice(&report);
    assert!(changes[0].starts_with("the other engine's share of the GPU 0.6"), "{changes:?}");
    assert!(changes[1].starts_with("--gpu-memory-utilization 0.2"), "{changes:?}");
    Ok(())
}

const STATES: &str = "\
[rank1]: Traceback (most recent call last):
[rank1]:   File \"/opt/venv/lib/python3.11/site-packages/deepspeed/runtime/zero/stage3.py\", line 1030, in initialize_optimizer_states
[rank1]:     self._optimizer_step(i)
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.73 GiB. GPU 1 has a total capacity of 39.39 GiB of which 2.10 GiB is free. Including non-PyTorch memory, this process has 37.20 GiB memory in use. Of the allocated memory 35.90 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.
";

#[test]
fn a_shipped_configuration_is_exchanged_for_the_one_beside_it() -> Outcome {
    let yaml = "stage: sft\nmodel_name_or_path: Qwen/Qwen3-14B\nfinetuning_type: full\ndeepspeed: /opt/lf/examples/deepspeed/ds_z3_config.json\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n";
    let launch = ("run.sh", "FORCE_TORCHRUN=1 NPROC_PER_NODE=4 llamafactory-cli train sft.yaml\n");
    let told = report(&[("job.log", STATES), launch, ("sft.yaml", yaml)])?;
    assert!(
        diff(&told)?.contains("+deepspeed: /opt/lf/examples/deepspeed/ds_z3_offload_config.json"),
        "{:?}",
        advice(&told)
    );
    // A file that is given is edited itself.
    let own = ("ds_z3_config.json", "{\"zero_optimization\": {\"stage\": 3}}\n");
    let told = report(&[("job.log", STATES), launch, ("sft.yaml", yaml), own])?;
    assert!(advice(&told).1[0].starts_with("zero_optimization.offload_optimizer"), "{:?}", advice(&told));
    let swift = "NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-14B --train_type full --torch_dtype bfloat16 --deepspeed zero3\n";
    let told = report(&[("job.log", STATES), ("run.sh", swift)])?;
    let changes = advice(&told).1;
    assert!(changes.iter().any(|change| change == "--deepspeed zero3_offload"), "{changes:?}");
    Ok(())
}

#[test]
fn ranks_that_slurm_counts_each_load_the_model() -> Outcome {
    let log = "\
Loading checkpoint shards:  25%|██▌       | 2/8 [00:24<01:14, 12.44s/it]
E0519 16:30:44.012000 6007 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 2 (pid: 6030) of binary: /opt/venv/bin/python
slurmstepd: error: Detected 1 oom_kill event in StepId=70012.0. Some of the step tasks have been OOM Killed.
";
    let batch = "#!/bin/bash\n#SBATCH --gres=gpu:h100:4\n#SBATCH --mem=80G\nsrun torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE sft.py\n";
    let script = "from transformers import AutoModelForCausalLM, Trainer\nmodel = AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-14B\")\nTrainer(model=model).train()\n";
    let report = report(&[("job.log", log), ("job.sbatch", batch), ("sft.py", script)])?;
    assert_eq!(report.job.world_size, Some(4));
    let (cause, changes) = advice(&report);
    assert_eq!(cause, "checkpoint_load_duplication");
    assert!(changes.iter().any(|change| change == "--mem 243G"), "{changes:?}");
    assert!(!changes.iter().any(|change| change.contains("IterableDataset")), "{changes:?}");
    Ok(())
}

#[test]
fn what_an_evaluation_keeps_grows_to_its_end() -> Outcome {
    let log = "\
{'loss': 1.0922, 'grad_norm': 1.71, 'learning_rate': 4.61e-05, 'epoch': 0.11}
  8%|▊         | 100/1270 [12:11<2:22:11,  7.29s/it]
  0%|          | 0/200 [00:00<?, ?it/s]
 20%|██        | 40/200 [01:44<10:11,  3.30s/it]
E0911 14:20:14.002000 71022 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 1 (pid: 71102) of binary: /opt/venv/bin/python
slurmstepd: error: Detected 1 oom_kill event in StepId=99123.0. Some of the step tasks have been OOM Killed.
";
    let batch = "#!/bin/bash\n#SBATCH --mem=200G\nsrun torchrun --nproc_per_node 4 train.py\n";
    let script = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained(\"org/My-7B\", torch_dtype=\"bfloat16\")\nargs = TrainingArguments(\"out\", eval_accumulation_steps=2, eval_strategy=\"steps\")\nTrainer(model=model, args=args, compute_metrics=f1).train()\n";
    let report = report(&[("job.log", log), ("job.sbatch", batch), ("train.py", script)])?;
    let (cause, changes) = advice(&report);
    assert_eq!(cause, "host_memory_growth");
    assert!(changes[0].starts_with("Trainer.preprocess_logits_for_metrics"), "{changes:?}");
    // 200 GB at a fifth of the way.
    assert!(changes.iter().any(|change| change.contains("--mem") && change.contains("1100G")), "{changes:?}");
    Ok(())
}

#[test]
fn swap_space_of_each_gpu_counts_against_the_limit() -> Outcome {
    let log = "\
INFO 01-17 06:11:04 api_server.py:712] vLLM API server version 0.6.6.post1
INFO 01-17 06:14:21 distributed_gpu_executor.py:57] # GPU blocks: 28598, # CPU blocks: 19660
Containers:
  engine:
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Limits:
      memory:          64Gi
";
    let pod = "kind: Pod\nspec:\n  containers:\n    - name: engine\n      image: vllm/vllm-openai:v0.6.6\n      args: [\"--model\", \"org/My-70B\", \"--tensor-parallel-size\", \"4\", \"--swap-space\", \"24\"]\n      resources:\n        limits: {memory: 64Gi, nvidia.com/gpu: 4}\n";
    let report = report(&[("job.log", log), ("pod.yaml", pod)])?;
    let (_, changes) = advice(&report);
    assert_eq!(changes[0], "--swap-space 0");
    let sum = changes.iter().any(|change| change.contains("resources.limits.memory") && change.contains("160Gi"));
    assert!(sum, "{changes:?}");
    Ok(())
}

#[test]
fn a_checkpoint_that_is_written_beside_the_training_waits_on_the_host() -> Outcome {
    let log = |saved: &str| {
        format!(
            "\
 [2026-03-11 02:20:40] iteration      400/    9000 | consumed samples:        25600 | elapsed time per iteration (ms): 9111.8 | learning rate: 4.9E-06 | global batch size:    64 | lm loss: 1.017E+00 |
saving checkpoint at iteration     400 to /ckpt/run in torch_dist format
scheduled an async checkpoint save at iteration     400 to /ckpt/run
{saved} [2026-03-11 02:21:22] iteration      401/    9000 | consumed samples:        25664 | elapsed time per iteration (ms): 41901.2 | learning rate: 4.9E-06 | global batch size:    64 | lm loss: 1.012E+00 |
E0311 02:21:30.114000 12 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 3 (pid: 80) of binary: /usr/bin/python
{{\"lastState\":{{\"terminated\":{{\"exitCode\":137,\"finishedAt\":\"2026-03-11T02:21:31Z\",\"reason\":\"OOMKilled\"}}}},\"name\":\"trainer\"}}
"
        )
    };
    let yaml = "model:\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 1\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 64\ncheckpoint:\n  save: /ckpt/run\n  async_save: true\n";
    let job = "kind: Pod\nspec:\n  containers:\n    - name: trainer\n      image: org/bridge:1\n      command: [\"torchrun\", \"/opt/Megatron-Bridge/scripts/tune.py\", \"--config-file\", \"run.yaml\"]\n      resources:\n        limits: {memory: 300Gi}\n";
    let told = report(&[("job.log", &log("")), ("run.yaml", yaml), ("pod.yaml", job)])?;
    assert_eq!(told.job.framework.as_deref(), Some("megatron_bridge"));
    assert_eq!(advice(&told).0, "checkpoint_save_gather");
    assert!(diff(&told)?.contains("+  async_save: false"), "{:?}", advice(&told));
    let saved = "  successfully saved checkpoint from iteration     400 to /ckpt/run\n";
    let told = report(&[("job.log", &log(saved)), ("run.yaml", yaml), ("pod.yaml", job)])?;
    assert_ne!(advice(&told).0, "checkpoint_save_gather");
    Ok(())
}

#[test]
fn settings_that_code_gives_one_by_one_are_edited_there() -> Outcome {
    let log = "\
[rank1]: Traceback (most recent call last):
[rank1]:   File \"/opt/Megatron-Bridge/src/megatron/bridge/training/train.py\", line 294, in train
[rank1]:     loss_dict = train_step(
[rank1]:   File \"/opt/megatron-lm/megatron/core/transformer/mlp.py\", line 146, in forward
[rank1]:     intermediate_parallel = bias_swiglu_impl(
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 1 has a total capacity of 79.11 GiB of which 200.00 MiB is free. Including non-PyTorch memory, this process has 78.80 GiB memory in use. Of the allocated memory 76.10 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.
";
    let script = "from megatron.bridge.training.finetune import finetune\nif __name__ == \"__main__\":\n    cfg = recipe()\n    cfg.model.tensor_model_parallel_size = 2\n    cfg.model.sequence_parallel = False\n    cfg.train.micro_batch_size = 8\n    finetune(config=cfg)\n";
    let report = report(&[("job.log", log), ("tune.py", script)])?;
    assert!(diff(&report)?.contains("+    cfg.train.micro_batch_size = 4"), "{:?}", advice(&report));
    let (_, changes) = advice(&report);
    assert!(changes.iter().any(|change| change == "model.sequence_parallel true"), "{changes:?}");
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    let diffs: Vec<String> =
        first.map(|first| first.patches.iter().filter_map(|patch| patch.diff.clone()).collect()).unwrap_or_default();
    // What is not set yet stands behind the other members of its section.
    assert!(diffs.iter().any(|diff| diff.contains("+    cfg.model.recompute_method = \"uniform\"")), "{diffs:?}");
    Ok(())
}

#[test]
fn a_kill_that_nobody_explains_after_good_steps_has_no_change_yet() -> Outcome {
    let kill = "E0605 22:11:02.706000 411 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 0 (pid: 501) of binary: /usr/bin/python3\n";
    let steps = "{'loss': 1.8, 'learning_rate': 1.7e-05, 'epoch': 0.31}\n{'loss': 1.7, 'learning_rate': 1.7e-05, 'epoch': 0.32}\n{'loss': 1.6, 'learning_rate': 1.7e-05, 'epoch': 0.33}\n";
    let launch = ("run.sh", "accelerate launch --num_processes 2 sft.py --per_device_train_batch_size 4\n");
    let told = report(&[("job.log", &format!("{steps}{kill}")), launch])?;
    assert_eq!(advice(&told), ("unknown", Vec::new()));
    Ok(())
}

#[test]
fn a_batch_with_which_the_program_went_on_is_the_one_to_set() -> Outcome {
    let log = "\
  0%|          | 3/600 [00:04<18:01,  1.39s/it]torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.19 GiB. GPU 0 has a total capacity of 44.43 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 43.40 GiB memory in use. Of the allocated memory 42.11 GiB is allocated by PyTorch, and 801.12 MiB is reserved by PyTorch but unallocated.
Decreasing batch size to: 21
{'loss': 0.5123, 'learning_rate': 4.7e-05, 'epoch': 0.06}
{'loss': 0.3987, 'learning_rate': 4.4e-05, 'epoch': 0.11}
100%|██████████| 686/686 [21:11<00:00,  1.42s/it]
{'train_runtime': 1271.9, 'train_loss': 0.3611, 'epoch': 1.0}
";
    let script = "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(\"out\", auto_find_batch_size=True, per_device_train_batch_size=24)\nTrainer(model=model, args=args).train()\n";
    let report = report(&[("job.log", log), ("train.py", script)])?;
    assert!(diff(&report)?.contains("per_device_train_batch_size=21"), "{:?}", advice(&report));
    Ok(())
}

/// A bar of the training does not say how far an evaluation is.
#[test]
fn a_limit_does_not_grow_by_the_bar_of_another_phase() -> Outcome {
    let log = "  0%|          | 10/10000 [00:10<1:00:00,  1.00it/s]\n***** Running Evaluation *****\n  Num examples = 100\nslurmstepd: error: Detected 1 oom_kill event in StepId=48121.batch. Some of the step tasks have been OOM Killed.\n";
    let script = "#!/bin/bash\n#SBATCH --mem=64G\nsrun python train.py\n";
    let report = report(&[("job.log", log), ("job.sbatch", script)])?;
    assert!(diff(&report)?.contains("+#SBATCH --mem=80G"), "{}", diff(&report)?);
    Ok(())
}

/// Kernels up to 3.x print "no limit" as 2^64 bytes less a KiB.
#[test]
fn what_no_machine_has_is_no_limit() -> Outcome {
    let log = "[ 9120.338495] memory: usage 67108864kB, limit 18014398509481983kB, failcnt 0\n[ 9120.338607] Memory cgroup out of memory: Kill process 8811 (trainer) score 990 or sacrifice child\n[ 9120.338608] Killed process 8811 (trainer) total-vm:84052000kB, anon-rss:66101204kB, file-rss:400kB\n";
    let report = report(&[("dmesg.log", log)])?;
    let incident = report.incidents.first().ok_or("no incident")?;
    assert!(incident.figures.iter().all(|figure| figure.name != oomdoc::model::FigureName::MemcgLimit));
    Ok(())
}
