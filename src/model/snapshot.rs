use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bytes, Call};

/// The memory of one device as PyTorch's allocator recorded it (`torch.cuda.memory._dump_snapshot`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Snapshot {
    /// The file.
    pub path: Arc<str>,
    /// The device as PyTorch counts it.
    pub device: u32,
    /// At which moment the sums below are taken.
    pub moment: SnapshotMoment,
    /// What was in use at that moment, as it was asked for.
    pub in_use: Bytes,
    /// What the allocator had taken from the driver then.
    pub reserved: Bytes,
    /// The most that was in use at any moment of the trace.
    pub peak: Bytes,
    /// The allocation that was refused, where the trace has one.
    pub refused: Option<RefusedAllocation>,
    /// What was in use, by what it is for, most first; with what was in use at other moments of `history`, which may be nothing here.
    pub categories: Vec<CategoryUse>,
    /// What was in use, by the user's line that asked for it, most first.
    pub lines: Vec<LineUse>,
    /// The largest allocations in use, largest first.
    pub largest: Vec<Allocation>,
    /// What of the reserved memory was not in use.
    pub unused: UnusedMemory,
    /// The largest segments, largest first.
    pub segments: Vec<SegmentUse>,
    /// How many segments there were.
    pub segments_count: u64,
    /// Memory over the trace, in order.
    pub history: Vec<HistoryPoint>,
    /// How many events the trace has.
    pub events_count: u64,
    /// Its last events, in order.
    pub last_events: Vec<TraceEvent>,
    /// What `PYTORCH_CUDA_ALLOC_CONF` was set to.
    pub settings: Option<String>,
}

/// The moment of a snapshot that is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SnapshotMoment {
    /// When an allocation was refused, after which nothing more was allocated.
    Refusal,
    /// When most was in use.
    Peak,
    /// When the snapshot was taken: it has no trace.
    End,
}

/// An allocation that was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RefusedAllocation {
    /// How much was asked for.
    pub requested: Bytes,
    /// What the device had free, as the driver counts.
    pub device_free: Bytes,
    /// Whether nothing more was allocated after it: the job did not go on.
    pub is_last: bool,
    /// Who asked, outermost call first, libraries folded.
    pub stack: Vec<Call>,
}

/// What is in use for one purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CategoryUse {
    /// A name of `rules/snapshot.toml`: `optimizer_states`; `unknown` where no row knows the stack.
    pub name: Arc<str>,
    /// How much.
    pub bytes: Bytes,
    /// In how many allocations.
    pub count: u64,
}

/// What one line of the program has in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LineUse {
    /// Source file; empty where no stack was recorded.
    pub file: String,
    /// Line of that file.
    pub file_line: u64,
    /// Function.
    pub function: String,
    /// Whether the file is of no known library: the user's own.
    pub is_own: bool,
    /// For what most of it is.
    pub category: Arc<str>,
    /// How much.
    pub bytes: Bytes,
    /// In how many allocations.
    pub count: u64,
}

/// Allocations of one size and stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Allocation {
    /// The size of each, as it was asked for.
    pub bytes: Bytes,
    /// How many.
    pub count: u64,
    /// For what they are.
    pub category: Arc<str>,
    /// Who asked, outermost call first, libraries folded; empty where no stack was recorded.
    pub stack: Vec<Call>,
}

/// Reserved memory that was not in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnusedMemory {
    /// In all.
    pub bytes: Bytes,
    /// What of it lies between allocations, so that it cannot be given back to the driver.
    pub split: Bytes,
    /// The largest piece that the refused allocation could have been given, or any piece where none was refused.
    pub largest: Bytes,
    /// In how many pieces.
    pub pieces: u64,
}

/// How one segment was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SegmentUse {
    /// Its size.
    pub bytes: Bytes,
    /// What of it was in use.
    pub in_use: Bytes,
    /// Its largest piece that was not.
    pub largest_unused: Bytes,
    /// In how many pieces that was.
    pub pieces: u64,
    /// The stream whose allocations it serves.
    pub stream: i64,
    /// Whether it belongs to a private pool: of a CUDA graph, or a `MemPool`.
    pub is_private: bool,
    /// Whether it can grow (`expandable_segments`).
    pub is_expandable: bool,
    /// How full each of its equal parts was, in percent, in the order of addresses.
    pub fill: Vec<u8>,
}

/// One moment of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HistoryPoint {
    /// After how many events.
    pub event: u64,
    /// Seconds since the trace began, where its events say when they happened.
    pub seconds: Option<f64>,
    /// What was in use.
    pub in_use: Bytes,
    /// What the allocator had taken from the driver.
    pub reserved: Bytes,
    /// What was in use of each of the snapshot's `categories`, in their order.
    pub categories: Vec<Bytes>,
}

/// One event of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TraceEvent {
    /// What the allocator did, in PyTorch's word: `alloc`, `free_requested`, `free_completed`, `segment_alloc`, `oom` …
    pub action: String,
    /// How much of it.
    pub bytes: Bytes,
    /// Seconds before the last event, where events say when they happened.
    pub seconds_before: Option<f64>,
    /// The user's innermost line, `train.py:42 step`, else the innermost that is known.
    pub line: Option<String>,
}
