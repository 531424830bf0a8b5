#!/bin/bash
# Needs a GPU and torch (2.11.0+cu130 here).
set -u
python3 -u bad_index.py >job.log 2>&1
