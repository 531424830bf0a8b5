#!/bin/bash
# Needs torch (2.15.0 here) and root for the host's name. An address space of 12 GiB each. Whether the two run into each
# other is a matter of luck: it is repeated until they do.
set -u
export PYTHONUNBUFFERED=1
ulimit -v $((12 << 20))
until grep -q 'alloc_cpu.*alloc_cpu' job.log; do
    on-node1.sh torchrun --standalone --nproc_per_node=2 train.py >job.log 2>&1
done
