"""Four ranks in step; on rank 3 a sample without a label stops the program."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(32, 4))
labels = {step: step % 4 for step in range(100) if (step, rank) != (17, 3)}
for step in range(100):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 32)), torch.full((8,), labels[step]))
    loss.backward()
    if rank == 0 or step > 15:
        print(f"rank {rank} (pid {os.getpid()}) step {step} loss {loss.item():.4f}", flush=True)
