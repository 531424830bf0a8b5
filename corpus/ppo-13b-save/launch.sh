set -x

# in the container that `docker run --gpus all --ipc=host --shm-size=64g --memory=500g openrlhf:0.8.0` started
ray start --head --node-ip-address 0.0.0.0 --num-gpus 8

python3 -m openrlhf.cli.train_ppo_ray \
   --ref_num_nodes 1 \
   --ref_num_gpus_per_node 4 \
   --reward_num_nodes 1 \
   --reward_num_gpus_per_node 2 \
   --critic_num_nodes 1 \
   --critic_num_gpus_per_node 2 \
   --actor_num_nodes 1 \
   --actor_num_gpus_per_node 4 \
   --vllm_num_engines 2 \
   --vllm_tensor_parallel_size 1 \
   --vllm_sync_backend nccl \
   --colocate_actor_ref \
   --colocate_critic_reward \
   --pretrain /models/llama2-13b-sft \
   --reward_pretrain /models/llama2-7b-rm \
   --save_path /ckpt/llama2-13b-ppo \
   --save_steps -1 \
   --logging_steps 1 \
   --micro_train_batch_size 2 \
   --train_batch_size 128 \
   --micro_rollout_batch_size 4 \
   --rollout_batch_size 512 \
   --n_samples_per_prompt 1 \
   --max_samples 20480 \
   --max_epochs 1 \
   --num_episodes 1 \
   --prompt_max_len 1024 \
   --generate_max_len 1024 \
   --zero_stage 2 \
   --adam_offload \
   --bf16 \
   --flash_attn \
   --gradient_checkpointing \
   --actor_learning_rate 5e-7 \
   --critic_learning_rate 9e-6 \
   --init_kl_coef 0.01 \
   --prompt_data /data/prompts-20k.jsonl \
   --input_key context_messages \
   --apply_chat_template \
   --normalize_reward
