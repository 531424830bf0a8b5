"""What `oomdoc.estimate` gives back, as dataclasses.

Written by python/generate.py from docs/estimate.schema.json; edit the types in src/ instead.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional, Union

from ._values import Value

__all__ = [
    "Amount",
    "Bias",
    "Bytes",
    "Change",
    "Component",
    "Experts",
    "Fit",
    "Fits",
    "LatentAttention",
    "Limits",
    "ModelSize",
    "Moment",
    "Need",
    "Parameters",
    "Peaks",
    "Place",
    "Serving",
    "Shape",
    "Spare",
    "Step",
    "Words",
    "Estimate",
]

# Something that may have a bias.
Bias = Literal[
    "query_key_value",
    "attention_output",
    "mlp",
    "norm",
    "head",
]

# An amount of memory in bytes. It is signed because a budget can be overdrawn (vLLM prints a negative KV
# cache), and wider than an address because programs print negative lengths as sizes near 2^64.
Bytes = int

# Whether something fits.
Fits = Literal[
    "surely",
    "perhaps",
    "not",
]

# A moment of a job at which memory is looked at.
Moment = Literal[
    "init",
    "after_prepare",
    "rollout",
    "experience",
    "forward",
    "backward",
    "optimizer_step",
    "weight_sync",
    "evaluation",
    "checkpoint_save",
    "checkpoint_resume",
]

# Where memory is taken.
Place = Literal[
    "device",
    "host",
    "host_pinned",
]

# Whether the optimizer has stepped before: its states are there from its first step on.
Step = Literal[
    "first",
    "later",
]


@dataclass(frozen=True)
class Amount(Value):
    """An amount of memory known within bounds; both are the same where it is known exactly."""
    high: Bytes
    """At most."""
    low: Bytes
    """At least."""


@dataclass(frozen=True)
class Change(Value):
    """One change, and what is needed with it and those before it."""
    cost: Words
    """What it costs."""
    flag: str
    """As this command spells it."""
    then: Peaks
    """What is needed then."""


@dataclass(frozen=True)
class Component(Value):
    """Something that takes memory."""
    bytes: Amount
    """How much it takes: on one device, or on one host for all its ranks."""
    formula: str
    """How that comes about."""
    name: str
    """What it is."""
    place: Place
    """Where."""


@dataclass(frozen=True)
class Experts(Value):
    """A mixture of experts."""
    active: int
    """Experts that a token passes."""
    count: int
    """Experts in a layer."""
    dense_layers: int
    """First layers that have an ordinary MLP."""
    intermediate: int
    """Width within an expert."""
    shared: int
    """Width within what every token passes, all shared experts together."""


@dataclass(frozen=True)
class Fit(Value):
    """What to change so that a job fits."""
    before: Peaks
    """As it is."""
    changes: List[Change]
    """What to change, in the order in which one builds on another; empty where nothing need be."""
    fits: Fits
    """Whether it then fits."""
    limits: Limits
    """What there is."""
    spare: Optional[Spare]
    """What is then left of what there is, by the bounds by which it fits; nothing where it does not."""


@dataclass(frozen=True)
class LatentAttention(Value):
    """Multi-head latent attention as in DeepSeek-V2."""
    key_value_rank: int
    """Width of the latent vector of keys and values."""
    position_dim: int
    """Width of a head's part with rotary position, one for all heads' keys."""
    position_free_dim: int
    """Width of a head's part without position."""
    query_rank: Optional[int]
    """Width of the queries' latent vector; absent: queries are projected directly."""
    value_dim: int
    """Width of a head's values."""


@dataclass(frozen=True)
class Limits(Value):
    """What there is."""
    gpu: Bytes
    """On each device."""
    host: Optional[Bytes]
    """On each host, where that is known."""


@dataclass(frozen=True)
class ModelSize(Value):
    """A model as far as it is known."""
    parameters: Parameters
    """All its parameters."""
    shape: Optional[Shape]
    """What it is built of; `None` when only its size is known."""


