//! Advice that could not have worked for the job that asked: what it took for a cause, a setting of whom it turned, and what it left out.

use std::error::Error;

use oomdoc::model::{FigureName, Kind};

use crate::support::analyzed::{cause, report, root, turned};

type Outcome = Result<(), Box<dyn Error>>;

/// What PyTorch says of a GPU of 79.10 GiB; `unused` GiB are reserved and unallocated.
fn oom(requested: &str, unused: &str) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 0 has a total capacity of 79.10 GiB of which 1.04 GiB is free. Including non-PyTorch memory, this process has 78.05 GiB memory in use. Of the allocated memory 70.11 GiB is allocated by PyTorch, and {unused} GiB is reserved by PyTorch but unallocated.\n"
    )
}

#[test]
fn the_final_model_is_not_saved_from_shards() -> Outcome {
    let stack = "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/w/train.py\", line 131, in <module>\n[rank0]:     trainer.save_model(out)\n[rank0]:   File \"/v/site-packages/transformers/trainer.py\", line 3901, in save_model\n[rank0]:     state_dict = self.accelerator.get_state_dict(self.model)\n[rank0]:   File \"/v/site-packages/torch/distributed/fsdp/_state_dict_utils.py\", line 721, in _full_post_state_dict_hook\n[rank0]:   File \"/v/site-packages/torch/distributed/fsdp/_flat_param.py\", line 1421, in _alloc_padded_unsharded_flat_param\n[rank0]:     _alloc_storage(unsharded_flat_param, flat_param._padded_unsharded_size)\n[rank0]: ";
    let config = "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_offload_params: false\n  fsdp_state_dict_type: FULL_STATE_DICT\nnum_processes: 8\n";
    let log = format!("{stack}{}", oom("1.95 GiB", "0.91"));
    let end = report(&[("job.log", &log), ("fsdp.yaml", config)])?;
    let knobs = turned(&end)?;
    assert!(!knobs.iter().any(|knob| knob.contains("state_dict_type") || knob.contains("min_num_params")), "{knobs:?}");
    assert_eq!(knobs[0], "trainer.accelerator.save_state()");
    // A checkpoint in the middle is written from shards.
    let inner = "[rank0]:   File \"/v/site-packages/transformers/trainer.py\", line 3340, in _save_checkpoint\n[rank0]:     self.save_model(output_dir, _internal_call=True)\n[rank0]:   File \"/v/site-packages/transformers/trainer.py\", line 3901, in save_model\n";
    let log =
        log.replace("[rank0]:   File \"/v/site-packages/transformers/trainer.py\", line 3901, in save_model\n", inner);
    let middle = report(&[("job.log", &log), ("fsdp.yaml", config)])?;
    assert_eq!(turned(&middle)?[0], "fsdp_config.fsdp_state_dict_type");
    Ok(())
}

#[test]
fn what_cannot_suffice_does_not_lead() -> Outcome {
    let log = format!(
        "INFO:torchtune.utils._logging:Running FullFinetuneRecipeDistributed with resolved config:\n[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/v/site-packages/recipes/full_finetune_distributed.py\", line 861, in train\n[rank0]:     current_loss = self._loss_step(batch)\n[rank0]:   File \"/v/site-packages/torchtune/modules/feed_forward.py\", line 51, in forward\n[rank0]:     h = h * self.w3(x)\n[rank0]: {}",
        oom("1.75 GiB", "0.21")
    );
    let config = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  max_seq_len: 8192\nbatch_size: 8\ngradient_accumulation_steps: 1\nenable_activation_checkpointing: False\nenable_activation_offloading: False\ndtype: bf16\noptimizer:\n  _component_: torch.optim.AdamW\n";
    let report = report(&[("job.log", &log), ("8B_full.yaml", config)])?;
    assert_eq!(turned(&report)?[0], "enable_activation_checkpointing");
    Ok(())
}

