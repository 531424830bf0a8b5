#!/bin/bash
# Needs a GPU of 80 GB, torch and transformers (2.11.0+cu130 and 5.17.0 here).
set -u
python3 -u eager_long_context.py >job.log 2>&1
