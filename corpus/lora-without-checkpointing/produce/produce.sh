#!/bin/bash
# Needs a GPU of 80 GB, torch, transformers and peft (torch 2.11.0+cu130 and transformers 5.17.0 here).
set -u
python3 -u lora_8b.py >job.log 2>&1