#[test]
fn an_engine_that_wakes_its_weights_has_no_cache_yet() -> Outcome {
    let wake = |tag: &str| {
        format!(
            "(WorkerDict pid=9) Traceback (most recent call last):\n(WorkerDict pid=9)   File \"/w/verl/workers/sharding_manager/fsdp_vllm.py\", line 158, in __enter__\n(WorkerDict pid=9)     self.inference_engine.wake_up(tags=[\"{tag}\"])\n(WorkerDict pid=9)   File \"/v/site-packages/vllm/device_allocator/cumem.py\", line 225, in wake_up\n(WorkerDict pid=9)     create_and_map(handle)\n(WorkerDict pid=9) RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n"
        )
    };
    let script = "python3 -m verl.trainer.main_ppo \\\n actor_rollout_ref.model.path=Qwen/Qwen2.5-32B-Instruct \\\n actor_rollout_ref.actor.fsdp_config.param_offload=False \\\n actor_rollout_ref.actor.fsdp_config.optimizer_offload=False \\\n actor_rollout_ref.rollout.name=vllm \\\n actor_rollout_ref.rollout.gpu_memory_utilization=0.8\n";
    let share = "actor_rollout_ref.rollout.gpu_memory_utilization";
    let weights = report(&[("job.log", &wake("weights")), ("run.sh", script)])?;
    assert!(turned(&weights)?[0].ends_with("_offload") && !turned(&weights)?.contains(&share));
    let cache = report(&[("job.log", &wake("kv_cache")), ("run.sh", script)])?;
    assert_eq!(turned(&cache)?[0], share);
    Ok(())
}

#[test]
fn outputs_of_an_evaluation_pile_up_whatever_its_batch() -> Outcome {
    let log = format!(
        "Traceback (most recent call last):\n  File \"/v/site-packages/transformers/trainer.py\", line 3096, in _maybe_log_save_evaluate\n    metrics = self._evaluate(trial, ignore_keys_for_eval)\n  File \"/v/site-packages/transformers/trainer.py\", line 4312, in evaluation_loop\n    all_preds.add(logits)\n  File \"/v/site-packages/transformers/trainer_pt_utils.py\", line 100, in torch_pad_and_concatenate\n    return torch.cat((tensor1, tensor2), dim=0)\n{}",
        oom("31.31 GiB", "0.11")
    );
    let report = report(&[("job.log", &log)])?;
    assert_eq!(cause(&report)?, "gpu_memory_growth");
    let knobs = turned(&report)?;
    // The host may have no room for all logits of a language model either.
    assert!(knobs[0].contains("preprocess_logits_for_metrics"), "{knobs:?}");
    assert!(knobs[1].contains("eval_accumulation_steps"), "{knobs:?}");
    Ok(())
}

#[test]
fn keys_of_many_frameworks_name_none() -> Outcome {
    let log = format!(
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/v/site-packages/trl/trainer/grpo_trainer.py\", line 1733, in _compute_loss\n[rank0]:     per_token_logps, entropies = self._get_per_token_logps_and_entropies(\n[rank0]:   File \"/v/site-packages/transformers/models/qwen2/modeling_qwen2.py\", line 463, in forward\n[rank0]:     logits = self.lm_head(hidden_states[:, slice_indices, :])\n[rank0]: {}",
        oom("9.28 GiB", "0.51")
    );
    // Without the model's name, which only TRL's configurations have beside these keys.
    let config = "bf16: true\nuse_vllm: true\nvllm_mode: colocate\nvllm_gpu_memory_utilization: 0.4\nvllm_enable_sleep_mode: false\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 4\nnum_generations: 8\ngradient_checkpointing: true\n";
    for config in [config.to_owned(), format!("model_name_or_path: Qwen/Qwen2.5-7B-Instruct\n{config}")] {
        let report = report(&[("job.log", &log), ("grpo.yaml", &config)])?;
        assert_eq!(report.job.framework.as_deref(), Some("trl"));
        let knobs = turned(&report)?;
        assert!(knobs.iter().any(|knob| knob.contains("vllm_enable_sleep_mode")), "{knobs:?}");
        assert!(!knobs.iter().any(|knob| knob.contains("cut_cross_entropy")), "{knobs:?}");
    }
    Ok(())
}

