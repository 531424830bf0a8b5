#!/bin/bash
# Needs a GPU of 80 GB, torch, transformers and sentence-transformers (torch 2.11.0+cu130 and transformers 5.17.0 here).
set -u
python3 -u embed_corpus.py >job.log 2>&1
