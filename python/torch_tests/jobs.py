"""Small jobs that run out of memory, each on its own: what test_watch.py starts. `jobs.py NAME`."""

from __future__ import annotations

import os
import resource
import sys
from typing import Any, Dict, List

# `ulimit -v` of each, and what it refuses at once.
LIMIT, LIMIT_OF_GROWTH = 16 << 30, 5 << 30
TOO_LARGE = 32 << 30


def forward() -> None:
    import torch
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024))
            self.head = nn.Linear(1024, 16)
            self.register_buffer("mean", torch.zeros(1024))

        def forward(self, inputs: Any) -> Any:
            hidden = self.body(inputs - self.mean)
            scores = self.head(hidden)
            return scores.expand(TOO_LARGE // 512, *scores.shape).contiguous()

    import oomdoc

    oomdoc.watch()
    model = Classifier()
    model.head.weight.requires_grad_(False)
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad])
    for _ in range(2):
        model.body(torch.randn(32, 1024)).sum().backward()
        optimizer.step()
    batch = {"inputs": torch.randn(32, 1024), "labels": torch.zeros(32, dtype=torch.long), "names": ["secret-name"] * 32}
    model(batch["inputs"])


def growing() -> None:
    import oomdoc
    import torch

    oomdoc.watch()
    model = torch.nn.Linear(512, 512)
    history: List[Any] = []

    def train() -> None:
        for step in range(1_000_000):
            outputs = model(torch.randn(4096, 512)).relu()
            history.append(outputs.sum())

    train()


def loader() -> None:
    import oomdoc
    import torch

    oomdoc.watch()

    class Texts(torch.utils.data.Dataset):  # type: ignore[type-arg, name-defined, misc]
        def __len__(self) -> int:
            return 64

        def __getitem__(self, index: int) -> Any:
            return bytearray(TOO_LARGE) if index == 5 else index

    for _ in torch.utils.data.DataLoader(Texts(), num_workers=1, batch_size=4):
        pass


def preparation() -> None:
    import oomdoc

    oomdoc.watch()

    def tokenize(texts: List[str]) -> List[bytearray]:
        return [bytearray(TOO_LARGE) for _ in texts]

    tokenize(["a"])


def unrelated() -> None:
    import oomdoc
    import torch

    oomdoc.watch()
    torch.nn.Linear(4, 4)(torch.randn(3, 5))


def trainers() -> None:
    """One after the other: loading the library takes longer than all of them."""
    import oomdoc

    for fails_in in ("forward", "step", "evaluation"):
        os.mkdir(fails_in)
        try:
            with oomdoc.watching(folder=fails_in):
                trainer(fails_in)
        except RuntimeError as error:
            print(error)
    sys.exit(1)


def trainer(fails_in: str) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    from oomdoc.callbacks import transformers_callback

    class Model(LlamaForCausalLM):  # type: ignore[misc]
        def forward(self, input_ids: Any = None, labels: Any = None, **kwargs: Any) -> Any:
            outputs = super().forward(input_ids=input_ids, labels=labels, **kwargs)
            if fails_in == ("forward" if self.training else "evaluation"):
                outputs.logits.new_empty(TOO_LARGE)
            return outputs

    class Optimizer(torch.optim.AdamW):
        def step(self, *args: Any, **kwargs: Any) -> Any:
            done = super().step(*args, **kwargs)
            if fails_in == "step":
                torch.empty(TOO_LARGE)
            return done

    config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2)
    model = Model(config)
    data = [{"input_ids": list(range(32)), "labels": list(range(32))} for _ in range(32)]
    arguments = TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, per_device_eval_batch_size=2, gradient_checkpointing=True, max_steps=4, eval_strategy="steps",
        eval_steps=2, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no",
    )
    Trainer(
        model=model, args=arguments, train_dataset=data, eval_dataset=data, callbacks=[transformers_callback()],
        optimizers=(Optimizer(model.parameters()), None),
    ).train()


def lightning() -> None:
    import torch
    from lightning import pytorch

    from oomdoc.callbacks import lightning_callback

    class Greedy(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, inputs: Any) -> Any:
            return inputs.clone()

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient.new_empty(TOO_LARGE)

    class Module(pytorch.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(64, 64)

        def training_step(self, batch: Any, index: int) -> Any:
            return Greedy.apply(self.layer(batch)).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = pytorch.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[lightning_callback()],
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(8, 64), batch_size=4))


def ranks() -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    from torch.distributed.fsdp import fully_shard

    # Each rank has half of what FSDP shards, its part of what ZeRO-3 does, and nothing of what is nowhere yet.
    sharded, partitioned = torch.nn.Linear(1024, 1024, bias=False), torch.nn.Linear(1, 1, bias=False)
    fully_shard(sharded)
    partitioned.weight.data = torch.empty(0)
    partitioned.weight.ds_tensor = torch.zeros(1 << 20)  # type: ignore[attr-defined]
    nowhere = [torch.nn.Linear(512, 512, device="meta"), torch.nn.LazyLinear(512)]
    assert len(nowhere) == 2
    dist.all_reduce(torch.ones(8))
    if dist.get_rank() == 1:
        torch.empty(TOO_LARGE)
    dist.barrier()


def recorded_driver() -> None:
    """There is no GPU where this runs: what torch would say of one stands in for it."""
    from unittest import mock

    import oomdoc
    import torch

    oomdoc.watch()
    counts = {
        "allocated_bytes.all.current": 79_705_000_000,
        "allocated_bytes.all.peak": 80_000_000_000,
        "reserved_bytes.all.current": 82_000_000_000,
        "reserved_bytes.all.peak": 82_000_000_000,
        "inactive_split_bytes.all.current": 2_295_000_000,
        "inactive_split_bytes.all.peak": 2_500_000_000,
        "num_alloc_retries": 3,
        "num_ooms": 1,
    }
    said = {
        "is_initialized": True,
        "current_device": 1,
        "device_count": 2,
        "mem_get_info": (1_061_000_000, 85_017_755_648),
        "memory_stats": counts,
        "memory_allocated": 79_705_000_000,
        "get_device_name": "NVIDIA H100 80GB HBM3",
    }
    for name, value in said.items():
        mock.patch.object(torch.cuda, name, lambda *_, value=value: value).start()
    mock.patch.object(torch.cuda.memory, "_snapshot", lambda: {"device_traces": [[{"action": "alloc"}]]}).start()
    mock.patch.object(torch.cuda.memory, "_dump_snapshot", lambda path: open(path, "wb").write(b"recorded")).start()
    raise torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.18 GiB of which 1011.84 MiB is free. Including non-PyTorch "
        "memory, this process has 78.19 GiB memory in use. Of the allocated memory 74.23 GiB is allocated by PyTorch, and 2.14 GiB is reserved by "
        "PyTorch but unallocated."
    )


def steps(count: str, watched: str) -> None:
    """Processor time of a tight loop: prints nanoseconds a step, the best of seven times."""
    import time

    import torch

    if watched == "yes":
        import oomdoc

        oomdoc.watch()
    torch.set_num_threads(1)
    model, inputs = torch.nn.Linear(8, 8), torch.randn(4, 8)
    best: Dict[str, float] = {"ns": float("inf")}
    for _ in range(7):
        start = time.process_time_ns()
        for _ in range(int(count)):
            model(inputs).sum().backward()
        best["ns"] = min(best["ns"], (time.process_time_ns() - start) / int(count))
    print(f"{best['ns']:.0f}")


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    limit = LIMIT_OF_GROWTH if sys.argv[1] == "growing" else LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    globals()[sys.argv[1]](*sys.argv[2:])
