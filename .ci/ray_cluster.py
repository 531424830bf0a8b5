"""Tests `python -m oomdoc.ray` on three raylets: `.ci/ray_cluster.py OOMDOC [TEST…]`, with a Python that has Ray.

Node `a` is the head, `b` gets killed, and `c` has no oomdoc except the one sent to it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, Optional, TypeVar

GIVEN_OOMDOC, *ONLY = sys.argv[1:]
ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
# The logs on each node: two parts of one incident, and the log of an unrelated job.
LOGS = {"a": "ray-actor-killed-by-kernel/job.log", "b": "ray-actor-killed-by-kernel/dmesg.log", "c": "openrlhf-72b-resume/job.log"}
# Only guards against hanging.
PATIENCE = 120.0
T = TypeVar("T")


class Cluster:
    """Three raylets, each with its own folder for logs and session."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.gcs, self.dashboard = folder, free_port(), free_port()
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        # Use a token: the cluster should not be open to others, not even for a minute.
        ours = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0", "OOMDOC_RAY_TEST": str(folder)}
        left_out = ("RAY_", "OOMDOC_BIN", "OOMDOC_HOME")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)} | ours
        # Strip the binary as in a release: most of a debug build is debug information, and --ship sends all of it.
        self.oomdoc = str(folder / "oomdoc")
        subprocess.run(["strip", "-o", self.oomdoc, GIVEN_OOMDOC], check=True)
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        # A copy of the package with no command near it, so that `c` finds none.
        shutil.copytree(ROOT / "python/oomdoc", folder / "package/oomdoc", ignore=shutil.ignore_patterns("__pycache__"))
        self.environment |= {"OOMDOC_HOME": str(folder / "home"), "PYTHONPATH": str(folder / "package"), "PATH": "/usr/bin:/bin", "TMPDIR": str(self.temporary)}
        for name, log in LOGS.items():
            (folder / "logs" / name).mkdir(parents=True)
            shutil.copy(ROOT / "corpus" / log, folder / "logs" / name)
        self.address = f"127.0.0.1:{self.gcs}"
        self.pattern = str(folder / "logs" / "$PART" / "*.log")

    def start(self) -> None:
        """Starts the head first, then the other two at once."""
        # Jobs are submitted through the dashboard.
        dashboard = ["--include-dashboard=true", "--dashboard-host=127.0.0.1", f"--dashboard-port={self.dashboard}"]
        wait_for_end(self._raylet("a", ["--head", f"--port={self.gcs}", f"--ray-client-server-port={free_port()}", *dashboard]))
        for process in [self._raylet(name, [f"--address={self.address}"]) for name in ("b", "c")]:
            wait_for_end(process)

    def _raylet(self, name: str, words: List[str]) -> "subprocess.Popen[bytes]":
        command: "list[str | Path]" = [BIN / "ray", "start", "--node-ip-address=127.0.0.1", f"--temp-dir={self.folder / name}", "--num-cpus=1"]
        # All other ports are chosen by Ray.
        command += [f"--dashboard-agent-listen-port={free_port()}"]
        # Room for the command of several callers at a time.
        memory = f"--object-store-memory={80_000_000 + 4 * os.path.getsize(self.oomdoc)}"
        environment = self.environment | {"PART": name} | ({} if name == "c" else {"OOMDOC_BIN": self.oomdoc})
        with open(self.folder / f"{name}.start", "wb") as said:
            return subprocess.Popen([*command, memory, "--disable-usage-stats", *words], env=environment, stdout=said, stderr=said)

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Starts `python -m oomdoc.ray analyze` without waiting for it."""
        command = [sys.executable, "-m", "oomdoc.ray", "analyze", "--address", self.address, "--no-save", "--lang=en", *words]
        return subprocess.Popen(
            command, env=self.environment | {"OOMDOC_BIN": self.oomdoc}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self, *words: str) -> "Said":
        return Said.of(self.begin(*words))

    def processes(self) -> Dict[int, str]:
        """The command lines of all processes started here that are still running, by pid."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"OOMDOC_RAY_TEST={self.folder}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                pass  # It ended meanwhile.
        # A zombie has an empty command line.
        return {pid: line for pid, line in found.items() if line and pid != os.getpid()}

    def digesting(self, name: str) -> List[int]:
        """The pids of `oomdoc digest` processes at work on a node's logs."""
        return [pid for pid, line in self.processes().items() if " digest --node " in line and f"/logs/{name}/" in line]

    def raylet(self, name: str) -> int:
        [pid] = [pid for pid, line in self.processes().items() if "/raylet/raylet " in line and f"--raylet_socket_name={self.folder / name}/" in line]
        return pid

    def stop(self) -> None:
        for _ in range(50):
            left = self.processes()
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                return
            time.sleep(0.1)
        raise AssertionError(f"these would not end: {left}")

    def names(self) -> Dict[str, str]:
        """The name of each node in reports."""
        script = f"""
            import json, ray
            from oomdoc._ray.cluster import connected, nodes_of
            with connected({self.address!r}) as ray:
                print(json.dumps({{node.logs: node.name for node in nodes_of(ray.nodes())}}))"""
        said = self.python(script)
        return {Path(logs).relative_to(self.folder).parts[0]: name for logs, name in json.loads(said.out.splitlines()[-1]).items()}

    def python(self, script: str) -> "Said":
        lines = [line[12:] for line in script.splitlines()]
        environment = self.environment | {"OOMDOC_BIN": self.oomdoc}
        command = [sys.executable, "-c", "\n".join(lines)]
        return Said.of(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


class Said:
    """The exit code and the output of a command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @staticmethod
    def of(process: "subprocess.Popen[str]") -> "Said":
        out, err = process.communicate(timeout=PATIENCE)
        return Said(process.returncode, out, err)

    def must(self, code: int, *patterns: str) -> "Said":
        """Asserts the exit code, and that the output matches each of the patterns."""
        for pattern in patterns:
            assert re.search(pattern, self.out + self.err), f"not said: {pattern}\n{self}"
        assert self.code == code, f"exit code {self.code} and not {code}\n{self}"
        return self

    def __str__(self) -> str:
        return f"--- standard output\n{self.out}\n--- standard error\n{self.err}"


def free_port() -> int:
    """A free port outside of the range that Ray gives its workers."""
    for port in range(20000 + os.getpid() % 5000, 32000):
        with socket.socket() as taken:
            if port not in GIVEN and taken.connect_ex(("127.0.0.1", port)) != 0:
                GIVEN.add(port)
                return port
    raise AssertionError("no port is free")


GIVEN: "set[int]" = set()


def wait_for_end(process: "subprocess.Popen[bytes]") -> None:
    assert process.wait(timeout=PATIENCE) == 0, f"{process.args!r} ended with {process.returncode}"


def until(what: str, found: Callable[[], Optional[T]]) -> T:
    """Polls `found` until it returns something."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        value = found()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {PATIENCE:g} s")


