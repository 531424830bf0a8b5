"""What `oomdoc.analyze` gives back, as dataclasses.

Written by python/generate.py from docs/report.schema.json; edit the types in src/ instead.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional, Union

from ._values import Value

__all__ = [
    "Allocation",
    "Basis",
    "Bytes",
    "Call",
    "CategoryUse",
    "Change",
    "Citation",
    "ClockSkew",
    "Collapse",
    "Column",
    "Consumer",
    "Derivation",
    "Diagnosis",
    "Earlier",
    "End",
    "Figure",
    "FigureName",
    "Fingerprint",
    "HistoryPoint",
    "Ignored",
    "Incident",
    "InputSummary",
    "Job",
    "Kind",
    "LineNumber",
    "LineUse",
    "Location",
    "Memory",
    "Need",
    "Nodes",
    "NotAdvised",
    "OtherFailure",
    "OtherFailureName",
    "Outcomes",
    "Outlier",
    "Partner",
    "Patch",
    "PatchEffect",
    "PatchNeeds",
    "PatchSet",
    "Phase",
    "PhaseFinding",
    "PhaseShare",
    "RankRow",
    "RankState",
    "Ranks",
    "RefusedAllocation",
    "Role",
    "Scalar",
    "Seen",
    "SegmentUse",
    "Snapshot",
    "SnapshotMoment",
    "StateCount",
    "TimeSource",
    "TimelinePoint",
    "TraceEvent",
    "UnusedMemory",
    "Victim",
    "When",
    "Report",
]

# How a statement was recognised.
Basis = Literal[
    "grammar",
    "reader",
]

# An amount of memory in bytes. It is signed because a budget can be overdrawn (vLLM prints a negative KV
# cache), and wider than an address because programs print negative lengths as sizes near 2^64.
Bytes = int

# Number of a byte within its physical line, starting at 1.
Column = int

# What a figure measures.
FigureName = Literal[
    "requested",
    "gpu_total",
    "gpu_free",
    "gpu_allowed",
    "process_in_use",
    "torch_allocated",
    "torch_reserved",
    "torch_reserved_unallocated",
    "allocated_peak",
    "gpu_index",
    "node_used",
    "node_total",
    "node_fraction",
    "node_threshold",
    "worker_used",
    "total_vm",
    "anon_rss",
    "file_rss",
    "shmem_rss",
    "memcg_usage",
    "memcg_limit",
    "oom_score_adj",
    "victim_pid",
    "host_used",
    "host_percent",
    "kv_cache_available",
    "other",
]

# What ran out, and who refused the memory or killed the process.
Kind = Literal[
    "gpu_oom",
    "host_oom_kernel",
    "host_oom_cgroup",
    "host_oom_userspace",
    "host_oom_ray",
    "host_alloc_failure",
    "shm_exhausted",
    "sigkill_unattributed",
    "none",
]

# Number of a physical line (ended by `\n`), starting at 1.
LineNumber = int

# What a job failed of, if it was not memory.
OtherFailureName = Literal[
    "nccl_timeout",
    "nccl_error",
    "illegal_memory_access",
    "launch_failure",
    "device_assert",
    "cudnn_error",
    "cublas_error",
    "gpu_hardware",
    "gpu_unavailable",
    "version_mismatch",
    "segfault",
    "abort",
    "disk_full",
    "io_error",
    "access_denied",
    "quota_exceeded",
    "process_limit",
    "preempted",
    "lost_node",
    "probe_failed",
    "cancelled",
    "time_limit",
    "network",
    "port_in_use",
    "timeout",
    "import_error",
    "config_error",
    "tensor_mismatch",
    "not_a_number",
    "assertion",
    "python_error",
    "test_failure",
    "cause_elsewhere",
    "unknown",
]

# What the job was doing when memory ran out.
Phase = Literal[
    "setup",
    "data_loading",
    "model_load",
    "checkpoint_resume",
    "engine_init",
    "rollout",
    "experience",
    "weight_sync",
    "forward",
    "backward",
    "optimizer_step",
    "checkpoint_save",
    "evaluation",
    "inference",
    "teardown",
    "unknown",
]

# How a rank ended.
RankState = Literal[
    "ran_out",
    "killed",
    "failed",
    "silent",
    "followed",
    "finished",
]

# What kind of input something is.
Role = Literal[
    "log",
    "kernel",
    "config",
    "script",
    "snapshot",
    "other",
]

# A value of a setting, with its type.
Scalar = Union[bool, int, float, str]

# The moment of a snapshot that the report describes.
SnapshotMoment = Literal[
    "refusal",
    "peak",
    "end",
]

# What determines the time of an incident if the failing line states only a part of it, or nothing.
TimeSource = Literal[
    "lines",
    "file",
    "now",
    "user",
]


@dataclass(frozen=True)
class Allocation(Value):
    """Allocations of one size and one stack."""
    bytes: Bytes
    """The size of each, as it was requested."""
    category: str
    """Their purpose."""
    count: int
    """Number of allocations."""
    stack: List[Call]
    """The stack of the request, outermost call first, with the calls of libraries left out; empty if no stack
    was recorded.
    """


@dataclass(frozen=True)
class Call(Value):
    """One call of a stack."""
    code: str
    """The source line; empty if it was not printed."""
    file: str
    """Source file as printed, or the actor class of a remote call."""
    file_line: Optional[int]
    """Line of that file, if it was printed."""
    folded_before: int
    """Number of calls left out before this one."""
    function: str
    """Function or remote method."""
    is_own: bool
    """Whether the file belongs to the user, that is, to no known library."""
    source: Citation
    """Where the log shows it."""


@dataclass(frozen=True)
class CategoryUse(Value):
    """The memory in use for one purpose."""
    bytes: Bytes
    """The amount."""
    count: int
    """Number of allocations."""
    name: str
    """A name of `rules/snapshot.toml`, such as `optimizer_states`; `unknown` if none of its rows matches the
    stack.
    """


@dataclass(frozen=True)
class Change(Value):
    """How to change a value that is not known."""
    times: Optional[float] = None
    add: Optional[float] = None
    at_least: Optional[Scalar] = None


@dataclass(frozen=True)
class Citation(Value):
    """Words of an input, verbatim, and where they stand."""
    column: Column
    """Byte within the line; 0 if there are no lines."""
    line: LineNumber
    """Physical line; 0 in a memory snapshot, which has no lines."""
    path: str
    """The input as the user named it; `-` is standard input."""
    text: str
    """A part of that physical line, verbatim, at most [`Citation::LONGEST`] bytes. For a memory snapshot, which
    has no lines, it is the entry as Python writes it: `device_traces[0][41]: {'action': 'oom', …}`.
    """
    redacted: Optional[bool] = None
    """Whether a secret in `text` was masked, so that it is no longer verbatim."""


@dataclass(frozen=True)
class ClockSkew(Value):
    """A node whose clock differs from the others'."""
    node: str
    """The node."""
    seconds: float
    """Seconds by which its clock is ahead; negative if it is behind."""


