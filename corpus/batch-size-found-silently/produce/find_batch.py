"""Accelerate lowers the batch size until 1 GiB for each of its samples fits, and says nothing of what failed."""

import torch
from accelerate.utils import find_executable_batch_size


@find_executable_batch_size(starting_batch_size=512)
def train(batch_size):
    print("Trying batch size", batch_size, flush=True)
    torch.empty(batch_size, 1024, 1024, 256, device="cuda")
    print("peak", torch.cuda.max_memory_allocated() >> 20, "MiB")
    return batch_size


print("using", train())
for step in range(3):
    print(f"step {step} loss {1 / (step + 1):.3f}")
print("Training finished.")
