#!/bin/bash
# Needs a GPU of 80 GB and nvcc (CUDA 13.0 here).
set -u
nvcc -o stencil stencil.cu
./stencil >job.log 2>&1
