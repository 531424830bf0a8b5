#!/bin/sh
# Needs root, cgroup v1 and torch (2.15.0 here). The kernel kills rank 2 for its group's limit; whoever has only job.log
# cannot know that, so the kernel's words are thrown away.
set -u
in-cgroup.sh tokeniser 1500 torchrun --standalone --nproc_per_node=3 train.py >job.log 2>&1
rm dmesg.log