@dataclass(frozen=True)
class Collapse(Value):
    """How a job failed: the call that failed, and how its processes ended."""
    sequence: List[End]
    """How the processes ended, in order of time; processes that ended alike are one entry."""
    stack: List[Call]
    """The stack of the process that failed first, outermost call first, with the calls of libraries left out;
    empty if none was printed.
    """


@dataclass(frozen=True)
class Consumer(Value):
    """A process or group that held memory."""
    bytes: Bytes
    """The amount that it held."""
    pid: Optional[int]
    """Process id."""
    role: Optional[str]
    """Command, actor or cgroup."""
    source: Location
    """Where the log states it."""
    text: str
    """The words that state it."""


@dataclass(frozen=True)
class Derivation(Value):
    """How a figure was computed from others."""
    formula: str
    """The computation in words and numbers."""
    from_: List[Citation]
    """The lines that state the numbers used."""


@dataclass(frozen=True)
class Diagnosis(Value):
    """A cause and how likely it is."""
    basis: Basis
    """Whether a rule's own evidence holds, or the words of the log made it likely."""
    cause: str
    """A word of the vocabulary of causes."""
    confidence: float
    """How likely it is, 0–1; those of one incident sum to at most 1."""
    evidence: List[Citation]
    """The lines that support it."""
    not_advised: List[NotAdvised]
    """What not to change, and why."""
    patches: List[Patch]
    """What to change."""
    rule: str
    """The rule that found it."""
    title: str
    """The cause in a few words."""
    why: str
    """The explanation in a sentence or two."""
    outcomes: Optional[Outcomes] = None
    """The outcomes of its remedies in earlier incidents of the same kind and phase; absent if none were
    reported.
    """
    set: Optional[PatchSet] = None
    """The cheapest patches that together free enough memory, if the first alone does not and the needs can be
    computed.
    """


