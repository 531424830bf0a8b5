"""`python -m oomdoc.ray analyze`: the logs of a Ray cluster, read where they lie.

    python -m oomdoc.ray analyze [--address ADDRESS] [--timeout SECONDS] [--ship] [OPTIONS OF oomdoc merge…] [PATTERN…]

One task on every node that is alive runs `oomdoc digest` on the files that PATTERN names there (`$NAME` is the node's variable, `**` any
folders), or on the logs of the node's Ray session. Their digests, 256 KiB at most, become one report.

    --address ADDRESS    the cluster [default: auto, the one of this machine or job]
    --timeout SECONDS    how long a node may take [default: 120]; who takes longer, is dead or dies is named in the report
    --ship               send this machine's oomdoc command to nodes of the same platform, which need have none

Everything else is what `oomdoc merge --help` lists: --format json, -o report.html, --fail-on any, … The exit code is that of `oomdoc merge`, 2
where no node had anything to say.
"""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, List, Sequence

from ._binary import OomdocError, find_binary, run
from ._commands import Paths, _listed, _options
from ._ray.gather import gathered
from .report import Report

__all__ = ["analyze"]

USAGE = "usage: python -m oomdoc.ray analyze [--address ADDRESS] [--timeout SECONDS] [--ship] [OPTIONS OF oomdoc merge…] [PATTERN…]"
ADDRESS, TIMEOUT = "auto", 120.0
# Options of `oomdoc merge` that take their value from the next argument. A test compares them with its help.
WITH_VALUE = frozenset(
    "--format --output -o --lang --rank --node --fact --when --home --job --server --tag --color --fail-on --config --notify --unanswered".split()
)


def analyze(
    patterns: Paths = (),
    *,
    address: str = ADDRESS,
    timeout: float = TIMEOUT,
    ship: bool = False,
    **options: Any,
) -> Report:
    """Say what ran out in a job whose logs lie on the nodes of a Ray cluster.

    `patterns` are globs, matched on each node; with none, the logs of the node's Ray session are read. If this process is connected to a
    cluster, that cluster is used, otherwise the one at `address`. A node that is dead, dies or takes longer than `timeout` seconds is
    named in the report as missing; the reason is logged as a warning of the logger `oomdoc.ray`. With `ship` this machine's `oomdoc`
    command is sent to the nodes. `options` are those of `oomdoc.analyze`.

    Raises `OomdocError` if Ray is not installed, the cluster is not reached or no node has anything to report.
    """
    with gathered(_listed(patterns), address, timeout, ship) as words:
        return Report.from_dict(json.loads(run(["merge", "--format", "json", "--together", *_options(**options), *words])))


@dataclass(frozen=True)
class Given:
    """The parsed command line."""

    address: str
    timeout: float
    ship: bool
    merge: List[str]
    """Options for `oomdoc merge`."""
    patterns: List[str]


def given(arguments: Sequence[str]) -> Given:
    """Parses the arguments after `analyze`; unknown options are passed on to `oomdoc merge`."""
    address, timeout, ship, merge, patterns = ADDRESS, TIMEOUT, False, [], []  # type: str, float, bool, List[str], List[str]
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            patterns += rest
            break
        elif not word.startswith("-"):
            patterns.append(word)
        elif name in ("--address", "--timeout"):
            value = value if equals else next_of(rest, name)
            address, timeout = (value, timeout) if name == "--address" else (address, seconds(value))
        elif word == "--ship":
            ship = True
        else:
            merge.append(word)
            if word in WITH_VALUE:
                merge.append(next_of(rest, word))
    return Given(address, timeout, ship, merge, patterns)


def next_of(rest: List[str], name: str) -> str:
    if not rest:
        raise OomdocError(f"{name} wants a value\n{USAGE}", 2)
    return rest.pop(0)


def seconds(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not (number > 0 and math.isfinite(number)):
        raise OomdocError(f"--timeout wants seconds, not {value}\n{USAGE}", 2)
    return number


def main(arguments: Sequence[str]) -> int:
    """Runs the command line and returns the exit code."""
    if not arguments or "-h" in arguments or "--help" in arguments:
        print(__doc__, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    logging.basicConfig(format="oomdoc: %(message)s", stream=sys.stderr)
    try:
        if arguments[0] != "analyze":
            raise OomdocError(f"{arguments[0]} is no command of oomdoc.ray\n{USAGE}", 2)
        asked = given(arguments[1:])
        # Ray prints messages about nodes to standard output, too, where they would get into the report.
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), gathered(asked.patterns, asked.address, asked.timeout, asked.ship) as words:
            return subprocess.run([find_binary(), "merge", *asked.merge, *words]).returncode
    except OomdocError as error:
        print(f"oomdoc: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
