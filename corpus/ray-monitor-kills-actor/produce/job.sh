#!/bin/bash
ray start --head --num-cpus 2 --object-store-memory 100000000 --include-dashboard false --disable-usage-stats
python rollout.py
status=$?
sleep 65 # the raylet reports what it killed once a minute
echo "exit status $status"
ray stop >/dev/null