@dataclass(frozen=True)
class Earlier(Value):
    """An incident of the history that is similar to another one."""
    id: str
    """Its id."""
    likeness: int
    """How similar it is, 0–100; 100 means the same problem."""
    time: str
    """When it happened, RFC 3339."""
    title: str
    """Its cause in a few words."""
    worked: List[str]
    """The changes that solved its problem."""


@dataclass(frozen=True)
class End(Value):
    """How one or several processes ended."""
    count: int
    """The number of all these processes."""
    processes: List[Victim]
    """The processes; if there are very many, only the first ones."""
    seconds_after: Optional[float]
    """Seconds since the first end in the job, if both were written by comparable clocks."""
    source: Citation
    """The line that says so of the first of them."""
    time: Optional[str]
    """When the first of them ended, as the log writes it."""
    how: Literal["out_of_memory", "signal", "failed", "stopped", "exited", "vanished"]
    kind: Optional[Kind] = None
    """What ran out."""
    signal: Optional[int] = None
    """Number of the signal."""
    failure: Optional[OtherFailureName] = None
    """What failed."""
    status: Optional[int] = None
    """The status."""


@dataclass(frozen=True)
class Figure(Value):
    """A number that a log states, or one computed from such numbers, which then has `derived`."""
    bytes: Optional[Bytes]
    """The amount, if it is an amount of memory."""
    derived: Optional[Derivation]
    """How it was computed, if no single place states it."""
    name: FigureName
    """What the number measures."""
    source: Location
    """Where those words stand."""
    text: str
    """The words that state it, verbatim."""
    value: Optional[float]
    """The number, if it is not an amount of memory: a share, an index, a process id."""


@dataclass(frozen=True)
class Fingerprint(Value):
    """Groups occurrences of the same problem; it has a version, so that an upgrade does not regroup them."""
    key: str
    """Digest of the parts."""
    parts: List[str]
    """The values that it was made from."""
    version: int
    """Version of the way in which it is made."""


@dataclass(frozen=True)
class HistoryPoint(Value):
    """One moment of the trace."""
    categories: List[Bytes]
    """Memory in use of each of the snapshot's `categories`, in their order."""
    event: int
    """Number of events up to this moment."""
    in_use: Bytes
    """Memory in use."""
    reserved: Bytes
    """Memory that the allocator had taken from the driver."""
    seconds: Optional[float]
    """Seconds since the trace began, if its events have times."""


@dataclass(frozen=True)
class Ignored(Value):
    """Why an incident is accepted."""
    by: str
    """The line that says so: `oomdoc.toml:12`."""
    reason: str
    """The reason that the user gave."""
    until: Optional[str]
    """The last day (UTC) on which it is accepted; absent if there is no end."""


