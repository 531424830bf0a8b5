"""Accelerate lowers the batch size until a batch fits, then trains to the end."""

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
from torch import nn

accelerator = Accelerator(cpu=True)


@find_executable_batch_size(starting_batch_size=256)
def train(batch_size):
    accelerator.free_memory()
    accelerator.print(f"Trying batch size {batch_size}")
    model = nn.Sequential(nn.Embedding(1024, 16), nn.Linear(16, 1024))
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    for step in range(40):
        tokens = torch.randint(1024, (batch_size, 1024))
        try:
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        except RuntimeError as error:
            accelerator.print(f"Batch size {batch_size} does not fit: RuntimeError: {error}")
            raise
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if step % 2 == 0:
            accelerator.print(f"step {step}/40 loss {loss.item():.4f}")
    accelerator.print(f"Training finished with batch size {batch_size}")


train()
