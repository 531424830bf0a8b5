#!/bin/bash
# Needs root, cgroup v1, a C++ compiler, and torch, transformers, deepspeed (2.15.0, 5.23.0, 0.16.9 here). With two ranks
# the model's first step makes Adam's moments on the host: 8 bytes for each of 163 M parameters. The group of 6100 MiB has
# room for everything before.
set -u
in-cgroup.sh trainer 6100 bash launch.sh >job.log 2>&1