@dataclass(frozen=True)
class Incident(Value):
    """One failure: its root event and all that belongs to it, with the ranks that failed alike as one."""
    basis: Basis
    """How the kind was recognised."""
    capture_next: List[str]
    """What to record next time, as commands."""
    consumers: List[Consumer]
    """The processes that held the memory, largest first."""
    diagnoses: List[Diagnosis]
    """Causes, likeliest first; never empty."""
    evidence: List[Citation]
    """The lines that prove the kind."""
    failed_at: Optional[str]
    """When the root was written, as the log writes it."""
    figures: List[Figure]
    """The numbers that belong to the incident."""
    fingerprint: Fingerprint
    """Groups the occurrences of the same problem."""
    id: str
    """Digest of the root's cited words, host, pid and time: it identifies this occurrence."""
    kind: Kind
    """What ran out."""
    memory: Memory
    """The memory that the job should need by calculation, next to what the log states."""
    not_checked: List[str]
    """Rules that could not be evaluated, with the input that is missing."""
    phase: PhaseFinding
    """What the job was doing."""
    recovered: bool
    """Whether the same work was retried and went on."""
    seen: Seen
    """Whether the problem occurred before."""
    started: Optional[str]
    """When the job's log begins, as the log writes it."""
    timeline: List[TimelinePoint]
    """Memory over time."""
    victim: Victim
    """The process that was killed or refused memory first."""
    victims: List[Victim]
    """All processes that were killed or refused memory, including the first."""
    ignored: Optional[Ignored] = None
    """Why it is accepted and raises no alarm; absent if it is not accepted."""
    when: Optional[When] = None
    """The same as a calendar time; absent if nothing states it."""


@dataclass(frozen=True)
class InputSummary(Value):
    """One input."""
    bytes: int
    """Size in bytes."""
    lines: int
    """Number of physical lines."""
    path: str
    """The name that the user gave."""
    producers: List[str]
    """The programs whose messages it contains."""
    role: Role
    """What kind of input it is, judged by its content."""
    warning: Optional[str]
    """What could not be read, or looks unusual."""


@dataclass(frozen=True)
class Job(Value):
    """What is known about the job; a field is `null` if the inputs do not say."""
    config_digest: Optional[str]
    """Digest of the configuration."""
    framework: Optional[str]
    """Training or serving framework."""
    framework_version: Optional[str]
    """Version of the framework."""
    framework_version_at_most: Optional[str]
    """The last version that has all options the job was launched with, if no line states the version."""
    gpu: Optional[str]
    """Accelerator."""
    model: Optional[str]
    """Name of the model."""
    parameters: Optional[int]
    """Number of the model's parameters."""
    world_size: Optional[int]
    """Number of ranks."""


@dataclass(frozen=True)
class LineUse(Value):
    """The memory in use that one line of the program requested."""
    bytes: Bytes
    """The amount."""
    category: str
    """The purpose of most of it."""
    count: int
    """Number of allocations."""
    file: str
    """Source file; empty if no stack was recorded."""
    file_line: int
    """Line of that file."""
    function: str
    """Function."""
    is_own: bool
    """Whether the file belongs to the user, that is, to no known library."""


@dataclass(frozen=True)
class Location(Value):
    """A place in an input."""
    column: Column
    """Byte within the line; 0 if there are no lines."""
    line: LineNumber
    """Physical line; 0 in a memory snapshot, which has no lines."""
    path: str
    """The input as the user named it; `-` is standard input."""


@dataclass(frozen=True)
class Memory(Value):
    """The memory that the job should need by calculation, next to what the log states."""
    explains: Optional[str]
    """How the computed figures explain the observed ones."""
    observed: List[Figure]
    """Stated by the log."""
    predicted: List[Figure]
    """Computed from the settings of the job."""


@dataclass(frozen=True)
class Need(Value):
    """An amount of memory that is needed, and the capacity for it."""
    bytes: Bytes
    """The amount that is needed."""
    capacity: Optional[Bytes]
    """The amount that exists, if it is known."""


@dataclass(frozen=True)
class Nodes(Value):
    """The nodes of a job whose logs were read on the nodes themselves."""
    count: int
    """Number of nodes that were asked."""
    unanswered: List[str]
    """The nodes that returned nothing; what happened on them is not part of the report."""
    clocks: List[ClockSkew] = field(default_factory=list)
    """The nodes whose clocks differ from the others', found by when each gave up the same collective operation.
    """


@dataclass(frozen=True)
class NotAdvised(Value):
    """A change that people often try but that does not help here."""
    knob: str
    """The setting."""
    why: str
    """Why it does not help."""


