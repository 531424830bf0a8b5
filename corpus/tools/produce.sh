#!/bin/bash
# produce.sh CASE: makes the logs of a case anew. A folder of its own gets what the user launched with and what stands in
# produce/; produce/produce.sh runs there, with these tools and the current Python in reach. What belongs to this machine is
# then taken out of the logs, and they replace those of the case. The label has to be checked by hand: its lines may have moved.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
case=$tools/../$1
run=$(mktemp -d)
for file in "$case"/* "$case"/produce/*; do
    case $file in */produce | */ray | *.log | *.md | */expected.toml) ;; *) cp "$file" "$run" ;; esac
done
cd "$run"
PATH=$tools:$PATH bash produce.sh
for log in *.log ray; do
    [ -e "$log" ] || continue
    find "$log" -type f -exec "$tools/scrub.sh" {} +
    rm -rf "${case:?}/$log"
    mv "$log" "$case"
done
rm -rf "$run"
