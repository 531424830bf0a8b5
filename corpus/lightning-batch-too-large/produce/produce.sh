#!/bin/bash
# Needs a GPU of 80 GB, torch, torchvision and lightning (torch 2.11.0+cu130 and lightning 2.6.6 here).
set -u
python3 -u lightning_fit.py >job.log 2>&1