@dataclass(frozen=True)
class OtherFailure(Value):
    """What a job failed of, if it was not memory."""
    evidence: List[Citation]
    """The lines that show it."""
    name: OtherFailureName
    """The kind of failure."""


@dataclass(frozen=True)
class Outcomes(Value):
    """How often a change was tried, and with what result."""
    failed: int
    """How often it did not."""
    worked: int
    """How often the problem went away."""


@dataclass(frozen=True)
class Outlier(Value):
    """One rank, or all ranks of one node, that held far more than the others."""
    bytes: Bytes
    """The amount that the rank held; the median, if there are several ranks."""
    figure: FigureName
    """The figure that was compared."""
    median: Bytes
    """The median of all ranks."""
    ranks: List[int]
    """The ranks."""
    words: str
    """`rank 1717 held 11.00 GiB more than the median`, in the report's language."""
    node: Optional[str] = None
    """Their node, if they are all ranks of one node."""


@dataclass(frozen=True)
class Partner(Value):
    """A setting that another one requires: without it, the other one is refused or has no effect."""
    knob: str
    """The setting, as the user's framework version spells it."""
    to: Scalar
    """Its value."""


@dataclass(frozen=True)
class Patch(Value):
    """A change of the job's configuration."""
    constraint: Optional[str]
    """The condition under which it works, followed by the note."""
    cost: Optional[str]
    """What the change costs."""
    diff: Optional[str]
    """The edit as a unified diff."""
    effect: PatchEffect
    """How much memory it frees or adds."""
    file: Optional[str]
    """The user's own file that sets it, if it is known."""
    from_: Optional[str]
    """The current value."""
    knob: str
    """The setting, as the user's framework version spells it."""
    lever: str
    """What it changes, independent of the framework."""
    needs: PatchNeeds
    """How much memory is needed at the moment of the incident after the change."""
    target: str
    """Where it is set: `cli`, `json`, `yaml`, `env`, `python`, `system`."""
    to: Optional[Scalar]
    """The new value; absent if the current value or the amount that is needed is not known."""
    change: Optional[Change] = None
    """How to change the value, if the new value is not fully known."""
    line: Optional[str] = None
    """What to type or write, if none of the given files sets it."""
    note: Optional[str] = None
    """The note alone: the end of `constraint` that is not a condition."""
    outcomes: Optional[Outcomes] = None
    """Its outcomes for the same cause in earlier incidents of the same kind and phase; absent if none were
    reported.
    """
    suffices: Optional[bool] = None
    """Whether that is available; absent if it cannot be computed."""
    with_: List[Partner] = field(default_factory=list)
    """Settings that must be changed too; without them this one is refused or has no effect."""


@dataclass(frozen=True)
class PatchEffect(Value):
    """How many bytes a patch adds; a negative amount is freed."""
    gpu_bytes: Optional[Bytes]
    """Per device."""
    host_bytes: Optional[Bytes]
    """Per host."""


@dataclass(frozen=True)
class PatchNeeds(Value):
    """How much memory is needed at the moment of the incident after a patch, as far as it can be computed."""
    gpu: Optional[Need]
    """On a device."""
    host: Optional[Need]
    """On a host."""


@dataclass(frozen=True)
class PatchSet(Value):
    """Several patches that free enough memory together, but not alone; or, where that cannot be counted, that
    are not known to free too little.
    """
    knobs: List[str]
    """The settings; each belongs to one of the diagnosis' patches."""
    needs: PatchNeeds
    """How much memory is needed at the moment of the incident after all these changes, where it can be counted.
    """


@dataclass(frozen=True)
class PhaseFinding(Value):
    """What the job was doing, and how that is known."""
    alternatives: List[PhaseShare]
    """Other possible phases, likeliest first."""
    basis: Basis
    """Whether a rule determined it, or the words of the log made it likely."""
    confidence: float
    """How likely the phase is, 0–1."""
    evidence: List[Citation]
    """The frames or lines that show it."""
    name: Phase
    """The phase."""
    site: Optional[str]
    """The innermost known place in it."""


