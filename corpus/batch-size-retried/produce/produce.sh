#!/bin/bash
# Needs torch and accelerate (2.15.0 and 1.15.0 here). 256 sequences of 1024 tokens and 1024 logits are 1 GiB, which does
# not fit twice into an address space of 5 GiB beside the libraries.
set -u
(ulimit -v $((5 << 20)); python -u train.py >job.log 2>&1)
