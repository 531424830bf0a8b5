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
    /// Number of the device, as PyTorch counts.
    pub device: u32,
    /// The moment at which the sums below are taken.
    pub moment: SnapshotMoment,
    /// Memory in use at that moment, as requested, before rounding.
    pub in_use: Bytes,
    /// Memory that the allocator had taken from the driver at that moment.
    pub reserved: Bytes,
    /// The most that was in use at any moment of the trace.
    pub peak: Bytes,
    /// The allocation that was refused, if the trace contains one.
    pub refused: Option<RefusedAllocation>,
    /// Memory in use by purpose, largest first. It has every purpose that occurs in `history`, so an amount may be zero at this moment.
    pub categories: Vec<CategoryUse>,
    /// Memory in use by the user's line that requested it, largest first.
    pub lines: Vec<LineUse>,
    /// The largest allocations in use, largest first.
    pub largest: Vec<Allocation>,
    /// Reserved memory that was not in use.
    pub unused: UnusedMemory,
    /// The largest segments, largest first.
    pub segments: Vec<SegmentUse>,
    /// Number of all segments.
    pub segments_count: u64,
    /// Memory over the trace, in order of time.
    pub history: Vec<HistoryPoint>,
    /// Number of events in the trace.
    pub events_count: u64,
    /// The last events of the trace, in order of time.
    pub last_events: Vec<TraceEvent>,
    /// The value of `PYTORCH_CUDA_ALLOC_CONF`.
    pub settings: Option<String>,
}

/// The moment of a snapshot that the report describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SnapshotMoment {
    /// When an allocation was refused after which nothing more was allocated.
    Refusal,
    /// When the most memory was in use.
    Peak,
    /// When the snapshot was taken, because it has no trace.
    End,
}

/// An allocation that was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RefusedAllocation {
    /// Size of the request.
    pub requested: Bytes,
    /// Free memory of the device, as the driver counts.
    pub device_free: Bytes,
    /// Whether nothing more was allocated after it, so that the job did not continue.
    pub is_last: bool,
    /// The stack of the request, outermost call first, with the calls of libraries left out.
    pub stack: Vec<Call>,
}

/// The memory in use for one purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CategoryUse {
    /// A name of `rules/snapshot.toml`, such as `optimizer_states`; `unknown` if none of its rows matches the stack.
    pub name: Arc<str>,
    /// The amount.
    pub bytes: Bytes,
    /// Number of allocations.
    pub count: u64,
}

/// The memory in use that one line of the program requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LineUse {
    /// Source file; empty if no stack was recorded.
    pub file: String,
    /// Line of that file.
    pub file_line: u64,
    /// Function.
    pub function: String,
    /// Whether the file belongs to the user, that is, to no known library.
    pub is_own: bool,
    /// The purpose of most of it.
    pub category: Arc<str>,
    /// The amount.
    pub bytes: Bytes,
    /// Number of allocations.
    pub count: u64,
}

/// Allocations of one size and one stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Allocation {
    /// The size of each, as it was requested.
    pub bytes: Bytes,
    /// Number of allocations.
    pub count: u64,
    /// Their purpose.
    pub category: Arc<str>,
    /// The stack of the request, outermost call first, with the calls of libraries left out; empty if no stack was recorded.
    pub stack: Vec<Call>,
}

/// Reserved memory that was not in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnusedMemory {
    /// The amount.
    pub bytes: Bytes,
    /// The part of it between allocations, which cannot be returned to the driver.
    pub split: Bytes,
    /// The largest piece that the refused allocation could have used, or any piece if none was refused.
    pub largest: Bytes,
    /// Number of pieces.
    pub pieces: u64,
}

/// How one segment was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SegmentUse {
    /// Its size.
    pub bytes: Bytes,
    /// The part in use.
    pub in_use: Bytes,
    /// The largest piece that was not in use.
    pub largest_unused: Bytes,
    /// Number of pieces that were not in use.
    pub pieces: u64,
    /// The stream whose allocations it serves.
    pub stream: i64,
    /// Whether it belongs to a private pool: of a CUDA graph, or a `MemPool`.
    pub is_private: bool,
    /// Whether it can grow (`expandable_segments`).
    pub is_expandable: bool,
    /// Percentage in use of each of its equal parts, in the order of addresses.
    pub fill: Vec<u8>,
}

/// One moment of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HistoryPoint {
    /// Number of events up to this moment.
    pub event: u64,
    /// Seconds since the trace began, if its events have times.
    pub seconds: Option<f64>,
    /// Memory in use.
    pub in_use: Bytes,
    /// Memory that the allocator had taken from the driver.
    pub reserved: Bytes,
    /// Memory in use of each of the snapshot's `categories`, in their order.
    pub categories: Vec<Bytes>,
}

/// One event of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TraceEvent {
    /// What the allocator did, as PyTorch names it: `alloc`, `free_requested`, `free_completed`, `segment_alloc`, `oom` …
    pub action: String,
    /// The amount.
    pub bytes: Bytes,
    /// Seconds before the last event, if events have times.
    pub seconds_before: Option<f64>,
    /// The user's innermost line, or the innermost known line if there is none of the user's.
    pub line: Option<String>,
}
