"""Trains a 1B model on sequences of growing length with eager attention, which writes the whole attention matrix."""

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

config = LlamaConfig(
    vocab_size=128256,
    hidden_size=2048,
    intermediate_size=8192,
    num_hidden_layers=16,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=131072,
    tie_word_embeddings=True,
)
with torch.device("cuda"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for step, length in enumerate([2048, 4096, 8192, 24576]):
    tokens = torch.randint(128256, (1, length), device="cuda")
    print(f"step {step} tokens {length}", flush=True)
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.3f} mem {torch.cuda.max_memory_allocated() / 2**30:.1f}GB", flush=True)
