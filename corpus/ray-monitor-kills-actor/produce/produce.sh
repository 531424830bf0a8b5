#!/bin/bash
# Needs root, cgroup v1 and ray (2.60.0 here). The node is a container of 4 GiB with processes of its own. Of the session's
# folder the logs of the raylet, the GCS and those workers that said something are kept, without their dumps of state.
set -u
rm -rf /tmp/ray ray
in-cgroup.sh node 4096 unshare --pid --fork --mount-proc bash job.sh >job.log 2>&1
rm dmesg.log
mkdir -p ray/logs
for log in $(cd /tmp/ray/session_latest/logs && find . -maxdepth 1 \( -name 'raylet.*' -o -name 'gcs_server.out' -o -name 'worker-*' \) -size +0); do
    grep -v '^\[state-dump\]' "/tmp/ray/session_latest/logs/$log" >"ray/logs/$log"
done
