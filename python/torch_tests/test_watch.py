"""`oomdoc.watch` in jobs that really run out of memory, by torch on a CPU, and what `oomdoc analyze` says of them.

.ci/jobs runs it with the Python that has torch, transformers and Lightning: `python -m unittest`. `$OOMDOC_BIN` is the command.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

import oomdoc
from oomdoc.report import Incident

JOBS = Path(__file__).with_name("jobs.py")
NAMES = ("forward", "growing", "loader", "preparation", "unrelated", "trainers", "lightning", "ranks", "recorded_driver")
TRAINERS = ("forward", "step", "evaluation")


class Run:
    """A job, run in a folder of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        folder.mkdir()
        launcher: Tuple[str, ...] = ()
        if name == "ranks":
            launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "oomdoc.watch")
        known = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "OMPI_"))}
        with open(folder / "job.log", "wb") as log:
            self.status = subprocess.run(
                [sys.executable, *launcher, str(JOBS), *name.split()], cwd=folder, env=known, stdout=log, stderr=log, timeout=600
            ).returncode

    @property
    def files(self) -> List[Path]:
        return sorted(self.folder.glob("oomdoc-watch-*.txt"))

    def of_trainer(self, fails_in: str) -> Path:
        """What was written where transformers' trainer failed there."""
        (file,) = (self.folder / fails_in).iterdir()
        return file

    @property
    def log(self) -> str:
        return (self.folder / "job.log").read_text(encoding="utf-8", errors="replace")

    @property
    def text(self) -> str:
        assert len(self.files) == 1, (self.files, self.log[-2000:])
        return self.files[0].read_text(encoding="utf-8")

    def incident(self) -> Incident:
        """The one incident of the log and the file together."""
        reports = oomdoc.analyze_each(self.folder)
        assert len(reports) == 1 and len(reports[0].incidents) == 1, [len(report.incidents) for report in reports]
        assert len(reports[0].incidents[0].victims) == 1, reports[0].incidents[0].victims
        return reports[0].incidents[0]


