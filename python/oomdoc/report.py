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

# On what a statement rests.
Basis = Literal[
    "grammar",
    "reader",
]

# An amount of memory in bytes. Signed, because a budget can be overdrawn (vLLM prints a negative KV cache).
Bytes = int

# Number of a byte within its physical line, from 1.
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

# What ran out, told by who refused the memory or did the killing.
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

# Number of a physical line (ended by `\n`), from 1.
LineNumber = int

# What a job died of when it was no lack of memory.
OtherFailureName = Literal[
    "nccl_timeout",
    "nccl_error",
    "illegal_memory_access",
    "device_assert",
    "cudnn_error",
    "cublas_error",
    "gpu_hardware",
    "segfault",
    "abort",
    "disk_full",
    "io_error",
    "preempted",
    "cancelled",
    "time_limit",
    "network",
    "import_error",
    "config_error",
    "assertion",
    "python_error",
    "test_failure",
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

# What an input is.
Role = Literal[
    "log",
    "kernel",
    "config",
    "script",
    "snapshot",
    "other",
]

# A value of a setting, of the type that it has.
Scalar = Union[bool, int, float, str]

# The moment of a snapshot that is told of.
SnapshotMoment = Literal[
    "refusal",
    "peak",
    "end",
]

# What says when an incident happened, where the failing line does not, or not all of it.
TimeSource = Literal[
    "lines",
    "file",
    "now",
    "user",
]


@dataclass(frozen=True)
class Allocation(Value):
    """Allocations of one size and stack."""
    bytes: Bytes
    """The size of each, as it was asked for."""
    category: str
    """For what they are."""
    count: int
    """How many."""
    stack: List[Call]
    """Who asked, outermost call first, libraries folded; empty where no stack was recorded."""


@dataclass(frozen=True)
class Call(Value):
    """One call of a stack."""
    code: str
    """The source line; empty where it was not printed."""
    file: str
    """Source file as printed, or the actor class of a remote call."""
    file_line: Optional[int]
    """Line of that file, where it was printed."""
    folded_before: int
    """Calls left out before this one."""
    function: str
    """Function or remote method."""
    is_own: bool
    """Whether the file is of no known library: the user's own."""
    source: Citation
    """Where the log shows it."""


@dataclass(frozen=True)
class CategoryUse(Value):
    """What is in use for one purpose."""
    bytes: Bytes
    """How much."""
    count: int
    """In how many allocations."""
    name: str
    """A name of `rules/snapshot.toml`: `optimizer_states`; `unknown` where no row knows the stack."""


@dataclass(frozen=True)
class Change(Value):
    """How far to turn what is not known."""
    times: Optional[float] = None
    add: Optional[float] = None
    at_least: Optional[Scalar] = None


@dataclass(frozen=True)
class Citation(Value):
    """Words of an input, verbatim, and where they stand."""
    column: Column
    """Byte within the line; 0 where there are no lines."""
    line: LineNumber
    """Physical line; 0 in an input that has no lines, which is a memory snapshot."""
    path: str
    """The input as the user named it; `-` is standard input."""
    text: str
    """A part of that physical line as it stands there, at most [`Citation::LONGEST`] bytes. Of a memory
    snapshot, which has no lines, the entry as Python writes it: `device_traces[0][41]: {'action': 'oom', …}`.
    """
    redacted: Optional[bool] = None
    """Whether a secret in `text` was masked, so that it is no longer verbatim."""


@dataclass(frozen=True)
class ClockSkew(Value):
    """A node whose clock is apart from the others'."""
    node: str
    """The node."""
    seconds: float
    """Seconds that its clock is ahead; negative where it is behind."""


@dataclass(frozen=True)
class Collapse(Value):
    """How a job came down: the call that failed, and how its processes ended."""
    sequence: List[End]
    """How each process ended, first things first, those that ended alike together."""
    stack: List[Call]
    """The stack of whoever failed first, outermost call first, libraries folded; empty where none was printed.
    """


@dataclass(frozen=True)
class Consumer(Value):
    """A process or group that held memory."""
    bytes: Bytes
    """How much."""
    pid: Optional[int]
    """Process id."""
    role: Optional[str]
    """Command, actor or cgroup."""
    source: Location
    """Where it is said."""
    text: str
    """The words that say it."""


@dataclass(frozen=True)
class Derivation(Value):
    """How a figure came out of others."""
    formula: str
    """The computation in words and numbers."""
    from_: List[Citation]
    """What it was computed from."""


@dataclass(frozen=True)
class Diagnosis(Value):
    """A cause and how sure of it."""
    basis: Basis
    """Whether a rule's own evidence holds, or words made it likely."""
    cause: str
    """A word of the vocabulary of causes."""
    confidence: float
    """0–1; those of one incident sum to at most 1."""
    evidence: List[Citation]
    """The lines that support it."""
    not_advised: List[NotAdvised]
    """What not to change, and why."""
    patches: List[Patch]
    """What to change."""
    rule: str
    """The rule that says so."""
    title: str
    """In a few words."""
    why: str
    """In a sentence or two."""
    outcomes: Optional[Outcomes] = None
    """How its remedies went here before, in incidents of the same kind and phase; absent where nobody said.
    """
    set: Optional[PatchSet] = None
    """The cheapest of them that suffice together, where the first does not alone and the arithmetic knows."""


@dataclass(frozen=True)
class Earlier(Value):
    """An incident of the history that is like another one."""
    id: str
    """Its id."""
    likeness: int
    """How like it is, 0–100; 100 is the same trouble."""
    time: str
    """When it happened, RFC 3339."""
    title: str
    """Its cause in a few words."""
    worked: List[str]
    """What made its trouble go away."""


@dataclass(frozen=True)
class End(Value):
    """How some processes ended."""
    count: int
    """How many in all."""
    processes: List[Victim]
    """Which processes; of very many the first."""
    seconds_after: Optional[float]
    """Seconds after the first end of the job, where one clock tells."""
    source: Citation
    """The line that says so of the first of them."""
    time: Optional[str]
    """When the first of them did, as the log says."""
    how: Literal["out_of_memory", "signal", "failed", "stopped", "exited", "vanished"]
    kind: Optional[Kind] = None
    """What ran out."""
    signal: Optional[int] = None
    """Its number."""
    failure: Optional[OtherFailureName] = None
    """What."""
    status: Optional[int] = None
    """It."""


@dataclass(frozen=True)
class Figure(Value):
    """A number that a log states, or one computed from such numbers; the latter says so in `derived`."""
    bytes: Optional[Bytes]
    """The amount, where it is one of memory."""
    derived: Optional[Derivation]
    """How it was computed, when no single place states it."""
    name: FigureName
    """What it measures."""
    source: Location
    """Where those words stand."""
    text: str
    """The words that state it, verbatim."""
    value: Optional[float]
    """The number, where it is none of memory: a share, an index, a process id."""


@dataclass(frozen=True)
class Fingerprint(Value):
    """What groups occurrences of the same trouble; versioned, so that an upgrade never regroups."""
    key: str
    """Digest of the parts."""
    parts: List[str]
    """What went into it."""
    version: int
    """Version of the recipe."""


@dataclass(frozen=True)
class HistoryPoint(Value):
    """One moment of the trace."""
    categories: List[Bytes]
    """What was in use of each of the snapshot's `categories`, in their order."""
    event: int
    """After how many events."""
    in_use: Bytes
    """What was in use."""
    reserved: Bytes
    """What the allocator had taken from the driver."""
    seconds: Optional[float]
    """Seconds since the trace began, where its events say when they happened."""


@dataclass(frozen=True)
class Ignored(Value):
    """Why an incident is accepted."""
    by: str
    """The line that says so: `oomdoc.toml:12`."""
    reason: str
    """In the words of whoever accepts it."""
    until: Optional[str]
    """The last day on which it is, UTC; absent where it has no end."""


@dataclass(frozen=True)
class Incident(Value):
    """One failure: its root and all that belongs to it, several ranks as one."""
    basis: Basis
    """On what the kind rests."""
    capture_next: List[str]
    """What to record next time, as commands."""
    consumers: List[Consumer]
    """Who held the memory, largest first."""
    diagnoses: List[Diagnosis]
    """Causes, likeliest first; never empty."""
    evidence: List[Citation]
    """The lines that prove the kind."""
    failed_at: Optional[str]
    """When the root was written."""
    figures: List[Figure]
    """The numbers that belong to it."""
    fingerprint: Fingerprint
    """What groups occurrences of the same trouble."""
    id: str
    """Digest of the root's cited words, host, pid and time: this very occurrence."""
    kind: Kind
    """What ran out."""
    memory: Memory
    """What the job should have needed beside what it did."""
    not_checked: List[str]
    """Rules that could not be asked, and for want of what."""
    phase: PhaseFinding
    """What the job was doing."""
    recovered: bool
    """Whether the same work was retried and went on."""
    seen: Seen
    """Whether it was seen before."""
    started: Optional[str]
    """When the job's log begins, as it says."""
    timeline: List[TimelinePoint]
    """Memory over time."""
    victim: Victim
    """Who was killed or refused first."""
    victims: List[Victim]
    """All who were killed or refused, the first one included."""
    ignored: Optional[Ignored] = None
    """That it is known and accepted, and raises no alarm; absent where nobody said so."""
    when: Optional[When] = None
    """When that was as a calendar has it; absent where nothing says so."""


@dataclass(frozen=True)
class InputSummary(Value):
    """One input."""
    bytes: int
    """Its size."""
    lines: int
    """Its physical lines."""
    path: str
    """As the user named it."""
    producers: List[str]
    """Whose messages stand in it."""
    role: Role
    """What it is, by its content."""
    warning: Optional[str]
    """What could not be read, or looks odd."""


@dataclass(frozen=True)
class Job(Value):
    """What is known of the job; `None` is "the input does not say"."""
    config_digest: Optional[str]
    """Digest of the configuration."""
    framework: Optional[str]
    """Training or serving framework."""
    framework_version: Optional[str]
    """Its version."""
    framework_version_at_most: Optional[str]
    """The last version that has all the options the job was launched with, where nothing states its version.
    """
    gpu: Optional[str]
    """Accelerator."""
    model: Optional[str]
    """Model."""
    parameters: Optional[int]
    """Its parameters."""
    world_size: Optional[int]
    """Number of ranks."""


@dataclass(frozen=True)
class LineUse(Value):
    """What one line of the program has in use."""
    bytes: Bytes
    """How much."""
    category: str
    """For what most of it is."""
    count: int
    """In how many allocations."""
    file: str
    """Source file; empty where no stack was recorded."""
    file_line: int
    """Line of that file."""
    function: str
    """Function."""
    is_own: bool
    """Whether the file is of no known library: the user's own."""


@dataclass(frozen=True)
class Location(Value):
    """A place in an input."""
    column: Column
    """Byte within the line; 0 where there are no lines."""
    line: LineNumber
    """Physical line; 0 in an input that has no lines, which is a memory snapshot."""
    path: str
    """The input as the user named it; `-` is standard input."""


@dataclass(frozen=True)
class Memory(Value):
    """What the job should have needed beside what it did."""
    explains: Optional[str]
    """How the one explains the other."""
    observed: List[Figure]
    """By the log."""
    predicted: List[Figure]
    """By the arithmetic of training."""


@dataclass(frozen=True)
class Need(Value):
    """An amount that is needed, of what there is."""
    bytes: Bytes
    """Needed."""
    capacity: Optional[Bytes]
    """There is so much, where that is known."""


@dataclass(frozen=True)
class Nodes(Value):
    """The nodes of a job whose logs were read where they lie."""
    count: int
    """How many were asked."""
    unanswered: List[str]
    """Those that gave nothing: what happened there is not part of the report."""
    clocks: List[ClockSkew] = field(default_factory=list)
    """Those whose clocks are apart from the others', by when each gave up the same collective operation."""


@dataclass(frozen=True)
class NotAdvised(Value):
    """A change that people try and that does not help here."""
    knob: str
    """The knob."""
    why: str
    """Why not."""


@dataclass(frozen=True)
class OtherFailure(Value):
    """What a job died of when it was no lack of memory."""
    evidence: List[Citation]
    """The lines that say so."""
    name: OtherFailureName
    """Which."""


@dataclass(frozen=True)
class Outcomes(Value):
    """How often something was tried here, and how it went."""
    failed: int
    """It did not."""
    worked: int
    """The trouble went away."""


@dataclass(frozen=True)
class Outlier(Value):
    """One rank, or all of one node, that held far more than the others."""
    bytes: Bytes
    """What it held; of several the median."""
    figure: FigureName
    """What is compared."""
    median: Bytes
    """What the median of all ranks held."""
    ranks: List[int]
    """Which."""
    words: str
    """`rank 1717 held 11.00 GiB more than the median`, in the report's language."""
    node: Optional[str] = None
    """The node that they are all of, where they are all of it."""


@dataclass(frozen=True)
class Partner(Value):
    """A setting without which another one is refused or does nothing."""
    knob: str
    """As the user's framework version spells it."""
    to: Scalar
    """Its value."""


@dataclass(frozen=True)
class Patch(Value):
    """A change of the job's configuration."""
    constraint: Optional[str]
    """What must hold for it to work, then what else is worth knowing."""
    cost: Optional[str]
    """What it costs."""
    diff: Optional[str]
    """The edit as a unified diff."""
    effect: PatchEffect
    """What it moves."""
    file: Optional[str]
    """The user's own file, where it is known."""
    from_: Optional[str]
    """Its value now."""
    knob: str
    """As the user's framework version spells it."""
    lever: str
    """What it turns, whatever the framework calls it."""
    needs: PatchNeeds
    """What the incident's moment needs then."""
    target: str
    """Where it is set: `cli`, `json`, `yaml`, `env`, `python`, `system`."""
    to: Optional[Scalar]
    """Its value then; absent where nobody knows from what to count, or how much is needed."""
    change: Optional[Change] = None
    """What is known of its value then, where that is not all."""
    line: Optional[str] = None
    """What to type or to write where no file was given that sets it."""
    note: Optional[str] = None
    """The latter alone: the end of `constraint` that is no condition."""
    outcomes: Optional[Outcomes] = None
    """How it went here before, for the same cause in incidents of the same kind and phase; absent where nobody
    said.
    """
    suffices: Optional[bool] = None
    """Whether that is no more than there is; absent where the arithmetic does not say."""
    with_: List[Partner] = field(default_factory=list)
    """What must be set with it, or it is refused or does nothing."""


@dataclass(frozen=True)
class PatchEffect(Value):
    """How many bytes a patch moves; negative frees."""
    gpu_bytes: Optional[Bytes]
    """Per device."""
    host_bytes: Optional[Bytes]
    """Per host."""


@dataclass(frozen=True)
class PatchNeeds(Value):
    """What the moment of the incident needs once a patch is applied, as far as the arithmetic knows."""
    gpu: Optional[Need]
    """On a device."""
    host: Optional[Need]
    """On a host."""


@dataclass(frozen=True)
class PatchSet(Value):
    """Several patches that do together what none of them does alone."""
    knobs: List[str]
    """Their knobs, each of one of the diagnosis' patches."""
    needs: PatchNeeds
    """What the incident's moment needs then."""


@dataclass(frozen=True)
class PhaseFinding(Value):
    """What the job was doing, and how that is known."""
    alternatives: List[PhaseShare]
    """What else it may have been, likeliest first."""
    basis: Basis
    """Whether a rule knew it, or words made it likely."""
    confidence: float
    """0–1."""
    evidence: List[Citation]
    """The frames or lines that say so."""
    name: Phase
    """The phase."""
    site: Optional[str]
    """More closely: the innermost known place."""


@dataclass(frozen=True)
class PhaseShare(Value):
    """A phase and how likely it is."""
    confidence: float
    """0–1."""
    name: Phase
    """The phase."""


@dataclass(frozen=True)
class RankRow(Value):
    """One rank. What is absent is not known."""
    rank: int
    """Global rank."""
    state: RankState
    """How it ended."""
    bytes: Optional[Bytes] = None
    """What it held at its end, by the last figure of its own."""
    figure: Optional[FigureName] = None
    """What that measures, where it is not the figure of most ranks."""
    input: Optional[int] = None
    """The input with the line that says how it ended: a place in the report's `inputs`."""
    line: Optional[LineNumber] = None
    """That line; of one that says nothing of its end its last one."""
    node: Optional[int] = None
    """Its node: a place in `nodes`."""
    seconds_after: Optional[float] = None
    """Seconds from the first end to its own; of one that says nothing of its end, to its last line: negative
    before the first end.
    """


@dataclass(frozen=True)
class Ranks(Value):
    """Every rank of a large job: how it ended and what it held."""
    count: int
    """How many ranks are known; `rows` may have fewer."""
    nodes: List[str]
    """The nodes, which rows name by their place here."""
    rows: List[RankRow]
    """The ranks in order; of more than [`Ranks::MOST`] those that tell most."""
    states: List[StateCount]
    """How many ranks ended in which way, of all that are known."""
    began: Optional[str] = None
    """When the first end was, by the clock that tells of all."""
    figure: Optional[FigureName] = None
    """What the `bytes` of a row measure that names no figure of its own."""
    first: Optional[int] = None
    """The one with which it began, where that is known."""
    outliers: List[Outlier] = field(default_factory=list)
    """Ranks that held far more than the others, most first."""


@dataclass(frozen=True)
class RefusedAllocation(Value):
    """An allocation that was refused."""
    device_free: Bytes
    """What the device had free, as the driver counts."""
    is_last: bool
    """Whether nothing more was allocated after it: the job did not go on."""
    requested: Bytes
    """How much was asked for."""
    stack: List[Call]
    """Who asked, outermost call first, libraries folded."""


@dataclass(frozen=True)
class Seen(Value):
    """What the history knows of the same trouble."""
    count: int
    """How often."""
    first: Optional[str]
    """First time."""
    last: Optional[str]
    """Last time."""
    worked: List[str]
    """What made it go away."""
    earlier: List[Earlier] = field(default_factory=list)
    """Incidents like it, the likest first; absent where nobody asked for them."""


@dataclass(frozen=True)
class SegmentUse(Value):
    """How one segment was used."""
    bytes: Bytes
    """Its size."""
    fill: List[int]
    """How full each of its equal parts was, in percent, in the order of addresses."""
    in_use: Bytes
    """What of it was in use."""
    is_expandable: bool
    """Whether it can grow (`expandable_segments`)."""
    is_private: bool
    """Whether it belongs to a private pool: of a CUDA graph, or a `MemPool`."""
    largest_unused: Bytes
    """Its largest piece that was not."""
    pieces: int
    """In how many pieces that was."""
    stream: int
    """The stream whose allocations it serves."""


@dataclass(frozen=True)
class Snapshot(Value):
    """The memory of one device as PyTorch's allocator recorded it (`torch.cuda.memory._dump_snapshot`)."""
    categories: List[CategoryUse]
    """What was in use, by what it is for, most first; with what was in use at other moments of `history`, which
    may be nothing here.
    """
    device: int
    """The device as PyTorch counts it."""
    events_count: int
    """How many events the trace has."""
    history: List[HistoryPoint]
    """Memory over the trace, in order."""
    in_use: Bytes
    """What was in use at that moment, as it was asked for."""
    largest: List[Allocation]
    """The largest allocations in use, largest first."""
    last_events: List[TraceEvent]
    """Its last events, in order."""
    lines: List[LineUse]
    """What was in use, by the user's line that asked for it, most first."""
    moment: SnapshotMoment
    """At which moment the sums below are taken."""
    path: str
    """The file."""
    peak: Bytes
    """The most that was in use at any moment of the trace."""
    refused: Optional[RefusedAllocation]
    """The allocation that was refused, where the trace has one."""
    reserved: Bytes
    """What the allocator had taken from the driver then."""
    segments: List[SegmentUse]
    """The largest segments, largest first."""
    segments_count: int
    """How many segments there were."""
    settings: Optional[str]
    """What `PYTORCH_CUDA_ALLOC_CONF` was set to."""
    unused: UnusedMemory
    """What of the reserved memory was not in use."""


@dataclass(frozen=True)
class StateCount(Value):
    """How many ranks ended in one way."""
    count: int
    """How many."""
    state: RankState
    """In which."""


@dataclass(frozen=True)
class TimelinePoint(Value):
    """One moment of one series of memory figures."""
    bytes: Bytes
    """How much."""
    name: FigureName
    """What it measures."""
    phase: Optional[Phase]
    """What its writer was doing, by the last sign of it."""
    series: str
    """Of which allocator, process or host."""
    source: Location
    """Where it stands."""
    text: str
    """The words that state it."""
    time: Optional[str]
    """When, if the line said so."""


@dataclass(frozen=True)
class TraceEvent(Value):
    """One event of the trace."""
    action: str
    """What the allocator did, in PyTorch's word: `alloc`, `free_requested`, `free_completed`, `segment_alloc`,
    `oom` …
    """
    bytes: Bytes
    """How much of it."""
    line: Optional[str]
    """The user's innermost line, `train.py:42 step`, else the innermost that is known."""
    seconds_before: Optional[float]
    """Seconds before the last event, where events say when they happened."""


@dataclass(frozen=True)
class UnusedMemory(Value):
    """Reserved memory that was not in use."""
    bytes: Bytes
    """In all."""
    largest: Bytes
    """The largest piece that the refused allocation could have been given, or any piece where none was refused.
    """
    pieces: int
    """In how many pieces."""
    split: Bytes
    """What of it lies between allocations, so that it cannot be given back to the driver."""


@dataclass(frozen=True)
class Victim(Value):
    """A process that was killed or refused memory. Each part as far as the input says."""
    device: Optional[int]
    """Device as the process counts them."""
    host: Optional[str]
    """Node."""
    pid: Optional[int]
    """Process id."""
    rank: Optional[int]
    """Global rank."""
    role: Optional[str]
    """Actor class, process name."""


@dataclass(frozen=True)
class When(Value):
    """When an incident happened, as a calendar has it."""
    derived: Optional[TimeSource]
    """Where what the failing line leaves open was taken from; `null` where it says all."""
    time: str
    """RFC 3339; what a log says without a zone is taken as UTC."""


@dataclass(frozen=True)
class Report(Value):
    """The post-mortem."""
    failure: Collapse
    """In which call it failed, and how its processes ended."""
    incidents: List[Incident]
    """Root first, then those that only followed."""
    inputs: List[InputSummary]
    """What was read."""
    job: Job
    """What is known of the job."""
    other_failure: Optional[OtherFailure]
    """What it was instead, when the job failed of something else."""
    schema: str
    """Name and version of the format."""
    summary: str
    """What happened and why, in a sentence of the report's language."""
    verdict: Kind
    """Kind of the root incident; `none` when there is none or all are recovered."""
    version: str
    """Of oomdoc."""
    neighbours: List[Citation] = field(default_factory=list)
    """Lines beside those that prove it, for a page that is read away from the log; absent where nobody asked for
    them.
    """
    nodes: Optional[Nodes] = None
    """The nodes on which the inputs were read; absent where they were read here."""
    ranks: Optional[Ranks] = None
    """Every rank of a large job; absent where fewer than eight are known."""
    snapshots: List[Snapshot] = field(default_factory=list)
    """What PyTorch's memory snapshots show, each device by itself; absent where none was read."""
