#!/bin/bash
# Needs root, cgroup v1, a C++ compiler, and torch, transformers, deepspeed (2.15.0, 5.23.0, 0.19.8 here).
set -u
in-cgroup.sh finetune 6950 bash launch.sh >job.log 2>&1
