#!/bin/bash
# A Slurm epilog: reads the log of each batch job that has ended and leaves the report beside it.
#
# Install it on the nodes and name it in slurm.conf: `Epilog=/etc/slurm/oomdoc-epilog.sh`. Set OOMDOC_NOTIFY below to the address of
# a chat. SLURM_JOB_STDOUT and SLURM_JOB_START_TIME are told to epilogs by newer versions of Slurm; without the one nothing is done,
# without the other the kernel's log is left out. An epilog that fails drains its node, so nothing here may fail or take long.
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
OOMDOC_NOTIFY=

report() {
    [ -n "${SLURM_JOB_STDOUT:-}" ] || return
    folder=$(mktemp -d /tmp/oomdoc.XXXXXX) || return
    # As root, for the kernel's log; only of this job's time, since a kill before it was another's.
    if [ -n "${SLURM_JOB_START_TIME:-}" ]; then
        dmesg --time-format iso --since "@$SLURM_JOB_START_TIME" > "$folder/dmesg.log" 2> /dev/null
    fi
    # The first node reports, and each on which the kernel killed for memory. Expanding the list asks no server.
    first=$(scontrol show hostnames "${SLURM_JOB_NODELIST:-$SLURMD_NODENAME}" | head -n 1)
    if [ "$first" = "$SLURMD_NODENAME" ] || grep -q 'oom-kill:' "$folder/dmesg.log" 2> /dev/null; then
        # The job's own files are read and written as its user.
        chown -R "$SLURM_JOB_USER" "$folder"
        runuser -u "$SLURM_JOB_USER" -- timeout 60 \
            oomdoc triage "$SLURM_JOB_STDOUT" "$folder" --output "$SLURM_JOB_STDOUT.oomdoc-$SLURMD_NODENAME" \
            ${OOMDOC_NOTIFY:+--notify "$OOMDOC_NOTIFY"} > /dev/null 2>&1
    fi
    rm -rf "$folder"
}

report
exit 0
