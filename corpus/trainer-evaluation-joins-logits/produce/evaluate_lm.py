"""Fine-tuning with the Hugging Face Trainer. A metric needs predictions, so that evaluation keeps the logits of all batches."""

import torch
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, Qwen2Config, Trainer, TrainingArguments


class Tokens(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        tokens = torch.randint(151936, (512,))
        return {"input_ids": tokens, "labels": tokens}


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


config = Qwen2Config(
    vocab_size=151936,
    hidden_size=896,
    intermediate_size=4864,
    num_hidden_layers=24,
    num_attention_heads=14,
    num_key_value_heads=2,
    max_position_embeddings=131072,
    tie_word_embeddings=True,
)
with torch.device("cuda"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
arguments = TrainingArguments(
    "out",
    per_device_train_batch_size=1,
    per_device_eval_batch_size=8,
    bf16=True,
    eval_strategy="steps",
    eval_steps=3,
    logging_steps=1,
    max_steps=6,
    report_to=[],
    save_strategy="no",
)
Trainer(model=model, args=arguments, train_dataset=Tokens(64), eval_dataset=Tokens(2000), compute_metrics=accuracy).train()
