#!/bin/bash
# Needs a GPU and numba-cuda.
set -u
python3 -u numba_sim.py >job.log 2>&1