def gone(cluster: Cluster, name: str) -> None:
    """No process of the node's and no file of a command that was sent is left."""
    until(f"oomdoc on {name} ends", lambda: not cluster.digesting(name))
    assert not list(cluster.temporary.glob("oomdoc-*")), "something is left of a command that was sent"


def as_one_machine_says(cluster: Cluster, names: Dict[str, str]) -> None:
    """The cluster's report must equal that of `merge` over a digest of each node's files.

    That merging digests gives the same as one `analyze` over all files is tested in tests/it/fleet.rs.
    """
    digests = []
    for part, called in names.items():
        digests.append(str(cluster.folder / f"{part}.digest"))
        files = [str(path) for path in cluster.folder.glob(f"logs/{part}/*.log")]
        subprocess.run([cluster.oomdoc, "digest", "--node", called, "--output", digests[-1], *files], env=cluster.environment, check=True)
    command = [cluster.oomdoc, "merge", "--format=json", "--together", "--no-save", "--lang=en", *digests]
    alone = json.loads(subprocess.run(command, env=cluster.environment, check=True, stdout=subprocess.PIPE).stdout)
    said = cluster.run("--ship", "--format", "json", "--together", cluster.pattern).must(0)
    assert said.err == "", said
    for name, called in names.items():
        assert f"{called}:{cluster.folder / 'logs' / name}/" in said.out, f"{called} is cited nowhere\n{said}"
    together = json.loads(said.out)
    different = [key for key in alone if alone[key] != together.get(key)]
    assert not different, f"other than of their digests: {different}\n{[(alone[key], together.get(key)) for key in different]}"


def where_oomdoc_is_missing(cluster: Cluster, names: Dict[str, str]) -> None:
    said = cluster.run(cluster.pattern).must(0, f"1 of 3 nodes did not answer: {names['c']}", "host_oom_cgroup")
    assert f"oomdoc: {names['c']} did not answer: the oomdoc command is not there" in said.err, said
    assert "--ship" in said.err, said
    # `merge` evaluates --fail-on.
    cluster.run("--quiet", "--fail-on", "any", cluster.pattern).must(1)
    cluster.run("--ship", "/nowhere/*.log").must(2, "none of 3 nodes had anything to say", "no file is called /nowhere/")


def train(cluster: Cluster) -> None:
    """A worker on `b` prints the log of one that ran out of GPU memory; Ray keeps the output on that node."""
    log = ROOT / "corpus/llama3-8b-optimizer-step/job.log"
    cluster.python(f"""
            import sys, ray
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
            ray.init({cluster.address!r}, log_to_driver=False)
            [node] = [node["NodeID"] for node in ray.nodes() if {str(cluster.folder / "b")!r} in node["RayletSocketName"]]
            @ray.remote(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
            def train():
                sys.stdout.write(open({str(log)!r}).read())
                sys.stdout.flush()
            ray.get(train.remote())""").must(0)