@dataclass(frozen=True)
class PhaseShare(Value):
    """A phase and how likely it is."""
    confidence: float
    """How likely it is, 0–1."""
    name: Phase
    """The phase."""


@dataclass(frozen=True)
class RankRow(Value):
    """One rank. A field is absent if it is not known."""
    rank: int
    """Global rank."""
    state: RankState
    """How it ended."""
    bytes: Optional[Bytes] = None
    """The memory that it held at its end, by the last figure that it printed."""
    figure: Optional[FigureName] = None
    """What `bytes` measures, if it is not the figure of most ranks."""
    input: Optional[int] = None
    """The input with the line that says how it ended, as an index in the report's `inputs`."""
    line: Optional[LineNumber] = None
    """That line; the last line of a rank that prints nothing about its end."""
    node: Optional[int] = None
    """Index of its node in `nodes`."""
    seconds_after: Optional[float] = None
    """Seconds from the first end in the job to its own end. If the rank prints nothing about its end, seconds to
    its last line: negative if that is before the first end.
    """


@dataclass(frozen=True)
class Ranks(Value):
    """Every rank of a large job: how it ended and what it held."""
    count: int
    """Number of known ranks; `rows` may have fewer."""
    nodes: List[str]
    """The nodes; rows refer to them by index."""
    rows: List[RankRow]
    """The ranks in order; if there are more than [`Ranks::MOST`], those that say most."""
    states: List[StateCount]
    """The number of ranks per state, over all known ranks."""
    began: Optional[str] = None
    """The time of the first end, by a clock that is common to all ranks."""
    figure: Optional[FigureName] = None
    """What the `bytes` of a row measure if the row does not name its own figure."""
    first: Optional[int] = None
    """The rank that failed first, if it is known."""
    outliers: List[Outlier] = field(default_factory=list)
    """Ranks that held far more than the others, largest first."""


@dataclass(frozen=True)
class RefusedAllocation(Value):
    """An allocation that was refused."""
    device_free: Bytes
    """Free memory of the device, as the driver counts."""
    is_last: bool
    """Whether nothing more was allocated after it, so that the job did not continue."""
    requested: Bytes
    """Size of the request."""
    stack: List[Call]
    """The stack of the request, outermost call first, with the calls of libraries left out."""


@dataclass(frozen=True)
class Seen(Value):
    """What the history knows about the same problem."""
    count: int
    """How often it occurred."""
    first: Optional[str]
    """Time of the first occurrence."""
    last: Optional[str]
    """Time of the last occurrence."""
    worked: List[str]
    """The changes that solved it."""
    earlier: List[Earlier] = field(default_factory=list)
    """Similar incidents, the most similar first; absent if they were not asked for."""


@dataclass(frozen=True)
class SegmentUse(Value):
    """How one segment was used."""
    bytes: Bytes
    """Its size."""
    fill: List[int]
    """Percentage in use of each of its equal parts, in the order of addresses."""
    in_use: Bytes
    """The part in use."""
    is_expandable: bool
    """Whether it can grow (`expandable_segments`)."""
    is_private: bool
    """Whether it belongs to a private pool: of a CUDA graph, or a `MemPool`."""
    largest_unused: Bytes
    """The largest piece that was not in use."""
    pieces: int
    """Number of pieces that were not in use."""
    stream: int
    """The stream whose allocations it serves."""


@dataclass(frozen=True)
class Snapshot(Value):
    """The memory of one device as PyTorch's allocator recorded it (`torch.cuda.memory._dump_snapshot`)."""
    categories: List[CategoryUse]
    """Memory in use by purpose, largest first. It has every purpose that occurs in `history`, so an amount may
    be zero at this moment.
    """
    device: int
    """Number of the device, as PyTorch counts."""
    events_count: int
    """Number of events in the trace."""
    history: List[HistoryPoint]
    """Memory over the trace, in order of time."""
    in_use: Bytes
    """Memory in use at that moment, as requested, before rounding."""
    largest: List[Allocation]
    """The largest allocations in use, largest first."""
    last_events: List[TraceEvent]
    """The last events of the trace, in order of time."""
    lines: List[LineUse]
    """Memory in use by the user's line that requested it, largest first."""
    moment: SnapshotMoment
    """The moment at which the sums below are taken."""
    path: str
    """The file."""
    peak: Bytes
    """The most that was in use at any moment of the trace."""
    refused: Optional[RefusedAllocation]
    """The allocation that was refused, if the trace contains one."""
    reserved: Bytes
    """Memory that the allocator had taken from the driver at that moment."""
    segments: List[SegmentUse]
    """The largest segments, largest first."""
    segments_count: int
    """Number of all segments."""
    settings: Optional[str]
    """The value of `PYTORCH_CUDA_ALLOC_CONF`."""
    unused: UnusedMemory
    """Reserved memory that was not in use."""


