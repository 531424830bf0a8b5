//! Options that users mention when memory runs out, by framework and in every version's spelling. Each must be known.

/// A framework, and its options.
pub const OPTIONS: &[(&str, &str)] = &[
    ("deepspeed", DEEPSPEED),
    ("openrlhf", OPENRLHF),
    ("easyr1", EASYR1),
    ("verl", VERL),
    ("ray", RAY),
    ("torch", TORCH),
    ("transformers", TRANSFORMERS),
    ("accelerate", ACCELERATE),
    ("llamafactory", LLAMAFACTORY),
    ("vllm", VLLM),
    ("sglang", SGLANG),
    ("megatron", MEGATRON),
    ("trl", TRL),
    ("system", SYSTEM),
];

const DEEPSPEED: &str = "
    zero_optimization.stage zero_optimization.offload_optimizer.device zero_optimization.offload_optimizer.pin_memory
    zero_optimization.offload_optimizer.ratio zero_optimization.offload_optimizer.buffer_count
    zero_optimization.offload_optimizer.pipeline_read zero_optimization.offload_optimizer.pipeline_write
    zero_optimization.offload_optimizer.fast_init zero_optimization.offload_optimizer.super_offload
    zero_optimization.offload_optimizer.cpuadam_cores_perc zero_optimization.offload_param.device
    zero_optimization.offload_param.pin_memory zero_optimization.offload_param.buffer_count
    zero_optimization.offload_param.buffer_size zero_optimization.offload_param.max_in_cpu
    zero_optimization.sub_group_size zero_optimization.reduce_bucket_size zero_optimization.allgather_bucket_size
    zero_optimization.overlap_comm zero_optimization.contiguous_gradients zero_optimization.round_robin_gradients
    zero_optimization.stage3_max_live_parameters zero_optimization.max_live_parameters
    zero_optimization.stage3_max_reuse_distance zero_optimization.stage3_prefetch_bucket_size
    zero_optimization.prefetch_bucket_size zero_optimization.stage3_param_persistence_threshold
    zero_optimization.stage3_model_persistence_threshold zero_optimization.stage3_gather_16bit_weights_on_model_save
    zero_optimization.stage3_gather_fp16_weights_on_model_save zero_optimization.stage3_module_granularity_threshold
    zero_optimization.stage3_use_all_reduce_for_fetch_params zero_optimization.stage3_allgather_sequential
    zero_optimization.zero_hpz_partition_size zero_optimization.zero_quantized_weights
    zero_optimization.zero_quantized_gradients zero_optimization.zero_quantized_nontrainable_weights
    zero_optimization.memory_efficient_linear zero_optimization.elastic_checkpoint
    zero_optimization.pipeline_loading_checkpoint zero_optimization.load_from_fp32_weights zero_optimization.zenflow
    bf16.enabled fp16.enabled bf16.immediate_grad_update bf16.bf16_master_weights_and_grads bf16.bf16_optimizer_states
    fp16.fp16_master_weights_and_grads data_types.grad_accum_dtype communication_data_type
    activation_checkpointing.partition_activations activation_checkpointing.cpu_checkpointing
    activation_checkpointing.contiguous_memory_optimization activation_checkpointing.number_checkpoints
    activation_checkpointing.synchronize_checkpoint_boundary activation_checkpointing.profile memory_breakdown
    zero_allow_untested_optimizer zero_force_ds_cpu_optimizer zero_optimization.cpu_offload
    zero_optimization.cpu_offload_param zero_optimization.cpu_offload_use_pin_memory DS_PIN_MEMORY_BACKEND
    engine.offload_states() train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps optimizer.type
    tensor_parallel.autotp_size";

