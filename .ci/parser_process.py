"""Runs the parser of one framework in a process of its own, since not all of the packages can be imported into one process.

usage: parser_process.py FRAMEWORK WHEELS. Each line of standard input is JSON: the words of a command line, or the text of a
configuration. Each is answered with a line of JSON: what the framework refuses. Everything comes from the framework's package, with two
exceptions: Megatron-LM is given Python 3.12's `typing.override`, and vLLM, whose compiled kernels are not installed, is told that it
runs on a CPU.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
import types
import typing
from pathlib import Path

import parsers


def megatron():
    import typing_extensions

    typing.override = typing_extensions.override
    from megatron.training.arguments import add_megatron_arguments

    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_megatron_arguments(parser)
    return lambda words: parsers.unknown(parser, words)


def sglang():
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return lambda words: parsers.unknown(parser, words)


def vllm():
    import vllm.platforms
    from vllm.platforms.cpu import CpuPlatform

    vllm.platforms._current_platform = CpuPlatform()
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = AsyncEngineArgs.add_cli_args(FlexibleArgumentParser())
    return lambda words: parsers.unknown(parser, words)


def torchtitan():
    from torchtitan.config import ConfigManager

    def complaints(text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "job.toml").write_text(text)
            try:
                ConfigManager().parse_args(["--job.config_file", str(Path(folder) / "job.toml")])
            except (Exception, SystemExit) as error:
                return {str(error)}
        return set()

    return complaints


def easyr1():
    """Makes the configuration as EasyR1's trainer does; its other modules are not imported."""
    import yaml
    from omegaconf import OmegaConf

    for name in ("verl", "verl.workers", *(f"verl.workers.{part}" for part in ("actor", "critic", "reward", "rollout"))):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [os.path.join(os.environ["OOMDOC_EASYR1"], *name.split("."))]
    # What the packages' `__init__` would import from these modules.
    for part in ("actor", "critic", "reward", "rollout"):
        config = importlib.import_module(f"verl.workers.{part}.config")
        vars(sys.modules[f"verl.workers.{part}"]).update(vars(config))
    from verl.trainer.config import PPOConfig

    def complaints(text):
        try:
            config = OmegaConf.create(yaml.safe_load(text))
            OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(PPOConfig()), config))
        except Exception as error:
            return {str(error).splitlines()[0]}
        return set()

    return complaints


PARSERS = {maker.__name__: maker for maker in (megatron, sglang, vllm, torchtitan, easyr1)}


def main():
    framework, wheels = sys.argv[1], Path(sys.argv[2])
    sys.path.append(str(wheels / f"parsers-{framework}"))
    # Keep what they print out of the answers.
    with contextlib.redirect_stdout(io.StringIO()):
        complaints = PARSERS[framework]()
    for line in sys.stdin:
        with contextlib.redirect_stdout(io.StringIO()):
            found = sorted(complaints(json.loads(line)))
        print(json.dumps(found), flush=True)


main()
