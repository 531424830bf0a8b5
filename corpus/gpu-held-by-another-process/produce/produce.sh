#!/bin/bash
# Needs a GPU of 80 GB, torch and transformers (2.11.0+cu130 and 5.17.0 here).
set -u
python3 hold.py >holder.txt 2>&1 &
holder=$!
until grep -q holding holder.txt; do sleep 0.5; done
python3 -u load_beside_other.py >job.log 2>&1
kill $holder
