"""Fine-tuning with the Hugging Face Trainer. A metric needs predictions, so that evaluation keeps the logits of all batches."""

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokens(Dataset):
    def __init__(self, samples):
        self.tokens = torch.randint(8192, (samples, 128))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def token_accuracy(prediction):
    logits, labels = prediction
    return {"token_accuracy": float((logits[:, :-1].argmax(-1) == labels[:, 1:]).mean())}


config = GPT2Config(vocab_size=8192, n_positions=128, n_embd=64, n_layer=2, n_head=2, use_cache=False)
arguments = TrainingArguments(
    output_dir="out",
    use_cpu=True,
    report_to=[],
    per_device_train_batch_size=8,
    per_device_eval_batch_size=8,
    eval_strategy="steps",
    eval_steps=100,
    logging_steps=25,
    max_steps=400,
    save_strategy="no",
)
Trainer(GPT2LMHeadModel(config), arguments, train_dataset=Tokens(4000), eval_dataset=Tokens(2000), compute_metrics=token_accuracy).train()
