"""The post-mortem for out-of-memory failures of LLM training and serving jobs.

    import oomdoc

    report = oomdoc.analyze(["job.log", "ds_config.json"])
    print(report.verdict, report.summary)
    for diagnosis in report.incidents[0].diagnoses if report.incidents else []:
        print(f"{diagnosis.confidence:.0%}", diagnosis.title, [patch.knob for patch in diagnosis.patches])

The work is done by the `oomdoc` command that is installed with this package; logs leave the machine on no account.
"""

from __future__ import annotations

from ._binary import BinaryNotFound, OomdocError, find_binary
from ._commands import Triage, analyze, analyze_each, analyze_text, estimate, render, triage
from ._watch.hooks import watch, watching
from .estimates import Estimate
from .report import Citation, Diagnosis, Figure, Incident, Patch, Report

__all__ = [
    "BinaryNotFound",
    "Citation",
    "Diagnosis",
    "Estimate",
    "Figure",
    "Incident",
    "OomdocError",
    "Patch",
    "Report",
    "Triage",
    "analyze",
    "analyze_each",
    "analyze_text",
    "estimate",
    "find_binary",
    "render",
    "triage",
    "watch",
    "watching",
]
