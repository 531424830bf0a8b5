#!/bin/bash
# Why a Job of Kubernetes on many nodes died: `kubernetes-fleet.sh logs|nodes NAMESPACE JOB [oomdoc merge's arguments]`.
#
# `logs` asks kubectl for the logs of one node's pods after the other, and makes a digest of them here: for tens of pods, and no more rights
# than to get and list pods, pods/log and events. `nodes` starts a small Job on each node, by kubernetes-fleet.yaml beside this script, that
# makes the digest where the logs lie, so that 256 KiB a node travel: for thousands, and who may make Jobs in the namespace that mount
# /var/log/pods. Nodes from which nothing came are named in the report. OOMDOC_SELECTOR is for pods of another kind than a Job's.
set -u
way=$1 namespace=$2 job=$3
shift 3
selector=${OOMDOC_SELECTOR:-batch.kubernetes.io/job-name=$job}
template=$(dirname "$0")/kubernetes-fleet.yaml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder"/{digests,states}
# A node that hangs is left after ten minutes.
kubectl() {
    timeout 600 kubectl --namespace "$namespace" "$@"
}

# A pod a line: its node, its name, the folder of its logs on the node. One that found no node has left none.
kubectl get pods --selector "$selector" --output \
    jsonpath='{range .items[*]}{.spec.nodeName} {.metadata.name} {.metadata.namespace}_{.metadata.name}_{.metadata.uid}{"\n"}{end}' |
    grep -v '^ ' | sort > "$folder/pods"
mapfile -t nodes < <(cut -d ' ' -f 1 "$folder/pods" | uniq)
if [ ${#nodes[@]} -eq 0 ]; then
    echo "no pod of $selector in $namespace was ever on a node" >&2
    exit 2
fi
of_node() {
    awk -v node="$1" -v field="$2" '$1 == node { print $field }' "$folder/pods"
}

# The logs of a node's pods, of containers that were restarted too.
digest_logs() {
    local node=$1 pod logs=$folder/logs
    mkdir "$logs"
    for pod in $(of_node "$node" 2); do
        kubectl logs "$pod" --all-containers --prefix > "$logs/$pod.log"
        kubectl logs "$pod" --all-containers --prefix --previous > "$logs/$pod.previous.log" 2> /dev/null
    done
    find "$logs" -size 0 -delete
    [ -z "$(ls "$logs")" ] || (cd "$folder" && oomdoc digest logs --node "$node" --output "digests/$node")
    rm -rf "$logs"
}

# Starts a Job on each node, and takes the digests that their pods print until all have ended: by themselves, or by their deadline.
digest_on_nodes() {
    local run index node pod
    run=oomdoc-$(date +%s)
    for index in "${!nodes[@]}"; do
        node=${nodes[index]}
        sed "s/RUN/$run/; s/INDEX/$index/; s/NODE/$node/; s|PATHS|$(of_node "$node" 3 | sed 's|^|/var/log/pods/|' | paste -s -d ,)|" "$template"
        echo "---"
    done | kubectl create --filename - > /dev/null
    while kubectl get jobs --selector "oomdoc-run=$run" --output jsonpath='{range .items[*]}{.status.conditions[*].type}{"\n"}{end}' |
        grep -qvE 'Complete|Failed'; do
        sleep 5
    done
    kubectl get pods --selector "oomdoc-run=$run" --field-selector status.phase=Succeeded \
        --output jsonpath='{range .items[*]}{.spec.nodeName} {.metadata.name}{"\n"}{end}' > "$folder/printed"
    while read -r node pod; do
        kubectl logs "$pod" --container print | base64 --decode > "$folder/digests/$node" &
        while [ "$(jobs -rp | wc -l)" -ge 16 ]; do wait -n; done
    done < "$folder/printed"
    wait
    kubectl delete jobs --selector "oomdoc-run=$run" --wait=false > /dev/null
}

case $way in
    logs) for node in "${nodes[@]}"; do digest_logs "$node"; done ;;
    nodes) digest_on_nodes ;;
    *) echo "the first word is logs or nodes, not $way" >&2 && exit 2 ;;
esac
find "$folder/digests" -size 0 -delete
unanswered=() answered=
for node in "${nodes[@]}"; do
    if [ -e "$folder/digests/$node" ]; then answered=${answered:-$node}; else unanswered+=(--unanswered "$node"); fi
done

# What the control plane says of all pods, `OOMKilled` and `Evicted`, goes by a node that answered: it is none itself.
kubectl describe pods --selector "$selector" |
    awk -v folder="$folder/states" '/^Name:/ { close(file); file = folder "/" $2 ".describe.log" } { print > file }'
(cd "$folder" && oomdoc digest states --node "${answered:-control-plane}" --output digests/states)
oomdoc merge --together "$folder"/digests/* "${unanswered[@]}" "$@"
