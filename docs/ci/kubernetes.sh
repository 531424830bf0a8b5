#!/bin/bash
# Why a Job of Kubernetes failed: `kubernetes.sh NAMESPACE JOB [oomdoc triage's arguments]`.
#
# Asks for the logs of all its pods, of containers that were restarted too, and for the events and states in which
# `OOMKilled` and `Evicted` stand. Needs `get` and `list` on pods, pods/log and events.
set -u
namespace=$1 job=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
selector="batch.kubernetes.io/job-name=$job"
for pod in $(kubectl --namespace "$namespace" get pods --selector "$selector" --output name); do
    name=${pod#pod/}
    kubectl --namespace "$namespace" logs "$pod" --all-containers --prefix > "$folder/$name.log" 2> /dev/null
    kubectl --namespace "$namespace" logs "$pod" --all-containers --prefix --previous \
        > "$folder/$name.previous.log" 2> /dev/null
    kubectl --namespace "$namespace" describe "$pod" > "$folder/$name.describe.log"
    kubectl --namespace "$namespace" get events --field-selector "involvedObject.name=$name" \
        > "$folder/$name.events.log"
done
find "$folder" -size 0 -delete
oomdoc triage "$folder" "$@"
