#!/bin/sh
# Needs root, cgroup v1 and torch (2.15.0 here). Both ranks sit in one group of 2 GiB.
set -u
in-cgroup.sh trainer 2048 torchrun --standalone --nproc_per_node=2 train.py >job.log 2>&1
