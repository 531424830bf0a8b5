"""Saves the model and the optimizer every 20 steps on a small disk."""

import pathlib

import torch
from torch import nn

model = nn.Sequential(nn.Embedding(8192, 512), nn.Linear(512, 8192))
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1, 101):
    tokens = torch.randint(8192, (4, 64))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 5 == 0:
        print(f"step {step:4d} | loss {loss.item():.4f}", flush=True)
    if step % 20 == 0:
        path = pathlib.Path("checkpoints") / f"step_{step}.pt"
        print(f"Saving model checkpoint to {path}", flush=True)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)