const OPENRLHF: &str = "
    --zero_stage --ds.zero_stage --adam_offload --ds.adam_offload --ref_reward_offload --ref.offload --reward.offload
    --zpg --ds.zpg --grad_accum_dtype --ds.grad_accum_dtype --overlap_comm --ds.overlap_comm --gradient_checkpointing
    --actor.gradient_checkpointing_enable --model.gradient_checkpointing_enable --gradient_checkpointing_use_reentrant
    --actor.gradient_checkpointing_reentrant --micro_train_batch_size --train.micro_batch_size
    --micro_rollout_batch_size --rollout.micro_batch_size --train_batch_size --train.batch_size --rollout_batch_size
    --rollout.batch_size --vllm_generate_batch_size --rollout.vllm_generate_batch_size --n_samples_per_prompt
    --rollout.n_samples_per_prompt --prompt_max_len --generate_max_len --max_len --max_new_tokens --data.max_len
    --rollout.max_new_tokens --packing_samples --ds.packing_samples --use_dynamic_batch --train_max_tokens_per_gpu
    --rollout_max_tokens_per_gpu --train.dynamic_batch_enable --train.max_tokens_per_gpu --rollout.max_tokens_per_gpu
    --ring_attn_size --ring_head_stride --ds.ring_attn_size --ds.ring_attn_head_stride --ds_tensor_parallel_size
    --ds.tensor_parallel_size --flash_attn --attn_implementation --ds.attn_implementation --bf16 --param_dtype
    --ds.param_dtype --use_liger_kernel --ds.use_liger_kernel --load_in_4bit --ds.load_in_4bit --lora_rank --lora_alpha
    --lora_dropout --target_modules --ds.lora.rank --enable_ema --ema_beta --train.enable_ema --train.ema_beta
    --colocate_actor_ref --colocate_critic_reward --colocate_all_models --train.colocate_actor_ref
    --train.colocate_critic_reward --train.colocate_all --vllm_num_engines --vllm_tensor_parallel_size
    --vllm.num_engines --vllm.tensor_parallel_size --vllm_gpu_memory_utilization --vllm.gpu_memory_utilization
    --vllm_enable_sleep --vllm.enable_sleep --deepspeed_enable_sleep --ds.enable_sleep --enforce_eager
    --enable_prefix_caching --vllm.enforce_eager --vllm.enable_prefix_caching --vllm_sync_backend --vllm.sync_backend
    --actor_init_on_gpu --save_steps --max_ckpt_num --max_ckpt_mem --disable_ds_ckpt --save_hf_ckpt --ckpt.save_steps
    --ckpt.max_num --ckpt.max_mem --ckpt.disable_ds --ckpt.save_hf --dataloader_num_workers
    --data.dataloader_num_workers --torch_compile --disable_trace_cache --pretrain_data --perf --universal_ckpt
    --use_ds_universal_ckpt --ds.use_universal_ckpt";

const EASYR1: &str = "
    worker.actor.offload.offload_params worker.actor.offload.offload_optimizer worker.actor.fsdp.enable_cpu_offload
    worker.actor.fsdp.enable_full_shard worker.actor.fsdp.enable_rank0_init worker.actor.fsdp.use_orig_params
    worker.actor.fsdp.torch_dtype worker.actor.fsdp.fsdp_size worker.actor.fsdp.mp_param_dtype
    worker.actor.fsdp.mp_reduce_dtype worker.actor.fsdp.mp_buffer_dtype worker.actor.optim.strategy
    worker.ref.fsdp.enable_cpu_offload worker.ref.offload.offload_params
    worker.actor.micro_batch_size_per_device_for_update worker.actor.micro_batch_size_per_device_for_experience
    worker.actor.global_batch_size worker.actor.padding_free worker.actor.ulysses_size worker.actor.use_torch_compile
    worker.actor.dynamic_batching worker.actor.model.enable_gradient_checkpointing
    worker.actor.model.freeze_vision_tower worker.actor.model.lora.rank worker.actor.model.lora.alpha
    worker.actor.model.lora.target_modules worker.actor.model.lora.exclude_modules
    worker.rollout.gpu_memory_utilization worker.rollout.n worker.rollout.tensor_parallel_size
    worker.rollout.max_num_batched_tokens worker.rollout.max_model_len worker.rollout.enforce_eager
    worker.rollout.enable_chunked_prefill worker.rollout.limit_images data.rollout_batch_size
    data.mini_rollout_batch_size data.max_prompt_length data.max_response_length data.min_pixels data.max_pixels
    data.filter_overlong_prompts trainer.save_freq trainer.save_limit trainer.save_model_only algorithm.disable_kl";

