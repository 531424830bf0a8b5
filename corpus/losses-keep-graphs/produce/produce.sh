#!/bin/bash
# Needs a GPU of 80 GB, torch and tqdm (torch 2.11.0+cu130 here). A smaller GPU is only full sooner.
set -u
python3 -u leak.py >job.log 2>&1
