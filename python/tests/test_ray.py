"""What `oomdoc.ray` does without a cluster. With one: `.ci/ray`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NoReturn

import pytest

import oomdoc
from oomdoc import ray as oomdoc_ray
from oomdoc._ray import node as on_node
from oomdoc._ray.cluster import first_sentence, names_of, nodes_of
from oomdoc._ray.gather import Notes
from oomdoc._ray.tree import Tree

CORPUS = Path(os.environ.get("OOMDOC_CORPUS") or Path(__file__).resolve().parents[2] / "corpus")
LOG = CORPUS / "llama3-8b-optimizer-step" / "job.log"


def entry(host: str, address: str, id: str, **more: object) -> Dict[str, object]:
    return {"NodeManagerHostname": host, "NodeManagerAddress": address, "NodeID": id, "Alive": True, **more}


def test_nodes_are_called_as_their_hosts() -> None:
    assert names_of([entry("node7", "10.0.0.7", "ab" * 28), entry("node8", "10.0.0.8", "cd" * 28)]) == ["node7", "node8"]


def test_hosts_of_one_name_are_told_apart_by_their_address() -> None:
    entries = [entry("worker", "10.0.0.7", "ab" * 28), entry("worker", "fd00::8", "cd" * 28), entry("head", "10.0.0.1", "ef" * 28)]
    assert names_of(entries) == ["worker-10.0.0.7", "worker-fd00--8", "head"]


def test_raylets_of_one_host_are_told_apart_by_as_much_of_their_id_as_it_takes() -> None:
    ids = ["abcdef0" + "0" * 49, "abcdef1" + "0" * 49, "f" * 56]
    assert names_of([entry("vm", "127.0.0.1", id) for id in ids]) == ["vm-abcdef0", "vm-abcdef1", "vm-fffffff"]


def test_dead_nodes_count_unless_nothing_ran_on_them() -> None:
    socket = "/data/ray/session_1/sockets/raylet"
    entries = [
        entry("b", "10.0.0.2", "b" * 56, Alive=False, DeathReason=2, DeathReasonMessage="health check failed"),
        entry("idle", "10.0.0.3", "c" * 56, Alive=False, DeathReason=4),
        entry("a", "10.0.0.1", "a" * 56, RayletSocketName=socket),
    ]
    nodes = nodes_of(entries)
    assert [(node.name, node.alive, node.death) for node in nodes] == [("a", True, ""), ("b", False, "health check failed")]
    assert nodes[0].logs == "/data/ray/session_1/logs"


@pytest.mark.parametrize("nodes", [0, 1, 3, 4, 15, 64, 100])
def test_every_digest_comes_to_the_root_once_and_few_files_are_kept(tmp_path: Path, nodes: int) -> None:
    most = 0

    def join(paths: List[Path], joined: Path) -> None:
        nonlocal most
        assert len(paths) <= 4 * 3
        most = max(most, len(list(tmp_path.iterdir())))
        joined.write_bytes(b"".join(path.read_bytes() for path in paths))

    tree = Tree(tmp_path, join, fan_in=4)
    for node in range(nodes):
        tree.add(f"node{node}", b"%d " % node)
    root = tree.root()
    assert (root is None) == (nodes == 0)
    assert sorted(map(int, root.read_bytes().split() if root else [])) == list(range(nodes))
    assert most <= 4 * 4 and len(list(tmp_path.iterdir())) == min(nodes, 1)


def test_a_node_whose_digest_cannot_be_read_did_not_answer(tmp_path: Path) -> None:
    notes = Notes()
    tree = Tree(tmp_path, notes.join)
    answer, digest, words = on_node.answer(on_node.Task("good", (str(LOG),), "", 60.0, "").words(), None)
    assert (answer, words) == (on_node.DIGEST, "")
    tree.add("good", digest)
    tree.add("bad", b"what no oomdoc wrote")
    root = tree.root()
    assert root is not None and notes.missing == ["bad"]
    assert re.match("bad did not answer: its digest cannot be read: .*it: is no digest", notes.lines()[0], re.DOTALL)
    said = subprocess.run([oomdoc.find_binary(), "merge", "--no-save", "--format=json", str(root)], check=True, stdout=subprocess.PIPE).stdout
    assert f"good:{LOG}".encode() in said


@pytest.mark.parametrize("memory", [True, False], ids=["from memory", "from a file"])
def test_a_binary_that_was_sent_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: bool) -> None:
    monkeypatch.setattr(on_node.tempfile, "tempdir", str(tmp_path))
    if not memory:
        monkeypatch.setattr(on_node, "in_memory", lambda content: refuse())
    elif not hasattr(os, "memfd_create"):
        pytest.skip("this platform has no files in memory")
    made: List[str] = []
    monkeypatch.setattr(on_node, "kept", lambda sent, folder, kept=on_node.kept: made.append(folder) or kept(sent, folder))
    task = on_node.Task("node7", (str(LOG),), "", 60.0, on_node.this_platform())
    state, digest, words = on_node.answer(task.words(), Path(oomdoc.find_binary()).read_bytes())
    assert (state, words) == (on_node.DIGEST, "") and digest
    assert len(made) == (0 if memory else 1) and not list(tmp_path.iterdir())


def refuse() -> NoReturn:
    raise OSError("no file in memory may be executed")


def test_what_is_the_same_of_many_nodes_is_said_once() -> None:
    notes = Notes()
    for node in range(30):
        notes.unanswered(f"node{node:02}", "nothing came within 120 s")
    [line] = notes.lines()
    assert line.startswith("node00, node01, ") and line.endswith("node19 and 10 more did not answer: nothing came within 120 s")


def test_patterns_name_the_nodes_own_variables() -> None:
    variables = {"HOSTNAME": "node7", "RANK": "3", "RANKS": "8"}
    assert on_node.expanded("/logs/$HOSTNAME/${RANK}-of-$RANKS/$NONE.log", variables) == "/logs/node7/3-of-8/$NONE.log"
    assert on_node.environment()["HOSTNAME"]


def test_of_a_session_only_logs_are_read_and_none_of_our_own_jobs(tmp_path: Path) -> None:
    wanted = ["worker-1-01000000-7.out", "worker-1-01000000-7.err.1", "raylet.out", "gcs_server.err", "job-driver-raysubmit_a.log"]
    for name in [*wanted, "dashboard.log", "raylet.pid"]:
        (tmp_path / name).write_text("Running entrypoint for job raysubmit_a: python train.py\n")
    (tmp_path / "job-driver-raysubmit_b.log").write_text("Running entrypoint for job raysubmit_b: python -m oomdoc.ray analyze\n")
    (tmp_path / "worker-2-01000000-8.err").touch()
    paths, left = on_node.session_logs(str(tmp_path))
    assert sorted(paths) == sorted(str(tmp_path / name) for name in wanted) and left == 0
    assert on_node.session_logs(str(tmp_path / "nowhere")) == ([], 0)


def test_a_node_without_files_or_of_another_platform_says_so(tmp_path: Path) -> None:
    task = on_node.Task("node7", (str(tmp_path / "*.log"),), "", 60.0, "")
    assert on_node.answer(task.words(), None) == (on_node.NOTHING, b"", f"no file is called {tmp_path}/*.log")
    sent = on_node.Task("node7", (str(LOG),), "", 60.0, "plan9 on mips")
    state, _, words = on_node.answer(sent.words(), b"binary")
    assert state == on_node.NO_BINARY and "plan9 on mips" in words


def test_the_command_line_leaves_to_merge_what_is_merges() -> None:
    given = oomdoc_ray.given(["--timeout=30", "--format", "json", "a*.log", "--address", "10.0.0.1:6379", "--redact", "--ship", "-o", "out", "--", "-b.log"])
    assert given == oomdoc_ray.Given("10.0.0.1:6379", 30.0, True, ["--format", "json", "--redact", "-o", "out"], ["a*.log", "-b.log"])
    for wrong in (["--timeout", "soon"], ["--timeout", "-1"], ["--timeout=nan"], ["--address"], ["--format"]):
        with pytest.raises(oomdoc.OomdocError):
            oomdoc_ray.given(wrong)


def test_options_with_a_value_are_those_of_merge() -> None:
    said = subprocess.run([oomdoc.find_binary(), "merge", "--help"], check=True, stdout=subprocess.PIPE, env={**os.environ, "OOMDOC_LANG": "en"}).stdout
    options = re.findall(r"^ +(?:(-\w), )?(--[\w-]+) <", said.decode("utf-8"), re.MULTILINE)
    assert {word for pair in options for word in pair if word} == oomdoc_ray.WITH_VALUE


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert oomdoc_ray.main(["analyze", "*.log"]) == 2
    assert "pip install ray" in capsys.readouterr().err
    with pytest.raises(oomdoc.OomdocError, match="needs Ray"):
        oomdoc_ray.analyze("*.log")


def test_an_error_of_ray_is_told_in_a_sentence() -> None:
    error = RuntimeError("\nTask failed because node 10.0.0.7 is dead. Use `ray list nodes`.\nMore.")
    assert first_sentence(error) == "Task failed because node 10.0.0.7 is dead"
    assert first_sentence(RuntimeError()) == "RuntimeError"
