//! Tests the shipped rows with frames and stacks of each framework, so that a broken row fails.

use super::FrameRole::{Enclosing, Operation, Transfer};
use super::*;
use crate::knowledge::Knowledge;
use crate::model::Phase::*;

/// A call: source file, function, source line.
type Call = (&'static str, &'static str, &'static str);

const FRAMES: &[(Call, Option<(Phase, FrameRole)>)] = &[
    // PyTorch.
    (("/opt/torch/_tensor.py", "backward", "torch.autograd.backward("), Some((Backward, Operation))),
    (("/opt/torch/autograd/graph.py", "_engine_run_backward", "return Variable._exec"), Some((Backward, Operation))),
    (("<string>", "<backward op>", "grad_self = torch._softmax_backward_data("), Some((Backward, Operation))),
    (("/opt/torch/utils/checkpoint.py", "recompute_fn", "fn(*args, **kwargs)"), Some((Backward, Operation))),
    (("/opt/torch/utils/checkpoint.py", "checkpoint", "ret = function(*args)"), Some((Forward, Operation))),
    (("/opt/torch/nn/modules/module.py", "_call_impl", "return forward_call("), Some((Forward, Operation))),
    (("/opt/torch/nn/modules/module.py", "convert", "return t.to("), Some((ModelLoad, Operation))),
    (("/opt/torch/nn/functional.py", "softmax", "ret = input.softmax(dim)"), Some((Forward, Operation))),
    (("/opt/torch/nn/modules/sparse.py", "__init__", "self.weight = Parameter("), Some((ModelLoad, Operation))),
    (("/opt/torch/optim/adam.py", "_init_group", "state['exp_avg'] = torch."), Some((OptimizerStep, Operation))),
    (("/opt/torch/optim/adamw.py", "step", "loss = closure()"), Some((Forward, Operation))),
    (("/opt/torch/optim/adamw.py", "step", "adamw("), Some((OptimizerStep, Operation))),
    (("/opt/torch/serialization.py", "save", "_save("), Some((CheckpointSave, Enclosing))),
    (
        ("/opt/torch/serialization.py", "__exit__", "self.file_like.write_end_of_file()"),
        Some((CheckpointSave, Enclosing)),
    ),
    (("/opt/torch/serialization.py", "persistent_load", "load_tensor("), Some((ModelLoad, Enclosing))),
    (("/opt/torch/optim/optimizer.py", "load_state_dict", ""), Some((CheckpointResume, Enclosing))),
    (("/opt/torch/utils/data/dataloader.py", "__next__", "data = self._next_data()"), Some((DataLoading, Enclosing))),
    (("/opt/torch/distributed/distributed_c10d.py", "barrier", "work.wait()"), None),
    (("/opt/torch/distributed/elastic/agent.py", "run", ""), None),
    // FSDP.
    (("/opt/torch/distributed/fsdp/_runtime_utils.py", "_pre_forward", ""), Some((Forward, Operation))),
    (("/opt/torch/distributed/fsdp/_runtime_utils.py", "_post_backward_hook", ""), Some((Backward, Operation))),
    (
        ("/opt/torch/distributed/fsdp/_flat_param.py", "_alloc_padded_unsharded_flat_param", ""),
        Some((WeightSync, Operation)),
    ),
    (("/opt/torch/distributed/fsdp/_optim_utils.py", "_optim_state_dict", ""), Some((CheckpointSave, Enclosing))),
    (
        ("/opt/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py", "foreach_reduce", ""),
        Some((Backward, Operation)),
    ),
    // DeepSpeed.
    (("/opt/deepspeed/__init__.py", "initialize", "engine = DeepSpeedEngine("), Some((Setup, Operation))),
    (("/opt/deepspeed/runtime/engine.py", "_configure_zero_optimizer", ""), Some((Setup, Operation))),
    (
        ("/opt/deepspeed/runtime/engine.py", "_take_model_step", "self.optimizer.step()"),
        Some((OptimizerStep, Operation)),
    ),
    (("/opt/deepspeed/runtime/zero/stage_1_and_2.py", "reduce_ipg_grads", ""), Some((Backward, Operation))),
    (("/opt/deepspeed/runtime/zero/stage2.py", "step", ""), Some((OptimizerStep, Operation))),
    (("/opt/deepspeed/runtime/zero/stage3.py", "__reduce_and_partition_ipg_grads", ""), Some((Backward, Operation))),
    (("/opt/deepspeed/runtime/zero/stage3.py", "_create_fp32_partitions", ""), Some((Setup, Operation))),
    (
        ("/opt/deepspeed/runtime/zero/parameter_offload.py", "pre_sub_module_forward_function", ""),
        Some((Forward, Operation)),
    ),
    (("/opt/deepspeed/runtime/zero/partition_parameters.py", "_all_gather", ""), Some((WeightSync, Operation))),
    (("/opt/deepspeed/runtime/engine.py", "save_checkpoint", "dist.barrier()"), Some((CheckpointSave, Enclosing))),
    (
        ("/opt/deepspeed/runtime/engine.py", "_zero3_consolidated_16bit_state_dict", ""),
        Some((CheckpointSave, Enclosing)),
    ),
    (
        ("/opt/deepspeed/runtime/engine.py", "_get_all_zero_checkpoint_state_dicts", ""),
        Some((CheckpointResume, Enclosing)),
    ),
    (("/opt/deepspeed/utils/nvtx.py", "wrapped_fn", "ret_val = func(*args, **kwargs)"), None),
    // Megatron.
    (
        ("/opt/megatron/training.py", "backward_step", "fp32_allreduce=args.fp32_allreduce)"),
        Some((Backward, Operation)),
    ),
    (("/opt/megatron/core/pipeline_parallel/schedules.py", "forward_step", ""), Some((Forward, Operation))),
    (
        ("/opt/megatron/core/optimizer/distrib_optimizer.py", "step_with_ready_grads", ""),
        Some((OptimizerStep, Operation)),
    ),
    (("/opt/megatron/training/training.py", "evaluate", ""), Some((Evaluation, Enclosing))),
    (("/opt/megatron/training/checkpointing.py", "load_checkpoint", ""), Some((CheckpointResume, Enclosing))),
    (("/opt/megatron/training/training.py", "train_step", ""), None),
    // OpenRLHF.
    (("/opt/openrlhf/trainer/ray/ppo_actor.py", "fit", "status = self.ppo_train()"), None),
    (("/opt/openrlhf/trainer/ray/ppo_actor.py", "_broadcast_to_vllm", ""), Some((WeightSync, Transfer))),
    (
        ("/opt/openrlhf/trainer/ppo_utils/experience_maker.py", "make_experience", "output = self.actor("),
        Some((Experience, Enclosing)),
    ),
    (
        (
            "/opt/openrlhf/trainer/ppo_utils/experience_maker.py",
            "make_experience_list",
            "samples_list = self.generate_samples(all_prompts)",
        ),
        Some((Rollout, Enclosing)),
    ),
    (
        (
            "/opt/openrlhf/trainer/ppo_utils/experience_maker.py",
            "make_experience_list",
            "dist.broadcast_object_list(samples_list, src=0)",
        ),
        Some((WeightSync, Transfer)),
    ),
    (("/opt/openrlhf/utils/deepspeed/deepspeed.py", "prepare", ""), Some((Setup, Operation))),
    (("/opt/openrlhf/utils/deepspeed/deepspeed.py", "save_model", ""), Some((CheckpointSave, Enclosing))),
    (("/opt/openrlhf/models/utils.py", "log_probs_from_logits", ""), Some((Forward, Operation))),
    // verl and EasyR1.
    (("/opt/verl/workers/fsdp_workers.py", "update_actor", ""), None),
    (("/opt/verl/workers/fsdp_workers.py", "init_model", ""), None),
    (("/opt/verl/workers/fsdp_workers.py", "_build_rollout", ""), Some((EngineInit, Enclosing))),
    (("/opt/verl/workers/fsdp_workers.py", "generate_sequences", ""), Some((Rollout, Enclosing))),
    (("/opt/verl/workers/actor/dp_actor.py", "compute_log_prob", ""), Some((Experience, Enclosing))),
    (("/opt/verl/workers/actor/dp_actor.py", "_forward_micro_batch", ""), Some((Forward, Operation))),
    (("/opt/verl/workers/actor/dp_actor.py", "_optimizer_step", ""), Some((OptimizerStep, Operation))),
    (("/opt/verl/workers/sharding_manager/fsdp_vllm.py", "__enter__", ""), Some((WeightSync, Transfer))),
    (("/opt/verl/workers/engine_workers.py", "update_weights", ""), Some((WeightSync, Transfer))),
    (("/opt/verl/trainer/ppo/ray_trainer.py", "_validate", ""), Some((Evaluation, Enclosing))),
    (("/opt/EasyR1/verl/trainer/ray_trainer.py", "_save_checkpoint", ""), Some((CheckpointSave, Enclosing))),
    (("/opt/EasyR1/verl/workers/fsdp_workers.py", "prepare_rollout_engine", ""), Some((WeightSync, Transfer))),
    (("/opt/EasyR1/verl/utils/fsdp_utils.py", "load_fsdp_optimizer", ""), Some((WeightSync, Enclosing))),
    // Transformers and Accelerate.
    (("/opt/transformers/modeling_utils.py", "from_pretrained", ""), Some((ModelLoad, Enclosing))),
    (("/opt/transformers/core_model_loading.py", "set_param_for_module", ""), Some((ModelLoad, Enclosing))),
    (("/opt/transformers/trainer.py", "_inner_training_loop", ""), None),
    (("/opt/transformers/trainer.py", "training_step", "self.accelerator.backward(loss)"), Some((Backward, Operation))),
    (("/opt/transformers/trainer.py", "compute_loss", "outputs = model(**inputs)"), Some((Forward, Operation))),
    (("/opt/transformers/trainer.py", "evaluation_loop", ""), Some((Evaluation, Enclosing))),
    (("/opt/transformers/trainer_pt_utils.py", "torch_pad_and_concatenate", ""), Some((Evaluation, Enclosing))),
    (("/opt/transformers/trainer.py", "_save_optimizer_and_scheduler", ""), Some((CheckpointSave, Enclosing))),
    (
        ("/opt/transformers/integrations/deepspeed.py", "deepspeed_load_checkpoint", ""),
        Some((CheckpointResume, Enclosing)),
    ),
    (("/opt/transformers/generation/utils.py", "_sample", ""), Some((Inference, Enclosing))),
    (("/opt/accelerate/accelerator.py", "_prepare_deepspeed", ""), Some((Setup, Operation))),
    (("/opt/accelerate/utils/deepspeed.py", "backward", "self.engine.step()"), Some((OptimizerStep, Operation))),
    (("/opt/accelerate/accelerator.py", "save_state", ""), Some((CheckpointSave, Enclosing))),
    // LLaMA-Factory, TRL, swift.
    (("/opt/llamafactory/data/loader.py", "get_dataset", ""), Some((DataLoading, Enclosing))),
    (("/opt/llmtuner/train/rm/trainer.py", "__init__", "super().__init__(*args, **kwargs)"), Some((Setup, Operation))),
    (("/opt/llamafactory/train/sft/workflow.py", "run_sft", "trainer = CustomSeq2SeqTrainer("), None),
    (
        ("/opt/trl/trainer/grpo_trainer.py", "_generate_and_score_completions", "ref = self._get_per_token_logps("),
        Some((Experience, Enclosing)),
    ),
    (("/opt/trl/trainer/grpo_trainer.py", "_move_model_to_vllm", ""), Some((WeightSync, Transfer))),
    (("/opt/trl/trainer/dpo_trainer.py", "concatenated_forward", ""), Some((Forward, Operation))),
    (("/opt/swift/trainers/rlhf_trainer/grpo_trainer.py", "_fast_infer", ""), Some((Rollout, Enclosing))),
    // Engines.
    (("/opt/vllm/v1/worker/gpu_model_runner.py", "_allocate_kv_cache_tensors", ""), Some((EngineInit, Enclosing))),
    (("/opt/vllm/v1/worker/gpu_worker.py", "determine_available_memory", ""), Some((EngineInit, Enclosing))),
    (
        ("/opt/vllm/engine/multiprocessing/engine.py", "run_mp_engine", "engine = MQLLMEngine.from_engine_args("),
        Some((EngineInit, Enclosing)),
    ),
    (
        ("/opt/vllm/v1/engine/core.py", "run_engine_core", "engine_core = EngineCoreProc(*args)"),
        Some((EngineInit, Enclosing)),
    ),
    (("/opt/vllm/v1/core/kv_cache_utils.py", "check_enough_kv_cache_memory", ""), Some((EngineInit, Enclosing))),
    (("/opt/vllm/device_allocator/cumem.py", "create_and_map", ""), Some((WeightSync, Transfer))),
    (("/opt/vllm/v1/worker/gpu_model_runner.py", "execute_model", ""), Some((Inference, Enclosing))),
    (("/opt/sglang/srt/model_executor/model_runner.py", "init_memory_pool", ""), Some((EngineInit, Enclosing))),
    (("/opt/sglang/srt/model_executor/model_runner.py", "forward", ""), Some((Inference, Enclosing))),
    (("/opt/sglang/srt/managers/tp_worker.py", "update_weights_from_tensor", ""), Some((WeightSync, Transfer))),
    (("/opt/text_generation_server/server.py", "Prefill", ""), Some((Inference, Enclosing))),
    // Others.
    (("/opt/ray/_private/worker.py", "get", "values = worker.get_objects("), None),
    (("driver.py", "<module>", "ray.get(actor.forward.remote(step))"), Some((Experience, Enclosing))),
    (("driver.py", "<module>", "ray.get(actor.fit.remote(step))"), None),
    (
        ("/opt/colossalai/nn/optimizer/hybrid_adam.py", "step", "state['exp_avg'] = torch.zeros_like(p)"),
        Some((OptimizerStep, Operation)),
    ),
    (("/opt/lightning/pytorch/loops/evaluation_loop.py", "run", ""), Some((Evaluation, Enclosing))),
    (("/opt/fairseq/trainer.py", "valid_step", ""), Some((Evaluation, Enclosing))),
    (
        ("/opt/nnunet/training/network_training/nnUNetTrainerV2_DDP.py", "initialize", "distributed.barrier()"),
        Some((Setup, Enclosing)),
    ),
    (("/opt/torchtitan/components/checkpoint.py", "dcp_save", ""), Some((CheckpointSave, Enclosing))),
    (("/opt/slime/utils/ppo_utils.py", "vocab_parallel_softmax", ""), Some((Forward, Operation))),
    (
        ("/opt/rlinf/workers/rollout/hf/huggingface_worker.py", "sync_model_from_actor", ""),
        Some((WeightSync, Transfer)),
    ),
    (("/opt/datasets/arrow_dataset.py", "_map_single", ""), Some((DataLoading, Enclosing))),
    (("/opt/pandas/core/computation/expressions.py", "evaluate", ""), Some((DataLoading, Operation))),
    // Scripts.
    (("train.py", "<module>", "loss.backward()"), Some((Backward, Operation))),
    (("train.py", "main", "scaler.scale(loss).backward()"), Some((Backward, Operation))),
    (("train.py", "main", "optimizer.step()"), Some((OptimizerStep, Operation))),
    (("train.py", "main", "optimizer.step(closure=closure)"), None),
    (("train.py", "main", "eval_loss = evaluate(model, criterion)"), Some((Evaluation, Enclosing))),
    (("train.py", "main", "critic_optimizer.step()"), Some((OptimizerStep, Operation))),
    (("train.py", "main", "self.maybe_save_checkpoint()"), None),
    (("train.py", "evaluate", "loss.backward()"), Some((Evaluation, Enclosing))),
    (("train.py", "validate", "out = model(batch)"), Some((Evaluation, Enclosing))),
    (("train.py", "main", "torch.save({'model': model.state_dict()}, path)"), Some((CheckpointSave, Enclosing))),
    (("train.py", "restore", "optimizer.load_state_dict(torch.load(path))"), Some((CheckpointResume, Enclosing))),
    (("train.py", "main", "model = AutoModel.from_pretrained(name).to(device)"), Some((ModelLoad, Enclosing))),
    (("prepare.py", "<module>", "padded = np.zeros((rows, longest))"), Some((DataLoading, Operation))),
    (("train.py", "train_epoch", "self.validate_batch = True"), None),
    (("train.py", "train", "for step in range(steps):"), None),
    ((r"C:\work\torch\nn\modules\module.py", "_apply", "param_applied = fn(param)"), Some((ModelLoad, Operation))),
];

#[test]
fn frames_tell_their_phase() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    for ((file, function, code), expected) in FRAMES {
        let row = phases.frame(file, function, code).map(|row| (row.phase, row.role));
        assert_eq!(row, *expected, "{file}: {function}: {code}");
    }
    Ok(())
}

