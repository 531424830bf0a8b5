#!/bin/sh
# in-cgroup.sh NAME MEBIBYTES COMMAND…: runs a command, as root, in a memory cgroup (v1) of that size, on a host called
# node1. As in a container, it sees that group as the only one. The kernel's words meanwhile go to dmesg.log. The group
# and whatever still runs in it are gone afterwards.
set -eu
name=$1 mebibytes=$2
shift 2
group=/sys/fs/cgroup/memory/$name
mkdir -p "$group"
echo $((mebibytes << 20)) >"$group/memory.limit_in_bytes"
dmesg --follow-new --ctime >dmesg.log &
reader=$!
sleep 1
status=0
on-node1.sh sh -c '
    echo $$ >"$0/cgroup.procs"
    mount --bind "$0" /sys/fs/cgroup/memory
    exec "$@"' "$group" "$@" || status=$?
sleep 1
kill $reader
for process in $(cat "$group/cgroup.procs"); do kill -9 "$process"; done
sleep 1
rmdir "$group"
exit $status
