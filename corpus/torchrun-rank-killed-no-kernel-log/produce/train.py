"""Three ranks tokenise their shards and then train; the driver of the tokeniser keeps everything."""

import os
import random

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank = dist.get_rank()
print(f"rank {rank} of {dist.get_world_size()} is pid {os.getpid()}", flush=True)
random.seed(rank)
samples = []
for shard in range(60 if rank == 2 else 3):
    for _ in range(2000):
        samples.append([random.randrange(100, 32000) for _ in range(64)])
    print(f"rank {rank}: tokenised shard {shard}, {len(samples)} samples", flush=True)
dist.barrier()

model = nn.Linear(64, 64)
for step, sample in enumerate(samples[:20]):
    loss = model(torch.tensor(sample, dtype=torch.float)).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    print(f"rank {rank}: step {step} loss {loss.item():.1f}", flush=True)