#[test]
fn page_locked_memory_is_known() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    let pins = |file, function, code| phases.frame(file, function, code).is_some_and(|row| row.pins_host_memory);
    assert!(pins(
        "/opt/deepspeed/runtime/zero/stage3.py",
        "_create_param_groups_fp16_flat_cpu_memory",
        "torch.empty(int(size),"
    ));
    assert!(pins(
        "/opt/deepspeed/runtime/zero/stage_1_and_2.py",
        "__init__",
        "get_accelerator().pin_memory(weights_partition)"
    ));
    assert!(pins("/opt/deepspeed/accelerator/cuda_accelerator.py", "pin_memory", "return tensor.pin_memory()"));
    assert!(pins(
        "/opt/deepspeed/runtime/swap_tensor/utils.py",
        "__init__",
        "get_accelerator().pin_memory(torch.zeros("
    ));
    assert!(pins("/opt/torch/utils/data/_utils/pin_memory.py", "do_one_step", "data = pin_memory(data, device)"));
    assert!(pins("/opt/vllm/worker/cache_engine.py", "_allocate_kv_cache", "torch.zeros(kv_cache_shape,"));
    assert!(pins("/opt/vllm/device_allocator/cumem.py", "sleep", "cpu_backup_tensor = torch.empty("));
    assert!(pins(
        "/opt/verl/utils/fsdp_utils.py",
        "offload_fsdp_optimizer",
        "state[key] = value.to('cpu', non_blocking=True)"
    ));
    assert!(pins("train.py", "main", "buffer = torch.empty(size).pin_memory()"));
    assert!(!pins("/opt/deepspeed/runtime/zero/stage_1_and_2.py", "__init__", "self.flatten_dense_tensors_aligned("));
    assert!(!pins("/opt/vllm/device_allocator/cumem.py", "wake_up", "create_and_map(handle)"));
    Ok(())
}

