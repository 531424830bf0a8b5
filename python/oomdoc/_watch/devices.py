"""The counters of the devices' allocators. Only modules that are loaded and in use are queried, since a query must not start a device."""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .file import size

# The names of torch's device modules.
KINDS = ("cuda", "npu", "xpu")
# The most devices that are listed; more are hardly different.
MOST = 16
# Words of messages about host memory that do not name a device as torch does.
HOST_WORDS = ("defaultcpuallocator", "unable to mmap", "unable to allocate", "std::bad_alloc", "errno 12", "can't allocate memory", "cannot allocate memory")


def in_use() -> Iterator[Tuple[str, Any, int]]:
    """The kind, module and number of each device that torch has started to use, the current one first."""
    torch = sys.modules.get("torch")
    for kind in KINDS:
        module = getattr(torch, kind, None)
        try:
            if module is None or not module.is_initialized():
                continue
            current = int(module.current_device())
            others = [number for number in range(int(module.device_count())) if number != current]
        except Exception:
            continue
        for number in [current, *others][:MOST]:
            yield kind, module, number


def failed(error: BaseException, message: str) -> str:
    """The device whose memory ran out, as torch names it: `cuda:1`, `cpu`."""
    known = list(in_use())
    words = message.lower()
    told = re.search(r"\b(?:gpu|npu|xpu|device) (\d+)\b", words)
    is_host = isinstance(error, MemoryError) or any(word in words for word in HOST_WORDS)
    if not known or (is_host and "cuda" not in words):
        return "mps" if "mps" in words else "cpu"
    kinds = [kind for kind in KINDS if kind in words]
    of_kind = [(kind, number) for kind, _, number in known if kind == (kinds or [known[0][0]])[0]] or [(known[0][0], known[0][2])]
    kind, current = of_kind[0]
    return f"{kind}:{int(told.group(1)) if told else current}"


def statistics(failing: str) -> Iterator[str]:
    """The counters of each allocator, the failing device's first."""
    for kind, module, number in sorted(in_use(), key=lambda one: f"{one[0]}:{one[2]}" != failing):
        name = f"{kind}:{number}"
        # Other devices are marked, so that their amounts are not taken for figures of the failure.
        yield from (line if name == failing else f"beside it, {line}" for line in _of_device(name, module, number))
    mps = getattr(sys.modules.get("torch"), "mps", None)
    if failing == "mps" and mps is not None:
        allocated, driver = int(mps.current_allocated_memory()), int(mps.driver_allocated_memory())
        yield f"allocator of mps: allocated {size(allocated)}, reserved {size(driver)}"


def allocated(failing: str) -> Optional[int]:
    """The bytes that torch's allocator has allocated on the failing device."""
    for kind, module, number in in_use():
        if f"{kind}:{number}" == failing:
            return int(module.memory_allocated(number))
    return None


def _of_device(name: str, module: Any, number: int) -> List[str]:
    lines = []
    # torch counts these itself, without a call to the driver.
    counts: Dict[str, int] = module.memory_stats(number)
    was_asked = counts.get("reserved_bytes.all.peak", 0) > 0 or counts.get("num_ooms", 0) > 0
    try:
        # Asking the driver about a device starts it, which takes hundreds of megabytes of its memory.
        if was_asked or number == int(module.current_device()):
            free, total = module.mem_get_info(number)
            lines.append(f"device {name} {_model(module, number)}: free {size(free)} of {size(total)}")
    except Exception:
        pass

    def amount(key: str) -> str:
        return f"{size(counts.get(f'{key}.all.current', 0))}, peak {size(counts.get(f'{key}.all.peak', 0))}"

    # Skip a device on which this process has never allocated anything.
    if counts.get("reserved_bytes.all.peak", 0) > 0:
        lines.append(f"allocator of {name}: allocated {amount('allocated_bytes')}; reserved {amount('reserved_bytes')}")
        split = f"inactive split {amount('inactive_split_bytes')}"
        lines.append(f"allocator of {name}: {split}; retries {counts.get('num_alloc_retries', 0)}, refusals {counts.get('num_ooms', 0)}")
    return lines


def _model(module: Any, number: int) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", str(module.get_device_name(number)))


def is_recorded() -> bool:
    """Whether recording by torch's CUDA allocator is switched on."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return False
    return any(trace for trace in cuda.memory._snapshot().get("device_traces", ()))


def record() -> bool:
    """Switches the recording on; false if torch is not loaded or has no CUDA device."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_available():
        return False
    cuda.memory._record_memory_history(max_entries=100_000)
    return True


def dump(path: str) -> None:
    """Writes torch's recording in torch's own format."""
    sys.modules["torch"].cuda.memory._dump_snapshot(path)
