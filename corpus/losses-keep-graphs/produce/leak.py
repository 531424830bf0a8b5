"""Sums up losses, and keeps them in a list, without detaching them: each keeps the graph of its step."""

import torch
from torch import nn
from tqdm import tqdm

layers = [nn.Sequential(nn.Linear(4096, 4096), nn.ReLU()) for _ in range(12)]
model = nn.Sequential(*layers, nn.Linear(4096, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters())
history, total = [], 0
progress = tqdm(range(5000), desc="train")
for step in progress:
    batch = torch.randn(2048, 4096, device="cuda")
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    history.append(loss)
    total = total + loss
    if step % 10 == 0:
        progress.set_postfix(mem=f"{torch.cuda.memory_allocated() / 2**30:.1f}G")
