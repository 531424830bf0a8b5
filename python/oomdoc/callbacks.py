"""Tell `oomdoc.watch` what trainers know: the step, the phase, and the arguments that affect memory.

    Trainer(…, callbacks=[oomdoc.callbacks.transformers_callback()])
    lightning.Trainer(…, callbacks=[oomdoc.callbacks.lightning_callback()])

Each callback also calls `oomdoc.watch(folder)`. At each step it only stores a few references and a word, so that the step costs no more
than with an empty callback.
"""

from __future__ import annotations

import weakref
from typing import Any, Dict, Iterator, Optional

from ._watch import notes
from ._watch.hooks import Pathlike, resolved, watch
from ._watch.report import report

# Arguments of transformers' and TRL's trainers that affect memory.
TRANSFORMERS_ARGUMENTS = (
    "per_device_train_batch_size",
    "per_device_eval_batch_size",
    "gradient_accumulation_steps",
    "eval_accumulation_steps",
    "gradient_checkpointing",
    "bf16",
    "fp16",
    "optim",
    "fsdp",
    "deepspeed",
    "auto_find_batch_size",
    "group_by_length",
    "dataloader_num_workers",
    "dataloader_pin_memory",
    "dataloader_prefetch_factor",
    "torch_empty_cache_steps",
    "use_liger_kernel",
    "max_length",
    "max_seq_length",
    "max_prompt_length",
    "max_completion_length",
    "num_generations",
    "packing",
)
# Arguments of Lightning's trainer that affect memory.
LIGHTNING_ARGUMENTS = ("accumulate_grad_batches", "precision", "gradient_clip_val", "num_devices", "num_nodes", "max_epochs")


def transformers_callback(folder: Optional[Pathlike] = None) -> Any:
    """A `TrainerCallback` for transformers' Trainer and its subclasses."""
    from transformers import TrainerCallback  # type: ignore[import-not-found, unused-ignore]

    class OomdocCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Remembers what the trainer is doing."""

        def __init__(self) -> None:
            self.phase = "setup"
            self.arguments: Any = None
            self.state: Any = None
            watch(folder)
            notes.add("transformers", self.known)

        def known(self) -> Iterator[str]:
            """Statements for the watch file."""
            if self.state is not None:
                steps = f"{self.state.global_step} of {self.state.max_steps}" if self.state.max_steps > 0 else f"{self.state.global_step}"
                epoch = f", epoch {self.state.epoch:.2f}" if self.state.epoch is not None else ""
                yield f"in {self.phase} of transformers, at step {steps}{epoch}"
            for name in TRANSFORMERS_ARGUMENTS:
                value = getattr(self.arguments, name, None)
                if value not in (None, "", [], False):
                    # Name an enumeration's value as users write it.
                    yield f"argument {name}={getattr(value, 'value', value)}"

        def _note(self, phase: str, arguments: Any, state: Any) -> None:
            self.phase, self.arguments, self.state = phase, arguments, state

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("setup", args, state)

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("forward or backward", args, state)

        def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("forward or backward", args, state)

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("the optimizer's step", args, state)

        def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("what follows a step", args, state)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            # If both are due, evaluation comes before saving.
            self._note("an evaluation" if control.should_evaluate else "saving" if control.should_save else "what follows a step", args, state)

        def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.on_step_end(args, state, control)

        def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("an evaluation", args, state)

        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("saving" if control.should_save else "what follows a step", args, state)

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("what follows a step", args, state)

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._note("what follows training", args, state)

    return OomdocCallback()


def lightning_callback(folder: Optional[Pathlike] = None) -> Any:
    """A `Callback` for Lightning's Trainer, which catches exceptions before they reach any hook."""
    try:
        from lightning.pytorch import Callback  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from pytorch_lightning import Callback  # type: ignore[import-not-found, unused-ignore, no-redef]

    class OomdocCallback(Callback):  # type: ignore[misc, unused-ignore]
        """Remembers what the trainer is doing."""

        def __init__(self) -> None:
            super().__init__()
            self._folder = resolved(folder)
            self.phase = "setup"
            # A weak reference, since the trainer holds the model.
            self._trainer: Optional[weakref.ref[Any]] = None
            watch(folder)
            notes.add("lightning", self.known)

        def known(self) -> Iterator[str]:
            """Statements for the watch file."""
            trainer = None if self._trainer is None else self._trainer()
            if trainer is None:
                return
            yield f"in {self.phase} of Lightning, at step {trainer.global_step}, epoch {trainer.current_epoch}"
            for name in LIGHTNING_ARGUMENTS:
                value = getattr(trainer, name, None)
                if value not in (None, "", False):
                    yield f"argument {name}={value}"
            yield f"strategy {type(trainer.strategy).__name__}"

        def __getstate__(self) -> Dict[str, Any]:
            # A weak reference cannot be pickled, and would be meaningless in another process.
            return {**self.__dict__, "_trainer": None}

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self._trainer = weakref.ref(trainer)
            report(exception, self._folder)

        def _note(self, phase: str, trainer: Any) -> None:
            self.phase, self._trainer = phase, weakref.ref(trainer)

        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            self._note("setup", trainer)

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            self._note("forward", trainer)

        def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
            self._note("backward", trainer)

        def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
            self._note("what follows backward", trainer)

        def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
            self._note("the optimizer's step", trainer)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            self._note("what follows a step", trainer)

        def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
            self._note("an evaluation", trainer)

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            self._note("what follows an evaluation", trainer)

        def on_test_start(self, trainer: Any, pl_module: Any) -> None:
            self._note("an evaluation", trainer)

        def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
            self._note("inference", trainer)

        def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
            self._note("saving", trainer)

    return OomdocCallback()
