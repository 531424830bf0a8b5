"""A function for each command."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._binary import run
from .estimates import Estimate
from .report import Report

Pathlike = Union[str, "os.PathLike[str]"]
Paths = Union[Pathlike, Iterable[Pathlike]]
Option = Union[str, int, float, bool, None]


@dataclass(frozen=True)
class Triage:
    """What `triage` found and wrote."""

    report: Report
    """The report, as `analyze` returns it."""
    folder: Path
    """The folder with report.json, report.html, report.md and report.sarif."""
    failed: bool
    """Whether `fail_on` names the verdict."""


def analyze(
    paths: Paths,
    *,
    facts: Optional[Mapping[str, object]] = None,
    language: Optional[str] = None,
    when: Optional[str] = None,
    job: Optional[str] = None,
    tags: Sequence[str] = (),
    save: bool = False,
    redact: bool = False,
    home: Optional[Pathlike] = None,
    timeout: Optional[float] = None,
) -> Report:
    """Say what ran out in one job, where, in which phase and why, and what to change.

    `paths` are the job's logs, kernel logs, configurations and launch scripts, or folders and archives of them. `facts` are what the
    logs do not state: `{"model": "8b", "gpu": "A100-80G"}`. With `save` the incident is kept in the history in `home`, under the name
    `job` and with `tags`. `timeout` is in seconds.

    Raises `OomdocError` if nothing could be read.
    """
    options = _options(facts=facts, language=language, when=when, job=job, tags=tags, save=save, redact=redact, home=home)
    said = run(["analyze", "--format", "json", "--together", *options, *_named(paths)], timeout=timeout)
    return Report.from_dict(json.loads(said))


def analyze_each(paths: Paths, *, timeout: Optional[float] = None, **options: Any) -> List[Report]:
    """Like `analyze`, but for the files of several jobs: they are sorted by job, and each job gets its own report."""
    said = run(["analyze", "--format", "json", *_options(**options), *_named(paths)], timeout=timeout)
    data = json.loads(said)
    return [Report.from_dict(one) for one in (data["reports"] if "reports" in data else [data])]


def analyze_text(log: Union[str, bytes], *, timeout: Optional[float] = None, **options: Any) -> Report:
    """Like `analyze`, but for a log in memory; citations name its file as `-`."""
    data = log.encode("utf-8", "surrogateescape") if isinstance(log, str) else log
    said = run(["analyze", "--format", "json", *_options(**options), "-"], stdin=data, timeout=timeout)
    return Report.from_dict(json.loads(said))


def render(paths: Paths, format: str = "text", *, timeout: Optional[float] = None, **options: Any) -> str:
    """The report as text: `text`, `markdown` or `html` for people, `json`, `sarif` or `github` for tools."""
    said = run(["analyze", "--format", format, *_options(**options), *_named(paths)], timeout=timeout)
    return said.decode("utf-8")


def estimate(config: Optional[Paths] = None, *, timeout: Optional[float] = None, **options: Option) -> Estimate:
    """Say how much memory a job should need on each GPU and host, moment by moment.

    `config` is the job's configuration, launch script or log, or a folder of them. `options` are those of `oomdoc estimate --help`
    with underscores: `estimate(model="8b", gpus=8, zero=3, adam_offload=True, fit="80GiB")`.
    """
    given = [word for path in ([] if config is None else _listed(config)) for word in ("--from", path)]
    for name, value in options.items():
        flag = "--" + name.strip("_").replace("_", "-")
        if value is True:
            given.append(flag)
        elif value is not None and value is not False:
            given.append(f"{flag}={value}")
    return Estimate.from_dict(json.loads(run(["estimate", "--format", "json", *given], timeout=timeout)))


def triage(
    paths: Paths,
    output: Pathlike = "oomdoc-report",
    *,
    fail_on: Sequence[str] = (),
    comment: bool = True,
    notify: Optional[str] = None,
    timeout: Optional[float] = None,
    **options: Any,
) -> Triage:
    """Analyze in a pipeline: write report files to `output`, an annotation, the step's summary, and one comment on the pull or merge
    request.

    `fail_on` lists kinds of incidents, or `any`: an incident of one of them sets `failed`.
    """
    given = ["--output", os.fspath(output), *_options(**options)]
    given += [] if comment else ["--no-comment"]
    given += ["--fail-on", ",".join(fail_on)] if fail_on else []
    given += ["--notify", notify] if notify else []
    run(["triage", *given, *_named(paths)], timeout=timeout, allowed=1)
    folder = Path(output)
    report = Report.from_dict(json.loads((folder / "report.json").read_text(encoding="utf-8")))
    failed = any(kind in (report.verdict, "any") for kind in fail_on) and report.verdict != "none"
    return Triage(report=report, folder=folder, failed=failed)


def _options(
    *,
    facts: Optional[Mapping[str, object]] = None,
    language: Optional[str] = None,
    when: Optional[str] = None,
    job: Optional[str] = None,
    tags: Sequence[str] = (),
    save: bool = False,
    redact: bool = False,
    home: Optional[Pathlike] = None,
) -> List[str]:
    given: List[str] = []
    for name, value in (facts or {}).items():
        given += ["--fact", f"{name}={value}"]
    named: Dict[str, Optional[str]] = {"--lang": language, "--when": when, "--job": job}
    for flag, word in named.items():
        given += [flag, word] if word is not None else []
    for tag in tags:
        given += ["--tag", tag]
    given += [] if save else ["--no-save"]
    given += ["--redact"] if redact else []
    given += ["--home", os.fspath(home)] if home is not None else []
    return given


def _listed(paths: Paths) -> List[str]:
    return [os.fspath(paths)] if isinstance(paths, (str, os.PathLike)) else [os.fspath(path) for path in paths]


def _named(paths: Paths) -> List[str]:
    """The paths as arguments; after `--` they are not taken for options."""
    return ["--", *_listed(paths)]
