"""Fine-tunes all of an 8B model of Llama 3's shape with DeepSpeed's ZeRO-1 on one GPU, as zero1.json says."""

import json

import deepspeed
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

deepspeed.init_distributed()
with open("zero1.json") as file:
    settings = json.load(file)
settings["train_micro_batch_size_per_gpu"] = 1
config = LlamaConfig(
    vocab_size=128256,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=131072,
)
with torch.device("cuda"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
for step in range(3):
    tokens = torch.randint(128256, (1, 1024), device="cuda")
    loss = engine(input_ids=tokens, labels=tokens).loss
    engine.backward(loss)
    engine.step()
    print(f"step {step} loss {loss.item():.3f}", flush=True)
