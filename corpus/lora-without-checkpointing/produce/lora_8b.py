"""Fine-tunes LoRA adapters on all linear layers of an 8B model, 8 sequences of 2048 tokens a batch, without checkpointing."""

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, LlamaConfig, Trainer, TrainingArguments


class Tokens(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        tokens = torch.randint(128256, (2048,))
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
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
model.print_trainable_parameters()
arguments = TrainingArguments(
    "out",
    per_device_train_batch_size=8,
    bf16=True,
    logging_steps=1,
    max_steps=5,
    report_to=[],
    save_strategy="no",
)
Trainer(model=model, args=arguments, train_dataset=Tokens()).train()