#[test]
fn ranks_that_chose_no_gpu_are_no_strangers() -> Outcome {
    let holders: String = (2001..2005).map(|pid| format!("Process {pid} has 15.61 GiB memory in use. ")).collect();
    let log = format!(
        "Traceback (most recent call last):\n  File \"/app/train.py\", line 41, in <module>\n    model = AutoModelForCausalLM.from_pretrained(name).to(\"cuda\")\n  File \"/v/site-packages/torch/nn/modules/module.py\", line 1355, in to\n    return self._apply(convert)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 31.75 MiB is free. {holders}Including non-PyTorch memory, this process has 15.60 GiB memory in use. Of the allocated memory 15.11 GiB is allocated by PyTorch, and 1.11 MiB is reserved by PyTorch but unallocated.\nE0505 12:32:04.121000 210 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 4 (pid: 2005) of binary: /opt/conda/bin/python\n"
    );
    let report = report(&[("job.log", &log)])?;
    assert_eq!(turned(&report)?[0], "torch.cuda.set_device()");
    Ok(())
}

#[test]
fn unused_memory_that_would_have_sufficed_is_named() -> Outcome {
    let log = format!(
        "Traceback (most recent call last):\n  File \"/app/train.py\", line 101, in <module>\n    loss.backward()\n{}",
        oom("1.96 GiB", "6.12")
    );
    let report = report(&[("job.log", &log)])?;
    let all = root(&report)?.diagnoses.iter().take(1).flat_map(|diagnosis| &diagnosis.patches);
    assert!(all.map(|patch| &*patch.knob).any(|knob| knob.contains("expandable_segments")));
    Ok(())
}

#[test]
fn the_task_of_a_launcher_is_no_rank() -> Outcome {
    let log = "n2: E0505 12:32:05.121000 510 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 3 (pid: 534) of binary: /opt/conda/bin/python\nslurmstepd-n2: error: Detected 1 oom_kill event in StepId=9912.0. Some of the step tasks have been OOM Killed.\nsrun: error: n2: task 1: Out Of Memory\n";
    let with_launcher = report(&[("job.log", log)])?;
    assert!(root(&with_launcher)?.victims.iter().all(|victim| victim.rank != Some(1)), "a task is a launcher there");
    let tasks = report(&[("job.log", &log[log.find("slurmstepd").unwrap_or(0)..])])?;
    assert_eq!(root(&tasks)?.victim.rank, Some(1));
    Ok(())
}

#[test]
fn the_limit_that_was_hit_stands_in_the_script() -> Outcome {
    let log = "Loading checkpoint shards:  77%|███████▋  | 23/30 [02:11<00:41,  5.91s/it]\nslurmstepd: error: Detected 3 oom_kill events in StepId=881301.batch. Some of the step tasks have been OOM Killed.\n";
    let script = "#!/bin/bash\n#SBATCH --mem=256G\ntorchrun --nproc_per_node=4 finetune.py\n";
    let report = report(&[("job.log", log), ("job.sbatch", script)])?;
    let limit = root(&report)?.figures.iter().find(|figure| figure.name == FigureName::MemcgLimit);
    assert_eq!(limit.and_then(|figure| figure.bytes).map(|bytes| bytes.0), Some(256 << 30));
    assert_eq!(cause(&report)?, "checkpoint_load_duplication");
    assert!(!turned(&report)?.contains(&"torch.load.mmap"));
    Ok(())
}

#[test]
fn one_kill_that_two_programs_tell_of_is_one() -> Outcome {
    let log = "Sep 01 10:02:11 gpu01 kernel: Memory cgroup out of memory: Killed process 2211 (vllm) total-vm:94088488kB, anon-rss:33241124kB, file-rss:204800kB, shmem-rss:0kB, UID:998 pgtables:80958kB oom_score_adj:0\nSep 01 10:02:11 gpu01 systemd[1]: vllm.service: A process of this unit has been killed by the OOM killer.\nSep 01 10:02:11 gpu01 systemd[1]: vllm.service: Failed with result 'oom-kill'.\n";
    let unit = "[Service]\nExecStart=/opt/venv/bin/vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2\nMemoryMax=32G\n";
    let report = report(&[("journal.log", log), ("vllm.service", unit)])?;
    assert_eq!((report.incidents.len(), report.verdict), (1, Kind::HostOomCgroup));
    let patches = root(&report)?.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    assert!(patches.map(|patch| &*patch.knob).any(|knob| knob == "MemoryMax"));
    Ok(())
}

