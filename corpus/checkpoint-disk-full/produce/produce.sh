#!/bin/sh
# Needs root and torch (2.15.0 here). The checkpoints go to a file system of 256 MiB; a look at it follows the failure.
set -u
mkdir -p checkpoints
unshare --mount sh -c '
    mount -t tmpfs -o size=256m /dev/sdb1 checkpoints
    python train.py
    df -h checkpoints' >job.log 2>&1
rmdir checkpoints
