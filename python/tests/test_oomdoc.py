"""The package over logs of corpus/, by the command that was installed with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import oomdoc
from oomdoc.estimates import Estimate
from oomdoc.report import Change, Report

CORPUS = Path(os.environ.get("OOMDOC_CORPUS") or Path(__file__).resolve().parents[2] / "corpus")
CASES = sorted(case for case in CORPUS.iterdir() if case.is_dir() and (case / "job.log").exists())
FOUNDING = CORPUS / "openrlhf-72b-resume"


def test_says_what_ran_out_why_and_what_to_change() -> None:
    report = oomdoc.analyze(FOUNDING)
    assert report.verdict == "host_oom_cgroup"
    incident = report.incidents[0]
    assert incident.phase.name == "checkpoint_resume"
    diagnosis = incident.diagnoses[0]
    assert diagnosis.cause == "checkpoint_load_duplication" and 0.5 < diagnosis.confidence <= 1
    assert diagnosis.patches[0].knob and diagnosis.patches[0].from_ is not None
    cited = diagnosis.evidence[0]
    line = Path(cited.path).read_bytes().split(b"\n")[cited.line - 1]
    assert cited.text.encode() in line


@pytest.mark.parametrize("case", CASES[::4], ids=lambda case: case.name)
def test_typed_reports_lose_nothing(case: Path) -> None:
    written = json.loads(oomdoc.render(case / "job.log", "json"))
    report = Report.from_dict(written)

    def without_nothing(value: object) -> object:
        if isinstance(value, dict):
            return {key: without_nothing(inner) for key, inner in value.items() if inner not in (None, [])}
        return [without_nothing(inner) for inner in value] if isinstance(value, list) else value

    assert without_nothing(report.to_dict()) == without_nothing(written)
    assert Report.from_dict(report.to_dict()) == report


def test_reads_a_log_from_memory_and_says_it_in_chinese() -> None:
    log = (CORPUS / "cuda-malloc-async" / "infer.log").read_bytes()
    report = oomdoc.analyze_text(log, language="zh")
    assert report.verdict == "gpu_oom" and report.inputs[0].path == "-"
    assert any("\u4e00" <= letter <= "\u9fff" for letter in report.summary)


def test_tells_jobs_apart() -> None:
    reports = oomdoc.analyze_each([FOUNDING, CORPUS / "cuda-malloc-async"])
    assert sorted(report.verdict for report in reports) == ["gpu_oom", "host_oom_cgroup"]


def test_facts_and_paths_with_leading_dashes_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "--full").write_bytes((CORPUS / "cuda-malloc-async" / "infer.log").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert oomdoc.analyze("--full").verdict == "gpu_oom"
    with pytest.raises(oomdoc.OomdocError, match="nonsense"):
        oomdoc.analyze("--full", facts={"nonsense": 1})


def test_a_saved_incident_is_found_again(tmp_path: Path) -> None:
    oomdoc.analyze(CORPUS / "cuda-malloc-async", home=tmp_path)
    oomdoc.analyze(FOUNDING, save=True, home=tmp_path, job="nightly")
    history = [oomdoc.find_binary(), "history", "--home", str(tmp_path), "list", "--format", "json"]
    kept = json.loads(subprocess.run(history, capture_output=True, check=True).stdout)
    assert [incident["job"] for incident in kept["incidents"]] == ["nightly"]


def test_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(oomdoc.OomdocError, match="cannot read") as caught:
        oomdoc.analyze(tmp_path / "no.log")
    assert caught.value.exit_code == 2


def test_estimates() -> None:
    estimate = oomdoc.estimate(model="8b", gpus=8, zero=3, adam_offload=True)
    assert isinstance(estimate, Estimate) and estimate.moments
    peak = max(moment.gpu.high for moment in estimate.moments)
    whole = oomdoc.estimate(model="8b", gpus=1)
    assert peak < max(moment.gpu.high for moment in whole.moments)
    assert Estimate.from_dict(estimate.to_dict()) == estimate


def test_triage_writes_its_files(tmp_path: Path) -> None:
    done = oomdoc.triage(FOUNDING, tmp_path / "report", comment=False, fail_on=["host_oom_cgroup"])
    assert done.failed and done.report.verdict == "host_oom_cgroup"
    assert {path.name for path in done.folder.iterdir()} >= {"report.json", "report.html", "report.md", "report.sarif"}
    assert not oomdoc.triage(FOUNDING, tmp_path / "other", comment=False, fail_on=["gpu_oom"]).failed


def test_variants_are_one_class() -> None:
    assert Change.from_dict({"times": 0.5}) == Change(times=0.5)
    assert Change(times=0.5).to_dict() == {"times": 0.5}


def test_what_is_unknown_is_left_out_and_what_is_missing_is_an_error() -> None:
    report = json.loads(oomdoc.render(FOUNDING, "json"))
    assert Report.from_dict({**report, "of_tomorrow": 1}) == Report.from_dict(report)
    with pytest.raises(KeyError, match="verdict"):
        Report.from_dict({key: value for key, value in report.items() if key != "verdict"})


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "oomdoc", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("oomdoc ")
