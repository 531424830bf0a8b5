"""Full fine-tuning of a small Qwen2 with DeepSpeed, the optimizer on the host."""

import argparse

import deepspeed
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.add_argument("--seq_len", type=int, default=128)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()

deepspeed.init_distributed()
config = Qwen2Config(
    vocab_size=32768, hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, num_key_value_heads=12
)
model = Qwen2ForCausalLM(config)
print(f"parameters: {sum(p.numel() for p in model.parameters()):,}", flush=True)
engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
for step in range(100):
    tokens = torch.randint(config.vocab_size, (engine.train_micro_batch_size_per_gpu(), args.seq_len), device=engine.device)
    loss = engine(input_ids=tokens, labels=tokens).loss
    engine.backward(loss)
    engine.step()
    if args.local_rank == 0:
        print(f"step: {step + 1}, loss: {loss.item():.4f}", flush=True)