@dataclass(frozen=True)
class Need(Value):
    """What one moment needs."""
    components: List[Component]
    """What takes memory, what is always there first."""
    gpu: Amount
    """On each device within likely bounds: from the tensors alone to all that the driver counts for the process.
    """
    host: Amount
    """On each host, page-locked memory included, less page cache."""
    moment: Moment
    """When."""
    process: List[Component]
    """What the process may take of a device besides tensors: its context, communicators, blocks that its
    allocator keeps.
    """
    step: Step
    """Before or after the first step."""


@dataclass(frozen=True)
class Parameters(Value):
    """A number of parameters known within bounds."""
    high: int
    """At most."""
    low: int
    """At least."""


@dataclass(frozen=True)
class Peaks(Value):
    """What the hungriest moments need."""
    gpu: Amount
    """On each device."""
    host: Amount
    """On each host."""


@dataclass(frozen=True)
class Serving(Value):
    """How a job serves."""
    memory_share: Optional[float]
    """Share of each device's memory that the engine may take, where that is known."""


@dataclass(frozen=True)
class Shape(Value):
    """What a transformer is built of; enough to count its parameters."""
    biases: List[Bias]
    """What has a bias."""
    embedding: Optional[int]
    """Width of the embedding, where it is not `hidden`."""
    embedding_norm: bool
    """Whether the embedding is normalised."""
    experts: Optional[Experts]
    """Experts instead of one MLP."""
    gated_mlp: bool
    """Whether an MLP has three matrices (SwiGLU, GeGLU) or two."""
    head_dim: Optional[int]
    """Width of a head, where it is not `hidden / heads`."""
    heads: int
    """Attention heads."""
    hidden: int
    """Width of the residual stream."""
    intermediate: int
    """Width within an MLP."""
    kv_heads: Optional[int]
    """Heads of keys and values, where they are fewer."""
    latent_attention: Optional[LatentAttention]
    """Attention through a latent vector (DeepSeek's MLA) instead of heads of keys and values."""
    layers: int
    """Transformer layers."""
    norms_per_layer: int
    """Normalisations in a layer."""
    positions: int
    """Rows of learned positions."""
    query_key_norm: bool
    """Whether queries and keys are normalised head by head."""
    tied_embeddings: bool
    """Whether the output head is the embedding."""
    vision: int
    """Parameters of a vision tower with its projector."""
    vocabulary: int
    """Rows of the embedding, padding included."""


@dataclass(frozen=True)
class Spare(Value):
    """What is left of what there is."""
    gpu: Bytes
    """Of each device."""
    host: Optional[Bytes]
    """Of each host, where that is known."""


@dataclass(frozen=True)
class Words(Value):
    """The same words in every language. Shipped rules say everything in all of them; a user's own may leave out
    Chinese, and English stands in for it.
    """
    en: str
    """English."""
    zh: str
    """Chinese."""


@dataclass(frozen=True)
class Estimate(Value):
    """What a job should need."""
    assumptions: List[str]
    """What was taken for granted, and what is not counted."""
    fit: Optional[Fit]
    """What to change so that it fits, where that was asked for."""
    framework: Optional[str]
    """What it runs on, by its name in `rules/frameworks.toml`, where that is known."""
    is_least: bool
    """Whether that is only the least, because activations are not counted: the model's shape or its batch is
    unknown.
    """
    job: Optional[str]
    """What it is for: a word of the fact `config.job`, where that is known."""
    layout: Any
    """The same as JSON shows it: what was read stands as it was said, what was left open is `null`."""
    model: str
    """The model as it was named."""
    moments: List[Need]
    """What each moment needs."""
    schema: str
    """Name and version of the format."""
    serving: Optional[Serving]
    """How it serves, where nothing is trained."""
    size: ModelSize
    """How large it is."""
