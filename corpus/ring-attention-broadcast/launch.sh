set -x

ray start --head --node-ip-address 0.0.0.0 --num-gpus 8

ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json='{"working_dir": "/workspace/OpenRLHF"}' \
   -- python3 -m openrlhf.cli.train_ppo_ray \
   --ref_num_nodes 1 \
   --ref_num_gpus_per_node 8 \
   --actor_num_nodes 1 \
   --actor_num_gpus_per_node 8 \
   --vllm_num_engines 8 \
   --vllm_tensor_parallel_size 1 \
   --colocate_all_models \
   --vllm_gpu_memory_utilization 0.72 \
   --vllm_enable_sleep \
   --deepspeed_enable_sleep \
   --vllm_sync_backend nccl \
   --enforce_eager \
   --pretrain Qwen/Qwen2.5-7B \
   --remote_rm_url /workspace/reward/math_verify.py \
   --advantage_estimator group_norm \
   --init_kl_coef 0.001 \
   --use_kl_loss \
   --kl_estimator k3 \
   --save_path /ckpt/qwen7b-long-r1 \
   --ckpt_path /ckpt/qwen7b-long-r1/ckpt \
   --save_steps 20 \
   --micro_train_batch_size 1 \
   --train_batch_size 512 \
   --micro_rollout_batch_size 8 \
   --rollout_batch_size 1024 \
   --n_samples_per_prompt 16 \
   --max_epochs 1 \
   --num_episodes 10 \
   --prompt_max_len 1024 \
   --generate_max_len 31744 \
   --zero_stage 3 \
   --bf16 \
   --actor_learning_rate 1e-6 \
   --prompt_data /data/math/dapo-17k.jsonl \
   --input_key prompt \
   --label_key answer \
   --apply_chat_template \
   --gradient_checkpointing \
   --packing_samples \
   --flash_attn \
   --ring_attn_size 4 \
   --ring_head_stride 2