class Watched(unittest.TestCase):
    runs: Dict[str, Run]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        with ThreadPoolExecutor(4) as pool:
            cls.runs = dict(zip(NAMES, pool.map(lambda name: Run(Path(folder.name) / name.replace(" ", "-"), name), NAMES)))

    def test_every_job_failed_and_only_an_unrelated_one_wrote_nothing(self) -> None:
        for name, run in self.runs.items():
            self.assertEqual((run.status, len(run.files)), (1, 0 if name in ("unrelated", "trainers") else 1), (name, run.log[-2000:]))

    def test_what_lives_is_counted(self) -> None:
        text = self.runs["forward"].text
        weights, frozen, states = 2 * (1024 * 1024 + 1024) * 4 + 16 * 4, 16 * 1024 * 4, 2 * 2 * (1024 * 1024 + 1024) * 4

        def mib(count: int) -> str:
            return f"{count / (1 << 20):.1f} MiB"

        for line in (
            f"model Classifier parameters float32 on cpu: {mib(weights)} in 5 tensors, trained",
            f"model Classifier parameters float32 on cpu: {mib(frozen)} in 1 tensors, frozen",
            "model Classifier buffers float32 on cpu: 4096 bytes in 1 tensors",
            f"optimizer AdamW optimizer states float32 on cpu: {mib(states)} in 12 tensors",
            "tensor hidden of forward (jobs.py:",
            "batch batch of forward (jobs.py:",
            "batch labels: [32] int64 on cpu, 256 bytes",
        ):
            self.assertIn(line, text)
        self.assertNotIn("secret-name", text)

    def test_a_list_that_keeps_graphs_is_the_cause(self) -> None:
        incident = self.runs["growing"].incident()
        self.assertEqual(incident.diagnoses[0].cause, "host_memory_growth")
        self.assertRegex(incident.diagnoses[0].why, r"`history` keeps \d+ tensors with the graphs")
        self.assertTrue(any("oomdoc-watch-" in line.path for line in incident.diagnoses[0].evidence), incident.diagnoses[0].evidence)

    def test_phases_of_stacks_and_callbacks(self) -> None:
        phases = {"forward": "forward", "loader": "data_loading", "preparation": "data_loading", "lightning": "backward"}
        self.assertEqual({name: self.runs[name].incident().phase.name for name in phases}, phases)
        reports = [oomdoc.analyze(self.runs["trainers"].of_trainer(name)) for name in TRAINERS]
        self.assertEqual([report.incidents[0].phase.name for report in reports], ["forward", "optimizer_step", "evaluation"])

    def test_trainers_tell_their_step_and_their_arguments(self) -> None:
        for name, words in (
            ("forward", "oomdoc: in forward or backward of transformers, at step 0 of 4"),
            ("step", "oomdoc: in the optimizer's step of transformers, at step 0 of 4"),
            ("evaluation", "oomdoc: in an evaluation of transformers, at step 2 of 4"),
            ("evaluation", "oomdoc: argument per_device_train_batch_size=4"),
            ("evaluation", "oomdoc: argument gradient_checkpointing=True"),
            ("evaluation", "oomdoc: batch input_ids: [2, 32] int64 on cpu"),
        ):
            self.assertIn(words, self.runs["trainers"].of_trainer(name).read_text(encoding="utf-8"))
        for words in ("oomdoc: in backward of Lightning, at step 0, epoch 0", "oomdoc: argument precision=32-true"):
            self.assertIn(words, self.runs["lightning"].text)

    def test_of_ranks_the_one_that_failed_is_the_victim(self) -> None:
        run = self.runs["ranks"]
        victim = run.incident().victim
        self.assertEqual(victim.rank, 1)
        self.assertIn(f" rank 1 pid {victim.pid}] ", run.text)

    def test_of_what_is_sharded_the_own_part_counts(self) -> None:
        lines = [line.split("oomdoc: ")[1] for line in self.runs["ranks"].text.splitlines() if "oomdoc: model " in line]
        self.assertEqual(
            sorted(lines),
            [
                "model FSDPLinear parameters float32 on cpu: 2.0 MiB in 1 tensors, trained",
                "model Linear parameters float32 on cpu: 4.0 MiB in 1 tensors, trained",
            ],
        )

    def test_what_a_device_counts(self) -> None:
        run = self.runs["recorded_driver"]
        for line in (
            "oomdoc: failed on cuda:1",
            "oomdoc: device cuda:1 NVIDIA_H100_80GB_HBM3: free 1011.8 MiB of 81079.2 MiB",
            "oomdoc: allocator of cuda:1: allocated 76012.6 MiB, peak 76293.9 MiB; reserved 78201.3 MiB, peak 78201.3 MiB",
            "oomdoc: allocator of cuda:1: inactive split 2188.7 MiB, peak 2384.2 MiB; retries 3, refusals 1",
            "oomdoc: beside it, allocator of cuda:0",
            ".pickle: 8 bytes",
        ):
            self.assertIn(line, run.text)
        incident = run.incident()
        self.assertEqual((incident.kind, incident.victim.device), ("gpu_oom", 1))

    def test_a_step_costs_what_it_did(self) -> None:
        """Nothing hangs on a step: no trace, no profile, no thread, no hook of torch's. How long one takes, docs/watch.md tells."""
        script = (
            "import sys, threading, torch, oomdoc\n"
            "hooks = torch.nn.modules.module._global_forward_hooks\n"
            "before = (threading.active_count(), len(hooks)); oomdoc.watch()\n"
            "assert (threading.active_count(), len(hooks)) == before and sys.gettrace() is sys.getprofile() is None\n"
        )
        subprocess.run([sys.executable, "-c", script], check=True)

    def test_each_line_says_whose_it_is(self) -> None:
        line = re.compile(r"^\S+Z \[watch [\w.-]+( rank \d+)? pid \d+\] .{1,4000}$")
        for name in set(NAMES) - {"unrelated", "trainers"}:
            wrong = [one for one in self.runs[name].text.splitlines() if not line.match(one)]
            self.assertEqual(wrong, [], name)


if __name__ == "__main__":
    unittest.main()