const VERL: &str = "
    actor_rollout_ref.actor.fsdp_config.param_offload actor_rollout_ref.actor.fsdp_config.optimizer_offload
    actor_rollout_ref.actor.fsdp_config.grad_offload actor_rollout_ref.actor.fsdp_config.offload_policy
    actor_rollout_ref.actor.fsdp_config.reshard_after_forward actor_rollout_ref.actor.fsdp_config.forward_prefetch
    actor_rollout_ref.actor.fsdp_config.fsdp_size actor_rollout_ref.actor.fsdp_config.model_dtype
    actor_rollout_ref.ref.fsdp_config.param_offload critic.model.fsdp_config.param_offload critic.fsdp.param_offload
    actor_rollout_ref.actor.ppo_micro_batch_size actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu
    actor_rollout_ref.actor.use_dynamic_bsz actor_rollout_ref.actor.ppo_max_token_len_per_gpu
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu
    actor_rollout_ref.ref.log_prob_max_token_len_per_gpu actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu
    critic.ppo_max_token_len_per_gpu critic.forward_max_token_len_per_gpu
    actor_rollout_ref.actor.ulysses_sequence_parallel_size actor_rollout_ref.model.use_remove_padding
    actor_rollout_ref.model.enable_gradient_checkpointing actor_rollout_ref.model.enable_activation_offload
    actor_rollout_ref.model.use_fused_kernels actor_rollout_ref.model.use_liger actor_rollout_ref.model.use_shm
    actor_rollout_ref.model.lora_rank actor_rollout_ref.model.tiled_mlp.enabled
    actor_rollout_ref.actor.entropy_from_logits_with_chunking actor_rollout_ref.actor.entropy_checkpointing
    actor_rollout_ref.actor.entropy_coeff actor_rollout_ref.rollout.gpu_memory_utilization
    actor_rollout_ref.rollout.free_cache_engine actor_rollout_ref.rollout.enforce_eager
    actor_rollout_ref.rollout.load_format actor_rollout_ref.rollout.layered_summon
    actor_rollout_ref.rollout.multi_stage_wake_up actor_rollout_ref.rollout.update_weights_bucket_megabytes
    actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes actor_rollout_ref.rollout.max_num_seqs
    actor_rollout_ref.rollout.tensor_model_parallel_size actor_rollout_ref.rollout.max_num_batched_tokens
    actor_rollout_ref.rollout.max_model_len actor_rollout_ref.rollout.enable_chunked_prefill
    actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space actor_rollout_ref.rollout.mode trainer.use_v1
    trainer.use_legacy_worker_impl";

const RAY: &str = "
    RAY_memory_usage_threshold RAY_memory_usage_threshold_fraction RAY_memory_monitor_refresh_ms
    RAY_memory_monitor_interval_ms RAY_min_memory_free_bytes RAY_worker_killing_policy
    RAY_worker_killing_policy_by_group RAY_idle_worker_killing_memory_threshold_bytes
    RAY_idle_worker_killing_time_threshold_ms RAY_count_swap_in_memory_monitor RAY_task_oom_retries
    --object-store-memory RAY_DEFAULT_OBJECT_STORE_MEMORY_PROPORTION RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES
    RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE RAY_object_spilling_threshold --object-spilling-directory ray.remote.memory
    --enable-resource-isolation --system-reserved-memory RAY_DEFAULT_SYSTEM_RESERVED_MEMORY_PROPORTION
    RAY_DISABLE_MEMORY_MONITOR RAY_MEMORY_MONITOR_ERROR_THRESHOLD RAY_DEDUP_LOGS RAY_COLOR_PREFIX";

const TORCH: &str = "
    PYTORCH_CUDA_ALLOC_CONF.max_split_size_mb PYTORCH_CUDA_ALLOC_CONF.garbage_collection_threshold
    PYTORCH_CUDA_ALLOC_CONF.roundup_power2_divisions PYTORCH_CUDA_ALLOC_CONF.roundup_bypass_threshold_mb
    PYTORCH_CUDA_ALLOC_CONF.backend PYTORCH_CUDA_ALLOC_CONF.expandable_segments
    PYTORCH_HIP_ALLOC_CONF.expandable_segments PYTORCH_ALLOC_CONF.expandable_segments
    PYTORCH_CUDA_ALLOC_CONF.release_lock_on_cudamalloc PYTORCH_CUDA_ALLOC_CONF.pinned_use_cuda_host_register
    PYTORCH_CUDA_ALLOC_CONF.pinned_num_register_threads PYTORCH_CUDA_ALLOC_CONF.max_non_split_rounding_mb
    PYTORCH_CUDA_ALLOC_CONF.pinned_use_background_threads PYTORCH_ALLOC_CONF.graph_capture_record_stream_reuse
    PYTORCH_ALLOC_CONF.pinned_max_round_threshold_mb PYTORCH_ALLOC_CONF.pinned_max_cached_size_mb
    PYTORCH_ALLOC_CONF.pinned_reserve_segment_size_mb PYTORCH_ALLOC_CONF.per_process_memory_fraction
    PYTORCH_ALLOC_CONF.throw_on_cudamalloc_oom PYTORCH_ALLOC_CONF.large_segment_size_mb
    PYTORCH_ALLOC_CONF.expandable_segments_reserve PYTORCH_ALLOC_CONF.expandable_segments_reserve_by_class
    PYTORCH_ALLOC_CONF.expandable_segments_handle_type PYTORCH_NO_CUDA_MEMORY_CACHING
    PYTORCH_MPS_HIGH_WATERMARK_RATIO TORCH_NCCL_AVOID_RECORD_STREAMS torch.cuda.set_per_process_memory_fraction()
    DataLoader.num_workers DataLoader.batch_size torch.load.map_location foreach fused torch.no_grad()
    torch.cuda.empty_cache() FullStateDictConfig.offload_to_cpu FullStateDictConfig.rank0_only";

