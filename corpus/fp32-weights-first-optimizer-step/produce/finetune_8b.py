"""Fine-tunes all of an 8B model of Llama 3's shape, in fp32 under bf16 autocast, with Adam on the GPU."""

import torch
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, LlamaConfig, Trainer, TrainingArguments


class Tokens(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        tokens = torch.randint(128256, (1024,))
        return {"input_ids": tokens, "labels": tokens}


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
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
arguments = TrainingArguments(
    "out",
    per_device_train_batch_size=1,
    gradient_checkpointing=True,
    bf16=True,
    optim="adamw_torch",
    logging_steps=1,
    max_steps=5,
    report_to=[],
    save_strategy="no",
)
Trainer(model=model, args=arguments, train_dataset=Tokens()).train()
