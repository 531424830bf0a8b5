"""The process, the versions of its libraries, and the state of the host's memory."""

from __future__ import annotations

import os
import platform
import sys
import threading
from importlib import metadata
from typing import Dict, Iterator, Optional, Tuple

from .file import size

# Variables in which launchers give the rank of a process, and its rank within the node.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
# Libraries whose version affects how memory is used.
LIBRARIES = ("torch", "transformers", "accelerate", "deepspeed", "trl", "peft", "lightning", "pytorch_lightning", "vllm", "ray", "jax", "torch_npu")


def rank() -> Optional[int]:
    """The rank according to torch's process group, else according to the launcher."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank())
    except Exception:
        pass
    for name in (*RANKS, *LOCAL_RANKS):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


def versions() -> Iterator[str]:
    """`oomdoc 0.1.0`, `Python 3.11.2`, `torch 2.15.0`: the versions of what is loaded."""
    try:
        yield f"oomdoc {metadata.version('oomdoc')}"
    except metadata.PackageNotFoundError:
        pass
    yield f"Python {platform.python_version()}"
    for name in LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            yield f"{name} {version}"


def where() -> Iterator[str]:
    """The command, the thread and the launcher's job."""
    # `sys.orig_argv` is preferred, since a launcher may have changed `sys.argv`.
    words = getattr(sys, "orig_argv", None) or sys.argv
    yield "command: " + " ".join(words)
    if threading.current_thread() is not threading.main_thread():
        yield f"in thread {threading.current_thread().name}"
    if os.environ.get("SLURM_JOB_ID", "").isdigit():
        yield f"Slurm job {os.environ['SLURM_JOB_ID']}"
    yield f"started by process {os.getppid()}"


def memory() -> Iterator[str]:
    """The memory of this process and of the host, as the kernel counts it."""
    status = _kilobytes("/proc/self/status")
    if "VmRSS" in status:
        peak = f", peak {size(status['VmHWM'])}" if "VmHWM" in status else ""
        yield f"process memory: resident {size(status['VmRSS'])}{peak}, virtual {size(status.get('VmSize', 0))}"
    machine = _kilobytes("/proc/meminfo")
    if "MemTotal" in machine:
        available = machine.get("MemAvailable", machine.get("MemFree", 0))
        yield f"host memory: used {size(machine['MemTotal'] - available)} of {size(machine['MemTotal'])}"
    group = _cgroup()
    if group is not None:
        yield f"cgroup memory: used {size(group[0])} of {size(group[1])}"
    limit = _address_space()
    if limit is not None:
        yield f"address space: at most {size(limit)}"


def _kilobytes(path: str) -> Dict[str, int]:
    """The values of lines like `VmRSS:   12 kB` in bytes, by name."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                words = line.split()
                if len(words) == 3 and words[2] == "kB":
                    found[words[0].rstrip(":")] = int(words[1]) * 1024
    except (OSError, ValueError):
        pass
    return found


def _cgroup() -> Optional[Tuple[int, int]]:
    """Use and limit of the own cgroup, version 2 or 1, if there is a limit and it is visible."""
    for use, limit in (
        ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.max"),
        ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ):
        try:
            with open(use) as used, open(limit) as most:
                numbers = int(used.read()), int(most.read())
        except (OSError, ValueError):
            continue
        # Without a limit, version 1 reports a very large number.
        if numbers[1] < 1 << 60:
            return numbers
    return None


def _address_space() -> Optional[int]:
    """The limit set with `ulimit -v`."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return None if limit == resource.RLIM_INFINITY else limit
    except (ImportError, OSError, ValueError):
        return None
