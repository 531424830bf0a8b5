"""A small language model trained by two ranks over gloo. Every rank keeps each batch's logits for a metric at the end."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

VOCABULARY, WIDTH, LENGTH = 8192, 256, 32

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), nn.TransformerEncoder(layer, 2), nn.Linear(WIDTH, VOCABULARY))
model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
print(f"[rank {rank}] pid {os.getpid()}, {sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters", flush=True)

logits_for_perplexity = []
for step in range(1000):
    # The shards are not balanced: rank 1 has the longer documents.
    batch = torch.randint(VOCABULARY, (8 + 8 * rank, LENGTH))
    logits = model(batch)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    logits_for_perplexity.append(logits.detach())
    print(f"[rank {rank}] step {step} loss {loss.item():.4f}", flush=True)
