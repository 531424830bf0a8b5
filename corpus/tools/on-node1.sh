#!/bin/sh
# on-node1.sh COMMAND…: runs a command, as root, on a host that calls itself node1 at 127.0.0.1.
set -eu
exec unshare --uts --mount sh -c '
    hostname node1
    mkdir -p /run/node1
    echo "127.0.0.1 localhost node1" >/run/node1/hosts
    mount --bind /run/node1/hosts /etc/hosts
    exec "$@"' sh "$@"
