#!/bin/bash
# Needs a GPU of 80 GB and torch (2.11.0+cu130 here).
set -u
python3 -u compile_gpt.py >job.log 2>&1
