"""Asks the frameworks' own parsers what they refuse in a launch script or a configuration.

`complaints(file, text, wheels)` returns the options and keys that the framework of a file refuses. bash runs a script in a folder where
every launcher only records its arguments, so that bash itself expands variables, arrays and branches. OpenRLHF's parser stands under `if
__name__ == "__main__"` of its scripts and is extracted from there. The parsers of Megatron-LM, SGLang, torchtitan and vLLM run in
processes of their own (parser_process.py). `wheels` is the folder of the packages that were installed without their dependencies. EasyR1
and prime-rl are in no registry: EasyR1's parser is used if $OOMDOC_EASYR1 is a checkout of it.
"""

import argparse
import ast
import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import yaml

# Programs that start a job: each is replaced by a recorder, so that none of them runs.
LAUNCHERS = ("accelerate deepspeed llamafactory-cli python python3 ray sglang sleep srun swift torchrun trl vllm".split())
RECORDER = '#!/bin/sh\n{ printf "%s\\0" "${0##*/}" "$@"; printf "\\n"; } >> "$CALLS"\n'


@functools.cache
def calls(script):
    """The calls of launchers in `script`, each as a list of words."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "bin").mkdir()
        for name in LAUNCHERS:
            (folder / "bin" / name).write_text(RECORDER)
            (folder / "bin" / name).chmod(0o755)
        environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "CALLS": str(folder / "calls"), "HOME": str(folder)}
        (folder / "script").write_text(script)
        with contextlib.suppress(subprocess.TimeoutExpired):
            bash = ["bash", "script"]
            subprocess.run(bash, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
        written = (folder / "calls").read_text() if (folder / "calls").exists() else ""
    return [line.split("\0")[:-1] for line in written.split("\n") if line]


def unknown(parser, words):
    """The options among `words` that an argument parser does not know; its error message if it refuses a value."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return {word for word in parser.parse_known_args(words)[1] if word.startswith("-")}
    except SystemExit:
        return {said.getvalue().strip().split("\n")[-1]}


@functools.cache
def openrlhf(source):
    """The parser in a script of OpenRLHF."""
    body = next(node for node in ast.parse(source.read_text()).body if isinstance(node, ast.If)).body
    is_end = lambda node: isinstance(node, ast.Assign) and "parse_args" in ast.dump(node.value)
    end = next(place for place, node in enumerate(body) if is_end(node))
    names = {"argparse": argparse}
    exec("import os\nfrom datetime import datetime", names)  # what defaults are made of
    exec(compile(ast.Module(body[:end], []), str(source), "exec"), names)
    return names["parser"]


@functools.cache
def huggingface(kind):
    """The parser of a script for transformers or TRL."""
    os.environ.setdefault("DISABLE_VERSION_CHECK", "1")
    from transformers import HfArgumentParser, TrainingArguments

    if kind == "llamafactory":
        from llamafactory import hparams

        names = ("ModelArguments", "DataArguments", "TrainingArguments", "FinetuningArguments", "GeneratingArguments")
        return HfArgumentParser([getattr(hparams, name) for name in names])
    if kind == "transformers":
        return HfArgumentParser(TrainingArguments)
    import trl

    configs = {"sft": "SFTConfig", "dpo": "DPOConfig", "grpo": "GRPOConfig", "reward": "RewardConfig"}
    return HfArgumentParser([getattr(trl, configs[kind]), trl.ModelConfig])


@functools.cache
def verl(config, override, folder):
    """What verl's configuration called `config` refuses in `override`."""
    from hydra import compose, initialize_config_dir

    try:
        with initialize_config_dir(str(folder), version_base=None):
            compose(config, overrides=[override])
    except Exception as error:
        return f"{override.split('=')[0]}: {str(error).splitlines()[0]}"


@functools.cache
def process(framework, wheels):
    """The process that runs the parser of `framework`."""
    command = [sys.executable, str(Path(__file__).with_name("parser_process.py")), framework, str(wheels)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def asked(framework, question, wheels):
    """What `framework` refuses in `question`, according to its own process. A process that died raises an error."""
    one = process(framework, wheels)
    one.stdin.write(json.dumps(question) + "\n")
    one.stdin.flush()
    return set(json.loads(one.stdout.readline()))


def of_call(words, wheels):
    """What the framework that `words` start refuses in them; `None` if its parser is not available."""
    said = " ".join(words)
    options = [word for word in words if not word.endswith((".py", ".yaml", ".json"))]
    if "openrlhf.cli." in said:
        script = said.split("openrlhf.cli.")[1].split()[0] + ".py"
        words = options[next(place for place, word in enumerate(options) if "openrlhf.cli." in word) + 1:]
        # Options were renamed between versions: assume the version that knows more of them.
        versions = [wheels / place / "openrlhf/cli" / script for place in ("parsers", "parsers-openrlhf-0.8")]
        found = [unknown(openrlhf(version), words) for version in versions if version.exists()]
        return min(found, key=len) if found else None
    if "verl.trainer.main_ppo" in said:
        config = "ppo_megatron_trainer" if "strategy=megatron" in said or ".megatron." in said else "ppo_trainer"
        overrides = [word for word in options if "=" in word and not word.startswith("-")]
        return {verl(config, override, wheels / "parsers/verl/trainer/config") for override in overrides} - {None}
    if any(Path(word).name.startswith("pretrain_") and word.endswith(".py") for word in words):
        return asked("megatron", options[1:], wheels)
    if words[0] == "vllm" and "serve" in words or "vllm.entrypoints" in said:
        return asked("vllm", options[1:], wheels)
    if "sglang.launch_server" in said or words[:2] == ["sglang", "serve"]:
        return asked("sglang", options[1:], wheels)
    for kind in ("sft", "dpo", "grpo", "reward"):
        if words[0] == "trl" and kind in words or any(Path(word).name in (f"{kind}.py", f"train_{kind}.py") for word in words):
            return unknown(huggingface(kind), options[1:])
    # Gaudi's scripts have options of their own, and they cannot be imported without its driver.
    is_of_transformers = "--per_device_train_batch_size" in said and "--use_habana" not in said
    if any(word.endswith(".py") for word in words) and is_of_transformers:
        return unknown(huggingface("transformers"), options[1:])
    return None


@functools.cache
def complaints(file, text, wheels):
    """What the framework of `file` refuses in `text`; `None` if its parser is not available."""
    if file.suffix == ".sh":
        found = [of_call(words, wheels) for words in calls(text)]
        found = [one for one in found if one is not None]
        return set().union(*found) if found else None
    if file.suffix in (".yaml", ".yml"):
        config = next(yaml.safe_load_all(text), None)
        if isinstance(config, dict) and "stage" in config and "finetuning_type" in config:
            words = [word for key, value in config.items() for word in (f"--{key}", str(value))]
            return unknown(huggingface("llamafactory"), words)
        if isinstance(config, dict) and "rollout" in config.get("worker", {}) and os.environ.get("OOMDOC_EASYR1"):
            return asked("easyr1", text, wheels)
    if file.suffix == ".toml" and "local_batch_size" in tomllib.loads(text).get("training", {}):
        return asked("torchtitan", text, wheels)
    return None
