#!/bin/bash
# Needs ray (2.60.0 here) and root for the host's name.
set -u
on-node1.sh python preprocess.py >job.log 2>&1
