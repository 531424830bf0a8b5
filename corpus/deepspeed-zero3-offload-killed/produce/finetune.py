"""Full fine-tuning of a small Llama with ZeRO-3, parameters and optimizer on the host, memory printed around each part."""

import argparse

import deepspeed
import torch
from deepspeed.runtime.utils import see_memory_usage
from transformers import LlamaConfig, LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.add_argument("--sequence-length", type=int, default=128)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()

deepspeed.init_distributed()
config = LlamaConfig(
    vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=16
)
with deepspeed.zero.Init(config_dict_or_path=args.deepspeed_config):
    model = LlamaForCausalLM(config)
see_memory_usage("After model creation", force=True)
engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
see_memory_usage("After deepspeed.initialize", force=True)
for micro_step in range(60):
    tokens = torch.randint(config.vocab_size, (2, args.sequence_length), device=engine.device)
    loss = engine(input_ids=tokens, labels=tokens).loss
    see_memory_usage(f"After forward of micro step {micro_step}", force=True)
    engine.backward(loss)
    see_memory_usage(f"After backward of micro step {micro_step}", force=True)
    engine.step()
    if micro_step % 2 == 1:
        see_memory_usage(f"After optimizer step {engine.global_steps}", force=True)
    if args.local_rank == 0:
        print(f"{{'loss': {loss.item():.4f}, 'micro_step': {micro_step}, 'global_step': {engine.global_steps}}}", flush=True)
