#!/bin/bash
set -e
export DS_ACCELERATOR=cpu
deepspeed --num_gpus 2 train.py --seq_len 128 --deepspeed --deepspeed_config ds_config.json
