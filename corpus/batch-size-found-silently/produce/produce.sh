#!/bin/bash
# Needs a GPU of 80 GB, torch and accelerate (torch 2.11.0+cu130 here).
set -u
python3 -u find_batch.py >job.log 2>&1
