#!/bin/bash
# Needs root for the host's name, a C++ compiler, and torch, transformers, deepspeed (2.15.0, 5.23.0, 0.16.9 here).
set -u
on-node1.sh bash launch.sh >job.log 2>&1
