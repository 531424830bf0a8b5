"""Trains a 3B model with DistributedDataParallel over gloo. No rank chooses a device: all of them take GPU 0."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM, LlamaConfig

dist.init_process_group("gloo")
rank = dist.get_rank()
config = LlamaConfig(
    vocab_size=128256,
    hidden_size=3072,
    intermediate_size=8192,
    num_hidden_layers=28,
    num_attention_heads=24,
    num_key_value_heads=8,
    max_position_embeddings=131072,
    tie_word_embeddings=True,
)
with torch.device("cuda"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    tokens = torch.randint(128256, (1, 512), device="cuda")
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"[rank{rank}] step {step} loss {loss.item():.3f}", flush=True)