const TRANSFORMERS: &str = "
    --per_device_train_batch_size --per_device_eval_batch_size --gradient_accumulation_steps --gradient_checkpointing
    --gradient_checkpointing_kwargs --optim --bf16 --fp16 --bf16_full_eval --eval_accumulation_steps
    --prediction_loss_only --batch_eval_metrics --torch_empty_cache_steps --auto_find_batch_size --use_liger_kernel
    --dataloader_num_workers --dataloader_pin_memory --dataloader_prefetch_factor --dataloader_persistent_workers
    --save_only_model --deepspeed --fsdp --fsdp_config --overwrite_output_dir --save_safetensors
    Trainer.preprocess_logits_for_metrics";

const ACCELERATE: &str = "
    fsdp_config.fsdp_sharding_strategy fsdp_config.fsdp_version fsdp_config.fsdp_reshard_after_forward
    fsdp_config.fsdp_offload_params fsdp_config.fsdp_cpu_ram_efficient_loading fsdp_config.fsdp_sync_module_states
    fsdp_config.fsdp_state_dict_type fsdp_config.fsdp_activation_checkpointing fsdp_config.fsdp_auto_wrap_policy
    fsdp_config.fsdp_transformer_layer_cls_to_wrap fsdp_config.fsdp_min_num_params fsdp_config.fsdp_backward_prefetch
    fsdp_config.fsdp_forward_prefetch fsdp_config.fsdp_limit_all_gathers fsdp_config.fsdp_use_orig_params
    deepspeed_config.zero_stage deepspeed_config.offload_optimizer_device deepspeed_config.offload_param_device
    deepspeed_config.zero3_init_flag deepspeed_config.zero3_save_16bit_model deepspeed_config.deepspeed_config_file";

const LLAMAFACTORY: &str = "
    cutoff_len packing neat_packing disable_gradient_checkpointing use_reentrant_gc quantization_bit
    double_quantization flash_attn enable_liger_kernel use_unsloth use_unsloth_gc upcast_layernorm upcast_lmhead_output
    pure_bf16 low_cpu_mem_usage use_galore use_apollo use_badam lora_rank freeze_vision_tower image_max_pixels
    video_max_pixels vllm_gpu_util preprocessing_num_workers streaming deepspeed";

const VLLM: &str = "
    --gpu-memory-utilization --kv-cache-memory-bytes --max-model-len --max-num-seqs --max-num-batched-tokens
    --enforce-eager VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS --tensor-parallel-size --pipeline-parallel-size
    --kv-cache-dtype --block-size --swap-space --cpu-offload-gb --enable-sleep-mode --limit-mm-per-prompt
    --mm-processor-kwargs --disable-mm-preprocessor-cache";

const SGLANG: &str = "
    --mem-fraction-static --chunked-prefill-size --max-prefill-tokens --max-running-requests --cuda-graph-max-bs
    --disable-cuda-graph --kv-cache-dtype --enable-memory-saver";

const MEGATRON: &str = "
    --micro-batch-size --recompute-granularity --recompute-method --recompute-num-layers --recompute-activations
    --use-distributed-optimizer --optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d --use-precision-aware-optimizer
    --sequence-parallel --tensor-model-parallel-size --pipeline-model-parallel-size --context-parallel-size";

const TRL: &str = "
    --max_seq_length --max_length --max_prompt_length --max_completion_length --num_generations --vllm_mode
    --vllm_gpu_memory_utilization --vllm_enable_sleep_mode --ds3_gather_for_generation --use_liger_loss";

const SYSTEM: &str = "
    --shm-size --memory --memory-swap --ipc ulimits.memlock resources.limits.memory resources.requests.memory
    emptyDir.sizeLimit --mem --mem-per-cpu --mem-per-gpu ConstrainRAMSpace AllowedRAMSpace ConstrainSwapSpace
    JobAcctGatherParams.OverMemoryKill vm.overcommit_memory vm.panic_on_oom vm.oom_kill_allocating_task vm.nr_hugepages
    MemoryMax CUDA_VISIBLE_DEVICES wsl2.memory memory.max memory.limit_in_bytes swap";
