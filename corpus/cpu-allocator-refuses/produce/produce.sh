#!/bin/bash
# Needs torch (2.15.0 here). The address space is limited to 6 GiB as batch systems do with `ulimit -v`.
set -u
(ulimit -v $((6 << 20)); python export.py >job.log 2>&1)