#[test]
fn a_node_without_memory_has_hit_no_limit() -> Outcome {
    let log = "Reason:           Evicted\nMessage:          The node was low on resource: memory. Threshold quantity: 100Mi, available: 81212Ki. Container trainer was using 401221212Ki, request is 64Gi, has larger consumption of memory.\n";
    let report = report(&[("job.log", log)])?;
    let knobs = turned(&report)?;
    assert!(knobs.contains(&"resources.requests.memory") && !knobs.contains(&"resources.limits.memory"), "{knobs:?}");
    Ok(())
}

/// What the loss of transformers asks for on a GPU of 79.10 GiB, in the forward pass of a job on DeepSpeed.
fn failed_loss(requested: &str) -> String {
    format!(
        "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/v/site-packages/transformers/trainer.py\", line 3745, in compute_loss\n[rank2]:     outputs = model(**inputs)\n[rank2]:   File \"/v/site-packages/deepspeed/runtime/engine.py\", line 2030, in forward\n[rank2]:     loss = self.module(*inputs, **kwargs)\n[rank2]:   File \"/v/site-packages/transformers/loss/loss_utils.py\", line 40, in ForCausalLMLoss\n[rank2]:     logits = logits.float()\n[rank2]: {}",
        oom(requested, "0.91")
    )
}

/// Trainers that leave the number formats to the configuration once got no price, and a batch was only halved, though the estimate of the
/// same job said that half of it does not fit.
#[test]
fn a_batch_is_cut_as_far_as_the_estimate_says() -> Outcome {
    let config = "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\ndeepspeed: spread.json\ncutoff_len: 8192\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 1\nbf16: true\n";
    let spread = "{\"zero_optimization\": {\"stage\": 3}, \"bf16\": {\"enabled\": true}}\n";
    let launch = "NPROC_PER_NODE=8 FORCE_TORCHRUN=1 llamafactory-cli train tune.yaml\n";
    let log = failed_loss("37.13 GiB");
    let report = report(&[("job.log", &log), ("tune.yaml", config), ("spread.json", spread), ("run.sh", launch)])?;
    let patches = &root(&report)?.diagnoses.first().ok_or("no cause")?.patches;
    let batch = patches.iter().find(|patch| patch.knob.ends_with("train_batch_size")).ok_or("the batch stays")?;
    assert_eq!(batch.to.as_ref().map(ToString::to_string).as_deref(), Some("2"), "{batch:?}");
    assert_eq!(batch.suffices, Some(true));
    // Samples of the greatest length would free more than the GPU has, which is not told.
    assert_eq!(batch.effect.gpu_bytes, None);
    Ok(())
}

/// The passes for log-probabilities once counted the sequences of an update, so that the log seemed to refute the configuration.
#[test]
fn passes_for_log_probabilities_have_a_batch_of_their_own() -> Outcome {
    let script = "python3 -m verl.trainer.main_ppo \\\n algorithm.adv_estimator=grpo \\\n data.max_prompt_length=512 \\\n data.max_response_length=3584 \\\n actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\\n actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\\n actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=32 \\\n trainer.n_gpus_per_node=8 trainer.nnodes=1\n";
    let log = format!(
        "(WorkerDict pid=7) Traceback (most recent call last):\n(WorkerDict pid=7)   File \"/w/verl/workers/fsdp_workers.py\", line 801, in compute_log_prob\n(WorkerDict pid=7)     output, entropys = self.actor.compute_log_prob(data=data, calculate_entropy=True)\n(WorkerDict pid=7)   File \"/w/verl/utils/torch_functional.py\", line 145, in entropy_from_logits\n(WorkerDict pid=7)     pd = torch.nn.functional.softmax(logits, dim=-1)\n(WorkerDict pid=7) {}",
        oom("37.13 GiB", "0.21")
    );
    let report = report(&[("job.log", &log), ("run.sh", script)])?;
    let sums = serde_json::to_string(&root(&report)?.memory)?;
    assert!(!sums.contains("does not match"), "{sums}");
    let patches = &root(&report)?.diagnoses.first().ok_or("no cause")?.patches;
    let batch = patches.iter().find(|patch| patch.knob.contains("log_prob_micro")).ok_or("the batch stays")?;
    let to = batch.to.as_ref().map(ToString::to_string);
    assert!(to.and_then(|to| to.parse::<u64>().ok()).is_some_and(|to| to <= 8), "{batch:?}");
    Ok(())
}