/// The phase of a stack, outermost call first, by the rules of [`FrameRole`].
fn stack(phases: &Phases, calls: &[Call]) -> Option<Phase> {
    let rows: Vec<_> = calls.iter().filter_map(|(file, function, code)| phases.frame(file, function, code)).collect();
    let first = |role| rows.iter().find(|row| row.role == role).map(|row| row.phase);
    let operation =
        [OptimizerStep, Backward, Forward].into_iter().find(|step| rows.iter().any(|row| row.phase == *step));
    first(Transfer).or(first(Enclosing)).or(operation).or(first(Operation))
}

#[test]
fn stacks_tell_their_phase() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    let forward = ("/opt/torch/nn/modules/module.py", "_call_impl", "return forward_call(*args, **kwargs)");
    let step = ("/opt/deepspeed/runtime/engine.py", "step", "self._take_model_step(lr_kwargs)");
    let cases: &[(&str, &[Call], Option<Phase>)] = &[
        (
            "up to 0.13.1 DeepSpeed's constructor ran a dummy step",
            &[
                ("train.py", "main", "model, optimizer = setup_model_and_optimizer(args)"),
                ("/opt/deepspeed/__init__.py", "initialize", "config_params=config_params)"),
                ("/opt/deepspeed/runtime/engine.py", "_configure_zero_optimizer", "mpu=self.mpu)"),
                ("/opt/deepspeed/runtime/zero/stage_1_and_2.py", "__init__", "self.initialize_optimizer_states()"),
                (
                    "/opt/deepspeed/runtime/zero/stage_1_and_2.py",
                    "initialize_optimizer_states",
                    "self.optimizer.step()",
                ),
                ("/opt/apex/optimizers/fused_adam.py", "step", "state['exp_avg'] = torch.zeros_like(p.data)"),
            ],
            Some(OptimizerStep),
        ),
        (
            "the constructor alone is setup",
            &[
                ("/opt/deepspeed/__init__.py", "initialize", ""),
                ("/opt/deepspeed/runtime/engine.py", "_configure_distributed_model", "self.module.to(self.device)"),
                ("/opt/torch/nn/modules/module.py", "to", "return self._apply(convert)"),
            ],
            Some(Setup),
        ),
        (
            "Accelerate steps within backward",
            &[
                ("/opt/transformers/trainer.py", "training_step", "self.accelerator.backward(loss)"),
                ("/opt/accelerate/accelerator.py", "backward", "self.deepspeed_engine_wrapped.backward(loss)"),
                ("/opt/accelerate/utils/deepspeed.py", "backward", "self.engine.step()"),
                step,
            ],
            Some(OptimizerStep),
        ),
        (
            "a ZeRO-3 gather behind the step belongs to it",
            &[
                step,
                ("/opt/deepspeed/runtime/zero/stage3.py", "_post_step", "self.persistent_parameters[0].all_gather("),
                ("/opt/deepspeed/runtime/zero/partition_parameters.py", "_all_gather", ""),
            ],
            Some(OptimizerStep),
        ),
        (
            "recomputation is backward",
            &[
                ("/opt/torch/_tensor.py", "backward", "torch.autograd.backward("),
                ("/opt/torch/utils/checkpoint.py", "unpack_hook", "frame.recompute_fn(*args)"),
                forward,
            ],
            Some(Backward),
        ),
        (
            "a closure's forward is forward",
            &[
                (
                    "/opt/lightning/pytorch/plugins/precision/precision.py",
                    "optimizer_step",
                    "return optimizer.step(closure=closure)",
                ),
                ("/opt/torch/optim/adam.py", "step", "loss = closure()"),
                forward,
            ],
            Some(Forward),
        ),
        (
            "a forward within an evaluation is the evaluation",
            &[
                ("/opt/transformers/trainer.py", "_inner_training_loop", "self._maybe_log_save_evaluate("),
                ("/opt/transformers/trainer.py", "evaluate", "output = eval_loop("),
                ("/opt/transformers/trainer.py", "compute_loss", "outputs = model(**inputs)"),
                forward,
            ],
            Some(Evaluation),
        ),
        (
            "a save is the save, though it is called where an evaluation may be",
            &[
                (
                    "/opt/transformers/trainer.py",
                    "_inner_training_loop",
                    "self._maybe_log_save_evaluate(tr_loss, model)",
                ),
                ("/opt/transformers/trainer.py", "_maybe_log_save_evaluate", "self._save_checkpoint(model, trial)"),
                (
                    "/opt/transformers/trainer.py",
                    "_save_optimizer_and_scheduler",
                    "torch.save(self.optimizer.state_dict())",
                ),
            ],
            Some(CheckpointSave),
        ),
        (
            "an engine's wake-up within a rollout is the synchronisation",
            &[
                ("/opt/verl/workers/fsdp_workers.py", "generate_sequences", "with self.rollout_sharding_manager:"),
                ("/opt/verl/workers/sharding_manager/fsdp_vllm.py", "__enter__", "self.inference_engine.wake_up()"),
                ("/opt/vllm/device_allocator/cumem.py", "create_and_map", "python_create_and_map(*allocation_handle)"),
            ],
            Some(WeightSync),
        ),
        (
            "a gather within a save is the save",
            &[
                ("/opt/openrlhf/utils/deepspeed/deepspeed.py", "save_model", "with deepspeed.zero.GatheredParameters("),
                ("/opt/deepspeed/runtime/zero/partition_parameters.py", "__enter__", "self.params[0].all_gather("),
            ],
            Some(CheckpointSave),
        ),
        (
            "weights that a trainer loads are loaded",
            &[
                ("/opt/trl/trainer/sft_trainer.py", "__init__", "model = self._create_model_from_path(model, args)"),
                ("/opt/transformers/modeling_utils.py", "from_pretrained", ""),
                ("/opt/torch/nn/modules/module.py", "_apply", ""),
            ],
            Some(ModelLoad),
        ),
        (
            "parameters offloaded on the way to log-probs",
            &[
                (
                    "/opt/verl/workers/fsdp_workers.py",
                    "compute_log_prob",
                    "load_fsdp_model_to_gpu(self.actor_module_fsdp)",
                ),
                ("/opt/verl/utils/fsdp_utils.py", "load_fsdp_model_to_gpu", "handle.flat_param_to("),
            ],
            Some(Experience),
        ),
        ("waiting for others says nothing", &[("train.py", "main", "dist.barrier()")], None),
    ];
    for (what, calls, expected) in cases {
        assert_eq!(stack(&phases, calls), *expected, "{what}");
    }
    Ok(())
}