def logs_of_the_session(cluster: Cluster, names: Dict[str, str]) -> None:
    said = cluster.run("--ship", "--full").must(0, "GPU out of memory")
    assert re.search(rf"{names['b']}:{cluster.folder}/b/session_[^:]*/logs/worker-[^:]*\.out:\d+", said.out), said


def as_a_job(cluster: Cluster, names: Dict[str, str]) -> None:
    """Runs as a Ray job (`ray job submit`), where no address is given."""
    submit = [BIN / "ray", "job", "submit", f"--address=http://127.0.0.1:{cluster.dashboard}"]
    inside = f"env PYTHONPATH={cluster.folder / 'package'} {sys.executable} -m oomdoc.ray analyze --ship --no-save --lang=en --format=json --together"
    command = [*map(str, submit), "--", "sh", "-c", inside]

    def submitted() -> Optional[Said]:
        said = Said.of(subprocess.Popen(command, env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        # The agent that accepts jobs starts later than the head itself.
        return None if "No available agent to submit job" in said.err else said

    said = until("Ray takes jobs", submitted).must(0, '"verdict": ?"gpu_oom"', "succeeded")
    # This job's own log lies in the session's folder and must not be taken as evidence.
    [driver] = cluster.folder.glob("a/session_2*/logs/job-driver-*.log")
    assert driver.stat().st_size > 0 and f'/{driver.name}"' not in said.out and "/worker-" in said.out, said


def too_slow(cluster: Cluster, names: Dict[str, str]) -> None:
    """Reading a pipe that nobody writes to never ends."""
    pipe = cluster.folder / "logs/c/stuck.log"
    os.mkfifo(pipe)
    said = cluster.run("--ship", "--timeout", "6", cluster.pattern).must(0, f"1 of 3 nodes did not answer: {names['c']}")
    assert f"{names['c']} did not answer: nothing came within 6 s" in said.err, said
    gone(cluster, "c")
    # A caller that is interrupted must not leave processes behind either.
    asked = cluster.begin("--ship", cluster.pattern)
    until("oomdoc on c begins", lambda: cluster.digesting("c"))
    os.killpg(asked.pid, signal.SIGINT)
    Said.of(asked).must(130)
    gone(cluster, "c")
    pipe.unlink()


def killed_in_the_middle(cluster: Cluster, names: Dict[str, str]) -> None:
    pipe = cluster.folder / "logs/b/stuck.log"
    os.mkfifo(pipe)
    asked = cluster.begin("--ship", "--format", "json", "--together", cluster.pattern)
    until("oomdoc on b begins", lambda: cluster.digesting("b"))
    os.kill(cluster.raylet("b"), signal.SIGKILL)
    said = Said.of(asked).must(0)
    assert f"{names['b']} did not answer: " in said.err, said
    # The answers of the other nodes are complete, and the output contains no messages of Ray.
    cited = {one["path"].split(":")[0] for one in json.loads(said.out)["inputs"]}
    assert cited == {names["a"], names["c"]}, said
    assert names["b"] in said.out, said
    gone(cluster, "b")
    pipe.unlink()


def dead_from_the_start(cluster: Cluster, names: Dict[str, str]) -> None:
    """Calls the Python function in a connected program, after Ray has noticed the node's death."""
    said = cluster.python(f"""
            import json, sys, time, ray
            import oomdoc.ray
            ray.init({cluster.address!r}, log_to_driver=False)
            while all(node["Alive"] for node in ray.nodes()):
                time.sleep(0.2)
            report = oomdoc.ray.analyze({cluster.pattern!r}, ship=True, timeout=60)
            assert isinstance(report, oomdoc.Report) and ray.is_initialized()
            print(json.dumps([report.verdict, sorted(one.path.split(":")[0] for one in report.inputs)]))""").must(0)
    assert f"{names['b']} did not answer: dead" in said.err, said
    verdict, nodes = json.loads(said.out.splitlines()[-1])
    assert verdict == "host_oom_cgroup" and nodes == sorted([names["a"], names["c"]]), said


TESTS = [as_one_machine_says, where_oomdoc_is_missing, logs_of_the_session, as_a_job, too_slow, killed_in_the_middle, dead_from_the_start]


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="oomdoc-ray-"))
    cluster = Cluster(folder)
    # In a shell's background this is started with SIGINT ignored, and so would be what it starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # SIGTERM must also end the cluster, so turn it into an exit.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin = time.monotonic()
    try:
        cluster.start()
        names = cluster.names()
        train(cluster)
        print(f"ray: {', '.join(names.values())} are there after {time.monotonic() - begin:.0f} s", flush=True)
        for test in [test for test in TESTS if not ONLY or test.__name__ in ONLY]:
            test(cluster, names)
            print(f"ray: {test.__name__.replace('_', ' ')} ({time.monotonic() - begin:.0f} s)", flush=True)
    except BaseException:
        for said in sorted(folder.glob("*.start")):
            print(f"--- {said.name}\n{said.read_text(errors='replace')[-2000:]}", file=sys.stderr)
        raise
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
