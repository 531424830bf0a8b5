#!/bin/sh
# Needs root (for the host's name) and torch (2.15.0 here).
set -u
on-node1.sh torchrun --standalone --nproc_per_node=4 train.py >job.log 2>&1
