"""Gives every patch of corpus/ and of tests/fixtures/fix/ to independent parsers of the files that it edits.

usage: accept.py OOMDOC WHEELS. `git apply` applies the diffs of `oomdoc analyze --format json` to a copy of the case. Then DeepSpeed's
own parser must accept an edited JSON file; PyYAML, tomllib and ast, or for a launch script an argparse parser built from rules/knobs/, must
see the knob and its companions changed and nothing else; and the framework's own parser (parsers.py) must not refuse anything new. Exits
with 1 and lists the patches that fail.
"""

import argparse
import ast
import contextlib
import functools
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import parsers
import yaml

ROOT = Path(__file__).resolve().parent.parent


def deepspeed_parser():
    """A function that parses a configuration for a number of ranks as DeepSpeed does, and raises DeepSpeed's errors."""
    with contextlib.redirect_stdout(io.StringIO()):
        import deepspeed
        from deepspeed.runtime.config import DeepSpeedConfig
    # DeepSpeed asks for its rank first; without a process group it assumes that there is only one rank.
    deepspeed.comm.get_rank = lambda group=None: 0

    def parse(config, ranks):
        class Mpu:
            def get_data_parallel_world_size(self):
                return ranks

        # Replace the values that transformers or the user's script fills in before DeepSpeed reads the file.
        batch = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
        config = {key: value for key, value in config.items() if not (key in batch and value == "auto")}
        if not any(key in config for key in batch[:2]):
            config["train_micro_batch_size_per_gpu"] = 1
        with contextlib.redirect_stdout(io.StringIO()):
            return DeepSpeedConfig(config, mpu=Mpu())

    return parse


def ranks_of(parse, config):
    """The smallest number of ranks for which `config` is valid as it is."""
    for ranks in range(1, 129):
        with contextlib.suppress(Exception):
            parse(config, ranks)
            return ranks
    return None


def flat(value, path=""):
    """The leaves of a tree by their paths."""
    if isinstance(value, dict) and value:
        return {key: leaf for name, below in value.items() for key, leaf in flat(below, f"{path}.{name}").items()}
    if isinstance(value, list) and value:
        return {key: leaf for place, below in enumerate(value) for key, leaf in flat(below, f"{path}[{place}]").items()}
    return {path.lstrip("."): value}


def documents(text):
    """The document in a YAML file, or the list of them if there are several."""
    found = list(yaml.safe_load_all(text))
    return found[0] if len(found) == 1 else found


@functools.cache
def knobs():
    """The rows of rules/knobs/."""
    return [knob for file in sorted((ROOT / "rules/knobs").glob("*.toml")) for knob in tomllib.loads(file.read_text())["knob"]]


def options():
    """An argument parser with every option in rules/knobs/. A switch of one framework may take a value in another, so every value is
    optional.
    """
    names = {name for knob in knobs() for row in knob["spelling"] for name in [row["name"], *row.get("also", [])]}
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in sorted(name for name in names if re.fullmatch(r"--[\w.-]+", name)):
        parser.add_argument(name, dest=name, action="append", nargs="?", const="true")
    return parser


@functools.cache
def sections():
    """By each name of a knob, the further keys it writes if its section does not exist yet."""
    keys = lambda knob: [key for key, _ in knob.get("section", {}).get("keys", [])]
    return {row["name"]: keys(knob) for knob in knobs() for row in knob["spelling"] if keys(knob)}


def is_of_section(key, keys):
    plain = lambda key: re.sub(r"\[(\d+|\+)\]", "[]", key)
    return any(plain(key).endswith(plain(own)) for own in keys)


def script_settings(text, parser):
    """The settings in a launch script: options as argparse reads them, overrides, environment variables, and the scheduler's directives."""
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


def code_settings(text):
    """The settings in Python code: the arguments of every call by its name, methods without any, and what is assigned to a plain name."""
    settings = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                settings.setdefault(f"{ast.unparse(node.func)}.{keyword.arg}", []).append(ast.unparse(keyword.value))
            constants = [ast.unparse(argument) for argument in node.args if isinstance(argument, ast.Constant)]
            if constants:
                settings.setdefault(ast.unparse(node.func), []).append(", ".join(constants))
            if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
                # Whatever the value is called.
                settings.setdefault(f"{node.func.attr}()", []).append("True")
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                # The calls on the right count by themselves.
                value = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ast.unparse(node.value)
                settings.setdefault(ast.unparse(target), []).append(value)
    return settings


def differing(before, after):
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def plain(name):
    return re.sub(r"^[#+-]+", "", name).replace("-", "_")


def is_knob(key, knob):
    key, knob = plain(key), plain(knob)
    return key == knob or key.endswith("." + knob) or knob.endswith("." + key) or knob.startswith(key + ".")


def options_of(words):
    """The options among the words of a command, with their values."""
    options = {}
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            following = words[at + 1] if at + 1 < len(words) else ""
            options[name] = value if equals else "" if following.startswith("-") else following
    return options


