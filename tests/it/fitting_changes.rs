//! Changes that go far enough, that belong to the job at hand, and whose figures agree with what the job did.

use std::error::Error;

use crate::support::analyzed::{cause, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const LOSS: (&str, &str, &str) =
    ("trl/trainer/utils.py", "selective_log_softmax", "row_logps = F.log_softmax(row_logits, dim=-1)");
const MLP: (&str, &str, &str) = (
    "transformers/models/qwen2/modeling_qwen2.py",
    "forward",
    "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
);

/// PyTorch's message with these figures, in GiB.
fn out_of(requested: f64, total: f64, free: f64, allocated: f64) -> String {
    let held = total - free;
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested:.2} GiB. GPU 0 has a total capacity of \
         {total:.2} GiB of which {free:.2} GiB is free. Including non-PyTorch memory, this process has {held:.2} GiB memory in use. Of the \
         allocated memory {allocated:.2} GiB is allocated by PyTorch, and 1.10 GiB is reserved by PyTorch but unallocated.\n"
    )
}

fn diff_of(end: &oomdoc::model::Report, knob: &str) -> Outcome<String> {
    let found = patches(end)?.iter().find(|patch| patch.knob == knob);
    Ok(found.and_then(|patch| patch.diff.clone()).ok_or_else(|| format!("no edit of {knob}: {:?}", turned(end)))?)
}

const DPO: &str = "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\ngradient_checkpointing: true\nmax_length: null\nbf16: true\n";
const ZERO: &str = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  offload_optimizer_device: none\n  offload_param_device: none\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n";

#[test]
fn a_length_that_has_no_limit_gets_one() -> Outcome {
    let log = "  4%|▍         | 21/480 [12:01<4:22:49, 34.35s/it]\n".to_owned()
        + &stack(&[
            ("trl/trainer/dpo_trainer.py", "compute_loss", "loss = self.get_batch_loss_metrics(model, inputs)"),
            LOSS,
        ])
        + &out_of(12.31, 79.25, 7.48, 68.2);
    let end = report(&[("job.log", &log), ("dpo.yaml", DPO), ("run.sh", "trl dpo --config dpo.yaml\n")])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("long_sequence_outlier", "--max_length"));
    assert!(diff_of(&end, "--max_length")?.contains("+max_length: 8192"));
    // With a limit, nothing says that a sample was longer than it.
    let limited = DPO.replace("null", "2048");
    let end = report(&[("job.log", &log), ("dpo.yaml", &limited), ("run.sh", "trl dpo --config dpo.yaml\n")])?;
    assert_ne!(cause(&end)?, "long_sequence_outlier");
    Ok(())
}

#[test]
fn a_limit_of_torchtune_is_set_where_it_is_null() -> Outcome {
    let log = "1|96|Loss: 0.8123:   3%|▎         | 96/3000 [18:22<9:15:09, 11.47s/it]\n".to_owned()
        + &stack(&[
            ("recipes/lora_finetune_distributed.py", "train", "current_loss.backward()"),
            ("torchtune/modules/feed_forward.py", "forward", "h = self.activation(self.w1(x))"),
        ])
        + &out_of(3.4, 79.11, 2.2, 73.5);
    let config = "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_70b\n  lora_rank: 16\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: null\nbatch_size: 1\nenable_activation_checkpointing: True\nenable_activation_offloading: False\n";
    let run = "tune run --nproc_per_node 8 lora_finetune_distributed --config lora.yaml\n";
    let end = report(&[("job.log", &log), ("lora.yaml", config), ("run.sh", run)])?;
    assert_eq!(turned(&end)?[..2], ["tokenizer.max_seq_len", "enable_activation_offloading"]);
    assert!(diff_of(&end, "tokenizer.max_seq_len")?.contains("+  max_seq_len: 8192"));
    Ok(())
}