/// An axolotl job was once sent to the host with all of its states, though ZeRO's third stage alone leaves a quarter of each GPU free.
#[test]
fn the_cheapest_change_that_fits_leads() -> Outcome {
    let config = "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: house/notes\n    type: completion\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\noptimizer: adamw_torch_fused\nbf16: true\ngradient_checkpointing: true\ndeepspeed: spread.json\n";
    let spread = "{\"zero_optimization\": {\"stage\": 1}, \"bf16\": {\"enabled\": true}}\n";
    let log = |total: &str| {
        format!(
            "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/v/site-packages/axolotl/train.py\", line 199, in train\n[rank1]:     trainer.train(resume_from_checkpoint=resume)\n[rank1]:   File \"/v/site-packages/deepspeed/runtime/zero/stage_1_and_2.py\", line 1850, in _optimizer_step\n[rank1]:     self.optimizer.step()\n[rank1]:   File \"/v/site-packages/torch/optim/adamw.py\", line 171, in _init_group\n[rank1]:     state[\"exp_avg\"] = torch.zeros_like(\n[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.09 GiB. GPU 1 has a total capacity of {total} GiB of which 1.04 GiB is free.\n"
        )
    };
    let launch = "accelerate launch --num_processes 4 -m axolotl.cli.train tune.yaml\n";
    let of =
        |total| report(&[("job.log", &log(total)), ("tune.yaml", config), ("spread.json", spread), ("run.sh", launch)]);
    assert_eq!(turned(&of("47.54")?)?[0], "zero_optimization.stage");
    // Where it leaves less than a fifth, offload comes first.
    assert_ne!(turned(&of("39.38")?)?[0], "zero_optimization.stage");
    Ok(())
}

/// Of two changes that suffice only together, the second was once priced as if it were made alone: on each host every rank would keep all
/// states.
#[test]
fn a_change_of_a_set_is_priced_as_one_of_the_set() -> Outcome {
    let spread = "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": true}}\n";
    let script = "deepspeed --num_gpus=8 run_clm.py --model_name_or_path Qwen/Qwen2.5-72B --do_train --bf16 --per_device_train_batch_size 1 --gradient_checkpointing --deepspeed spread.json\n";
    let log = format!(
        "[rank4]: Traceback (most recent call last):\n[rank4]:   File \"/w/run_clm.py\", line 590, in main\n[rank4]:     trainer.train()\n[rank4]:   File \"/v/site-packages/deepspeed/runtime/engine.py\", line 1180, in _configure_distributed_model\n[rank4]:     self.module.to(self.device)\n[rank4]: {}",
        oom("462.00 MiB", "0.01")
    );
    let report = report(&[("job.log", &log), ("spread.json", spread), ("run.sh", script)])?;
    let diagnosis = root(&report)?.diagnoses.first().ok_or("no cause")?;
    let set = diagnosis.set.as_ref().ok_or("no set")?;
    assert_eq!(set.knobs, ["zero_optimization.stage", "zero_optimization.offload_optimizer.device"]);
    let whole: f64 =
        diagnosis.patches.iter().take(2).filter_map(|patch| patch.effect.gpu_bytes).map(|moved| moved.gib()).sum();
    let second = &diagnosis.patches[1];
    assert_eq!((second.needs.gpu, second.suffices), (set.needs.gpu, None));
    assert!(whole < -250.0, "{whole}");
    // 72.7 B × 20 bytes at most, shared by all ranks of the host.
    assert!(second.effect.host_bytes.is_some_and(|moved| moved.gib() < 1400.0), "{:?}", second.effect);
    Ok(())
}