#[test]
fn a_traceback_that_was_cut_off_ends_with_a_call() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    for (code, expected) in [
        ("train_state, sharding = init_train_state(config, rng)", Some(Setup)),
        ("shared.model, shared.tokenizer = load_model", Some(ModelLoad)),
        ("self.net = torch.nn.DataParallel(self.build_model(args))", Some(ModelLoad)),
        // A variable, another function, and one whose file says what it does.
        ("load_model = args.path", None),
        ("x = reload_model_names(y)", None),
        ("return self.forward(x)", Some(Forward)),
        ("", None),
    ] {
        assert_eq!(phases.called(code).map(|row| row.phase), expected, "{code}");
    }
    Ok(())
}

/// A row that never decides is a mistake, because another row is at least as specific for every frame that it fits. So are two equally
/// specific rows with different phases: the order of the files would decide between them.
#[test]
fn every_frame_row_decides_some_frame_and_contradicts_none() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    let or = |words: &[String], other: &str| if words.is_empty() { vec![other.to_owned()] } else { words.to_vec() };
    let mut wrong = Vec::new();
    for row in phases.frames.all() {
        let (files, functions, codes) =
            (or(&row.file, "script.py"), or(&row.functions, "<lambda>"), or(&row.code, "pass"));
        let mut decides = false;
        for file in &files {
            for (function, code) in functions.iter().flat_map(|function| codes.iter().map(move |code| (function, code)))
            {
                let Some(found) = phases.frame(file, function, code) else { continue };
                let is_same = (found.phase, found.role, &found.site) == (row.phase, row.role, &row.site);
                decides |= is_same;
                if found.phase != row.phase && found.asks(file, code) == row.asks(file, code) {
                    wrong.push(format!(
                        "{file} {function} {code}: {} ({}) or {} ({})",
                        row.phase, row.site, found.phase, found.site
                    ));
                }
            }
        }
        if !decides {
            wrong.push(format!("never decides: {row:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
