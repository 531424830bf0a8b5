"""Gives every patch of corpus/ to an independent reader of the file that it edits.

usage: accept.py OOMDOC. The diffs of `oomdoc analyze --format json` are applied by `git apply` to a copy of corpus/. Then
DeepSpeed's own parser must accept a JSON, PyYAML must see one key changed in a YAML, and argparse, built from rules/knobs/,
one option in a launch script. Exits with 1 and says which patch, where one of them does not.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent


def deepspeed_parser():
    """A function from a configuration and a number of ranks to DeepSpeed's view of it; it raises what DeepSpeed raises."""
    with contextlib.redirect_stdout(io.StringIO()):
        import deepspeed
        from deepspeed.runtime.config import DeepSpeedConfig
    # It asks for its rank first and, where nobody answers, takes one rank for all of them.
    deepspeed.comm.get_rank = lambda group=None: 0

    def parse(config, ranks):
        class Mpu:
            def get_data_parallel_world_size(self):
                return ranks

        # What transformers or the user's script fills in before DeepSpeed sees it.
        batch = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
        config = {key: value for key, value in config.items() if not (key in batch and value == "auto")}
        if not any(key in config for key in batch[:2]):
            config["train_micro_batch_size_per_gpu"] = 1
        with contextlib.redirect_stdout(io.StringIO()):
            return DeepSpeedConfig(config, mpu=Mpu())

    return parse


def ranks_of(parse, config):
    """The first number of ranks for which `config` is right as it stands."""
    for ranks in range(1, 129):
        with contextlib.suppress(Exception):
            parse(config, ranks)
            return ranks
    return None


def flat(value, path=""):
    """A tree as a dictionary of its leaves."""
    if isinstance(value, dict) and value:
        return {key: leaf for name, below in value.items() for key, leaf in flat(below, f"{path}.{name}").items()}
    if isinstance(value, list) and value:
        return {key: leaf for place, below in enumerate(value) for key, leaf in flat(below, f"{path}[{place}]").items()}
    return {path.lstrip("."): value}


def options():
    """An argument parser of every option in rules/knobs/. One framework's switch takes a value in another one."""
    names = set()
    for file in sorted((ROOT / "rules/knobs").glob("*.toml")):
        for knob in tomllib.loads(file.read_text())["knob"]:
            names.update(name for row in knob["spelling"] for name in [row["name"], *row.get("also", [])])
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in sorted(name for name in names if re.fullmatch(r"--[\w.-]+", name)):
        parser.add_argument(name, dest=name, action="append", nargs="?", const="true")
    return parser


def script_settings(text, parser):
    """What a launch script sets: options as argparse reads them, overrides, the environment, the scheduler's directives."""
    settings = {f"#{match[1]}": match[2] for match in re.finditer(r"(?m)^#SBATCH\s+(--[\w-]+)[= ](\S+)", text)}
    joined = re.sub(r"\\\n", " ", text)
    for line in joined.splitlines():
        if line.lstrip().startswith("#"):
            continue
        with contextlib.suppress(ValueError):
            words = shlex.split(line, comments=True)
            known, _ = parser.parse_known_args([word for word in words if word != "--"])
            settings.update({name: value for name, value in vars(known).items() if value is not None})
            settings.update(word.split("=", 1) for word in words if re.match(r"[A-Za-z_][\w.]*=", word))
    return settings


def differing(before, after):
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def plain(name):
    return re.sub(r"^[#+-]+", "", name).replace("-", "_")


def is_knob(key, knob):
    key, knob = plain(key), plain(knob)
    return key == knob or key.endswith("." + knob) or knob.endswith("." + key) or knob.startswith(key + ".")


def fault(parse, parser, file, before, after, patch):
    """What an independent reader has against a patch, or nothing."""
    if file.suffix == ".json":
        old, new = json.loads(before), json.loads(after)
        ranks = ranks_of(parse, old)
        if ranks is None:
            return "DeepSpeed does not accept it even as it was"
        try:
            parse(new, ranks)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        changed = differing(flat(old), flat(new))
    elif file.suffix in (".yaml", ".yml"):
        changed = differing(flat(yaml.safe_load(before)), flat(yaml.safe_load(after)))
    else:
        changed = differing(script_settings(before, parser), script_settings(after, parser))
    return None if len(changed) == 1 and is_knob(changed[0], patch["knob"]) else f"it changes {changed}"


def main():
    oomdoc = str(Path(sys.argv[1]).resolve())
    parse, parser = deepspeed_parser(), options()
    accepted, refused = {}, []
    for case in sorted(path.name for path in (ROOT / "corpus").iterdir() if (path / "expected.toml").exists()):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "corpus" / case
            shutil.copytree(ROOT / "corpus" / case, copy)
            command = [oomdoc, "analyze", "--no-save", "--format", "json", f"corpus/{case}"]
            report = json.loads(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
            diagnoses = [diagnosis for incident in report["incidents"] for diagnosis in incident["diagnoses"]]
            patches = {patch["diff"]: patch for diagnosis in diagnoses for patch in diagnosis["patches"] if patch["diff"]}
            for diff, patch in patches.items():
                file = Path(folder) / patch["file"]
                before = file.read_text()
                # Without the folder's history git must not look for a repository above it.
                environment = {**os.environ, "GIT_CEILING_DIRECTORIES": folder}
                git = ["git", "apply", "-p1", "--unidiff-zero", "-"]
                applied = subprocess.run(git, cwd=folder, env=environment, input=diff.encode(), capture_output=True)
                wrong = applied.stderr.decode() if applied.returncode else None
                wrong = wrong or fault(parse, parser, file, before, file.read_text(), patch)
                if wrong:
                    refused.append(f"{patch['file']}: {patch['knob']} → {patch['to']}: {wrong}")
                else:
                    accepted[file.suffix] = accepted.get(file.suffix, 0) + 1
                file.write_text(before)
    print("acceptance:", ", ".join(f"{count} {suffix}" for suffix, count in sorted(accepted.items())), "accepted")
    print(*refused, sep="\n")
    # Nothing to try is no success.
    sys.exit(1 if refused or not accepted.get(".json") or not accepted.get(".sh") or not accepted.get(".yaml") else 0)


main()
