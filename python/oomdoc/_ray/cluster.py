"""The nodes of a Ray cluster: their names, and one task on each."""

from __future__ import annotations

import importlib
import os
import re
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from .._binary import OomdocError, find_binary
from . import node as on_node

# The number of nodes with a running task. Ray sends small results to the caller as soon as they are there, at most 64 MiB in all with this
# limit.
AT_ONCE = 256
# Ray's reason for the death of a node that was removed because it was idle.
TAKEN_AWAY_IDLE = 4


Answers = Iterator[Tuple["Node", on_node.Answer]]


@dataclass(frozen=True)
class Node:
    """A raylet; usually there is one per machine."""

    name: str
    id: str
    alive: bool
    logs: str
    """The folder of its logs."""
    death: str
    """Ray's message about its death."""


def nodes_of(entries: Sequence[Mapping[str, Any]]) -> List[Node]:
    """The nodes that `ray.nodes()` lists, each with a unique name."""
    entries = [entry for entry in entries if entry.get("Alive") or entry.get("DeathReason") != TAKEN_AWAY_IDLE]
    nodes = []
    for entry, name in zip(entries, names_of(entries)):
        session = os.path.dirname(os.path.dirname(entry.get("RayletSocketName") or ""))
        logs = os.path.join(session or "/tmp/ray/session_latest", "logs")
        nodes.append(Node(name, entry["NodeID"], bool(entry.get("Alive")), logs, entry.get("DeathReasonMessage") or ""))
    return sorted(nodes, key=lambda one: one.name)


def names_of(entries: Sequence[Mapping[str, Any]]) -> List[str]:
    """Host names; the address is added where several hosts share a name, and the start of Ray's node id where several raylets share
    both.
    """
    hosts = [entry.get("NodeManagerHostname") or entry["NodeManagerAddress"] for entry in entries]
    # A colon would end the node's name in a citation.
    addresses = [f"{host}-{entry['NodeManagerAddress']}".replace(":", "-") for host, entry in zip(hosts, entries)]
    hosts = [host.replace(":", "-") for host in hosts]
    raylets = {(host, address) for host, address in zip(hosts, addresses)}
    of_host, of_address = Counter(host for host, _ in raylets), Counter(addresses)
    length = unique_length([entry["NodeID"] for entry in entries])
    names = []
    for host, address, entry in zip(hosts, addresses, entries):
        name = host if of_host[host] == 1 else address
        names.append(name if of_address[address] == 1 else f"{name}-{entry['NodeID'][:length]}")
    return names


def unique_length(ids: Sequence[str]) -> int:
    """The length at which prefixes of all ids differ; at least six characters."""
    return next((length for length in range(6, 64) if len({one[:length] for one in ids}) == len(set(ids))), 64)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected: as this process already is, else to `address` for as long as the context lasts."""
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise OomdocError("oomdoc.ray needs Ray, which this Python has not: `pip install ray`, in the cluster's version", 2) from None
    if ray.is_initialized():
        yield ray
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:
        raise OomdocError(f"no Ray cluster was reached at {address}: {first_sentence(error)}\nname one with --address, or run this on one of its nodes", 2) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def answers(ray: Any, nodes: Sequence[Node], patterns: Sequence[str], timeout: float, ship: bool) -> Answers:
    """Each node's answer as soon as it arrives; a node without one after `timeout` seconds is reported as failed.

    Late tasks are not cancelled: if the answer arrives at the same moment, Ray kills the process that cancels. A task gives up by itself
    after the timeout, and those that still run end with the connection.
    """
    ray.cloudpickle.register_pickle_by_value(on_node)
    affinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    task = ray.remote(num_cpus=0, max_retries=0)(on_node.answer)
    sent = ray.put(binary()) if ship else None
    platform = on_node.this_platform() if ship else ""
    waiting, running = list(reversed(nodes)), {}  # type: List[Node], Dict[Any, Tuple[Node, float]]
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            node = waiting.pop()
            words = on_node.Task(node.name, tuple(patterns), node.logs, timeout, platform).words()
            there = task.options(scheduling_strategy=affinity(node_id=node.id, soft=False), name=f"oomdoc digest on {node.name}")
            running[there.remote(words, sent)] = (node, time.monotonic() + timeout)
        soonest = min(deadline for _, deadline in running.values())
        done, _ = ray.wait(list(running), timeout=max(0.0, soonest - time.monotonic()))
        for one in done:
            node, _ = running.pop(one)
            yield node, result(ray, one)
        for one in [one for one, (_, deadline) in running.items() if deadline <= time.monotonic()]:
            node, _ = running.pop(one)
            yield node, (on_node.FAILED, b"", f"nothing came within {timeout:g} s")


def result(ray: Any, one: Any) -> on_node.Answer:
    try:
        answer: on_node.Answer = ray.get(one, timeout=10)
        return answer
    except ray.exceptions.RayError as error:
        return on_node.FAILED, b"", first_sentence(getattr(error, "cause", None) or error)


def first_sentence(error: BaseException) -> str:
    """The part of a Ray error before its advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return re.split(r"\.(?= |$)", lines[0])[0] if lines else type(error).__name__


def binary() -> bytes:
    with open(find_binary(), "rb") as file:
        return file.read()
