#!/bin/bash
# Needs a GPU of 80 GB, jax with its CUDA plugin (0.11.2 here) and optax.
set -u
python3 -u jax_train.py >job.log 2>&1
