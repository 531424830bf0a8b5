"""Takes all of the GPU but 9 GiB, and keeps it."""

import time

import torch

free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - (9 << 30), dtype=torch.uint8, device="cuda")
print("holding", flush=True)
time.sleep(600)