@dataclass(frozen=True)
class StateCount(Value):
    """How many ranks ended in one way."""
    count: int
    """Number of ranks."""
    state: RankState
    """The way in which they ended."""


@dataclass(frozen=True)
class TimelinePoint(Value):
    """One memory figure at one moment."""
    bytes: Bytes
    """The amount."""
    name: FigureName
    """What the figure measures."""
    phase: Optional[Phase]
    """What the writer was doing, by the last sign of a phase."""
    series: str
    """The allocator, process or host that it belongs to."""
    source: Location
    """Where it stands."""
    text: str
    """The words that state it."""
    time: Optional[str]
    """When it was written, if the line says so."""


@dataclass(frozen=True)
class TraceEvent(Value):
    """One event of the trace."""
    action: str
    """What the allocator did, as PyTorch names it: `alloc`, `free_requested`, `free_completed`, `segment_alloc`,
    `oom` …
    """
    bytes: Bytes
    """The amount."""
    line: Optional[str]
    """The user's innermost line, or the innermost known line if there is none of the user's."""
    seconds_before: Optional[float]
    """Seconds before the last event, if events have times."""


@dataclass(frozen=True)
class UnusedMemory(Value):
    """Reserved memory that was not in use."""
    bytes: Bytes
    """The amount."""
    largest: Bytes
    """The largest piece that the refused allocation could have used, or any piece if none was refused."""
    pieces: int
    """Number of pieces."""
    split: Bytes
    """The part of it between allocations, which cannot be returned to the driver."""


@dataclass(frozen=True)
class Victim(Value):
    """A process that was killed or refused memory. A field is absent if the input does not say."""
    device: Optional[int]
    """Number of the device, as the process counts."""
    host: Optional[str]
    """Its node."""
    pid: Optional[int]
    """Process id."""
    rank: Optional[int]
    """Global rank."""
    role: Optional[str]
    """Actor class or process name."""


@dataclass(frozen=True)
class When(Value):
    """When an incident happened, as a calendar time."""
    derived: Optional[TimeSource]
    """Where the missing part was taken from; `null` if the failing line states all of it."""
    time: str
    """RFC 3339; a time without a zone is taken as UTC."""


@dataclass(frozen=True)
class Report(Value):
    """The analysis of a failed job."""
    failure: Collapse
    """The call in which the job failed, and how its processes ended."""
    incidents: List[Incident]
    """The root incident first, then those that followed from it."""
    inputs: List[InputSummary]
    """The inputs that were read."""
    job: Job
    """What is known of the job."""
    other_failure: Optional[OtherFailure]
    """What failed instead, if the job did not fail because of memory."""
    schema: str
    """The name of this format, Name and version of the format."""
    summary: str
    """What happened and why, as one sentence in the report's language."""
    verdict: Kind
    """Kind of the root incident; `none` if there is none or all recovered."""
    version: str
    """The version of oomdoc."""
    neighbours: List[Citation] = field(default_factory=list)
    """Lines around the evidence, for a report that is read without the log; absent if they were not asked for.
    """
    nodes: Optional[Nodes] = None
    """The nodes on which the inputs were read; absent if they were read on this machine."""
    ranks: Optional[Ranks] = None
    """Every rank of a large job; absent if fewer than eight are known."""
    snapshots: List[Snapshot] = field(default_factory=list)
    """What PyTorch's memory snapshots show, one entry per device; absent if none was read."""
