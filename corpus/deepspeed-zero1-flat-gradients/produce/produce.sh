#!/bin/bash
# Needs a GPU of 80 GB, torch, transformers and deepspeed (2.11.0+cu130, 5.17.0 and 0.19.8 here).
set -u
export RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29500
python3 -u ds_train.py >job.log 2>&1
