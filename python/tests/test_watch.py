"""`oomdoc.watch` in processes of their own, without torch: when it writes, what, and that the job ends as it would without."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest

import oomdoc

RULES = Path(os.environ.get("OOMDOC_CORPUS") or Path(__file__).resolve().parents[2] / "corpus").parent / "rules"
# No machine has so much.
REFUSED = "bytearray(1 << 62)"


class Job:
    """A script, run in a folder of its own."""

    def __init__(self, folder: Path, script: str, *launcher: str, program: str = "train.py", arguments: Tuple[str, ...] = (), **environment: str) -> None:
        (folder / "train.py").write_text(script, encoding="utf-8")
        self.folder = folder
        command = [sys.executable, *launcher, program, *arguments]
        package = str(Path(oomdoc.__file__).resolve().parents[1])
        known = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "OMPI_", "PMI"))}
        done = subprocess.run(command, cwd=folder, env={**known, "PYTHONPATH": package, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.status, self.out, self.said = done.returncode, done.stdout.decode(), done.stderr.decode()

    @property
    def files(self) -> List[Path]:
        return sorted(self.folder.glob("**/oomdoc-watch-*.txt"))

    def text(self) -> str:
        assert len(self.files) == 1, (self.files, self.said)
        return self.files[0].read_text(encoding="utf-8")

    def own_words(self) -> str:
        """What it says on standard error but for our line."""
        return "".join(line for line in self.said.splitlines(True) if not line.startswith("oomdoc: "))


def without_watch(script: str) -> str:
    return "\n".join("" if "oomdoc" in line else line for line in script.split("\n"))


def test_writes_what_the_job_said_and_changes_nothing_of_it(tmp_path: Path) -> None:
    script = f"import oomdoc; oomdoc.watch()\ndef load():\n    return {REFUSED}\nload()\n"
    job = Job(tmp_path, script, RANK="3")
    plain = Job(tmp_path, without_watch(script))
    assert (job.status, job.own_words()) == (plain.status, plain.said) and plain.status == 1
    line = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[watch [\w.-]+ rank 3 pid \d+\] (.*)$")
    said = [line.match(one) for one in job.text().splitlines()]
    assert all(said), job.text()
    words = [match.group(1) for match in said if match]
    assert words[0].startswith("oomdoc: watch 1, ") and words[-1].startswith("oomdoc: end, after ")
    assert "Traceback (most recent call last):" in words and "MemoryError" in words and "oomdoc: failed on cpu" in words
    assert str(job.files[0]) in job.said
    assert "rank3" in job.files[0].name and (os.name == "nt" or job.files[0].stat().st_mode & 0o077 == 0)


def test_analyze_reads_it_alone_and_as_one_with_the_log(tmp_path: Path) -> None:
    job = Job(tmp_path, f"import oomdoc; oomdoc.watch()\ndef load():\n    return {REFUSED}\nload()\n", RANK="3")
    log = tmp_path / "job.log"
    log.write_text(job.said, encoding="utf-8")
    alone = oomdoc.analyze(job.files[0])
    both = oomdoc.analyze_each(tmp_path)
    assert alone.verdict == "host_alloc_failure" and [report.verdict for report in both] == ["host_alloc_failure"]
    for report in [alone, *both]:
        assert len(report.incidents) == 1 and len(report.incidents[0].victims) == 1
        assert report.incidents[0].victim.rank == 3 and report.incidents[0].victim.pid is not None
    names = {figure.name for figure in both[0].incidents[0].figures}
    assert os.name == "nt" or {"worker_used", "host_used"} <= names


@pytest.mark.parametrize(
    "script, status",
    [
        ("raise ValueError('the shapes differ')", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT if os.name != "nt" else 0xC000013A),
        ("raise SystemExit(7)", 7),
        ("raise SystemExit('bye')", 1),
        ("pass", 0),
        ("try:\n    bytearray(1 << 62)\nexcept MemoryError:\n    raise KeyboardInterrupt", -signal.SIGINT if os.name != "nt" else 0xC000013A),
    ],
)
@pytest.mark.parametrize("launcher", [(), ("-m", "oomdoc.watch")])
def test_of_other_ends_it_writes_nothing(tmp_path: Path, script: str, status: int, launcher: Tuple[str, ...]) -> None:
    head = "" if launcher else "import oomdoc; oomdoc.watch()\n"
    job = Job(tmp_path, head + script, *launcher)
    plain = Job(tmp_path, script if launcher else "\n" + script)
    assert job.files == [] and (job.status, job.said) == (plain.status, plain.said) and plain.status == status


def test_who_leaves_because_of_it_is_seen_by_the_launcher(tmp_path: Path) -> None:
    job = Job(tmp_path, f"import sys\ntry:\n    {REFUSED}\nexcept MemoryError:\n    sys.exit(3)\n", "-m", "oomdoc.watch")
    assert job.status == 3 and job.own_words() == "" and "MemoryError" in job.text()


def test_a_program_runs_as_python_would_run_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 5\n")
    script = (
        "import sys, pickle, beside\nclass Config: pass\npickle.dumps(Config())\n"
        "print(__name__, __file__, sys.argv, beside.VALUE, sys.modules['__main__'].Config is Config)\n" + REFUSED + "\n"
    )
    job = Job(tmp_path, script, "-m", "oomdoc.watch", "--folder", "out", arguments=("--lr", "1e-4", "-m"))
    plain = Job(tmp_path, script, arguments=("--lr", "1e-4", "-m"))
    assert job.out == plain.out and (job.status, job.own_words()) == (plain.status, plain.said), job.said
    # There was no such folder, which is said, and changes nothing.
    assert "could not be written: FileNotFoundError" in job.said


def test_a_module_runs_too(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "run.py").write_text(f"import sys\nprint(sys.argv[1:], __package__)\n{REFUSED}\n")
    job = Job(tmp_path, "", "-m", "oomdoc.watch", "-m", program="package.run", arguments=("--a",))
    assert job.status == 1 and job.out == "['--a'] package\n" and "runpy" not in job.said and "watch.py" not in job.said
    assert "package" in job.text()


def test_a_hook_that_the_program_puts_in_place_is_asked(tmp_path: Path) -> None:
    script = f"import sys\nsys.excepthook = lambda kind, error, trace: print('mine', kind.__name__)\n{REFUSED}\n"
    job = Job(tmp_path, script, "-m", "oomdoc.watch")
    assert (job.status, job.out) == (1, "mine MemoryError\n") and "MemoryError" in job.text()


def test_threads_tell_too_and_the_program_goes_on(tmp_path: Path) -> None:
    script = (
        "import oomdoc, threading; oomdoc.watch()\n"
        f"thread = threading.Thread(target=lambda: {REFUSED}, name='loader'); thread.start(); thread.join(); print('went on')\n"
    )
    job = Job(tmp_path, script)
    assert (job.status, job.out) == (0, "went on\n") and "oomdoc: in thread loader" in job.text()


def test_what_somebody_catches_is_seen_where_it_is_asked_for(tmp_path: Path) -> None:
    script = (
        "import asyncio, oomdoc\n"
        f"def fail(): return {REFUSED}\n"
        "@oomdoc.watching\ndef step(): fail()\n"
        "@oomdoc.watching(folder='.')\nasync def later(): fail()\n"
        "def outer():\n    with oomdoc.watching():\n        fail()\n"
        "for run in (step, lambda: asyncio.run(later()), outer):\n"
        "    try: run()\n    except MemoryError as error: print(type(error).__name__, step.__name__)\n"
    )
    job = Job(tmp_path, script)
    assert (job.status, job.out) == (0, "MemoryError step\n" * 3) and len(job.files) == 3
    assert all("hooks.py" not in file.read_text() for file in job.files)
    # Who called whoever caught it stands above.
    assert any('line 11, in <module>' in file.read_text() and "in outer" in file.read_text() for file in job.files), job.files[-1].read_text()


def test_one_exception_is_one_file_however_often_it_is_seen(tmp_path: Path) -> None:
    script = (
        "import oomdoc; oomdoc.watch()\n"
        f"def fail():\n    with oomdoc.watching():\n        {REFUSED}\n"
        "try:\n    fail()\nexcept MemoryError as error:\n    raise RuntimeError('step 7 failed') from error\n"
    )
    job = Job(tmp_path, script)
    assert job.status == 1 and "MemoryError" in job.text()


def test_what_it_was_raised_from_counts(tmp_path: Path) -> None:
    script = f"import oomdoc; oomdoc.watch()\ntry:\n    {REFUSED}\nexcept MemoryError as error:\n    raise RuntimeError('step 7 failed') from error\n"
    text = Job(tmp_path, script).text()
    assert text.index("MemoryError") < text.index("direct cause") < text.index("RuntimeError: step 7 failed")


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 64 bytes. Error code 12",
        "NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity)",
        "MPS backend out of memory (MPS allocated: 17.00 GB, other allocations: 1.00 GB, max allowed: 18.13 GB)",
        "RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes.",
        "unable to mmap 1073741824 bytes from file <x>: Cannot allocate memory (12)",
        "Caught OutOfMemoryError in replica 1 on device 1.",
    ],
)
def test_other_words_for_it_are_known(tmp_path: Path, words: str) -> None:
    job = Job(tmp_path, f"import oomdoc; oomdoc.watch()\nraise RuntimeError({words!r})\n")
    assert f"RuntimeError: {words}" in job.text()


@pytest.mark.skipif(os.name == "nt", reason="Windows says it in other words")
def test_a_folder_that_refuses_costs_a_line_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    script = f"import oomdoc; oomdoc.watch('file/below')\n{REFUSED}\n"
    job = Job(tmp_path, script)
    plain = Job(tmp_path, without_watch(script))
    assert job.files == [] and (job.status, job.own_words()) == (plain.status, plain.said)
    ours = [line for line in job.said.splitlines() if line.startswith("oomdoc: ")]
    assert len(ours) == 1 and ours[0].startswith("oomdoc: what held the memory could not be written: NotADirectoryError: "), ours


def test_a_fault_of_its_own_in_one_part_costs_that_part(tmp_path: Path) -> None:
    script = (
        "import gc, oomdoc; oomdoc.watch()\n"
        "from oomdoc._watch import process, objects\n"
        "def broken(*_): raise RuntimeError('a bug')\n"
        f"process.memory = broken; objects._roots = broken\n{REFUSED}\n"
    )
    job = Job(tmp_path, script)
    assert job.status == 1 and job.own_words().endswith("MemoryError\n")
    assert "section host ended early: RuntimeError" in job.text() and "section objects ended early: RuntimeError" in job.text()
    assert "oomdoc: end, after" in job.text()


def test_an_exception_that_cannot_be_printed_or_marked_is_one_all_the_same(tmp_path: Path) -> None:
    script = (
        "import oomdoc; oomdoc.watch()\n"
        "class Refused(MemoryError):\n    def __str__(self): raise ValueError('no words')\n    def __setattr__(self, *_): raise TypeError\n"
        "raise Refused()\n"
    )
    job = Job(tmp_path, script)
    assert job.status == 1 and "Refused" in job.text()


def test_secrets_are_masked_and_values_never_written(tmp_path: Path) -> None:
    script = (
        "import oomdoc; oomdoc.watch()\n"
        "import sys; words = sys.argv[1:]; token = words[3]\n"
        "def load(api_key): raise MemoryError(f'no memory for https://ada:{words[2]}@example.org/a, HF_TOKEN={token}')\n"
        "load(words[4])\n"
    )
    given = ("--wandb-api-key", "0123456789abcdef" * 2 + "01234567", "hunter2", "hf_" + "aB3dE6gH9" * 4, "sk-" + "x1Y2" * 8)
    text = Job(tmp_path, script, arguments=given).text()
    for secret in ("hunter2@", "aB3dE6gH9", "x1Y2x1Y2", "0123456789abcdef"):
        assert secret not in text, text
    # An argument that nothing tells for a secret is shown; what a variable holds is not.
    assert "‹password›" in text and "hf-token›" in text


def test_it_is_bounded_whatever_the_job_says(tmp_path: Path) -> None:
    script = (
        "import oomdoc, sys; oomdoc.watch(); sys.setrecursionlimit(5000)\n"
        "def deep(n):\n    if n == 0: raise MemoryError('a line\\n' * 200000)\n    deep(n - 1) if n % 2 else deeper(n - 1)\n"
        "def deeper(n): deep(n)\n"
        "deep(2000)\n"
    )
    job = Job(tmp_path, script)
    text = job.text()
    assert len(text.encode()) <= 256 * 1024 and "lines left out" in text and "MemoryError" in text and "oomdoc: end, after" in text


HELD = (
    "import gc, oomdoc, sys, traceback, weakref\n"
    "class Model: pass\n"
    f"def train(model, own):\n    mine = Model(); own.append(weakref.ref(mine)); {REFUSED}\n"
)


def test_what_a_job_deletes_afterwards_is_gone(tmp_path: Path) -> None:
    script = HELD + (
        "def retry():\n"
        "    model = Model(); ref, own, kept = weakref.ref(model), [], None\n"
        "    try:\n        with oomdoc.watching(): train(model, own)\n"
        "    except MemoryError as error:\n        kept = error\n"
        "    traceback.clear_frames(kept.__traceback__); gc.collect()\n"
        "    print(ref() is model, own[0]() is None); del model; gc.collect(); print(ref() is None)\n"
        "def outer():\n    other = Model(); ref = weakref.ref(other); retry(); del other; gc.collect(); print(ref() is None)\n"
        "outer()\n"
    )
    job = Job(tmp_path, script)
    assert (job.out, job.said.count("oomdoc: ")) == ("True True\nTrue\nTrue\n", 1) and "section" not in job.text(), job.said


def test_what_a_job_keeps_of_its_variables_stays(tmp_path: Path) -> None:
    script = HELD + (
        "def build(size, kept):\n    kept.append(locals()); train(None, [])\n"
        "name, kept = 'global', []\n"
        "try:\n    with oomdoc.watching(): build(7, kept)\n"
        "except MemoryError: print(kept[0]['size'], name)\n"
    )
    job = Job(tmp_path, script)
    assert job.out == "7 global\n" and "section" not in job.text(), job.said


def test_a_device_that_the_job_did_not_use_is_not_started(tmp_path: Path) -> None:
    script = (
        "import oomdoc, sys, types\n"
        "counts = {1: {'reserved_bytes.all.peak': 1 << 30}, 3: {'num_ooms': 1}}\n"
        "def ask(number): print(number); return 1 << 20, 1 << 30\n"
        "cuda = types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 0, device_count=lambda: 4, mem_get_info=ask,\n"
        "    memory_stats=lambda number: counts.get(number, {}), get_device_name=lambda number: 'GPU', memory_allocated=lambda number: 0,\n"
        "    memory=types.SimpleNamespace(_snapshot=dict))\n"
        "sys.modules['torch'] = types.SimpleNamespace(cuda=cuda)\n"
        "oomdoc.watch()\nraise RuntimeError('CUDA out of memory. GPU 1 has a total capacity of 1.00 GiB')\n"
    )
    job = Job(tmp_path, script)
    assert sorted(job.out.split()) == ["0", "1", "3"] and "section" not in job.text(), (job.out, job.text())
    assert "oomdoc: device cuda:1 GPU: free 1.0 MiB of 1024.0 MiB" in job.text()


def test_callbacks_hold_nothing_and_the_newest_is_asked(tmp_path: Path) -> None:
    script = (
        "import gc, sys, types, weakref\n"
        "sys.modules['lightning'] = types.ModuleType('lightning')\n"
        "sys.modules['lightning.pytorch'] = types.SimpleNamespace(Callback=object)\n"
        "from oomdoc.callbacks import lightning_callback\n"
        "class Trainer:\n    current_epoch, strategy = 0, None\n"
        "    def __init__(self, step): self.global_step, self.callback = step, lightning_callback()\n"
        "    def fit(self): self.callback.on_before_backward(self, None, None)\n"
        "def run(step): trainer = Trainer(step); trainer.fit(); return weakref.ref(trainer), weakref.ref(trainer.callback)\n"
        "older, newer = Trainer(1), Trainer(2)\nolder.fit(); newer.fit(); ended = run(3); gc.collect()\n"
        "print([one() for one in ended], newer.callback.__getstate__()['_trainer'])\n"
        f"{REFUSED}\n"
    )
    job = Job(tmp_path, script)
    told = [line for line in job.text().splitlines() if "of Lightning" in line]
    assert job.out == "[None, None] None\n" and len(told) == 1 and "in backward of Lightning, at step 2, epoch 0" in told[0], (job.said, told)


@pytest.mark.parametrize("launcher", [(), ("-m", "oomdoc.watch")])
@pytest.mark.parametrize("part", ["process.memory", "stack.printed", "devices.failed"])
def test_who_is_told_to_end_meanwhile_ends(tmp_path: Path, part: str, launcher: Tuple[str, ...]) -> None:
    script = (
        "import oomdoc, signal, sys; oomdoc.watch()\nfrom oomdoc._watch import devices, process, stack\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "def told(*_): signal.raise_signal(signal.SIGTERM); return ()\n"
        f"{part} = told\n{REFUSED}\n"
    )
    assert Job(tmp_path, script, *launcher).status == 7


def test_a_second_one_while_the_first_is_handled_makes_a_second_file(tmp_path: Path) -> None:
    script = (
        "import oomdoc; oomdoc.watch()\n"
        f"def fail():\n    with oomdoc.watching():\n        {REFUSED}\n"
        "try:\n    fail()\nexcept MemoryError:\n    raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')\n"
    )
    job = Job(tmp_path, script)
    assert len(job.files) == 2 and sum("2.00 GiB" in file.read_text() for file in job.files) == 1, job.said


def test_what_fails_otherwise_while_one_is_handled_is_no_second_one(tmp_path: Path) -> None:
    script = (
        "import oomdoc; oomdoc.watch()\n"
        f"def fail():\n    with oomdoc.watching():\n        {REFUSED}\n"
        "try:\n    fail()\nexcept MemoryError:\n    {}['checkpoint']\n"
    )
    assert "KeyError" not in Job(tmp_path, script).text()


@pytest.mark.parametrize(
    "launcher, head, folder",
    [
        (("-m", "oomdoc.watch", "--folder", "out"), "", ""),
        (("-m", "oomdoc.watch"), "", "out"),
        ((), "import oomdoc; oomdoc.watch()\n", "out"),
        ((), "import oomdoc; oomdoc.watch('out')\n", ""),
    ],
)
@pytest.mark.parametrize("end", [REFUSED, f"try:\n    {REFUSED}\nexcept MemoryError:\n    sys.exit(3)"])
def test_the_folder_is_where_it_was_when_it_was_named(tmp_path: Path, launcher: Tuple[str, ...], head: str, folder: str, end: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    job = Job(tmp_path, f"{head}import os, sys; os.chdir('elsewhere')\n{end}\n", *launcher, OOMDOC_WATCH_FOLDER=folder)
    # Who leaves is seen by the launcher alone.
    assert [file.parent for file in job.files] == ([] if "exit" in end and not launcher else [tmp_path / "out"]), job.said


def test_a_piece_of_code_keeps_the_folder_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    script = f"import oomdoc, os\n@oomdoc.watching\ndef fail():\n    os.chdir('/'); {REFUSED}\nfail()\n"
    job = Job(tmp_path, script, OOMDOC_WATCH_FOLDER="out")
    assert [file.parent for file in job.files] == [tmp_path / "out"], job.said


def test_no_more_than_eight_files_of_one_process(tmp_path: Path) -> None:
    script = f"import oomdoc\nfor _ in range(20):\n    try:\n        with oomdoc.watching(): {REFUSED}\n    except MemoryError: pass\n"
    assert len(Job(tmp_path, script).files) == 8


def test_asked_twice_it_hooks_once_and_the_folder_is_the_last(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    script = (
        "import sys, oomdoc; oomdoc.watch(); first = sys.excepthook; oomdoc.watch('later'); assert sys.excepthook is first\n"
        f"import oomdoc.watch; oomdoc.watch('later')\n{REFUSED}\n"
    )
    job = Job(tmp_path, script)
    assert [file.parent.name for file in job.files] == ["later"], job.said


def test_nothing_runs_before() -> None:
    script = (
        "import sys, threading; before = set(sys.modules)\nimport oomdoc; oomdoc.watch()\n"
        "assert sys.gettrace() is None and sys.getprofile() is None and threading.active_count() == 1\n"
        "assert not {'torch', 'transformers', 'lightning'} & set(sys.modules)\n"
    )
    package = str(Path(oomdoc.__file__).resolve().parents[1])
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": package}, check=True)


def noise(alphabet: str, seed: int) -> str:
    """As src/knowledge/secrets/example.rs does."""
    lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
    kinds: Dict[str, List[str]] = {"hex": ["abcdef", digits] * 2, "lower": [lower, digits, lower, lower], "upper": [upper, digits, upper, upper], "digits": [digits] * 4}
    turns = kinds.get(alphabet, [lower, upper, digits, upper])
    out = []
    for place in range(400):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        letters = turns[place % 4]
        out.append(letters[(seed >> 33) % len(letters)])
    return "".join(out)


def written_out(text: str) -> str:
    out, rest = "", text
    while "⟨" in rest:
        before, _, rest = rest.partition("⟨")
        note, _, rest = rest.partition("⟩")
        alphabet, _, length = note.rpartition(" ")
        out += before
        seed = 7
        for byte in text.encode() + out.encode():
            seed = (seed * 31 + byte) % 2**64
        out += noise(alphabet, seed)[: int(length)]
    return out + rest


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the rules are TOML, which this Python cannot read; newer ones run this")
@pytest.mark.parametrize("file", ["addresses", "commands", "named", "tokens"])
def test_the_rules_hold_here_as_they_do_in_the_command(file: str) -> None:
    import tomllib

    from oomdoc._watch.redaction import Redactor

    redactor, wrong = Redactor(), []
    rows = tomllib.loads((RULES / "redaction" / f"{file}.toml").read_text(encoding="utf-8"))["secret"]
    for row in rows:
        for example in row["examples"]:
            if f"‹{row['name']}›" not in redactor.text(written_out(example)) and "‹" not in redactor.text(written_out(example)):
                wrong.append((row["name"], example))
        for example in row.get("counter_examples", []):
            if redactor.text(written_out(example)) != written_out(example):
                wrong.append((row["name"], "not", example, redactor.text(written_out(example))))
    assert wrong == []


def test_what_cannot_be_looked_through_is_withheld(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from oomdoc._watch import redaction

    assert redaction.Redactor().text("x" * (redaction.LONGEST + 1)) == redaction.WITHHELD
    monkeypatch.setattr(redaction, "ROWS", tmp_path / "missing")
    path: Optional[str] = redaction.Redactor().text("password=hunter2")
    assert path == redaction.WITHHELD