def container_options(key, old, new):
    """The options that differ where `key` is the command of a container, as a list's item or as one text; else `key` itself."""
    item = re.match(r"(.*\b(?:command|args|entrypoint))\[\d+\]$", key)
    if item:
        words = [
            [str(value) for name, value in flat.items() if re.match(re.escape(item[1]) + r"\[\d+\]$", name)] for flat in (old, new)
        ]
        return differing(*map(options_of, words)) or [key]
    if re.search(r"\b(?:command|args|entrypoint)$", key) and isinstance(old.get(key), str) and isinstance(new.get(key), str):
        return differing(*(options_of(flat[key].split()) for flat in (old, new))) or [key]
    return [key]


# What an edit changes besides: a value that is kept without its graph leaves the device, too.
ALONG = {"tensor.detach()": ["cpu()"]}


def fault(parse, parser, path, before, after, patch, wheels):
    """What is wrong with a patch according to an independent parser, or nothing; and whether the framework's own parser was asked."""
    if path.suffix == ".json":
        old, new = json.loads(before), json.loads(after)
        ranks = ranks_of(parse, old)
        if ranks is None:
            return "DeepSpeed does not accept it even as it was", True
        try:
            parse(new, ranks)
        except Exception as error:
            return f"{type(error).__name__}: {error}", True
        changed = differing(flat(old), flat(new))
    elif path.suffix in (".yaml", ".yml"):
        old, new = (flat(documents(text)) for text in (before, after))
        changed = sorted({option for key in differing(old, new) for option in container_options(key, old, new)})
    elif path.suffix == ".toml":
        changed = differing(flat(tomllib.loads(before)), flat(tomllib.loads(after)))
    elif path.suffix == ".py":
        changed = differing(code_settings(before), code_settings(after))
    else:
        changed = differing(script_settings(before, parser), script_settings(after, parser))
    knobs = [patch["knob"], *(partner["knob"] for partner in patch.get("with", []))]
    beside = sections().get(patch["knob"], [])
    along = ALONG.get(patch["knob"], [])
    others = [key for key in changed if not any(is_knob(key, knob) for knob in knobs) and not is_of_section(key, beside) and key not in along]
    if not changed or others:
        return f"it changes {changed}", False
    old, new = (parsers.complaints(path, text, wheels) for text in (before, after))
    refused = (new or set()) - (old or set())
    return (f"refused: {sorted(refused)}" if refused else None), path.suffix == ".json" or new is not None


def cases():
    """Every case: a folder with logs, and possibly with the job's configuration."""
    yield from sorted(path.parent for path in (ROOT / "corpus").glob("*/expected.toml"))
    yield from sorted(path for path in (ROOT / "tests/fixtures/fix").iterdir() if path.is_dir())


def judged(folder, patch, check):
    """What is wrong with a patch of the case copied to `folder`, and whether the framework's own parser was asked. The folder is
    restored afterwards.
    """
    files = sorted({Path(folder) / name for name in re.findall(r"(?m)^\+\+\+ b/(.+)$", patch["diff"])})
    before = {file: file.read_text() for file in files}
    # Keep git from finding a repository above the folder.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder)}
    git = ["git", "apply", "-p1", "--unidiff-zero", "-"]
    applied = subprocess.run(git, cwd=folder, env=environment, input=patch["diff"].encode(), capture_output=True)
    if applied.returncode or not files:
        return applied.stderr.decode() or "its diff names no file", False
    found = [check(file, text, file.read_text(), patch) for file, text in before.items()]
    for file, text in before.items():
        file.write_text(text)
    return next((wrong for wrong, _ in found if wrong), None), any(asked for _, asked in found)


def reported(oomdoc, root, case):
    """Copies `case` to a folder below `root` and analyses it there."""
    folder = tempfile.mkdtemp(dir=root)
    shutil.copytree(case, Path(folder) / case.name)
    command = [oomdoc, "analyze", "--no-save", "--format", "json", case.name]
    return folder, json.loads(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)


def main():
    oomdoc, wheels = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    sys.path.append(str(wheels / "parsers"))
    # These parsers take a while to load, so start them first.
    for framework in ("megatron", "sglang", "torchtitan", "vllm"):
        parsers.process(framework, wheels)
    parse, parser = deepspeed_parser(), options()
    check = lambda file, before, after, patch: fault(parse, parser, file, before, after, patch, wheels)
    accepted, asked, refused = {}, 0, []
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(os.cpu_count()) as pool:
        # While one report is judged, the next cases are analysed.
        for folder, report in pool.map(lambda case: reported(oomdoc, Path(root), case), list(cases())):
            diagnoses = [diagnosis for incident in report["incidents"] for diagnosis in incident["diagnoses"]]
            patches = {patch["diff"]: patch for diagnosis in diagnoses for patch in diagnosis["patches"] if patch["diff"]}
            for patch in patches.values():
                wrong, by_framework = judged(folder, patch, check)
                asked += by_framework
                suffix = Path(patch["file"]).suffix
                if wrong:
                    refused.append(f"{patch['file']}: {patch['knob']} → {patch['to']}: {wrong}")
                else:
                    accepted[suffix] = accepted.get(suffix, 0) + 1
    counts = ", ".join(f"{count} {suffix}" for suffix, count in sorted(accepted.items()))
    print(f"acceptance: {counts} accepted, {asked} of all by the framework's own parser")
    print(*refused, sep="\n")
    # If there was nothing to try, the run has failed.
    is_tried = all(accepted.get(suffix) for suffix in (".json", ".py", ".sh", ".toml", ".yaml")) and asked
    sys.exit(1 if refused or not is_tried else 0)


main()