#[test]
fn what_frees_less_than_was_missing_is_not_enough() -> Outcome {
    let log = stack(&[
        ("trl/trainer/dpo_trainer.py", "compute_loss", "loss = self.get_batch_loss_metrics(model, inputs)"),
        LOSS,
    ]) + &out_of(12.31, 79.25, 7.48, 68.2);
    let config = DPO.replace("null", "32768");
    let run = "accelerate launch --config_file zero.yaml dpo.py --config dpo.yaml\n";
    let script = "from trl import DPOTrainer, TrlParser\n";
    let end =
        report(&[("job.log", &log), ("dpo.yaml", &config), ("zero.yaml", ZERO), ("run.sh", run), ("dpo.py", script)])?;
    let patches = patches(&end)?;
    let small =
        patches.iter().filter(|patch| patch.effect.gpu_bytes.is_some_and(|moved| moved.0 > -4 << 30 && moved.0 < 0));
    for patch in small.clone() {
        assert_eq!(patch.suffices, Some(false), "{}", patch.knob);
        let need = patch.needs.gpu.ok_or("no need")?;
        assert!(need.capacity.is_some_and(|capacity| need.bytes > capacity), "{}", patch.knob);
    }
    assert!(small.count() > 0 && patches[0].suffices != Some(false), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn the_attention_of_a_tower_of_images_is_exchanged_before_pixels_go() -> Outcome {
    let log = stack(&[
        ("llamafactory/train/sft/workflow.py", "run_sft", "train_result = trainer.train()"),
        (
            "transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py",
            "get_image_features",
            "image_embeds = self.visual(pixel_values, grid_thw=image_grid_thw)",
        ),
        (
            "transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py",
            "forward",
            "attn_output = F.scaled_dot_product_attention(",
        ),
    ]) + &out_of(33.2, 79.25, 28.5, 47.0);
    let config = "model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct\nimage_max_pixels: 12845056\nstage: sft\nfinetuning_type: lora\ntemplate: qwen2_vl\ncutoff_len: 16384\nper_device_train_batch_size: 1\nflash_attn: sdpa\nbf16: true\n";
    let end = report(&[("job.log", &log), ("sft.yaml", config), ("run.sh", "llamafactory-cli train sft.yaml\n")])?;
    assert_eq!(turned(&end)?[..2], ["flash_attn", "image_max_pixels"]);
    assert!(diff_of(&end, "flash_attn")?.contains("+flash_attn: fa2"));
    // Half of the room that is left, for a request that grows with the square of the pixels.
    let pixels = patches(&end)?[1].to.as_ref().ok_or("no pixels")?.to_string().parse::<f64>()?;
    let request = 32.0 * (pixels / 196.0).powi(2) / f64::from(1 << 30);
    assert!(request < 0.6 * 28.5, "{request}");
    assert!(!turned(&end)?.contains(&"cutoff_len"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_line_that_only_names_an_option_is_no_advice() -> Outcome {
    let log = "[INFO:swift] Setting max_pixels: 4014080. You can adjust this hyperparameter through the environment variable: `MAX_PIXELS`.\n".to_owned()
        + &stack(&[
            ("swift/trainers/trainers.py", "compute_loss", "outputs = model(**inputs)"),
            ("transformers/loss/loss_utils.py", "ForCausalLMLoss", "logits = logits.float()"),
        ])
        + &out_of(17.6, 79.11, 10.9, 65.9);
    let run = "export MAX_PIXELS=4014080\nswift sft --model Qwen/Qwen2.5-VL-7B-Instruct --train_type lora --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --gradient_checkpointing true --max_length 8192\n";
    let end = report(&[("job.log", &log), ("sft.sh", run)])?;
    assert_eq!(turned(&end)?[0], "--per_device_train_batch_size");
    Ok(())
}

#[test]
fn states_are_divided_before_they_fill_a_host_of_unknown_size() -> Outcome {
    let log = stack(&[
        ("/w/finetune.py", "<module>", "train()"),
        ("deepspeed/runtime/engine.py", "_configure_zero_optimizer", "optimizer = DeepSpeedZeroOptimizer("),
        ("deepspeed/runtime/zero/stage_1_and_2.py", "__init__", "self.single_partition_of_fp32_groups.append("),
    ]) + &out_of(15.26, 79.11, 14.8, 61.03);
    let json = "{\n  \"bf16\": {\"enabled\": true},\n  \"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true},\n  \"train_micro_batch_size_per_gpu\": 1\n}\n";
    let run = "deepspeed --num_gpus 8 finetune.py --model_name_or_path Qwen/Qwen2.5-32B-Instruct --deepspeed ds.json --bf16 True --per_device_train_batch_size 1 --gradient_checkpointing True --model_max_length 4096\n";
    let end = report(&[("job.log", &log), ("ds.json", json), ("run.sh", run)])?;
    assert_eq!(turned(&end)?[0], "zero_optimization.stage");
    // No figure below the capacity is called too much.
    for patch in patches(&end)? {
        let fits = patch.needs.gpu.and_then(|need| Some(need.bytes <= need.capacity?)).unwrap_or_default();
        assert!(!(fits && patch.suffices == Some(false)), "{}", patch.knob);
    }
    Ok(())
}

#[test]
fn shards_that_are_saved_one_after_the_other_are_not_counted_together() -> Outcome {
    let log = " 21%|██        | 100/476 [1:24:02<5:15:48, 50.39s/it]\nINFO:accelerate.utils.fsdp_utils:Saving model to /out/checkpoint-100/pytorch_model_fsdp.bin\nINFO:accelerate.utils.fsdp_utils:Model saved to /out/checkpoint-100/pytorch_model_fsdp.bin\nINFO:accelerate.utils.fsdp_utils:Saving Optimizer state to /out/checkpoint-100/optimizer.bin\n[812331.114532] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=docker-5b.scope,mems_allowed=0-1,oom_memcg=/system.slice/docker-5b.scope,task_memcg=/system.slice/docker-5b.scope,task=python,pid=2209,uid=0\n[812331.114610] Memory cgroup out of memory: Killed process 2209 (python) total-vm:401221184kB, anon-rss:279112044kB, file-rss:98120kB, shmem-rss:2048kB, UID:0 pgtables:551012kB oom_score_adj:0\n";
    let config = "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_offload_params: false\n  fsdp_reshard_after_forward: true\n  fsdp_state_dict_type: FULL_STATE_DICT\n  fsdp_activation_checkpointing: true\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n";
    let run = "docker run --rm --gpus all --memory=300g ours/trl:0.21 accelerate launch --config_file fsdp.yaml -m trl.scripts.sft --model_name_or_path Qwen/Qwen2.5-32B --per_device_train_batch_size 1 --max_length 4096 --bf16\n";
    let end = report(&[("job.log", log), ("fsdp.yaml", config), ("run.sh", run)])?;
    let first = &patches(&end)?[0];
    assert_eq!(first.knob, "fsdp_config.fsdp_state_dict_type");
    assert_ne!(first.suffices, Some(false));
    // Supervised training has no engine.
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("vllm")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn ranks_that_load_to_one_gpu_load_to_the_host() -> Outcome {
    let held: String = (1..8).map(|rank| format!(" Process 33{rank:02} has 10.70 GiB memory in use.")).collect();
    let log = stack(&[
        ("/w/train.py", "<module>", "state = torch.load(\"/ckpt/last.pt\")"),
        ("torch/serialization.py", "load", "return _load("),
        ("torch/serialization.py", "_deserialize", "return obj.to(device=device, non_blocking=non_blocking)"),
    ]) + &format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 44.00 MiB is free.{held} Of the allocated memory 9.40 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.\nE0815 11:00:00.000000 3290 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 6 (pid: 3307) of binary: /w/venv/bin/python\n"
    );
    let script = "import torch\nfrom torch.distributed.fsdp import fully_shard\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(\"org/m\")\nstate = torch.load(\"/ckpt/last.pt\")\nfor layer in model.model.layers:\n    fully_shard(layer)\n";
    let end = report(&[("job.log", &log), ("train.py", script), ("run.sh", "torchrun --nproc_per_node 8 train.py\n")])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("checkpoint_load_duplication", "torch.load.map_location"));
    let strange = ["fsdp_config", "--nproc_per_node", "kill"];
    assert!(
        turned(&end)?.iter().all(|knob| strange.iter().all(|other| !knob.starts_with(other))),
        "{:?}",
        turned(&end)?
    );
    Ok(())
}

#[test]
fn a_merge_is_loading_and_needs_no_gpu() -> Outcome {
    let log = stack(&[
        (
            "axolotl/cli/merge_lora.py",
            "do_merge_lora",
            "model, tokenizer, processor = load_model_and_tokenizer(cfg=cfg)",
        ),
        ("transformers/modeling_utils.py", "from_pretrained", ") = cls._load_pretrained_model("),
    ]) + &out_of(0.13, 23.64, 0.1, 23.05);
    let config = "base_model: Qwen/Qwen2.5-14B-Instruct\nload_in_4bit: true\nadapter: qlora\nlora_r: 32\nsequence_len: 2048\nmicro_batch_size: 2\n";
    let run = "axolotl merge-lora lora.yml --lora-model-dir=./out\n";
    let end = report(&[("job.log", &log), ("lora.yml", config), ("merge.sh", run)])?;
    assert_eq!((cause(&end)?, root(&end)?.phase.name.as_str()), ("weights_do_not_fit", "model_load"));
    assert_eq!(turned(&end)?[..2], ["CUDA_VISIBLE_DEVICES", "lora_on_cpu"]);
    Ok(())
}

#[test]
fn a_key_that_the_new_optimizer_refuses_goes() -> Outcome {
    let log = stack(&[
        ("recipes/full_finetune_single_device.py", "train", "self.optimizer.step()"),
        ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg_sq\"] = torch.zeros_like("),
    ]) + &out_of(0.11, 44.43, 0.07, 43.81);
    let config = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\noptimizer:\n  _component_: torch.optim.AdamW\n  lr: 2e-5\n  fused: True\nbatch_size: 1\ndtype: bf16\n";
    let run = "tune run full_finetune_single_device --config full.yaml\n";
    let end = report(&[("job.log", &log), ("full.yaml", config), ("run.sh", run)])?;
    let diff = diff_of(&end, "optimizer._component_")?;
    assert!(diff.contains("-  fused: True") && !diff.contains("+  fused"), "{diff}");
    let end = report(&[("job.log", &log), ("full.yaml", &config.replace("  fused: True\n", "")), ("run.sh", run)])?;
    assert!(!diff_of(&end, "optimizer._component_")?.contains("fused"));
    Ok(())
}

#[test]
fn a_class_gets_only_arguments_that_it_has() -> Outcome {
    let log = stack(&[
        ("/w/train.py", "<module>", "trainer.train()"),
        ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg_sq\"] = torch.zeros_like("),
    ]) + &refused("224.00 MiB", 79.25);
    let script = "import torch\nfrom transformers import AutoModelForCausalLM\nfrom trl import SFTConfig, SFTTrainer\nmodel = AutoModelForCausalLM.from_pretrained(\"meta-llama/Llama-3.1-8B\", torch_dtype=torch.float32)\nargs = SFTConfig(output_dir=\"out\", per_device_train_batch_size=1, bf16=True)\ntrainer = SFTTrainer(model=model, args=args, train_dataset=data)\ntrainer.train()\n";
    let end = report(&[("job.log", &log), ("train.py", script), ("run.sh", "python train.py\n")])?;
    let knobs = turned(&end)?;
    assert!(!knobs.contains(&"use_peft") && knobs.contains(&"SFTTrainer.peft_config"), "{knobs:?}");
    Ok(())
}

#[test]
fn an_option_of_the_script_stands_behind_the_script() -> Outcome {
    let log = stack(&[
        ("/w/grpo.py", "<module>", "trainer.train()"),
        ("trl/trainer/grpo_trainer.py", "_get_per_token_logps", "logits = logits / self.temperature"),
    ]) + &out_of(18.55, 79.25, 6.6, 68.0);
    let run = "trl vllm-serve --model Qwen/Qwen2.5-3B-Instruct &\naccelerate launch --num_processes 4 --mixed_precision bf16 grpo.py\n";
    let end = report(&[("job.log", &log), ("run.sh", run)])?;
    for patch in patches(&end)?.iter().filter(|patch| patch.target == "cli") {
        let added = patch.diff.as_deref().unwrap_or_default().lines().find(|line| line.starts_with("+accelerate"));
        assert!(added.is_none_or(|line| line.contains("bf16 grpo.py")), "{added:?}");
    }
    Ok(())
}

#[test]
fn fsdp_recomputes_by_its_own_key() -> Outcome {
    let log = stack(&[
        ("/w/rm.py", "<module>", "trainer.train()"),
        ("trl/trainer/reward_trainer.py", "compute_loss", "rewards_chosen = model("),
        (
            "torch/distributed/fsdp/fully_sharded_data_parallel.py",
            "forward",
            "output = self._fsdp_wrapped_module(*args, **kwargs)",
        ),
        MLP,
    ]) + &out_of(0.22, 79.11, 0.12, 76.8);
    let config = "distributed_type: FSDP\nfsdp_config:\n  fsdp_activation_checkpointing: false\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_offload_params: false\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n";
    let run = "accelerate launch --config_file fsdp.yaml reward_modeling.py --model_name_or_path meta-llama/Llama-3.1-8B-Instruct --max_length 8192 --per_device_train_batch_size 1 --bf16 --gradient_checkpointing False\n";
    let end = report(&[("job.log", &log), ("fsdp.yaml", config), ("run.sh", run)])?;
    assert_eq!(turned(&end)?[0], "fsdp_config.fsdp_activation_checkpointing");
    assert!(!turned(&end)?.contains(&"--gradient_checkpointing"), "{:?}", turned(&end)?);
    assert!(patches(&end)?[0].effect.gpu_bytes.is_some());
    Ok(())
}

#[test]
fn a_reference_model_is_asked_without_gradients() -> Outcome {
    let log = stack(&[
        ("/w/dpo.py", "<module>", "rc = logps(ref, batch[\"chosen\"])"),
        ("/w/dpo.py", "logps", "logits = model(ids).logits[:, :-1]"),
        MLP,
    ]) + &out_of(0.06, 47.54, 0.04, 46.8);
    let script = "import torch\nfrom transformers import AutoModelForCausalLM\nBATCH = 2\ndef logps(model, ids):\n    logits = model(ids).logits[:, :-1]\n    return logits.log_softmax(-1).sum()\npolicy = AutoModelForCausalLM.from_pretrained(\"org/m\")\nref = AutoModelForCausalLM.from_pretrained(\"org/m\")\nopt = torch.optim.AdamW(policy.parameters())\nfor batch in loader(BATCH):\n    pc = logps(policy, batch[\"chosen\"])\n    rc = logps(ref, batch[\"chosen\"])\n    loss = -(pc - rc)\n    loss.backward()\n    opt.step()\n";
    let end = report(&[("job.log", &log), ("dpo.py", script)])?;
    assert_eq!(turned(&end)?[0], "torch.no_grad()");
    // Where it does so already, something else is too large.
    let asked = script.replace("    rc = logps", "    with torch.no_grad():\n        rc = logps");
    let end = report(&[("job.log", &log), ("dpo.py", &asked)])?;
    assert_ne!(turned(&end)?[0], "torch.no_grad()");
    Ok(())
}

#[test]
fn as_many_ranks_need_as_many_free_gpus() -> Outcome {
    let log = stack(&[
        ("/w/train.py", "<module>", "trainer.fit(model, data)"),
        ("lightning/pytorch/strategies/fsdp.py", "_setup_model", "model = FullyShardedDataParallel("),
    ]) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 416.00 MiB. GPU 2 has a total capacity of 79.25 GiB of which 312.00 MiB is free. Process 5512 has 70.41 GiB memory in use. Process 6187 has 8.51 GiB memory in use. Of the allocated memory 7.92 GiB is allocated by PyTorch, and 88.12 MiB is reserved by PyTorch but unallocated.\n";
    let script = "import lightning as L\ntrainer = L.Trainer(accelerator=\"gpu\", devices=4, strategy=\"fsdp\")\ntrainer.fit(model, data)\n";
    let run = "CUDA_VISIBLE_DEVICES=0,1,2,3 python train.py\n";
    let end = report(&[("job.log", &log), ("train.py", script), ("run.sh", run)])?;
    let first = &patches(&end)?[0];
    assert_eq!(
        (&*first.knob, first.to.as_ref().map(ToString::to_string)),
        ("CUDA_VISIBLE_DEVICES", Some("<4 free GPUs>".to_owned()))
    );
    Ok(())
}

#[test]
fn workers_that_hold_the_memory_are_fewer_before_anything_else() -> Outcome {
    let workers: String = (0..4).map(|worker| format!("72{worker:02}\t5.90\tpython3 (pt_data_worker)\n")).collect();
    let steps: String = (1..5)
        .map(|step| format!("(TaskRunner pid=7011) step:{step} - perf/cpu_memory_used_gb:{:.1} - perf/max_memory_reserved_gb:44.0\n", 230.0 + 52.0 * f64::from(step)))
        .collect();
    let log = format!(
        "{steps}ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.1.1.4, ID: 11a0) where the task (actor ID: 01af, name=TaskRunner.__init__, pid=7011, memory used=188.12GB) was running was 478.62GB / 503.52GB (0.950548), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 0db1) because of the memory pressure on the node; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.1.1.4`.\nTop 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n7011\t188.12\tray::TaskRunner.run\n8810\t21.40\tray::WorkerDict\n{workers}"
    );
    let run = "python3 -m verl.trainer.main_ppo data.train_batch_size=512 data.max_prompt_length=2048 data.max_response_length=2048 data.dataloader_num_workers=32 actor_rollout_ref.model.path=org/m trainer.n_gpus_per_node=8 trainer.nnodes=1\n";
    let end = report(&[("job.log", &log), ("run.sh", run)])?;
    assert_eq!(turned(&end)?[0], "data.dataloader_num_workers");
    assert!(!turned(&end)?.contains(&"tensor.detach()"), "{:?}", turned(&end)?);
    Ok(())
}
