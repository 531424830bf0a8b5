#!/bin/bash
# Why a job of Slurm died, when its logs lie on its nodes: `slurm-fleet.sh JOB 'PATH...' [oomdoc merge's arguments]`.
#
# One task on each node reads what lies there and leaves a digest, 256 KiB at most, in a folder that all nodes see: OOMDOC_DIGESTS, else
# `oomdoc-JOB` where this is called. Then they are merged. Paths are expanded by a shell on each node: '/local/$SLURMD_NODENAME/*.log'.
# In the batch script JOB is "$SLURM_JOB_ID", and the nodes are asked by a step of the job. On a login node, of a job that has ended, each
# is asked by a small job of its own. After OOMDOC_SECONDS (300), whoever has said nothing is named in the report.
set -u
job=$1 paths=$2
shift 2
seconds=${OOMDOC_SECONDS:-300}
folder=$(realpath "${OOMDOC_DIGESTS:-oomdoc-$job}")
mkdir -p "$folder" || exit
rm -f "$folder"/*.digest "$folder/srun.txt"

# What Slurm knows of the job goes along: it has the state in which the job ended. It forgets a job after minutes.
scontrol show job "$job" > "$folder/scontrol.txt" 2> /dev/null
field() {
    sed -n "s/^ *$1=//p" "$folder/scontrol.txt"
}
nodes=${OOMDOC_NODES:-$(field NodeList)}
if [ -z "$nodes" ]; then
    echo "Slurm does not know the nodes of job $job any more: name them in OOMDOC_NODES, as sacct -X -n -o nodelist%1000 -j $job does" >&2
    exit 2
fi
mapfile -t nodes < <(scontrol show hostnames "$nodes")

if [ "${SLURM_JOB_ID:-}" = "$job" ]; then
    how=(--overlap) refuses='[*]|down|fail|error|unknown|power|boot'
else
    # A node that is drained takes no further job, but still the steps of one that it has.
    how=(--immediate="$seconds" --job-name=oomdoc) refuses='[*]|down|fail|error|unknown|power|boot|drain|maint|resv'
fi
list() {
    (IFS=,; echo "$*")
}
mapfile -t there < <(sinfo --noheader --Node --nodes "$(list "${nodes[@]}")" --format '%N %T' | sort -u |
    awk -v refuses="$refuses" '$2 !~ refuses { print $1 }')

# One task on each of these nodes. Who fails leaves no digest; what srun says of it is none of the job's output.
# shellcheck disable=SC2016 # the shell of the node knows its name
digest='out=$OOMDOC_FOLDER/$SLURMD_NODENAME; oomdoc digest '$paths' --node "$SLURMD_NODENAME" -o "$out.part" && mv "$out.part" "$out.digest"'
ask() {
    local left=$((seconds - SECONDS))
    [ $# -eq 0 ] || [ $left -le 0 ] || OOMDOC_FOLDER=$folder timeout --kill-after=10 $left \
        srun "${how[@]}" --nodes=$# --ntasks=$# --nodelist="$(list "$@")" --kill-on-bad-exit=0 --no-kill bash -c "$digest" \
        < /dev/null >> "$folder/srun.txt" 2>&1
}
# One step asks a thousand nodes as fast as ten. Where a node breaks it, and outside of the job, each is asked alone; not more than
# 64 at once, for the controller's sake.
[ "${SLURM_JOB_ID:-}" != "$job" ] || ask "${there[@]}"
for node in "${there[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge 64 ]; do wait -n; done
    [ -s "$folder/$node.digest" ] || ask "$node" &
done
wait

unanswered=() answered=
for node in "${nodes[@]}"; do
    if [ -s "$folder/$node.digest" ]; then answered=${answered:-$node}; else unanswered+=(--unanswered "$node"); fi
done
# The job's own output, in which `slurmstepd` and `srun` say what Slurm did, and its script go by a node that answered: all see them.
mapfile -t own < <({ echo "$folder/scontrol.txt"; field StdOut; field StdErr; field Command | cut -d ' ' -f 1; } | sort -u |
    while read -r file; do [ ! -s "$file" ] || echo "$file"; done)
[ ${#own[@]} -eq 0 ] || oomdoc digest "${own[@]}" --node "${answered:-slurm}" -o "$folder/job-$job.digest"
oomdoc merge --together "$folder"/*.digest "${unanswered[@]}" "$@"
