#!/bin/bash
vllm serve Qwen/Qwen2.5-14B-Instruct --max-model-len 131072 --gpu-memory-utilization 0.9
