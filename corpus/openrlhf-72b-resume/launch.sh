#!/bin/bash
#SBATCH --job-name=qwen72b-sft
#SBATCH --nodes=1
#SBATCH --gres=gpu:8
#SBATCH --mem=1460000M
#SBATCH --time=7-00:00:00
set -x

export NCCL_DEBUG=WARN

deepspeed --module openrlhf.cli.train_sft \
   --max_len 4096 \
   --dataset /data/sft/mixture-800k \
   --input_key messages \
   --apply_chat_template \
   --train_batch_size 128 \
   --micro_train_batch_size 1 \
   --max_samples 800000 \
   --pretrain /models/Qwen2.5-72B \
   --save_path /ckpt/qwen72b-sft \
   --ckpt_path /ckpt/qwen72b-sft/checkpoints_sft \
   --save_steps 200 \
   --max_ckpt_num 1 \
   --logging_steps 1 \
   --eval_steps -1 \
   --zero_stage 3 \
   --adam_offload \
   --max_epochs 1 \
   --bf16 \
   --flash_attn \
   --learning_rate 5e-6 \
   --gradient_checkpointing \
   --packing_samples \
   --load_checkpoint
