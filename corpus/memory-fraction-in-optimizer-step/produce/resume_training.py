"""One optimizer step of a 1.5B model, then a checkpoint. The process may use 36 % of the GPU: less than the step needs."""

import torch
from transformers import AutoModelForCausalLM, Qwen2Config

torch.cuda.set_per_process_memory_fraction(0.36)
config = Qwen2Config(
    vocab_size=151936,
    hidden_size=1536,
    intermediate_size=8960,
    num_hidden_layers=28,
    num_attention_heads=12,
    num_key_value_heads=2,
    max_position_embeddings=131072,
    tie_word_embeddings=True,
)
with torch.device("cuda"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
optimizer.step()
optimizer.zero_grad()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 1200}, "ckpt.pt")
print("saved ckpt.pt")
